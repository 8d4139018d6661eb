/** The sessions of one round: read from the store, rebuilt from their journals, or begun and pinned. */
import { MOST_DESTINATIONS } from '../config/destinations.ts';
import { ChangedDocuments } from '../documents/changed-documents.ts';
import { documents } from '../documents/documents.ts';
import type { Fragment } from '../hook/fragment.ts';
import { keyedHash } from '../lib/hash.ts';
import { newMark } from '../openhook/mark.ts';
import type { Pinning } from '../problems/noted-problems.ts';
import type { Problem } from '../problems/problem.ts';
import { isErased, noneErased } from '../receive/erased.ts';
import type { Opening } from '../receive/receive.ts';
import { keeperOf } from '../session/own-content.ts';
import { judgeRisk } from '../session/own-rules.ts';
import { type Pin, pin, type Surroundings } from '../session/pin.ts';
import { priceOf } from '../session/prices.ts';
import { newSession, type Pinned, type SessionState } from '../session/session-state.ts';
import type { Store } from '../store/store.ts';
import type { Eyes } from '../transcripts/eyes.ts';
import { addOwner, type Kin, type Owners, ownerOf } from '../transcripts/origins.ts';
import { patient, type Waits } from '../transcripts/settlement.ts';
import { type Outgoing, outgoingOf } from './outgoing.ts';
import { PreviousSessions } from './previous-sessions.ts';
import { outputOfJournal, rebuild, recalled } from './rebuild.ts';
import { countSilenced, noCounts, type RoundContext, SessionInRound } from './session-in-round.ts';

/** The inputs of a round, besides the store and the fragments. */
export interface RoundWorld extends Surroundings {
  nowMs: number;
  /** Access to the disk. Without it, no transcript is read, and spans continue to wait for their transcripts. */
  eyes?: Eyes | undefined;
  waits?: Waits | undefined;
  /** Paths at which the Python package of this name may have stored what it sent. */
  formerStates?: readonly string[] | undefined;
}

/** Returns the functions that add risk, cost and content to the events of a session. */
export const enrichersOf = ({ hashKey }: Pick<RoundWorld, 'hashKey'>) => ({
  hash: (content: string): string => keyedHash(hashKey, content),
  risk: judgeRisk,
  price: priceOf,
  keep: keeperOf,
});

/** The largest part of transcripts that one round reads; the next round reads the rest. */
const TRANSCRIPT_BYTES = 16 * 1024 * 1024;

/**
 * Returns the session that owns a transcript's origin: the given session, unless another one has the origin already.
 */
export function ownerIn(changed: ChangedDocuments, agent: string, origin: string, session: Kin): Kin {
  const document = documents.origins.of(agent);
  const known = ownerOf(changed.read(document) ?? {}, origin);
  if (known !== undefined) return known;
  const owners: { [origin: string]: Owners[string] } = changed.own(document) ?? {};
  addOwner(owners, origin, session);
  changed.write(document, owners);
  return session;
}

export class SessionsOfRound {
  readonly counts = noCounts();
  readonly problems: Problem[] = [];
  /** The problems of each session that was pinned. */
  readonly pinnings: Pinning[] = [];
  readonly documents: ChangedDocuments;
  /** Output from before a session got its present destinations, only for these destinations. */
  readonly earlier: Outgoing = { bodies: [], tallies: [] };
  /** True if an undecided session got its destinations in this round. */
  isDecided = false;
  private readonly store: Store;
  private readonly world: RoundWorld;
  private readonly context: RoundContext;
  private readonly previous: PreviousSessions;
  private readonly sessions = new Map<string, SessionInRound>();
  /** The ids of all destinations, with those of this round. Read from the store when the first session is pinned. */
  private remembered: Set<string> | undefined;

  constructor(store: Store, world: RoundWorld) {
    this.store = store;
    this.world = world;
    this.documents = new ChangedDocuments(store);
    this.previous = new PreviousSessions(this.documents, key => this.stateOf(key));
    const { eyes, nowMs } = world;
    const transcripts = eyes && this.transcriptAccess(eyes);
    this.context = { ...enrichersOf(world), nowMs, counts: this.counts, transcripts, eyes, previous: this.previous };
  }

  private transcriptAccess(eyes: Eyes): NonNullable<RoundContext['transcripts']> {
    const { home, env, nowMs, waits = patient, formerStates } = this.world;
    return {
      ...{ eyes, home, env, nowMs, waits, formerStates },
      budget: { bytes: TRANSCRIPT_BYTES },
      journal: key => this.store.journal(key),
      owner: (agent, origin, session) => ownerIn(this.documents, agent, origin, session),
      knows: key => this.stateOf(key) !== undefined || this.store.journal(key) !== undefined,
    };
  }

  all(): SessionInRound[] {
    return [...this.sessions.values()];
  }

  /** Returns a session that is in the round or in the store. */
  known(key: string): SessionInRound | undefined {
    const there = this.sessions.get(key);
    if (there !== undefined) return there;
    const state = recalled(this.store, key);
    return state && this.add(state);
  }

