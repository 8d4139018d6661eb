/**
 * The files of Cline; both programs rewrite them as a whole. Facts: cline/cline sources of 2026-08-22; checked 2026-11-19.
 *
 *   SDK, CLI    `~/.cline/data/sessions/<id>/<id>.messages.json`: messages with blocks of text, tool_use and
 *               tool_result; a response has its model and its tokens. Subagents have files of their own:
 *               `<agent>.messages.json` beside it, or a folder `<id>__<agent>`. They are read with it, in order of time.
 *   extension   `<global storage of the editor>/saoudrizwan.claude-dev/tasks/<task>/ui_messages.json`,
 *               `~/.cline/data/tasks` without an editor: the content of the panel. An `api_req_started` gets its tokens
 *               later; tokens of subagents are a sum. `task_metadata.json` beside it has the models.
 *
 * The panel states input tokens without cached tokens; the sum of all three is the input. The SDK's count includes the
 * cache; only its first versions counted like the panel.
 */
import { basename, dirname, join } from 'node:path';
import type { Fields } from '../../event/event.ts';
import { fieldsOf, isFields, number, own, text, word } from '../../lib/read.ts';
import type {
  Look,
  Places,
  ReadFile,
  Transcript,
  TranscriptEntry,
  TranscriptFile,
  TranscriptReading,
} from '../contract/contract.ts';
import { errorIn, errorKind, exitCodeIn, hasFailed, isRefused, oneCommand, useOfTool } from './tools.ts';

export const transcript: Transcript = {
  files({ session, home, env, main }, look) {
    if (main !== undefined) return [fileAt(main, look)];
    const folders = storages({ home, env }).map(folder => taskPath(folder, session));
    const found = [sdkPath({ home, env }, session), ...folders].find(path => look.head(path) !== '');
    return found === undefined ? [] : [fileAt(found, look)];
  },
  installed(places, look) {
    const sdk = look.names(sessionsIn(places)).map(id => sdkPath(places, id));
    const tasks = storages(places).flatMap(folder => tasksIn(folder, look));
    return [...sdk, ...tasks].filter(path => look.head(path) !== '').map(path => fileAt(path, look));
  },
  sessions({ path }, { document }) {
    const session =
      /[\\/]([^\\/]+)[\\/]\1\.messages\.json$/.exec(path)?.[1] ??
      /[\\/]([^\\/]+)[\\/]ui_messages\.json$/.exec(path)?.[1] ??
      (path.endsWith(MESSAGES) ? leadIn(fieldsOf(document?.json())) : undefined);
    // A subagent in a separate folder is read with the session that launched it.
    return session === undefined || session.includes(OF_SUBAGENT) ? [] : [{ session }];
  },
  read: {
    format: 'document',
    document(document, file) {
      const value = document.json();
      if (Array.isArray(value)) return taskRows(value, modelsIn(file.companions[0]));
      const { messages } = fieldsOf(value);
      if (!Array.isArray(messages)) return [];
      const card = cardIn(file.companions[0]);
      const subagents = subagentsOf(file, launchesIn(messages));
      return inOrder([...withRunEnd(sessionMessages(messages), card), ...subagents, ...endIn(card)]);
    },
  },
  statesEnd: true,
};

/** Returns the session of the messages, unless they belong to a subagent. */
const leadIn = ({ agent, sessionId, messages }: Fields): string | undefined =>
  agent === 'lead' && Array.isArray(messages) ? word(sessionId) : undefined;

/** The separator between the id of a session and that of its subagent. */
const OF_SUBAGENT = '__';
const MESSAGES = '.messages.json';
const MOST_SUBAGENTS = 256;

function fileAt(path: string, look: Look): TranscriptFile {
  if (!path.endsWith(MESSAGES)) return { path, beside: [path.replace(/ui_messages\.json$/, 'task_metadata.json')] };
  const folder = dirname(path);
  const inside = look.names(folder).filter(name => name.endsWith(MESSAGES) && name !== basename(path));
  const next = look.names(dirname(folder)).filter(name => name.startsWith(basename(folder) + OF_SUBAGENT));
  const subagents = [
    ...inside.map(name => join(folder, name)),
    ...next.map(name => join(dirname(folder), name, name + MESSAGES)),
  ];
  return { path, beside: [cardOf(path), ...subagents.slice(0, MOST_SUBAGENTS)] };
}

