/**
 * The conservation report: each test of this folder reports the faults that it injected and their effect. Tests call
 * `row` before they assert, so that a failed row shows its figures too. Test names begin with the id of the row (`R9 a
 * full disk …`), so that `npm run conservation` knows which rows failed.
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
  /** Items that a documented rule dropped, counted under its reason. */
  dropped?: number;
  /** The longest time of a hook, from start to end. */
  longestHookMs?: number | undefined;
  /** The maximum of memory of a delivery. */
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
