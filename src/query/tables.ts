/** The tables of `otel-hooks query`: their columns, and their rows from the index and the journals. */
import type { ActionSpan, ChatSpan, FinishedSpan, Sums, TurnSpan } from '../assemble/finished.ts';
import { type Event, factsOf } from '../event/event.ts';
import { replay } from '../journal/replay.ts';
import { countsOf, type IndexedSession, sessionIndex } from '../journal/session-index.ts';
import { namedCounts } from '../journal/span-counts.ts';
import { localDay } from '../lib/local-day.ts';
import type { Store } from '../store/store.ts';
import { isTrial } from '../view/trial-sessions.ts';

export type Value = string | number | undefined;

interface Column<T> {
  name: string;
  type: 'TEXT' | 'INTEGER' | 'REAL';
  about: string;
  of(row: T): Value;
}

export interface Table {
  name: string;
  about: string;
  columns: readonly Omit<Column<never>, 'of'>[];
}

interface InSession<T> {
  entry: IndexedSession;
  of: T;
}

const iso = (ms: number | undefined): string | undefined => (ms === undefined ? undefined : new Date(ms).toISOString());
const yes = (value: boolean): number => (value ? 1 : 0);
const usd = (value: number | undefined): number | undefined =>
  value === undefined ? undefined : Number(value.toFixed(6));

const text = <T>(name: string, about: string, of: (row: T) => string | undefined): Column<T> => ({
  name,
  type: 'TEXT',
  about,
  of,
});
const whole = <T>(name: string, about: string, of: (row: T) => number | undefined): Column<T> => ({
  name,
  type: 'INTEGER',
  about,
  of,
});
const real = <T>(name: string, about: string, of: (row: T) => number | undefined): Column<T> => ({
  name,
  type: 'REAL',
  about,
  of,
});

const spanTimes = <T extends FinishedSpan>(): Column<InSession<T>>[] => [
  text('session', 'id of the session', ({ entry }) => entry.session),
  text('start', 'when it began (UTC)', ({ of }) => iso(of.startMs)),
  text('end', 'when it ended (UTC)', ({ of }) => iso(of.endMs)),
  text('day', 'the local day on which it began', ({ of }) => localDay(of.startMs)),
  whole('duration_ms', 'its length', ({ of }) => Math.round(of.endMs - of.startMs)),
];

const tokens = <T>(usageOf: (row: T) => Partial<Sums>): Column<T>[] => [
  whole('input_tokens', 'tokens of input, caches included', row => usageOf(row).input),
  whole('output_tokens', 'tokens of output, reasoning included', row => usageOf(row).output),
  whole('cache_read_tokens', 'input from a cache', row => usageOf(row).cacheRead),
  whole('cache_write_tokens', 'input written to a cache', row => usageOf(row).cacheWrite),
  whole('reasoning_tokens', 'output of reasoning', row => usageOf(row).reasoning),
  real('cost_usd', 'cost by price lists', row => usd(usageOf(row).pricedUsd)),
  whole('unpriced_tokens', 'tokens without a price', row => usageOf(row).unpricedTokens),
  real('stated_cost_usd', 'cost as the agent states it', row => usd(usageOf(row).costUsd)),
];

type SessionRow = IndexedSession & ReturnType<typeof namedCounts> & { subagents: number; wait_ms: number };

const sessions: Column<SessionRow>[] = [
  text('session', 'id of the session', row => row.session),
  text('agent', 'id of the agent', row => row.agent),
  text('state', 'running, ended or aborted', row => row.state),
  text('start', 'time of the first event (UTC)', row => iso(row.firstMs)),
  text('end', 'time of the last event (UTC)', row => iso(row.lastMs)),
  text('day', 'the local day on which it began', row => localDay(row.firstMs)),
  whole('duration_ms', 'from the first to the last event', row => row.lastMs - row.firstMs),
  text('repository', 'owner/name', row => row.repository),
  text('branch', 'the branch', row => row.branch),
  text('model', 'the model of the last response', row => row.models[0]),
  text('models', 'all models, with commas', row => row.models.join(',') || undefined),
  text('project', 'the working folder, if the configuration keeps it', row => row.cwd),
  text('risk', 'the highest risk: low, medium, high or critical', row => row.risk),
  ...(
    [
      ['turns', 'turns'],
      ['actions', 'actions'],
      ['failed', 'failed actions'],
      ['denied', 'denied actions'],
      ['asked', 'actions about which a person was asked'],
      ['risky', 'actions of high or critical risk'],
      ['loops', 'detected loops'],
      ['subagents', 'subagents'],
      ['responses', 'responses of models'],
      ['failed_responses', 'requests to models that failed'],
      ['failed_turns', 'turns that ended with an error'],
      ['wait_ms', 'time in which actions waited for a person'],
      ['input_tokens', 'tokens of input, caches included'],
      ['output_tokens', 'tokens of output, reasoning included'],
      ['cache_read_tokens', 'input from a cache'],
      ['cache_write_tokens', 'input written to a cache'],
      ['reasoning_tokens', 'output of reasoning'],
      ['unpriced_tokens', 'tokens without a price'],
    ] as const
  ).map(([name, about]) => whole<SessionRow>(name, about, row => row[name])),
  real('cost_usd', 'cost by price lists', row => row.cost_usd),
  real('stated_cost_usd', 'cost as the agent states it', row => row.stated_cost_usd),
];

