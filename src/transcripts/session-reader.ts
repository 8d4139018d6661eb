/**
 * A session and its transcripts: what they tell becomes events beside those of the hooks, and what was closed settles.
 *
 * A span settles as `read` when the transcript has told it to its end; as `timeout` when the wait for that is over, and
 * its sums say that they are not whole; as `absent` when there is no transcript. The round journals which, so that a
 * journal read again settles at the same place.
 */
import { dirname } from 'node:path';
import { type Agent, isAbsent, type Told, type Transcript, type TranscriptFile } from '../agents/contract/contract.ts';
import { AMENDED, awaited, isAmendable } from '../assemble/assemble.ts';
import type { FinishedSpan } from '../assemble/finished.ts';
import { type Event, SETTLED } from '../event/event.ts';
import type { Judge, Keep, PriceOf } from '../identify/enrichers.ts';
import { idElsewhere, idsIn } from '../identify/event-ids.ts';
import { amend, conclude } from '../identify/identify.ts';
import { tellTranscript } from '../receive/drain.ts';
import {
  noTranscripts,
  SEEN_IDS,
  type SessionState,
  sessionKey,
  type TranscriptState,
} from '../session/session-state.ts';
import type { Eyes } from './eyes.ts';
import { type Followed, type Following, follow, type Origin, rest } from './read-on.ts';
import { sentBefore } from './sent-before.ts';

export interface TranscriptWorld {
  eyes: Eyes;
  home: string;
  env: Readonly<Record<string, string | undefined>>;
  hash: (content: string) => string;
  risk?: Judge | undefined;
  price?: PriceOf | undefined;
  keep?: Keep | undefined;
  nowMs: number;
  /** How long a closed span waits for its transcript. */
  waits: Waits;
  /** What one round may read; changed in place. */
  budget: { bytes: number };
  /** Where the Python package of this name may have noted what it sent. */
  formerStates?: readonly string[] | undefined;
  /** The committed journal of the session: its ids are asked for where a file is read once more. */
  journal(key: string): string | undefined;
  /** Whose file begins with this row; it is this session's from now on if it was nobody's. */
  owner(agent: string, origin: string, of: Kin): Kin;
  /** Was anything told of this session, or is it about to be? */
  knows(key: string): boolean;
}

export interface Kin {
  key: string;
  session: string;
}

export interface Waits {
  turnMs: number;
  subagentMs: number;
}

/** A stale tail is waited for so long. */
export const patient: Waits = { turnMs: 10_000, subagentMs: 60_000 };
/** A person waits: what is there now is all. */
export const impatient: Waits = { turnMs: 0, subagentMs: 0 };

/** A hook may be told that much later than one that began after it. */
const OVERTAKEN_MS = 2_000;

/** What one session's reading yields, counted where it happens. */
export interface TranscriptBooks {
  read: number;
  journaled: number;
  duplicate: number;
  odd: { [kind: string]: number };
}

export interface SessionReader {
  /** Up to a moment. */
  read(untilMs: number): Followed;
  /** Settles what was closed, as far as it is read, or waited for long enough. `isOver`: nothing more will come. */
  settle(followed: Followed, isOver?: boolean): void;
  /** Nothing more will come: what still waits for further rows is told. */
  finish(): void;
}

