/**
 * Detects states that only several events together show: retries, loops, how full the context is, and budgets that are
 * nearly used up. The results are events, so that they are journaled, exported and replayed like all others.
 * docs/loops-and-budgets.md has the rules for users.
 *
 * The functions are deterministic: they take an event and the memory, change the memory in place and return the new
 * events. The memory is bounded. Each event arrives once, whichever source reported it first, so no result is repeated,
 * and the size of a round has no effect.
 */
import {
  type ActionResult,
  type Body,
  type BudgetFacts,
  type DataOf,
  type Event,
  FACTS,
  type Facts,
  factsOf,
  isVendor,
  type ModelCall,
  type Risk,
} from '../event/event.ts';
import { msOf, timestampOf } from '../lib/timestamp.ts';
import { ALTERNATIONS, type Swing, swung } from './alternation.ts';
import type { Begun as BegunCompaction } from './compactions.ts';
import { levelOf } from './risk/risk.ts';
import { budgetReached, contextCrossed, EXCEEDED, type Reached, WARNING } from './thresholds.ts';

/** Hashes that show whether two actions, and their results, are equal; the event may have no content. */
export interface Alike {
  input?: string | undefined;
  /** The signature of a failure's error, else the output. Undefined: unknown whether two results are equal. */
  result?: string | undefined;
}

export interface WatchSettings {
  loops?: { failing: number; unchanged: number; minutes: number } | undefined;
  budget?: Budget | undefined;
}

export interface Budget {
  sessionTokens?: number | undefined;
  turnTokens?: number | undefined;
  sessionUsd?: number | undefined;
  turnUsd?: number | undefined;
}

/** The memory of one session, as JSON. Absent parts are empty. */
export interface Watch {
  runs: Run[];
  /** Running calls, and the action of each. */
  open: [call: string, like: string, begun?: Begun][];
  circling: Circle[];
  swings?: Swing[] | undefined;
  /** Failures in sequence of actions with unknown input. */
  blind?: BlindRun[] | undefined;
  compacting?: BegunCompaction[] | undefined;
  /** Thresholds that were reached: of the budget in the envelopes, and of the context window. */
  envelope?: Reached | undefined;
  context?: Reached | undefined;
  spent: Spent;
  /** Costs of the last responses, oldest first. */
  costs?: number[] | undefined;
  turn?: string | undefined;
  turns: [turn: string, spent: Spent][];
  /** The number of consecutive compactions that freed almost no context. */
  idle: number;
  /** Types of events that the agent itself reports for this session. */
  others?: string[] | undefined;
  window?: { limit: number; model?: string | undefined; atMs: number; isFresh: boolean } | undefined;
}

interface Begun {
  ms: number;
  id: string;
  turn?: string | undefined;
  /** It was already reported as a retry. */
  isAgain?: true | undefined;
}

type End = 'ok' | 'failed' | 'denied';

interface Run {
  like: string;
  /** Its last result, and how often in sequence it had this result. */
  result?: string | undefined;
  times: number;
  /** Failures in sequence before those in `ends`. */
  failures: number;
  /** Its last results, oldest first. */
  ends?: [ms: number, how: End][] | undefined;
  firstMs: number;
  lastMs: number;
  tokens: number;
  isTold?: true | undefined;
}

/** The loop of the main agent or of a subagent. */
interface Circle {
  who: string;
  like: string;
  action: string | undefined;
  times: number;
  firstMs: number;
  tokens: number;
}

/** Failures in sequence of one tool whose input is unknown. */
interface BlindRun {
  who: string;
  like: string;
  result: string;
  times: number;
  firstMs: number;
  lastMs: number;
  tokens: number;
}

interface Spent {
  tokens: number;
  usd: number;
  told: { [budget: string]: 'warning' | 'exceeded' };
}

/** A new event; it has the time and place of the event that caused it. */
export interface Noted {
  body: Body;
  /** Distinguishes several new events with the same cause. */
  key: string;
  facts?: Partial<Facts> | undefined;
  risk?: Risk | undefined;
  /** The cause, if it is an earlier event. */
  from?: { id: string; timestamp: string } | undefined;
}

const MOST_RUNS = 64;

const MOST_ENDS = 4;

const MOST_OPEN = 256;

const MOST_CIRCLING = 16;