const turns: Column<InSession<TurnSpan>>[] = [
  ...spanTimes<TurnSpan>(),
  text('turn', 'id of the turn', ({ of }) => of.turn),
  whole('number', 'its number in its segment, from 1', ({ of }) => of.number),
  text('outcome', 'completed, failed, denied, interrupted, continued or unfinished', ({ of }) => of.outcome),
  text('error', 'kind of error', ({ of }) => of.errorType),
  whole('prompt_length', 'characters of its prompt', ({ of }) => of.promptLength),
  whole('actions', 'actions', ({ of }) => of.actions),
  whole('failed', 'failed actions', ({ of }) => of.failed),
  whole('denied', 'denied actions', ({ of }) => of.denied),
  whole('retries', 'retried actions', ({ of }) => of.retries),
  whole('wait_ms', 'time in which it waited for a person', ({ of }) => of.waitMs),
  text('loop', 'detected or aborted', ({ of }) => of.loop),
  text('budget', 'warning or exceeded', ({ of }) => of.budget),
  text('risk', 'its highest risk', ({ of }) => of.risk?.level),
  ...tokens<InSession<TurnSpan>>(({ of }) => of.usage),
];

const responses: Column<InSession<ChatSpan>>[] = [
  ...spanTimes<ChatSpan>(),
  text('response', 'id of the response', ({ of }) => of.response),
  text('model', 'the model', ({ of }) => of.model),
  text('provider', 'the provider of the model', ({ of }) => of.provider),
  text('subagent', 'kind of the subagent; empty for the main agent', ({ of }) => subagentOf(of)),
  text('finish', 'why it ended, in the words of the provider', ({ of }) => of.finish),
  text('error', 'kind of error', ({ of }) => of.errorType),
  whole('retries', 'retries of the request', ({ of }) => of.retries),
  ...tokens<InSession<ChatSpan>>(({ of }) => of as Partial<Sums>),
];

const subagentOf = ({ subagent, agent }: ActionSpan | ChatSpan): string | undefined =>
  subagent === undefined ? undefined : (agent ?? 'unknown');

const actions: Column<InSession<ActionSpan>>[] = [
  ...spanTimes<ActionSpan>(),
  text('call', 'id of the call', ({ of }) => of.call),
  text('tool', "the agent's name of the action, such as Bash", ({ of }) => of.tool),
  text('name', 'its name in Agent Hooks, such as bash.execute', ({ of }) => of.name),
  text('executable', 'the program of a shell command', ({ of }) => of.executable),
  text('mcp_server', 'the MCP server', ({ of }) => of.mcpServer),
  text('subagent', 'kind of the subagent; empty for the main agent', ({ of }) => subagentOf(of)),
  text('outcome', 'success, failure, denied, interrupted, abandoned or unknown', ({ of }) => of.outcome),
  text('error', 'kind of error', ({ of }) => of.errorType),
  whole('failed', '1 if it failed', ({ of }) => yes(of.errorType !== undefined)),
  whole('exit_code', 'exit code of a program', ({ of }) => of.exitCode),
  whole('attempt', 'number of the attempt, if it was retried', ({ of }) => of.attempt),
  text('decision', 'allow, deny or ask', ({ of }) => of.decision?.outcome),
  text(
    'decided_by',
    'config, hook, user, classifier, mode, policy, sandbox or unknown',
    ({ of }) => of.decision?.source,
  ),
  whole('wait_ms', 'time in which it waited for a person', ({ of }) => of.waitMs),
  text('risk', 'low, medium, high or critical', ({ of }) => of.risk?.level),
  whole('risk_score', 'from 0 to 100', ({ of }) => of.risk?.score),
  text('risk_factors', 'the reasons, with commas', ({ of }) => of.risk?.factors?.join(',')),
];

type DecidedSpan = ActionSpan | TurnSpan;

