/** The results of guards in real agents, in guards.json. `npm run docs` writes the table of docs/run-hook.md from them. */
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { dialectNamed } from '../../../src/agents/dialects.ts';
import type { Thing, Way } from './cases.ts';
import type { Guarded } from './stage.ts';

export interface GuardResult {
  agent: string;
  slug: string;
  version: string;
  way: Way;
  thing: Thing;
  source: string;
  /** `degraded`: the agent cannot honour the answer, and the guard still held: `how` says in which way. */
  result: 'works' | 'degraded' | 'failed';
  how?: string;
}

export function resultOf(agent: string, version: string, slug: string, seen: Guarded, isEnded: boolean): GuardResult {
  const { way, thing, source } = seen.guard;
  return { agent, slug, version, way, thing, source, ...outcomeOf(slug, seen, isEnded) };
}

type Outcome = Pick<GuardResult, 'result' | 'how'>;

/** `isEnded`: the model was not asked again after the last call. */
function outcomeOf(slug: string, seen: Guarded, isEnded: boolean): Outcome {
  const outcome = byWay(slug, seen, isEnded);
  const isInLog = seen.shown.length > 0 && seen.shown.every(each => each === 'log');
  // A person finds the reason only there, and the whole run has ended.
  return outcome.result === 'works' && isInLog && !seen.ran
    ? { result: 'degraded', how: 'the whole run ends, and the reason stands in the records of the agent' }
    : outcome;
}

function byWay(slug: string, { guard: { way }, ran, changed, shown }: Guarded, isEnded: boolean): Outcome {
  const takes = dialectNamed(slug)?.takes.before_tool_execute ?? [];
  const isShown = shown.length > 0;
  if (way === 'context') {
    if (ran && takes.includes('context')) return { result: isShown ? 'works' : 'failed' };
    return ran ? { result: 'degraded', how: 'a warning' } : { result: 'failed' };
  }
  // The end of the work does not stop the call.
  if (way === 'continue' && takes.includes('continue')) return { result: isEnded ? 'works' : 'failed' };
  if (ran) return { result: 'failed' };
  if (way === 'updated input') {
    if (changed) return { result: 'works' };
    return isShown ? { result: 'degraded', how: 'denied' } : { result: 'failed' };
  }
  if (way === 'ask')
    return { result: isShown ? 'works' : 'failed', how: takes.includes('ask') ? 'unattended: denied' : 'denied' };
  if (!isShown) return { result: 'failed' };
  return way === 'continue' ? { result: 'degraded', how: 'denied' } : { result: 'works' };
}

const file = join(import.meta.dirname, '..', 'guards.json');

export const readGuards = (): GuardResult[] =>
  existsSync(file) ? (JSON.parse(readFileSync(file, 'utf8')) as { rows: GuardResult[] }).rows : [];

const keyOf = ({ agent, way, thing, source }: GuardResult): string => [agent, way, thing, source].join(' ');

/** Replaces the rows of these guards. */
export function recordGuards(fresh: readonly GuardResult[]): void {
  const rows = new Map([...readGuards(), ...fresh].map(row => [keyOf(row), row]));
  const lines = [...rows].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, row]) => JSON.stringify(row));
  writeFileSync(file, `{\n"v": 1,\n"rows": [\n${lines.join(',\n')}\n]\n}\n`);
}