const MOST_TURNS = 16;

const MOST_BLIND = 8;

const MINUTE_MS = 60_000;

/** If the context is fuller than this after a compaction, the compaction freed almost no context. */
const COMPACTED = 0.9;

const IDLE_COMPACTIONS = 3;

export const noWatch = (): Watch => ({
  runs: [],
  open: [],
  circling: [],
  spent: nothingSpent(),
  turns: [],
  idle: 0,
});

const nothingSpent = (): Spent => ({ tokens: 0, usd: 0, told: {} });

export function noteLoopsAndBudgets(memory: Watch, event: Event, alike: Alike, settings: WatchSettings): Noted[] {
  const noted = concluded(memory, event, alike, settings).filter(
    ({ body }) => !memory.others?.includes(body.event_type),
  );
  memory.envelope ??= [];
  const budget = budgetReached(memory.envelope, event);
  noteCrossings(memory, event, noted);
  return budget === undefined ? noted : [...noted, passed('envelope_tokens', budget)];
}

/** Notes the thresholds of the context window on the event, or on the new event, that states its use. */
function noteCrossings(memory: Watch, event: Event, noted: readonly Noted[]): void {
  memory.context ??= [];
  if (event.event_type === 'Context.UntilCompaction') {
    const crossed = contextCrossed(memory.context, event.session_id, event.data);
    const facts = factsOf(event);
    if (crossed !== undefined && facts !== undefined && event.metadata !== undefined)
      event.metadata[FACTS] = { ...facts, crossed };
  }
  for (const each of noted)
    if (each.body.event_type === 'Context.UntilCompaction') {
      const crossed = contextCrossed(memory.context, event.session_id, each.body.data);
      if (crossed !== undefined) each.facts = { ...each.facts, crossed };
    }
}

function concluded(memory: Watch, event: Event, alike: Alike, settings: WatchSettings): Noted[] {
  if (isVendor(event)) return [];
  const facts: Partial<Facts> = factsOf(event) ?? {};
  const at: At = {
    memory,
    event,
    facts,
    alike,
    atMs: msOf(event.timestamp),
    session: event.session_id,
    settings,
  };
  const isMain = event.parent_session_id === undefined;
  switch (event.event_type) {
    case 'Prompt.Submitted':
      if (isMain) memory.turn = facts.turn ?? event.event_id;
      return [];
    case 'Action.Before': {
      const noted = begun(at, event.data.action.name);
      // A denied action never runs: it has ended.
      return event.data.decision?.outcome === 'deny' ? [...noted, ...ended(at, event.data)] : noted;
    }
    case 'Action.After':
      return ended(at, event.data);
    case 'Agent.Response':
      return facts.interrupted ? aborted(at) : [];
    case 'Context.UntilCompaction':
      rememberWindow(at, event.data.tokens_limit);
      return [];
    case 'Context.Compaction':
      return compacted(at, event.data);
    case 'Model.Responded':
      return [...(isMain ? filled(at, event.data) : []), ...unusual(at), ...spend(at, event.data)];
    case 'Session.End':
    case 'Session.Abort':
      if (isMain) forgetActions(memory);
      return [];
    case 'Retry.Triggered':
      // A retry without an action is a retry of a request to the model; no other event reports it.
      if (event.data.action_name !== undefined) noteOther(memory, event.event_type);
      return [];
    case 'Retry.Loop.Detected':
    case 'Retry.Loop.Aborted':
      noteOther(memory, event.event_type);
      return [];
    default:
      return [];
  }
}

/** The agent's own report of a loop is better than a computed one. */
function noteOther(memory: Watch, type: string): void {
  if (!memory.others?.includes(type)) memory.others = [...(memory.others ?? []), type];
}

interface At {
  memory: Watch;
  event: Event;
  facts: Partial<Facts>;
  alike: Alike;
  atMs: number;
  session: string;
  settings: WatchSettings;
}

/** The key of an action: agent, tool and input. */
const likeOf = ({ session, facts, alike }: At, name: string | undefined): string | undefined =>
  alike.input === undefined ? undefined : [session, facts.tool ?? name ?? '', alike.input].join(' ');

