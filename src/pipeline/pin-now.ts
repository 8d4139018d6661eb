import { agentNamed } from '../agents/index.ts';
import { documents } from '../documents/documents.ts';
import { installationOf } from '../documents/installation.ts';
import type { Replay } from '../journal/replay.ts';
import type { Opening } from '../receive/receive.ts';
import { type Pin, pin } from '../session/pin.ts';
import type { Store } from '../store/store.ts';
import type { RoundWorld } from './sessions-of-round.ts';

/** The inputs of a round, without the installation's id and key, which are in the store. */
export type PreviewWorld = Omit<RoundWorld, 'installation' | 'hashKey'>;

/**
 * Returns the pin that a new session would get. Without a configured destination, the pin names a collector on this
 * machine.
 */
export function pinnedNow(
  { agent, session }: Pick<Replay, 'agent' | 'session'>,
  key: string,
  world: RoundWorld,
): Pin & { opening: Opening } {
  const settles = agentNamed(agent)?.settles ?? { action: 'hook', turn: 'hook', subagent: 'hook', session: 'hook' };
  const opening: Opening = { agent: { id: agent, settles }, session, key, cwd: undefined };
  const header = {};
  const pinned = pin(opening, { header }, world);
  if (pinned.destinations.length > 0) return { ...pinned, opening };
  const env = { ...world.env, OTEL_HOOKS_PROVIDER: 'otlp', OTEL_HOOKS_ENABLED: 'true' };
  return { ...pin(opening, { header }, { ...world, env, ownVariables: true }), opening };
}

/**
 * Returns the inputs of a round that is not committed. Before the first delivery, the installation's id and key are
 * random.
 */
export function worldOver(store: Store, world: PreviewWorld): RoundWorld {
  const { id, key } = installationOf(store).installation;
  return { ...world, installation: id, hashKey: key };
}

/** Hides the stored counters, so that the result has only the counters of the given sessions. */
export const withoutMetrics = (store: Pick<Store, 'read'>): Pick<Store, 'read'> => ({
  read: document => (documents.metrics.idOf(document.name) === undefined ? store.read(document) : undefined),
});
