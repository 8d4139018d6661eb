/** Finds the sessions that a word on the command line names. */
import { asShown } from '../lib/shown.ts';

/** Returns the session with exactly this id, or all sessions whose ids begin with the word. */
export function named<T extends { session: string }>(sessions: readonly T[], word: string): T[] {
  const exact = sessions.filter(({ session }) => session === word);
  return exact.length > 0 ? exact : sessions.filter(({ session }) => session.startsWith(word));
}

/** Returns the reason why a word does not name exactly one session. */
export function unnamed(found: readonly { session: string }[], word: string): string | undefined {
  if (found.length === 1) return undefined;
  if (found.length === 0) return `no session begins with ${asShown(word)}`;
  const [most, rest] = [found.slice(0, MOST_LISTED), found.length - MOST_LISTED];
  const listed = most.map(({ session }) => asShown(session)).join(', ');
  return `${found.length} sessions begin with ${asShown(word)}: ${listed}${rest > 0 ? ` and ${rest} more` : ''}`;
}

const MOST_LISTED = 10;