export function readerOf(
  state: SessionState,
  agent: Agent,
  world: TranscriptWorld,
  emit: (event: Event) => void,
  books: TranscriptBooks,
  /** A row was passed over because it failed. */
  failed: () => void = () => undefined,
): SessionReader | undefined {
  const { transcript } = agent;
  if (isAbsent(transcript)) return undefined;
  state.transcripts ??= noTranscripts();
  const transcripts = state.transcripts;
  let journaled: Set<string> | undefined;
  const journaledIds = (): Set<string> => {
    journaled ??= idsIn(world.journal(state.key) ?? '');
    return journaled;
  };
  let kinIds: Set<string> | undefined;
  const known = new Map<string, boolean>();
  const isKnown = (session: string): boolean => {
    const answer = known.get(session) ?? world.knows(sessionKey(agent.id, session));
    known.set(session, answer);
    return answer;
  };
  const following = (untilMs: number): Following => ({
    transcript,
    state: transcripts,
    session: state.session,
    home: world.home,
    env: world.env,
    eyes: world.eyes,
    hash: world.hash,
    untilMs,
    keepsResults: (state.pinned.content?.modes.results ?? 'off') !== 'off',
    budget: world.budget,
    begin: path => sentBefore(world.eyes, world.formerStates ?? [], state.session, path),
    tell: (told, from) => hear(told, from),
    origin(id) {
      const owner = world.owner(agent.id, id, { key: state.key, session: state.session });
      if (owner.key !== state.key) transcripts.kin = owner;
    },
    odd(kind) {
      odd(`transcript_${kind}`);
      if (kind === 'row_failed' || kind === 'reader_failed') failed();
    },
  });
  const odd = (kind: string): void => {
    books.odd[kind] = (books.odd[kind] ?? 0) + 1;
  };
  /** When its fate is known: what fails before has none. */
  const book = (fate: 'journaled' | 'duplicate'): void => {
    books.read += 1;
    books[fate] += 1;
  };

  function hear(told: Told, from: Origin): void {
    if ('over' in told) {
      noteOver(
        transcripts,
        told.over,
        told.id ?? (told.over === 'subagent' ? from.subagent : undefined),
        told.atMs ?? from.atMs,
      );
      return;
    }
    if (told.copyOf !== undefined && isKnown(told.copyOf)) {
      book('duplicate');
      return;
    }
    const { subagent = from.subagent, atMs = from.atMs } = told;
    const reading = subagent === told.subagent && atMs === told.atMs ? told : { ...told, subagent, atMs };
    const { kin } = transcripts;
    if (kin !== undefined) {
      kinIds ??= idsIn(world.journal(kin.key) ?? '');
      if (kinIds.has(idElsewhere(state.agent, kin.session, reading))) {
        book('duplicate');
        return;
      }
    }
    const isOld = from.isAgain && state.seq > SEEN_IDS;
    const outcome = tellTranscript(state, reading, {
      atMs: world.nowMs,
      version: from.version,
      hash: world.hash,
      risk: world.risk,
      price: world.price,
      keep: world.keep,
      odd,
      journaled: isOld ? journaledIds() : undefined,
    });
    if ('events' in outcome) {
      const [event, ...further] = outcome.events;
      if (event !== undefined) emit(event);
      book('journaled');
      for (const each of further) emit(each);
      return;
    }
    book('duplicate');
    const call = reading.facts?.call;
    const isAction = reading.event_type === 'Action.Before' || reading.event_type === 'Action.After';
    if (!isAction || call === undefined || reading.unless !== undefined || !isAmendable(state.fold, call)) return;
    const amended = amend(state, reading, outcome.known, AMENDED);
    if (amended) emit(amended);
  }

  const flush = (fits: (file: TranscriptFile) => boolean): void => rest(following(world.nowMs), fits);

  return {
    read: untilMs => follow(following(untilMs)),
    finish: () => flush(() => true),
    settle(followed, isOver = false) {
      const verdicts = verdictsOn(state, transcript, followed, world, isOver);
      if (verdicts.length === 0) return;
      const isQuiet = isOver || world.nowMs - followed.writtenMs > patient.turnMs;
      const ends = new Set(verdicts.filter(each => each.reason !== 'absent').map(each => each.kind));
      if (ends.has('session') || (isQuiet && verdicts.some(each => each.reason === 'timeout'))) flush(() => true);
      for (const { of, reason, kind } of verdicts) {
        delete transcripts.waits[of];
        if (reason === 'timeout') transcripts.tooLate = true;
        if (kind === 'session') transcripts.tooLate = undefined;
        emit(conclude(state, { event_type: SETTLED, data: { of, reason } }, of, state.fold.lastMs || world.nowMs));
      }
    },
  };
}

const MOST_OVER = 128;

function noteOver(transcripts: TranscriptState, over: string, id: string | undefined, atMs: number | undefined): void {
  const what = `${over}:${id ?? ''}`;
  const at = transcripts.over.findIndex(([known]) => known === what);
  if (at >= 0) transcripts.over.splice(at, 1);
  transcripts.over.push([what, atMs ?? Number.MAX_SAFE_INTEGER]);
  if (transcripts.over.length > MOST_OVER) transcripts.over.shift();
}

type Reason = 'read' | 'timeout' | 'absent';
interface Verdict {
  of: string;
  kind: FinishedSpan['kind'];
  reason: Reason;
}

