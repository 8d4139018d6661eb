/**
 * The conservation report: each test of this folder tells what it injected and what became of it. Tests call `row`
 * before they assert, so that a failed row shows its figures too, and begin their names with the row's id (`R9 a full
 * disk …`), which is how `npm run conservation` knows which rows failed.
 */
import { appendFileSync } from 'node:fs';
import type { TestContext } from 'vitest';
import { cannotRun } from '../needs.ts';
import { seed, size } from './size.ts';

export interface Figures {
  /** Events that were promised to be kept. */
  obligations?: number;
  delivered?: number;
  /** Items that came more than once, with the same ids and bytes. */
  duplicated?: number;
  lost?: number;
  quarantined?: number;
  /** Given up by a rule that says so, and counted under its reason. */
  dropped?: number;
  /** The longest that any hook took, from start to end. */
  longestHookMs?: number | undefined;
  /** The most that a delivery held in memory. */
  rssMb?: number | undefined;
  /** How often the fault was injected. */
  faults?: number;
  note?: string;
}

export function row(id: string, fault: string, figures: Figures): void {
  append({ id, fault, seed, size, ...figures });
}

/** Skips a row that this machine cannot run, with its reason; in CI the row fails. */
export function notRun(context: TestContext, id: string, fault: string, why: string): never {
  append({ id, fault, seed, size, notRun: why });
  return cannotRun(context, `${id} ${fault}: ${why}`);
}

function append(line: object): void {
  const file = process.env.OTEL_HOOKS_REPORT;
  if (file) appendFileSync(file, `${JSON.stringify(line)}\n`);
}