  /** Returns the session of a source; undefined if it was erased. A new session is pinned to its configuration. */
  open(opening: Opening, fragment: Fragment): SessionInRound | undefined {
    if (isErased(this.documents.read(documents.erased) ?? noneErased, opening.key)) return undefined;
    const known = this.known(opening.key);
    if (known !== undefined) return known;
    const made = this.pinned(opening, fragment);
    const { pinned, isDispatched, named } = made;
    countSilenced(this.counts, made);
    const mark = documents.openhook.of(opening.key);
    const journal = this.store.journal(opening.key);
    // A session whose state was damaged begins again. The events of its journal were dispatched before, even if the
    // mark is missing.
    if (isDispatched && opening.cwd !== undefined && this.store.read(mark) === undefined) {
      const at = Buffer.byteLength(journal ?? '');
      this.documents.write(mark, { ...newMark(opening.cwd, named, fragment.atMs), at });
    }
    const state = newSession(opening, pinned);
    rebuild(state, journal);
    return this.add(state, pinned.repository === false ? undefined : opening.cwd);
  }

  /**
   * Adds a second provider to a session: the Python package registers the same hook once for each provider. The session
   * gets the destinations of that provider, and its whole journal is sent there. This happens once per provider,
   * because a session keeps its destinations.
   */
  addProvider(session: SessionInRound, opening: Opening, fragment: Fragment): void {
    const { state } = session;
    const { pinned } = state;
    const { provider } = fragment.header;
    if (provider === undefined || pinned.providers?.includes(provider)) return;
    const named = this.pinned(opening, fragment).pinned.destinations;
    const added = named.filter(id => !pinned.destinations.includes(id));
    pinned.providers = [...(pinned.providers ?? []), provider];
    pinned.destinations = [...pinned.destinations, ...added];
    if (added.length === 0) return;
    // The session has a destination now. If it stayed undecided, the same output would be sent twice.
    delete pinned.undecided;
    this.catchUp(state, added);
  }

  private stateOf(key: string): SessionState | undefined {
    return this.sessions.get(key)?.state ?? recalled(this.store, key);
  }

  private add(state: SessionState, newFolder?: string): SessionInRound {
    if (state.pinned.undecided) this.decide(state, state.pinned.undecided);
    const session = new SessionInRound(state, this.context, newFolder);
    this.sessions.set(state.key, session);
    return session;
  }

  private pinned(opening: Parameters<typeof pin>[0], fragment: Parameters<typeof pin>[1], wasUndecided?: boolean): Pin {
    const made = pin(opening, fragment, this.world, wasUndecided);
    this.problems.push(...made.problems);
    this.pinnings.push({
      from: keyedHash(this.world.hashKey, opening.cwd ?? '').slice(0, 16),
      problems: made.problems,
    });
    for (const destination of made.destinations) {
      if (this.admits(destination.id))
        this.documents.write(documents.destinations.of(destination.id), { ...destination, pinnedMs: this.world.nowMs });
      else this.problems.push({ code: 'destinations-full', endpoint: destination.endpoint, most: MOST_DESTINATIONS });
    }
    const { pinned } = made;
    const destinations = pinned.destinations.filter(id => this.remembered?.has(id) === true);
    if (destinations.length === pinned.destinations.length) return made;
    // A session without any destination stays undecided until the limit of destinations has room for one.
    const isUserTold = opening.user === undefined ? undefined : (true as const);
    const undecided = { cwd: opening.cwd, header: fragment.header, isUserTold };
    return { ...made, pinned: { ...pinned, destinations, ...(destinations.length === 0 ? { undecided } : {}) } };
  }

  private admits(id: string): boolean {
    this.remembered ??= new Set(this.store.idsOf(documents.destinations));
    if (this.remembered.size < MOST_DESTINATIONS) this.remembered.add(id);
    return this.remembered.has(id);
  }

  /** Pins an undecided session once the configuration can be read. It continues as if it had begun with it. */
  private decide(state: SessionState, { cwd, header, isUserTold }: NonNullable<Pinned['undecided']>): void {
    const { providers } = state.pinned;
    const original = providers === undefined ? header : { ...header, provider: providers.join(',') };
    // The user of the first event was not stored, and the present user of this machine may be a different one.
    const opening = { agent: { id: state.agent }, cwd, user: isUserTold && '' };
    const made = this.pinned(opening, { header: original }, true);
    const { pinned } = made;
    if (pinned.undecided) return;
    this.isDecided = true;
    countSilenced(this.counts, made);
    state.pinned = { ...pinned, ...(providers === undefined ? {} : { providers }) };
    if (pinned.repository === false) delete state.repository;
    // The fold runs again, because the shape of traces and the setting of the repository change its state.
    for (const { state: before } of outputOfJournal(this.store, state, [])) state.fold = before.fold;
    this.catchUp(state, pinned.destinations);
  }

  private catchUp(state: SessionState, destinations: string[]): void {
    for (const output of outputOfJournal(this.store, state, destinations)) {
      const { bodies, tallies } = outgoingOf([output], this.documents, this.world.nowMs);
      this.earlier.bodies.push(...bodies);
      this.earlier.tallies.push(...tallies);
    }
  }
}