/** Remembers the start of an action. If the same action failed last, this is a retry. */
function begun(at: At, name: string | undefined): Noted[] {
  const { memory, facts, event } = at;
  const like = likeOf(at, name);
  if (like === undefined || at.settings.loops === undefined) return [];
  // A parallel call of the same action may have failed already; its end, which is reported later, decides.
  const isBeside = memory.open.some(([, other, begun]) => other === like && begun?.turn === facts.turn);
  const noted = isBeside ? [] : again(at, like, name, at.atMs);
  const begun = { ms: at.atMs, id: event.event_id, turn: facts.turn, isAgain: noted.length > 0 || undefined };
  memory.open.push([facts.call ?? event.event_id, like, begun]);
  if (memory.open.length > MOST_OPEN) memory.open.shift();
  return noted;
}

/** Returns a retry if the same action failed or was denied when it last ended before that time. */
function again(at: At, like: string, name: string | undefined, beganMs: number): Noted[] {
  const run = runOf(at, like);
  const ends = run?.ends?.filter(([ms]) => ms < beganMs) ?? [];
  const last = ends.at(-1)?.[1];
  if (run === undefined || last === undefined || last === 'ok') return [];
  const success = ends.findLastIndex(([, how]) => how === 'ok');
  const failures = ends.length - 1 - success + (success < 0 ? run.failures : 0);
  const data = { attempt: failures + 1, action_name: name, reason: last };
  return [{ body: { event_type: 'Retry.Triggered', data }, key: 'again' }];
}

/** Hooks of parallel calls can arrive out of order, so this end may show that an earlier reported call is a retry. */
function overtaken(at: At, like: string, name: string | undefined): Noted[] {
  return at.memory.open.flatMap(([call, other, begun]) =>
    other === like ? againLate(at, call, like, name, begun) : [],
  );
}

function againLate(at: At, call: string, like: string, name: string | undefined, begun: Begun | undefined): Noted[] {
  if (begun === undefined || begun.isAgain) return [];
  const { id, ms, turn } = begun;
  const noted = again(at, like, name, ms);
  if (noted.length === 0) return noted;
  begun.isAgain = true;
  const from = { id, timestamp: timestampOf(ms) };
  return noted.map(each => ({ ...each, from, facts: { call, turn } }));
}

/** Remembers an end in the order of time, not in the order of the reports. */
function noteEnd(run: Run, atMs: number, how: End): void {
  const ends = [...(run.ends ?? []), [atMs, how] as [number, End]].sort(([a], [b]) => a - b);
  const oldest = ends.length > MOST_ENDS ? ends.shift() : undefined;
  if (oldest !== undefined) run.failures = oldest[1] === 'ok' ? 0 : run.failures + 1;
  run.ends = ends;
}

const DENIED = 'denied';

/** The start of the result of a success. */
const ENDED = 'ended';

function ended(at: At, { action, decision }: DataOf<'Action.After'>): Noted[] {
  const { memory, facts, event, atMs } = at;
  const { loops } = at.settings;
  if (loops === undefined) return [];
  const call = facts.call ?? event.event_id;
  const [, opened, begun] = memory.open.find(([known]) => known === call) ?? [];
  memory.open = memory.open.filter(([known]) => known !== call);
  const like = opened ?? likeOf(at, action.name);
  if (like === undefined) return endedBlind(at, { action, decision });
  memory.blind = memory.blind?.filter(({ who }) => who !== at.session);
  const noted =
    opened === undefined ? again(at, like, action.name, atMs) : againLate(at, call, like, action.name, begun);
  const isDenied = decision?.outcome === 'deny';
  const isKnown = runOf(at, like) !== undefined;
  if (facts.interrupted || (isDenied && isKnown && circleOf(at) !== undefined)) return [...noted, ...aborted(at)];

  const isFailing = isDenied || action.result?.success === false;
  const result = resultOf(at, action.result, isDenied);
  const isUnchanged = result !== undefined && runOf(at, like)?.result === result;
  const run = runFor(at, like);
  noteEnd(run, atMs, isDenied ? DENIED : isFailing ? 'failed' : 'ok');
  noted.push(...overtaken(at, like, action.name));
  if (isUnchanged) run.times += 1;
  else Object.assign(run, { result, times: 1, firstMs: atMs, tokens: memory.spent.tokens, isTold: undefined });
  run.lastMs = Math.max(run.lastMs, atMs);
  const circle = circleOf(at);
  // Another action, or the same one with another result, ends the loop.
  if (!isUnchanged) memory.circling = memory.circling.filter(each => each !== circle);
  else if (circle?.like === like) circle.times = run.times;

  const swing = alternated(at, like, result);
  const isNew = isUnchanged && isLoop(run, isFailing ? loops.failing : loops.unchanged);
  if (isNew) run.isTold = true;
  // If several actions alternate, only one of them is reported.
  if (circle !== undefined) return noted;
  if (isNew) noted.push(circlesOf(at, run, action.name, isFailing));
  else if (swing !== undefined) noted.push(circlesBetween(at, swing, action.name));
  return noted;
}