/** The state of the session beside its messages. */
const cardOf = (path: string): string => path.replace(/\.messages\.json$/, '.json');

/** Returns undefined for a file that is just being written, and no fields if there is no file. */
function cardIn(bytes: Buffer | undefined): Fields | undefined {
  if (bytes === undefined) return {};
  const card = parsed(bytes.toString('utf8'));
  return Object.keys(card).length === 0 ? undefined : card;
}

/**
 * A run without a person ends with its turn, and only the file beside the messages states the end. So the turn is over
 * at the end of the run: a round that is too early for the end also leaves the turn open.
 */
function withRunEnd(entries: readonly TranscriptEntry[], card: Fields | undefined): TranscriptEntry[] {
  if (card !== undefined && card.interactive !== false) return [...entries];
  const endedMs = timeOf(card?.ended_at);
  const last = entries.findLast(each => 'over' in each);
  return entries.flatMap((each): TranscriptEntry[] => {
    if (!('over' in each)) return [each];
    if (endedMs === undefined) return [];
    return [each === last ? { ...each, atMs: Math.max(endedMs, each.atMs ?? endedMs) } : each];
  });
}

/** The end of a run of the program, which no hook reports unless a signal ended it. */
function endIn({ status, ended_at: ended }: Fields = {}): TranscriptEntry[] {
  const atMs = timeOf(ended);
  if (atMs === undefined || (status !== 'completed' && status !== 'failed')) return [];
  const end_reason = status === 'completed' ? 'exit' : 'error';
  return [
    { event_type: 'Session.End', key: `end:${atMs}`, data: { end_reason }, atMs },
    { over: 'session', atMs },
  ];
}

const dataIn = ({ home, env }: Pick<Places, 'home' | 'env'>): string =>
  env.CLINE_DATA_DIR || join(env.CLINE_DIR || join(home, '.cline'), 'data');
const sessionsIn = (places: Pick<Places, 'home' | 'env'>): string =>
  places.env.CLINE_SESSION_DATA_DIR || join(dataIn(places), 'sessions');
const sdkPath = (places: Pick<Places, 'home' | 'env'>, id: string): string =>
  join(sessionsIn(places), id, id + MESSAGES);
const taskPath = (folder: string, task: string): string => join(folder, 'tasks', task, 'ui_messages.json');
const tasksIn = (folder: string, look: Look): string[] =>
  look.names(join(folder, 'tasks')).map(task => taskPath(folder, task));

const editors = ['Code', 'Code - Insiders', 'VSCodium', 'Cursor', 'Windsurf'];

/** The storage of extensions in editors, and the storage without an editor. */
function storages({ home, env }: Pick<Places, 'home' | 'env'>): string[] {
  const roots = [
    env.XDG_CONFIG_HOME || join(home, '.config'),
    join(home, 'Library', 'Application Support'),
    env.APPDATA || join(home, 'AppData', 'Roaming'),
  ];
  const ofEditors = roots.flatMap(root =>
    editors.map(editor => join(root, editor, 'User', 'globalStorage', 'saoudrizwan.claude-dev')),
  );
  return [...ofEditors, dataIn({ home, env })];
}

// ---------------------------------------------------------------- SDK and CLI

function sessionMessages(messages: readonly unknown[], name = 'message'): TranscriptEntry[] {
  const entries: TranscriptEntry[] = [];
  const calls = new Map<string, { name: string; input: Fields }>();
  const isWhole = messages.every(message => holdsCaches(fieldsOf(fieldsOf(message).metrics)));
  // A request begins when its prompt or the last result of a call is there.
  let askedMs: number | undefined;
  for (const [i, message] of messages.entries()) {
    if (!isFields(message)) continue;
    const key = word(message.id) ?? `${name}-${i}`;
    const atMs = timeOf(message.ts);
    const blocks = Array.isArray(message.content) ? message.content.map(fieldsOf) : [];
    const reply = { blocks, key, atMs, askedMs };
    if (fieldsOf(message.metadata).displayRole === 'error') entries.push(...failed(message, reply));
    else if (message.role === 'assistant') entries.push(...answered(message, reply, calls, isWhole));
    else if (message.role === 'user') entries.push(...asked(message, blocks, key, atMs, calls));
    askedMs = atMs;
  }
  return entries;
}

