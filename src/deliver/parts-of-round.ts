/** A round that failed is divided into smaller rounds, so that the one fragment or session at fault is found. */
import type { Due } from '../pipeline/due-sessions.ts';
import type { TakenFromInbox } from '../pipeline/round.ts';

export interface RoundPart extends TakenFromInbox {
  due: Due;
}

const sessionsOf = ({ silent = [], waiting = [], undecided = [], excess = [] }: Due): Due[] => [
  ...silent.map(key => ({ silent: [key] })),
  ...waiting.map(key => ({ waiting: [key] })),
  ...undecided.map(key => ({ undecided: [key] })),
  ...excess.map(key => ({ excess: [key] })),
];

/**
 * Smaller parts in the order in which they are processed.
 *
 * - Fragments come first, without sessions that are only looked at, so that no fragment is blamed for such a session.
 * - A session that fails alone is left out: it stays as it is until it is looked at again.
 * - A fragment that fails alone is rejected.
 *
 * Returns undefined if no part is left that could be at fault.
 */
export function smallerParts({ fragments, rejects, due }: RoundPart): RoundPart[] | undefined {
  const sessions = sessionsOf(due);
  const hasCome = fragments.length + rejects.length > 0;
  if (sessions.length === 1 && !hasCome) return [];
  if (sessions.length > 0) {
    const parts = sessions.map((each): RoundPart => ({ fragments: [], rejects: [], due: each }));
    return hasCome ? [{ fragments, rejects, due: {} }, ...parts] : parts;
  }
  const [first] = fragments;
  if (first === undefined) return undefined;
  if (fragments.length === 1)
    return [{ fragments: [], rejects: [...rejects, { name: first.name, reason: 'failed' }], due }];
  const middle = Math.ceil(fragments.length / 2);
  return [
    { fragments: fragments.slice(0, middle), rejects, due },
    { fragments: fragments.slice(middle), rejects: [], due },
  ];
}