const decisions: Column<InSession<DecidedSpan>>[] = [
  ...spanTimes<DecidedSpan>().slice(0, 2),
  text('day', 'the local day', ({ of }) => localDay(of.startMs)),
  text('tool', 'the action; empty for a prompt', ({ of }) => (of.kind === 'action' ? of.tool : undefined)),
  text('executable', 'the program of a shell command', ({ of }) => (of.kind === 'action' ? of.executable : undefined)),
  text('outcome', 'allow, deny or ask', ({ of }) => of.decision?.outcome),
  text('source', 'config, hook, user, classifier, mode, policy, sandbox or unknown', ({ of }) => of.decision?.source),
  text('basis', 'observed or inferred', ({ of }) => of.decision?.basis),
  text('reason', 'kind of the stated reason', ({ of }) => of.decision?.reason),
  text('scope', 'the settings that hold the rule', ({ of }) => of.decision?.scope),
  text('lasts', 'once, session, always or other', ({ of }) => of.decision?.grant),
  whole('wait_ms', 'time until the answer of a person', ({ of }) => of.waitMs),
  text('risk', 'low, medium, high or critical', ({ of }) => of.risk?.level),
];

const events: Column<InSession<Event>>[] = [
  text('session', 'id of the session', ({ entry }) => entry.session),
  whole('seq', 'position in the journal, from 1', ({ of }) => factsOf(of)?.seq),
  text('at', 'its time (UTC)', ({ of }) => of.timestamp),
  text('day', 'the local day', ({ of }) => localDay(Date.parse(of.timestamp))),
  text('type', 'type of the event, such as Action.After', ({ of }) => of.event_type),
  text('subagent', 'kind of the subagent; empty for the main agent', ({ of }) =>
    of.parent_session_id === undefined ? undefined : (factsOf(of)?.agent ?? 'unknown'),
  ),
  text('tool', 'the action', ({ of }) => factsOf(of)?.tool),
  text('risk', 'low, medium, high or critical', ({ of }) => of.risk?.level),
  text('json', 'the whole event; read it with json_extract(json, path)', ({ of }) => JSON.stringify(of)),
];

export const tables: readonly Table[] = [
  { name: 'sessions', about: 'recorded sessions', columns: sessions },
  { name: 'turns', about: 'prompts up to their answers', columns: turns },
  { name: 'responses', about: 'responses of models', columns: responses },
  { name: 'actions', about: 'uses of tools', columns: actions },
  { name: 'decisions', about: 'decisions about actions and prompts', columns: decisions },
  { name: 'events', about: 'lines of the journals', columns: events },
];

/** Takes a row of a table, in the order of its columns. */
export type Take = (table: string, row: Value[]) => void;

/**
 * Gives the rows of the wanted tables of all sessions with events since then, one session after the other. Journals are
 * read only if a table other than `sessions` is wanted. `withJson`: whether the JSON of events is
 * needed, which is large.
 */
export function readRows(
  store: Store,
  { wanted, sinceMs, withJson }: { wanted: ReadonlySet<string>; sinceMs: number; withJson: boolean },
  take: Take,
): void {
  const isOnlySessions = [...wanted].every(name => name === 'sessions');
  const eventColumns = withJson
    ? events
    : events.map(each => (each.name === 'json' ? { ...each, of: () => undefined } : each));
  const put: Put = (table, columns, row) => {
    if (wanted.has(table))
      take(
        table,
        columns.map(column => column.of(row)),
      );
  };
  for (const [key, entry] of sessionIndex(store)) {
    if (entry.lastMs < sinceMs || isTrial(entry.session)) continue;
    const counts = countsOf(entry);
    put('sessions', sessions, {
      ...entry,
      ...namedCounts(counts),
      subagents: counts.subagents,
      wait_ms: counts.waitMs,
    });
    if (isOnlySessions) continue;
    const replayed = replay(store.journal(key) ?? '');
    if (replayed === undefined) continue;
    for (const span of [...replayed.finished, ...replayed.open.map(withoutEnd)]) putSpan(span, entry, put);
    if (wanted.has('events')) for (const event of replayed.events) put('events', eventColumns, { entry, of: event });
  }
}

type Put = <T>(table: string, columns: readonly Column<T>[], row: T) => void;

function putSpan(span: FinishedSpan, entry: IndexedSession, put: Put): void {
  if (span.kind === 'turn') put('turns', turns, { entry, of: span });
  if (span.kind === 'chat') put('responses', responses, { entry, of: span });
  if (span.kind === 'action') put('actions', actions, { entry, of: span });
  if ((span.kind === 'action' || span.kind === 'turn') && span.decision !== undefined)
    put('decisions', decisions, { entry, of: span });
}

/** An action that still runs has neither failed nor an outcome. */
const withoutEnd = (span: FinishedSpan): FinishedSpan =>
  span.kind === 'action' && span.outcome === 'abandoned' ? { ...span, errorType: undefined, outcome: 'unknown' } : span;