/**
 * The counts of a session have one form: if one input count is smaller than its cached tokens, none of them includes
 * the cache.
 */
const holdsCaches = ({ inputTokens, cacheReadTokens, cacheWriteTokens }: Fields): boolean =>
  (count(inputTokens) ?? 0) >= (count(cacheReadTokens) ?? 0) + (count(cacheWriteTokens) ?? 0);

/** The calls that launch subagents, by their task: equal tasks are in the order of the calls. */
type Launches = Map<string, string[]>;

function launchesIn(messages: readonly unknown[]): Launches {
  const launches: Launches = new Map();
  for (const message of messages) {
    const { content } = fieldsOf(message);
    for (const { type, id, name, input } of Array.isArray(content) ? content.map(fieldsOf) : []) {
      const task = text(fieldsOf(input).task);
      const call = word(id);
      if (type !== 'tool_use' || name !== 'spawn_agent' || call === undefined || task === undefined) continue;
      launches.set(task, [...(launches.get(task) ?? []), call]);
    }
  }
  return launches;
}

/**
 * Reads the files of subagents. They have the same ids as the hooks; tasks of a team have an additional id. The first
 * message of a subagent is its task, which names the call that launched it.
 */
function subagentsOf({ path, beside = [], companions }: ReadFile, launches: Launches): TranscriptEntry[] {
  const root = basename(path, MESSAGES);
  return beside.flatMap((file, i) => {
    if (!file.endsWith(MESSAGES)) return [];
    const { messages, agent } = parsed(companions[i]?.toString('utf8') ?? '');
    // The file belongs to another session in the same folder.
    if (agent === 'lead') return [];
    const name = basename(file, MESSAGES)
      .replace(root + OF_SUBAGENT, '')
      .replace(`teamtask${OF_SUBAGENT}`, '');
    const [id = ''] = name.split(OF_SUBAGENT);
    if (!Array.isArray(messages) || id === '') return [];
    const { content } = fieldsOf(messages[0]);
    const task = textIn(content, Array.isArray(content) ? content.map(fieldsOf) : []);
    return subagent(id, name, messages, launches.get(task)?.shift());
  });
}

function subagent(
  id: string,
  name: string,
  messages: readonly unknown[],
  launched_by: string | undefined,
): TranscriptEntry[] {
  const entries: TranscriptEntry[] = [];
  for (const each of sessionMessages(messages, name)) {
    if ('over' in each) entries.push({ over: 'subagent', id, atMs: each.atMs });
    else entries.push({ ...each, actor: 'ai_agent', subagent: id, facts: { ...each.facts, launched_by } });
  }
  const [first] = entries;
  if (first === undefined) return [];
  const both = { unless: 'hooked', actor: 'ai_agent', subagent: id } as const;
  const starts: TranscriptEntry = {
    ...both,
    event_type: 'Session.Start',
    key: `start:${name}`,
    data: { start_reason: 'new' },
    atMs: first.atMs,
    facts: { launched_by },
  };
  const last = entries.at(-1);
  if (last === undefined || !('over' in last)) return [starts, ...entries];
  // A subagent ends with its answer.
  const ends: TranscriptEntry = {
    ...both,
    event_type: 'Session.End',
    key: `end:${name}`,
    data: { end_reason: 'completed' },
    atMs: last.atMs,
  };
  return [starts, ...entries, ends];
}

/** Sorts by time. A reading without a time stays after its predecessor. */
function inOrder(entries: readonly TranscriptEntry[]): TranscriptEntry[] {
  let lastMs = 0;
  const timed = entries.map(each => {
    lastMs = each.atMs ?? lastMs;
    return { each, atMs: lastMs };
  });
  return timed.sort((one, other) => one.atMs - other.atMs).map(({ each }) => each);
}

const textIn = (content: unknown, blocks: readonly Fields[]): string =>
  text(content) ?? blocks.flatMap(({ type, text: words }) => (type === 'text' ? (text(words) ?? []) : [])).join('\n');

type Calls = Map<string, { name: string; input: Fields }>;