/** Reports a loop of one action. The loop continues until another result or action ends it. */
function circlesOf(
  at: At,
  { like, times, firstMs, tokens }: Run,
  action: string | undefined,
  isFailing: boolean,
): Noted {
  const { memory, session: who } = at;
  const found = { who, like, action, times, firstMs, tokens };
  memory.circling = [...memory.circling, found].slice(-MOST_CIRCLING);
  return circles(at, 'Retry.Loop.Detected', found, isFailing ? 65 : 40);
}

/** Returns true for a loop that was not reported yet. */
const isLoop = ({ times, isTold }: Run, enough: number): boolean => enough > 0 && times >= enough && !isTold;

/** Returns the alternation that this end completes. Loops of successes and of failures can be switched off separately. */
function alternated(
  { memory, session, atMs, settings }: At,
  like: string,
  result: string | undefined,
): Swing | undefined {
  const { failing = 0, unchanged = 0, minutes = 0 } = settings.loops ?? {};
  memory.swings ??= [];
  const end = { who: session, like, result, atMs, tokens: memory.spent.tokens };
  const swing = swung(memory.swings, end, minutes * MINUTE_MS);
  return swing !== undefined && (fails(swing) ? failing : unchanged) > 0 ? swing : undefined;
}

const fails = ({ last, before }: Swing): boolean => isFailure(last[1]) || isFailure(before?.[1]);

const isFailure = (result: string | undefined): boolean => result !== undefined && !result.startsWith(ENDED);

/** Reports a loop of two alternating actions. The loop continues until another result or action ends it. */
function circlesBetween(at: At, swing: Swing, action: string | undefined): Noted {
  const { memory, session: who } = at;
  const { firstMs, tokens } = swing;
  const found = { who, like: swing.last[0], action, times: ALTERNATIONS, firstMs, tokens };
  memory.circling = [...memory.circling, found].slice(-MOST_CIRCLING);
  for (const run of memory.runs) if (run.like === swing.last[0] || run.like === swing.before?.[0]) run.isTold = true;
  return circles(at, 'Retry.Loop.Detected', found, fails(swing) ? 65 : 40);
}

/**
 * Some senders state no input of an action. Then failures of the same tool with the same error count as equal, if no
 * other action ends in between. This is less certain, so the risk is medium.
 */
function endedBlind(at: At, { action, decision }: DataOf<'Action.After'>): Noted[] {
  const { memory, facts, session: who, atMs, settings } = at;
  const { failing = 0, minutes = 0 } = settings.loops ?? {};
  const like = [who, facts.tool ?? action.name ?? '', ''].join(' ');
  // Open calls of this tool state their input, so an end without input tells nothing about equality.
  if (facts.interrupted || memory.open.some(([, other]) => other.startsWith(like))) return [];
  const result = resultOf(at, action.result, decision?.outcome === 'deny');
  const former = memory.blind?.find(each => each.who === who);
  memory.blind = memory.blind?.filter(each => each !== former);
  const swing = alternated(at, like, result ?? (action.result?.success ? ENDED : undefined));
  if (swing !== undefined && fails(swing)) return [circlesBetween(at, swing, action.name)];
  if (result === undefined || !isFailure(result)) return [];
  const isSame = former?.like === like && former.result === result && atMs - former.lastMs <= minutes * MINUTE_MS;
  const begun = { who, like, result, times: 0, firstMs: atMs, lastMs: atMs, tokens: memory.spent.tokens };
  const run = isSame ? former : begun;
  run.times += 1;
  run.lastMs = Math.max(run.lastMs, atMs);
  memory.blind = [...(memory.blind ?? []), run].slice(-MOST_BLIND);
  if (failing === 0 || run.times !== failing) return [];
  return [circles(at, 'Retry.Loop.Detected', { ...run, action: action.name }, 40)];
}

