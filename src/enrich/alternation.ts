/**
 * Detects two actions that alternate while each of them ends with the same result every time. The memory holds the last
 * two ends of each agent, so it stays small.
 */

type End = [like: string, result: string];

/** The alternation of the main agent or of a subagent. */
export interface Swing {
  who: string;
  last: End;
  before?: End | undefined;
  /** The ends in sequence that alternate. */
  ends: number;
  firstMs: number;
  lastMs: number;
  tokens: number;
}

/** Each of the two actions has ended this often. */
export const ALTERNATIONS = 4;

const MOST_SWINGS = 8;

export interface SwingEnd {
  who: string;
  like: string;
  /** Undefined: unknown whether two results are equal. */
  result: string | undefined;
  atMs: number;
  tokens: number;
}

/** Adds an end. Returns the alternation when it has just become complete. `mostMs`: the longest time between two ends. */
export function swung(swings: Swing[], end: SwingEnd, mostMs: number): Swing | undefined {
  const { who, like, result, atMs, tokens } = end;
  const at = swings.findIndex(each => each.who === who);
  const [known] = at < 0 ? [] : swings.splice(at, 1);
  if (result === undefined) return undefined;
  const swing = nextOf(known !== undefined && atMs - known.lastMs <= mostMs ? known : undefined, [like, result]) ?? {
    ...{ who, last: [like, result] as End, ends: 1, firstMs: atMs, lastMs: atMs, tokens },
  };
  swing.lastMs = Math.max(swing.lastMs, atMs);
  swings.push(swing);
  if (swings.length > MOST_SWINGS) swings.shift();
  return swing.ends === 2 * ALTERNATIONS ? swing : undefined;
}

/** Returns undefined if the end repeats the last action: then a new alternation begins. */
function nextOf(swing: Swing | undefined, end: End): Swing | undefined {
  if (swing === undefined || swing.last[0] === end[0]) return undefined;
  const { last, before } = swing;
  if (before !== undefined && before[0] === end[0] && before[1] === end[1])
    return { ...swing, before: last, last: end, ends: swing.ends + 1 };
  return { ...swing, before: last, last: end, ends: 2, firstMs: swing.lastMs };
}