/** What settles now, in the order in which it was closed. */
function verdictsOn(
  state: SessionState,
  transcript: Transcript,
  followed: Followed,
  world: TranscriptWorld,
  isOver: boolean,
): Verdict[] {
  const transcripts = state.transcripts ?? noTranscripts();
  const held = awaited(state.fold);
  for (const of of Object.keys(transcripts.waits)) {
    if (!held.some(each => each.of === of)) delete transcripts.waits[of];
  }
  if (followed.isMore) return [];
  const isNowhere = !followed.isThere && isHopeless(state, transcript, world);
  for (const { of } of held) transcripts.waits[of] ??= world.nowMs;
  const waitedMs = (of: string): number => waited(transcripts, of, world.nowMs);
  // Only hooks could say more, and not for long.
  const isFresh = held.some(
    ({ of, span }) => isWordless(span) && waitedMs(of) < Math.min(OVERTAKEN_MS, world.waits.turnMs),
  );
  if (isNowhere && isFresh && !isOver) return [];
  const verdicts: Verdict[] = [];
  // From the last to be closed: an action is told, or never will be, when what held it is: its subagent, else its turn.
  const after = new Map<string | undefined, Reason | undefined>();
  let isHeldBack = false;
  for (const { of, span } of held.toReversed()) {
    const waitMs = span.kind === 'subagent' ? world.waits.subagentMs : world.waits.turnMs;
    const isDue = isOver || waitedMs(of) >= waitMs;
    let reason: Reason | undefined;
    if (isNowhere) reason = 'absent';
    else if (span.kind === 'session') continue;
    else if (span.kind === 'action') reason = after.get(after.has(span.subagent) ? span.subagent : undefined);
    else if (isTold(transcripts, span)) reason = 'read';
    if (reason === undefined && isDue) reason = followed.isThere ? (isOver ? 'read' : 'timeout') : 'absent';
    if (reason === undefined) isHeldBack = true;
    else verdicts.unshift({ of, kind: span.kind, reason });
    if (span.kind === 'turn') after.set(undefined, reason);
    if (span.kind === 'subagent') after.set(span.id, reason);
  }
  if (isNowhere || isHeldBack) return verdicts;
  const isLate = transcripts.tooLate === true || verdicts.some(each => each.reason === 'timeout');
  const sessions = held.filter(({ span }) => span.kind === 'session');
  const reason = followed.isThere
    ? isLate
      ? 'timeout'
      : 'read'
    : isPast(sessions, transcripts, world) || isOver
      ? 'absent'
      : undefined;
  if (reason !== undefined) for (const { of } of sessions) verdicts.push({ of, kind: 'session', reason });
  return verdicts;
}

/** Closed by what came after it, without word of how it ended. */
const isWordless = (span: FinishedSpan): boolean =>
  (span.kind === 'turn' && span.outcome === 'unfinished') ||
  (span.kind === 'action' &&
    (span.outcome === 'abandoned' || (span.outcome === 'denied' && span.decision?.basis === 'inferred')));

/** Where not even the folder is, nobody is about to write a file. */
const isHopeless = (state: SessionState, transcript: Transcript, world: TranscriptWorld): boolean =>
  transcript.files(placeOf(state, world), world.eyes).every(({ path }) => !world.eyes.isFolder(dirname(path)));

function isPast(sessions: readonly { of: string }[], transcripts: TranscriptState, world: TranscriptWorld): boolean {
  for (const { of } of sessions) transcripts.waits[of] ??= world.nowMs;
  return sessions.every(({ of }) => waited(transcripts, of, world.nowMs) >= world.waits.turnMs);
}

/** A clock that was set back keeps nothing waiting until it is there again. */
const waited = ({ waits }: TranscriptState, of: string, nowMs: number): number =>
  Math.abs(nowMs - (waits[of] ?? nowMs));

const placeOf = (state: SessionState, { home, env }: TranscriptWorld) => ({
  session: state.session,
  cwd: state.transcripts?.cwd,
  home,
  env,
  main: state.transcripts?.main,
  subagents: state.transcripts?.subagents ?? [],
});

/** Was an end of it told that lies within it? Ends of former parts of the same turn lie before. */
function isTold(transcripts: TranscriptState, span: FinishedSpan): boolean {
  const what =
    span.kind === 'turn' ? `turn:${span.turn}` : span.kind === 'subagent' ? `subagent:${span.id}` : undefined;
  return transcripts.over.some(
    ([known, atMs]) => atMs >= span.startMs && (known === what || (span.kind === 'turn' && known === 'turn:')),
  );
}

/** Who owns which first row, kept in a document for each agent; what a round adds goes with the round. */
export function ownersIn(document: (name: string) => unknown) {
  const changed = new Map<string, Owners>();
  const nameOf = (agent: string): string => `origins-${agent}`;
  return {
    owner(agent: string, origin: string, of: Kin): Kin {
      const name = nameOf(agent);
      const owners = changed.get(name) ?? ((document(name) ?? {}) as Owners);
      const short = origin.slice(0, 64);
      const known = Object.hasOwn(owners, short) ? owners[short] : undefined;
      if (known) return { key: known[0], session: known[1] };
      const kept = [...Object.entries(owners), [short, [of.key, of.session]] as const].slice(-MOST_ORIGINS);
      changed.set(name, Object.fromEntries(kept));
      return of;
    },
    documents: () => [...changed].map(([name, value]) => ({ name, value: value as unknown })),
  };
}

type Owners = { readonly [origin: string]: readonly [key: string, session: string] };
const MOST_ORIGINS = 4_096;