/** The text by which two results are compared; undefined for a success with unknown output. */
function resultOf({ facts, alike }: At, result: ActionResult | undefined, isDenied: boolean): string | undefined {
  if (isDenied) return DENIED;
  if (result?.success !== false) return alike.result === undefined ? undefined : `${ENDED} ${alike.result}`;
  const text = alike.result ?? `${result.exit_code ?? facts.exit_code ?? ''} ${facts.error_type ?? ''}`;
  return `failed ${text}`;
}

const circleOf = ({ memory, session }: At): Circle | undefined => memory.circling.find(each => each.who === session);

/** An interrupt or a denial stopped the loop. */
function aborted(at: At): Noted[] {
  const circle = circleOf(at);
  if (circle === undefined || at.atMs < circle.firstMs) return [];
  at.memory.circling = at.memory.circling.filter(each => each !== circle);
  at.memory.runs = at.memory.runs.filter(({ like }) => like !== circle.like);
  return [circles(at, 'Retry.Loop.Aborted', circle, 65)];
}

function circles(
  { memory, atMs }: At,
  event_type: 'Retry.Loop.Detected' | 'Retry.Loop.Aborted',
  circle: Circle,
  score: number,
): Noted {
  const consumed = memory.spent.tokens - circle.tokens;
  const data = {
    iteration_count: circle.times,
    action_name: circle.action,
    // Responses are often reported late: those that are missing are not counted.
    tokens_consumed: consumed > 0 ? consumed : undefined,
    elapsed_ms: atMs > circle.firstMs ? atMs - circle.firstMs : undefined,
  };
  return { body: { event_type, data }, key: 'circle', risk: riskOf(score, 'RETRY_LOOP') };
}

const riskOf = (score: number, factor: string): Risk => ({ score, level: levelOf(score), factors: [factor] });

/** The run of the same action, unless it is too old. */
const runOf = ({ memory, atMs, settings }: At, like: string): Run | undefined =>
  memory.runs.find(run => run.like === like && atMs - run.lastMs <= (settings.loops?.minutes ?? 0) * MINUTE_MS);

function runFor(at: At, like: string): Run {
  const { memory, atMs } = at;
  const known = runOf(at, like);
  const run = known ?? { like, times: 0, failures: 0, firstMs: atMs, lastMs: atMs, tokens: memory.spent.tokens };
  const before = memory.runs.findIndex(each => each.like === like);
  if (before >= 0) memory.runs.splice(before, 1);
  memory.runs.push(run);
  if (memory.runs.length > MOST_RUNS) memory.runs.shift();
  return run;
}

function rememberWindow({ memory, facts, atMs }: At, limit: number | undefined): void {
  const known = limit ?? memory.window?.limit;
  if (known === undefined || !(known > 0)) return;
  memory.window = { limit: known, model: facts.model ?? memory.window?.model, atMs, isFresh: true };
}

/** Returns how full the context is after a response, if the agent has reported its size. */
function filled({ memory, facts, atMs }: At, { model_id, input_tokens: used }: ModelCall): Noted[] {
  const { window } = memory;
  if (window === undefined || used === undefined || facts.sum !== undefined) return [];
  const isKnown = window.isFresh || atMs <= window.atMs;
  window.isFresh = false;
  const model = model_id ?? facts.model;
  const isOther = window.model !== undefined && model !== undefined && window.model !== model;
  if (isKnown || isOther || used < 0 || used > window.limit) return [];
  const data = {
    tokens_used: used,
    tokens_limit: window.limit,
    percentage_used: Math.round((used / window.limit) * 10_000) / 100,
    tokens_remaining: window.limit - used,
  };
  return [{ body: { event_type: 'Context.UntilCompaction', data }, key: 'context', facts: { model } }];
}

