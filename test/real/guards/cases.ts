/**
 * The guards that run inside real agents. Each run of an agent has several guards, one for each call of its model. Over
 * the runs of an agent, each way to deny, each kind of call and each dialect of a guard occurs.
 */
export type Way = 'exit code' | 'JSON' | 'updated input' | 'ask' | 'context' | 'continue';
export type Thing = 'shell' | 'file write' | 'MCP';

export interface Guard {
  /** In the names of files, and in texts. */
  readonly mark: string;
  readonly way: Way;
  readonly thing: Thing;
  /** The dialect that the guard was written for. */
  readonly source: string;
}

const FORMAT = 'hook-interchange';
const things: readonly Thing[] = ['shell', 'file write', 'MCP', 'shell'];
const ways: readonly Way[] = ['exit code', 'JSON', 'updated input'];
/** Dialects without an answer in JSON, and the one that reads no exit code. */
const onlyCodes = ['windsurf', 'kiro'];
const noCodes = ['cline'];
/** Effects without a dialect of their own: one in each run. It is the last call, because one of them ends the work. */
const others: readonly Way[] = ['ask', 'context', 'continue'];

export const RUNS = 3;

/** Returns the guards of one run of an agent. */
export function guardsOf(agent: string, slugs: readonly string[], run: number): Guard[] {
  const sources = [FORMAT, ...slugs.filter(slug => slug !== agent)];
  const guards = things.map((thing, i): Guard => {
    const n = run * things.length + i;
    const source = sources[n % sources.length] ?? FORMAT;
    return { mark: `m${n}`, way: wayOf(source, i + run), thing, source };
  });
  return [...guards, { mark: `x${run}`, way: others[run] ?? 'ask', thing: 'shell', source: FORMAT }];
}

function wayOf(source: string, n: number): Way {
  if (onlyCodes.includes(source)) return 'exit code';
  const way = ways[n % ways.length] ?? 'JSON';
  return way === 'exit code' && noCodes.includes(source) ? 'JSON' : way;
}