function asked(
  message: Fields,
  blocks: readonly Fields[],
  key: string,
  atMs: number | undefined,
  calls: Calls,
): TranscriptEntry[] {
  const results = blocks.filter(({ type }) => type === 'tool_result');
  if (results.length > 0) return results.flatMap(block => result(block, atMs, calls));
  return [
    {
      event_type: 'Prompt.Submitted',
      key,
      unless: 'hooked',
      atMs,
      actor: 'user',
      data: { prompt: textIn(message.content, blocks) },
    },
  ];
}

function result(block: Fields, atMs: number | undefined, calls: Calls): TranscriptEntry[] {
  const call = word(block.tool_use_id);
  if (call === undefined) return [];
  const known = calls.get(call);
  const { tool, action, mcp } = useOfTool(known?.name ?? 'unknown', known?.input ?? {});
  const isFailed = block.is_error === true || hasFailed(block.content);
  const refused = block.is_error === true && isRefused(errorIn(block.content));
  const exitCode = exitCodeIn(block.content);
  return [
    {
      event_type: 'Action.After',
      key: call,
      atMs,
      data: {
        action: { name: action, result: refused ? undefined : { success: !isFailed, exit_code: exitCode } },
        decision: refused ? { outcome: 'deny' } : undefined,
      },
      output: block.content,
      facts: {
        call,
        tool,
        mcp,
        error_type: refused ? undefined : errorKind(isFailed, exitCode),
        decision: refused ? { source: 'mode', basis: 'observed' } : undefined,
      },
    },
  ];
}

interface Reply {
  blocks: readonly Fields[];
  key: string;
  atMs: number | undefined;
  askedMs: number | undefined;
}

/** A request that failed for good. */
function failed(message: Fields, { blocks, key, atMs, askedMs }: Reply): TranscriptEntry[] {
  const { id, provider } = fieldsOf(message.modelInfo);
  const error_message = textIn(message.content, blocks);
  const facts = { error_type: 'model_error', model: word(id), provider: word(provider) };
  return [
    {
      event_type: 'Model.Failed',
      key,
      atMs,
      data: { model_id: word(id), error_type: 'model_error', error_message },
      facts: { ...facts, started_ms: askedMs },
    },
    {
      event_type: 'Agent.Error',
      key,
      unless: 'hooked',
      atMs,
      data: { error_type: 'ModelError', error_message, origin_event: 'Model.Failed' },
      facts: { error_type: 'model_error' },
    },
    { over: 'turn', atMs },
  ];
}

function answered(
  message: Fields,
  { blocks, key, atMs, askedMs }: Reply,
  calls: Calls,
  isWhole: boolean,
): TranscriptEntry[] {
  const uses = blocks.filter(({ type, id }) => type === 'tool_use' && word(id) !== undefined);
  const entries: TranscriptEntry[] = [];
  const model = fieldsOf(message.modelInfo);
  const used = fieldsOf(message.metrics);
  if (isFields(message.metrics)) {
    entries.push(
      responded(
        key,
        atMs,
        { model: word(model.id), provider: word(model.provider) },
        {
          input: count(used.inputTokens),
          output: count(used.outputTokens),
          read: count(used.cacheReadTokens),
          write: count(used.cacheWriteTokens),
          reasoning: count(used.reasoningTokenCount),
          cost: number(used.cost),
          isWhole,
          askedMs,
        },
      ),
    );
  }
  for (const { id, name, input } of uses) {
    const call = word(id) ?? '';
    calls.set(call, { name: word(name) ?? 'unknown', input: fieldsOf(input) });
    const { tool, action, mcp } = useOfTool(word(name) ?? 'unknown', fieldsOf(input));
    entries.push({
      event_type: 'Action.Before',
      key: call,
      atMs,
      data: { action: { name: action, input: oneCommand(fieldsOf(input)) } },
      facts: { call, tool, mcp, launches: action === 'agent' ? {} : undefined },
    });
  }
  if (uses.length > 0) return entries;
  // A response without calls ends the run.
  return [
    ...entries,
    {
      event_type: 'Agent.Response',
      key,
      unless: 'hooked',
      atMs,
      data: { response: textIn(message.content, blocks), final: true },
    },
    { over: 'turn', atMs },
  ];
}

// ---------------------------------------------------------------- extension

interface Model {
  fromMs: number;
  model: string | undefined;
  provider: string | undefined;
}