function compacted(at: At, { tokens_before: before, tokens_after: after }: DataOf<'Context.Compaction'>): Noted[] {
  const { memory, atMs, settings } = at;
  if (before === undefined || after === undefined || !(before > 0)) return [];
  memory.idle = after >= before * COMPACTED ? memory.idle + 1 : 0;
  if (settings.loops === undefined || memory.idle !== IDLE_COMPACTIONS) return [];
  const circle = {
    who: at.session,
    like: '',
    action: 'compaction',
    times: memory.idle,
    firstMs: atMs,
    tokens: memory.spent.tokens,
  };
  return [circles(at, 'Retry.Loop.Detected', circle, 40)];
}

/** Adds the use of a response to the budgets of its session and its turn. */
function spend({ memory, facts, settings }: At, { input_tokens: input, output_tokens: output }: ModelCall): Noted[] {
  const tokens = atLeastNone(input) + atLeastNone(output);
  const usd = atLeastNone(facts.cost_usd ?? facts.cost?.usd);
  const turn = facts.turn ?? memory.turn;
  const spents: [of: 'session' | 'turn', Spent][] = [['session', memory.spent]];
  if (turn !== undefined && facts.sum !== 'session') spents.push(['turn', spentIn(memory, turn)]);
  const { budget = {} } = settings;
  const noted: Noted[] = [];
  for (const [of, spent] of spents) {
    spent.tokens += tokens;
    spent.usd += usd;
    const limits = {
      tokens: of === 'session' ? budget.sessionTokens : budget.turnTokens,
      usd: of === 'session' ? budget.sessionUsd : budget.turnUsd,
    };
    noted.push(...crossed(of, 'tokens', spent, limits.tokens), ...crossed(of, 'usd', spent, limits.usd));
  }
  return noted;
}

/** An unusual response costs this many times the usual, and at least this amount. */
const UNUSUAL_TIMES = 10;

const UNUSUAL_USD = 1;

const MOST_COSTS = 16;

const LEAST_COSTS = 8;

function unusual({ memory, facts }: At): Noted[] {
  const usd = atLeastNone(facts.cost_usd ?? facts.cost?.usd);
  if (usd === 0 || facts.sum !== undefined) return [];
  const { costs = [] } = memory;
  memory.costs = [...costs, usd].slice(-MOST_COSTS);
  const usual = [...costs].sort((a, b) => a - b)[costs.length >> 1] ?? usd;
  if (costs.length < LEAST_COSTS || usd < UNUSUAL_USD || usd < UNUSUAL_TIMES * usual) return [];
  const data = { policy_name: 'cost', rule: 'response.unusual' };
  return [{ body: { event_type: 'Policy.Violation', data }, key: 'unusual', risk: riskOf(50, 'COST_ANOMALY') }];
}

const atLeastNone = (count: number | undefined): number =>
  count !== undefined && Number.isFinite(count) && count > 0 ? count : 0;

function spentIn(memory: Watch, turn: string): Spent {
  const known = memory.turns.find(([name]) => name === turn);
  if (known !== undefined) return known[1];
  const spent = nothingSpent();
  memory.turns = [...memory.turns, [turn, spent] as [string, Spent]].slice(-MOST_TURNS);
  return spent;
}

/** If one response passes both thresholds, only the higher one. */
function crossed(of: 'session' | 'turn', unit: 'tokens' | 'usd', spent: Spent, limit: number | undefined): Noted[] {
  if (limit === undefined) return [];
  const used = unit === 'usd' ? Math.round(spent.usd * 1e6) / 1e6 : spent.tokens;
  const state = used >= limit * EXCEEDED ? 'exceeded' : used >= limit * WARNING ? 'warning' : undefined;
  const name = `${of}_${unit}`;
  if (state === undefined || spent.told[name] === state || spent.told[name] === 'exceeded') return [];
  spent.told[name] = state;
  return [passed(name, { of, unit, state, used, limit })];
}

/** A loop ends with its session, and the state of a session that is over stays small. */
function forgetActions(memory: Watch): void {
  memory.runs = [];
  memory.circling = [];
  delete memory.swings;
  delete memory.blind;
}

const passed = (name: string, budget: BudgetFacts): Noted => ({
  body: { event_type: 'Policy.Violation', data: { policy_name: 'budget', rule: `${name}.${budget.state}` } },
  key: name,
  facts: { budget },
  risk: budget.state === 'exceeded' ? riskOf(60, 'COST_ANOMALY') : undefined,
});