function taskRows(rows: readonly unknown[], models: readonly Model[]): TranscriptEntry[] {
  return rows.flatMap((row): TranscriptEntry[] => {
    const { say, ts, text: words } = fieldsOf(row);
    const atMs = timeOf(ts);
    if (say === 'completion_result' || say === 'plan_completion_result') return [{ over: 'turn', atMs }];
    const of = own(usedBy, text(say) ?? '');
    if (of === undefined) return [];
    const used = parsed(text(words) ?? '');
    const input = count(used.tokensIn);
    const output = count(used.tokensOut);
    // The row has no tokens yet: the response follows later, or never arrived.
    if (input === undefined && output === undefined) return [];
    const ofThen = models.findLast(({ fromMs }) => fromMs <= (atMs ?? Number.POSITIVE_INFINITY));
    // The models of a sum over several requests are unknown.
    const { model, provider } = (of === 'request' ? ofThen : undefined) ?? {};
    const tokens = {
      input,
      output,
      read: count(used.cacheReads),
      write: count(used.cacheWrites),
      reasoning: undefined,
      cost: number(used.cost),
      isWhole: false,
    };
    const response = responded(`${of}-${atMs ?? count(ts)}`, atMs, { model, provider }, tokens);
    if (of === 'request') return [response];
    // If the session has hooks, the requests whose rows the user removed were reported before.
    return [
      { ...response, facts: { ...response.facts, sum: 'turn' }, unless: of === 'deleted' ? 'hooked' : undefined },
    ];
  });
}

/** Rows with tokens: a request, requests whose rows were removed, and requests of subagents. */
const usedBy = {
  api_req_started: 'request',
  deleted_api_reqs: 'deleted',
  subagent_usage: 'subagents',
} as const;

function modelsIn(companion: Buffer | undefined): Model[] {
  const { model_usage: used } = parsed(companion?.toString('utf8') ?? '');
  if (!Array.isArray(used)) return [];
  return used
    .map(fieldsOf)
    .map(({ ts, model_id, model_provider_id }) => ({
      fromMs: timeOf(ts) ?? 0,
      model: word(model_id),
      provider: word(model_provider_id),
    }))
    .sort((a, b) => a.fromMs - b.fromMs);
}

// ---------------------------------------------------------------- both

interface Tokens {
  input: number | undefined;
  output: number | undefined;
  read: number | undefined;
  write: number | undefined;
  reasoning: number | undefined;
  cost: number | undefined;
  /** The input includes the cached tokens. */
  isWhole: boolean;
  /** The time of the message before the response. */
  askedMs?: number | undefined;
}

function responded(
  key: string,
  atMs: number | undefined,
  { model, provider }: { model: string | undefined; provider: string | undefined },
  { input, output, read, write, reasoning, cost, isWhole, askedMs }: Tokens,
): TranscriptReading {
  const usage = { cache_read_tokens: read, cache_write_tokens: write, reasoning_tokens: reasoning };
  return {
    event_type: 'Model.Responded',
    key,
    atMs,
    data: {
      model_id: model,
      input_tokens: input === undefined || isWhole ? input : input + (read ?? 0) + (write ?? 0),
      output_tokens: output,
    },
    facts: {
      provider,
      started_ms: askedMs !== undefined && askedMs <= (atMs ?? 0) ? askedMs : undefined,
      usage: Object.values(usage).some(part => part !== undefined) ? usage : undefined,
      cost_usd: cost !== undefined && cost >= 0 ? cost : undefined,
    },
  };
}

function parsed(json: string): Fields {
  try {
    return fieldsOf(JSON.parse(json));
  } catch {
    // The file is incomplete or has another format.
    return {};
  }
}

/** The extension writes 64-bit numbers as text. */
export function count(value: unknown): number | undefined {
  const parsed = typeof value === 'string' && /^\d{1,15}$/.test(value) ? Number(value) : value;
  return typeof parsed === 'number' && Number.isFinite(parsed) && parsed >= 0 ? parsed : undefined;
}

/** Milliseconds as text from the extension, ISO 8601 from the SDK. */
export function timeOf(value: unknown): number | undefined {
  const atMs = count(value) ?? Date.parse(text(value) ?? '');
  return atMs > Date.UTC(2000) && atMs < Date.UTC(2200) ? Math.floor(atMs) : undefined;
}
