/**
 * Codex' rollouts: `$CODEX_HOME/sessions/YYYY/MM/DD/rollout-<local time>-<thread>.jsonl`, one file for each thread; a subagent is a
 * thread that names the one that spawned it. Facts: source of August 2026 and rollouts of 0.118 to 0.154; checked 2026-11-18.
 *
 * Tokens: a thread counts up, and the same total is written again and again, so a response is the difference of two totals.
 * Since 0.154 each response has a record of its own, which then counts alone.
 *
 * A forked thread begins with a copy of what its parent wrote, under new times: that is skipped up to its own first turn, and the
 * total reached there is what it starts from.
 *
 * Calls have the ids of the hooks. In code mode the rollout knows the script, and hooks the commands in it, by other ids.
 */
import type { Fields } from '../../event/event.ts';
import { count, fieldsOf, isFields, number, own, text, word } from '../../lib/read.ts';
import type {
  LineReader,
  Memory,
  ReadFile,
  Told,
  Transcript,
  TranscriptFile,
  TranscriptReading,
} from '../contract/contract.ts';
import { toldFiles } from '../shared/told-files.ts';
import { actionName, answerKey, endKey, hookName, launchedBy, spawnedThread, startKey, toolFacts } from './tools.ts';

const reader: LineReader = {
  format: 'lines',
  // Those of forks begin with rows of the other session, headers too.
  version: (row, known) => known ?? word((isOldHeader(row) ? row : fieldsOf(row.payload)).cli_version),
  row(row, memory, file) {
    const place = placeOf(row, memory, file);
    const { type, payload } = place;
    if (type === 'session_meta') return began(place);
    if (isCopied(place)) return copied(place);
    if (type === 'turn_context') return context(place);
    if (type === 'response_item') return item(place);
    if (type === 'token_usage_record') return record(place);
    if (type === 'compacted') return compacted(place);
    if (type !== 'event_msg') return [];
    const read = own(messages, String(payload.type));
    return read ? read(place) : [];
  },
};

/** What the thread's own events say, by their type. */
const messages: Readonly<Record<string, (place: Place) => Told[]>> = {
  task_started: turnBegan,
  task_complete: turnEnded,
  turn_aborted: turnAborted,
  user_message: place => prompted(place, undefined, text(place.payload.message)),
  token_count: counted,
  item_completed: itemCompleted,
  exec_command_end: place =>
    closed(place, word(place.payload.call_id), {
      ...exited(number(place.payload.exit_code), spanMs(place.payload.duration)),
      output: place.payload.aggregated_output,
    }),
  patch_apply_end: place => closed(place, word(place.payload.call_id), { success: place.payload.success === true }),
  mcp_tool_call_end: place => {
    const result = fieldsOf(place.payload.result);
    return closed(place, word(place.payload.call_id), {
      success: result.Err === undefined && fieldsOf(result.Ok).isError !== true,
      durationMs: spanMs(place.payload.duration),
      output: result.Ok ?? result.Err,
    });
  },
  collab_agent_spawn_end: place => {
    const thread = word(place.payload.new_thread_id);
    return closed(place, word(place.payload.call_id), { success: thread !== undefined, launched: thread });
  },
  web_search_end: place => searched(place, word(place.payload.call_id)),
};

/** The time is the person's own. */
const DATED = /^rollout-\d{4}-\d{2}-\d{2}T\d{2}-\d{2}-\d{2}-([0-9a-zA-Z-]{36})(?:_[0-9a-zA-Z-]+)?\.jsonl$/;

export const transcript: Transcript = {
  told: toldFiles,
  files({ main, session, subagents }, look) {
    // None is kept, or it was packed away.
    if (main === undefined || !main.endsWith('.jsonl')) return [];
    const [folder, name] = splitPath(main);
    const files = new Map<string, TranscriptFile>([[main, { path: main }]]);
    for (const { id, path } of subagents) files.set(path, { path, subagent: id });
    // Threads lie side by side, those of a day in one folder; a thread is younger than the one that spawned it.
    const family = new Set([session]);
    for (const day of daysFrom(folder)) {
      for (const sibling of look.names(day)) {
        const path = `${day}/${sibling}`;
        const isOlder = DATED.test(name) && DATED.test(sibling) && sibling <= name;
        if (!/^rollout-.+\.jsonl$/.test(sibling) || isOlder || files.has(path)) continue;
        const head = look.head(path);
        const id = DATED.exec(sibling)?.[1] ?? /"payload"\s*:\s*\{.*?"id"\s*:\s*"([^"]{1,64})"/.exec(head)?.[1];
        const parent = /"parent_thread_id"\s*:\s*"([^"]{1,64})"/.exec(head)?.[1];
        if (id === undefined || (parent === undefined ? !internal(head, session) : !family.has(parent))) continue;
        family.add(id);
        files.set(path, { path, subagent: parent === undefined ? undefined : id });
      }
    }
    return [...files.values()];
  },
  installed({ home, env }, look) {
    const own = word(env.CODEX_HOME) ?? `${home}/.codex`;
    const sessions = `${own}/sessions`;
    const days = look
      .names(sessions)
      .flatMap(year => look.names(`${sessions}/${year}`).map(month => `${sessions}/${year}/${month}`))
      .flatMap(month => look.names(month).map(day => `${month}/${day}`));
    return [...days, `${own}/archived_sessions`].flatMap(folder =>
      look
        .names(folder)
        .filter(name => DATED.test(name))
        .map(name => ({ path: `${folder}/${name}` })),
    );
  },
  sessions({ path }, { rows }) {
    const [first = {}] = rows;
    const meta = first.type === 'session_meta' ? fieldsOf(first.payload) : isOldHeader(first) ? first : {};
    // A part of a rollout is known by its rows, and its thread by the file's name.
    const [, name] = splitPath(path);
    const named = rows.some(isPart) ? (DATED.exec(name)?.[1] ?? word(name.replace(/\.jsonl$/, ''))) : undefined;
    const thread = word(meta.id) ?? named;
    if (thread === undefined || spawnOf(meta) !== undefined || isInternal(meta)) return [];
    return [{ session: thread, cwd: word(meta.cwd) }];
  },
  read: reader,
};

/**
 * A session that runs past midnight, or is taken up again, spawns threads in later days' folders; a week's are looked
 * through.
 */
function daysFrom(folder: string): string[] {
  const [, sessions, year, month, day] = /^(.*)\/(\d{4})\/(\d{2})\/(\d{2})$/.exec(folder) ?? [];
  if (sessions === undefined) return [folder];
  return Array.from({ length: 8 }, (_, later) => {
    const date = new Date(Date.UTC(Number(year), Number(month) - 1, Number(day) + later));
    return `${sessions}/${date.toISOString().slice(0, 10).replaceAll('-', '/')}`;
  });
}

function splitPath(path: string): [folder: string, name: string] {
  const plain = path.replaceAll('\\', '/');
  const cut = plain.lastIndexOf('/');
  return [plain.slice(0, cut), plain.slice(cut + 1)];
}

/**
 * A thread that the program runs for itself beside a session (a guardian, a review): it costs, and does nothing of its
 * own.
 */
const internal = (head: string, session: string): boolean =>
  /"session_id"\s*:\s*"([^"]{1,64})"/.exec(head)?.[1] === session && /"source"\s*:\s*\{\s*"subagent"\s*:/.test(head);

/** Versions before the envelope: a first line with the id, then bare items. */
const isOldHeader = (row: Fields): boolean =>
  row.type === undefined && word(row.id) !== undefined && word(row.timestamp) !== undefined && 'instructions' in row;

const isPart = ({ type, payload, timestamp }: Fields): boolean =>
  (type === 'event_msg' || type === 'response_item') &&
  word(fieldsOf(payload).type) !== undefined &&
  word(timestamp) !== undefined;

/** What a spawned thread says of its origin. */
function spawnOf(meta: Fields): { parent: string; kind: string | undefined } | undefined {
  const spawn = fieldsOf(fieldsOf(fieldsOf(meta.source).subagent).thread_spawn);
  const parent = word(spawn.parent_thread_id) ?? word(meta.parent_thread_id);
  return parent === undefined ? undefined : { parent, kind: word(spawn.agent_role) ?? word(meta.agent_role) };
}

/** Spawned by the program itself, not by a call. */
const isInternal = (meta: Fields): boolean =>
  fieldsOf(meta.source).subagent !== undefined && spawnOf(meta) === undefined;

interface Place {
  type: string;
  payload: Fields;
  ordinal: number | undefined;
  memory: Memory;
  file: ReadFile;
  atMs: number | undefined;
  turn: string | undefined;
}

const bareItems = new Set(['message', 'reasoning', 'function_call', 'function_call_output']);

function placeOf(row: Fields, memory: Memory, file: ReadFile): Place {
  const time = Date.parse(text(row.timestamp) ?? '');
  const bare = isOldHeader(row) ? 'session_meta' : bareItems.has(String(row.type)) ? 'response_item' : '';
  return {
    type: isFields(row.payload) ? (text(row.type) ?? '') : bare,
    payload: isFields(row.payload) ? row.payload : row,
    ordinal: number(row.ordinal),
    memory,
    file,
    atMs: Number.isNaN(time) ? undefined : time,
    turn: memory.recall('place', 'turn'),
  };
}

const recalled = (place: Place, key: string): number | undefined => {
  const known = place.memory.recall('place', key);
  return known === undefined ? undefined : Number(known);
};

const note = (place: Place, key: string, value: number | string | undefined): void => {
  if (value === undefined) place.memory.forget('place', key);
  else place.memory.remember('place', key, String(value));
};

function saying(place: Place, reading: TranscriptReading): TranscriptReading {
  return {
    actor: 'ai_agent',
    ...reading,
    atMs: reading.atMs ?? place.atMs,
    facts: {
      turn: place.turn,
      agent: place.file.subagent === undefined ? undefined : (place.memory.recall('place', 'kind') ?? 'default'),
      ...reading.facts,
    },
  };
}

/** It costs what it costs, and says nothing of the session's turns. */
const isAside = ({ memory }: Place): boolean => memory.recall('place', 'aside') !== undefined;

// ---------------------------------------------------------------- threads

function began(place: Place): Told[] {
  const { payload, memory, file } = place;
  const thread = word(payload.id);
  const own = memory.recall('place', 'thread');
  if (own !== undefined) {
    // Another thread's header: what follows is a copy. The own one again: the thread was taken up once more.
    if (thread !== own) {
      if (recalled(place, 'turns') === undefined) note(place, 'copied', 1);
      return [];
    }
    const isSame = Date.parse(text(payload.timestamp) ?? '') === recalled(place, 'created');
    if (isSame || file.subagent !== undefined || isAside(place)) return [];
    return [
      saying(place, {
        event_type: 'Session.Start',
        key: `resume:${text(payload.timestamp) ?? ''}`,
        unless: 'hooked',
        data: { start_reason: 'resume' },
      }),
    ];
  }
  const createdMs = Date.parse(text(payload.timestamp) ?? '');
  note(place, 'thread', thread ?? file.root);
  note(place, 'created', Number.isNaN(createdMs) ? place.atMs : createdMs);
  note(place, 'provider', word(payload.model_provider));
  note(place, 'kind', spawnOf(payload)?.kind);
  if (isInternal(payload)) note(place, 'aside', 1);
  const historyEnd =
    number(payload.subagent_history_start_ordinal) ?? number(fieldsOf(payload.history_base).end_ordinal_exclusive);
  note(place, 'history', historyEnd);
  if (historyEnd !== undefined || word(payload.forked_from_id) !== undefined) {
    note(place, 'copied', 1);
    note(place, 'forked', 1);
  }
  // A subagent runs from the beginning to the end of a turn of its own.
  if (isAside(place) || file.subagent !== undefined) return [];
  return [
    saying(place, {
      event_type: 'Session.Start',
      key: 'start',
      unless: 'hooked',
      data: { start_reason: 'new' },
      atMs: Number.isNaN(createdMs) ? place.atMs : createdMs,
      facts: { turn: undefined },
    }),
  ];
}

/** Still in what was copied from the parent? The first turn that began after the thread itself is its own. */
function isCopied(place: Place): boolean {
  const { payload, ordinal } = place;
  if (recalled(place, 'copied') === undefined) return false;
  const history = recalled(place, 'history');
  const startedAt = number(payload.started_at);
  const createdMs = recalled(place, 'created');
  const isOwn =
    history !== undefined && ordinal !== undefined
      ? ordinal >= history
      : payload.type === 'task_started' &&
        createdMs !== undefined &&
        // Whole seconds against milliseconds.
        (startedAt === undefined ? (place.atMs ?? 0) > createdMs + 2_000 : startedAt >= Math.floor(createdMs / 1_000));
  if (isOwn) note(place, 'copied', undefined);
  return !isOwn;
}

/** Of a copy only the state counts that it left behind. */
function copied(place: Place): Told[] {
  const { type, payload } = place;
  if (type === 'turn_context') context(place);
  const total = totalOf(payload);
  if (payload.type === 'token_count' && total !== undefined) note(place, 'total', JSON.stringify(total));
  return [];
}

function context(place: Place): Told[] {
  const model = word(place.payload.model);
  if (model !== undefined) note(place, 'model', model);
  return [];
}

// ---------------------------------------------------------------- turns

function turnBegan(place: Place): Told[] {
  const turns = (recalled(place, 'turns') ?? 0) + 1;
  note(place, 'turns', turns);
  const turn = word(place.payload.turn_id) ?? `turn-${turns}`;
  note(place, 'turn', turn);
  note(place, 'prompts', 0);
  note(place, 'asked', place.atMs);
  if (place.file.subagent === undefined) return [];
  return [
    saying({ ...place, turn }, { event_type: 'Session.Start', key: startKey(turn), data: { start_reason: 'new' } }),
  ];
}

function prompted(place: Place, id: string | undefined, prompt: string | undefined): Told[] {
  if (isAside(place)) return [];
  const prompts = (recalled(place, 'prompts') ?? 0) + 1;
  note(place, 'prompts', prompts);
  return [
    saying(place, {
      event_type: 'Prompt.Submitted',
      key: id ?? `prompt:${place.turn ?? ''}:${prompts}`,
      unless: 'hooked',
      data: { prompt },
      actor: place.file.subagent === undefined ? 'user' : 'ai_agent',
    }),
  ];
}

function turnEnded(place: Place): Told[] {
  const { payload } = place;
  const turn = word(payload.turn_id) ?? place.turn ?? 'turn-0';
  const at = { ...place, turn };
  if (isAside(place)) return [];
  const error = payload.error === undefined || payload.error === null ? undefined : payload.error;
  if (error === undefined) {
    const answer = saying(at, {
      event_type: 'Agent.Response',
      key: answerKey(turn),
      data: { response: text(payload.last_agent_message), final: true },
      facts: { over: running(place) },
    });
    return [answer, ...overs(at, 'completed')];
  }
  const message = text(error) ?? text(fieldsOf(error).message);
  const facts = { error_type: 'model_error' };
  return [
    saying(at, {
      event_type: 'Model.Failed',
      key: `failed:${turn}`,
      data: { error_type: facts.error_type, error_message: message },
      facts,
    }),
    saying(at, {
      event_type: 'Agent.Error',
      key: `failed:${turn}`,
      data: { error_type: 'ModelError', error_message: message, origin_event: 'Model.Failed' },
      facts,
    }),
    ...overs(at, 'error'),
  ];
}

function turnAborted(place: Place): Told[] {
  const turn = word(place.payload.turn_id) ?? place.turn ?? 'turn-0';
  const at = { ...place, turn };
  if (isAside(place)) return [];
  return [
    saying(at, {
      event_type: 'Agent.Response',
      key: answerKey(turn),
      data: { final: true },
      facts: { interrupted: true, over: running(place) },
    }),
    ...overs(at, 'error'),
  ];
}

/** Commands that went on in the background: nobody cut them off, and nobody knows how they will end. */
function running({ memory }: Place): string[] | undefined {
  const calls = memory.list('process').map(([, call]) => call);
  return calls.length === 0 ? undefined : calls.slice(-128);
}

function overs(place: Place, reason: 'completed' | 'error'): Told[] {
  const { file, turn, atMs } = place;
  if (file.subagent === undefined) return [{ over: 'turn', id: turn, atMs }];
  return [
    saying(place, {
      event_type: 'Session.End',
      key: endKey(turn ?? ''),
      data: { end_reason: reason },
    }),
    { over: 'subagent', id: file.subagent, atMs },
  ];
}

function compacted(place: Place): Told[] {
  if (isAside(place)) return [];
  return [
    saying(place, {
      event_type: 'Context.Compaction',
      key: `compacted:${place.turn ?? ''}:${place.atMs ?? ''}`,
      unless: 'hooked',
      data: {},
      actor: 'system',
    }),
  ];
}

// ---------------------------------------------------------------- tokens

const classes = [
  'input_tokens',
  'output_tokens',
  'cached_input_tokens',
  'cache_write_input_tokens',
  'reasoning_output_tokens',
  'total_tokens',
] as const;
type Total = { [name in (typeof classes)[number]]?: number };

const usageOf = (usage: unknown): Total | undefined => {
  if (!isFields(usage)) return undefined;
  const known = classes.flatMap(name => {
    const known = count(usage[name]);
    return known === undefined ? [] : [[name, known] as const];
  });
  return known.length === 0 ? undefined : Object.fromEntries(known);
};

const totalOf = (payload: Fields): Total | undefined => usageOf(fieldsOf(payload.info).total_token_usage);

/** The thread's total after a response, or the old one once more. */
function counted(place: Place): Told[] {
  const { payload, memory, file } = place;
  const total = totalOf(payload);
  if (total === undefined || memory.recall('place', 'records') !== undefined) return [];
  const known = memory.recall('place', 'total');
  const last = usageOf(fieldsOf(payload.info).last_token_usage);
  const before: Total = JSON.parse(known ?? '{}');
  note(place, 'total', JSON.stringify(total));
  const used: Total = {};
  for (const name of classes) {
    const count = total[name];
    if (count !== undefined) used[name] = count - (before[name] ?? 0);
  }
  const counts = Object.values(used);
  if (counts.every(count => count === 0)) return [];
  // A total that went down is the beginning of another count; a fork without its parent's rows, and a part of a
  // rollout, go
  // on from an unknown one.
  const thread = memory.recall('place', 'thread');
  const isLater = recalled(place, 'forked') !== undefined || thread === undefined;
  const isOther = counts.some(count => count < 0) || (known === undefined && isLater);
  const response = isOther ? last : used;
  if (response === undefined) return [];
  note(place, 'counted', JSON.stringify(response));
  return responded(place, `${thread ?? file.subagent ?? file.root}:${sizeOf(total)}`, undefined, response);
}

/** A response's own record: from the first one on, totals say nothing more. */
function record(place: Place): Told[] {
  const { payload } = place;
  const usage = usageOf(payload.usage);
  const response = word(payload.response_id);
  if (usage === undefined || response === undefined) return [];
  // The first record may come after the total that it is a part of.
  const isCounted = recalled(place, 'records') === undefined && isSame(usage, place.memory.recall('place', 'counted'));
  note(place, 'records', 1);
  if (isCounted) return [];
  return responded({ ...place, turn: word(payload.turn_id) ?? place.turn }, response, response, usage);
}

/** The classes of a total that were not told are no part of it. */
const isSame = (usage: Total, counted: string | undefined): boolean => {
  const known = JSON.parse(counted ?? '{}') as Total;
  return counted !== undefined && classes.every(name => (usage[name] ?? 0) === (known[name] ?? 0));
};

const sizeOf = (total: Total): number => total.total_tokens ?? (total.input_tokens ?? 0) + (total.output_tokens ?? 0);

function responded(place: Place, key: string, response: string | undefined, used: Total): Told[] {
  const { memory } = place;
  const asked = recalled(place, 'asked');
  const atMs = recalled(place, 'said') ?? place.atMs;
  const reading = saying(place, {
    event_type: 'Model.Responded',
    key,
    data: {
      model_id: memory.recall('place', 'model'),
      input_tokens: used.input_tokens,
      output_tokens: used.output_tokens,
    },
    facts: {
      model: memory.recall('place', 'model'),
      provider: memory.recall('place', 'provider'),
      response,
      started_ms: asked !== undefined && atMs !== undefined && asked <= atMs ? asked : undefined,
      usage: {
        cache_read_tokens: used.cached_input_tokens,
        cache_write_tokens: used.cache_write_input_tokens,
        reasoning_tokens: used.reasoning_output_tokens,
      },
    },
    atMs,
  });
  note(place, 'asked', recalled(place, 'heard') ?? asked);
  note(place, 'said', undefined);
  note(place, 'heard', undefined);
  return [reading, ...filled(place, key)];
}

/** How full the context is. */
function filled(place: Place, key: string): Told[] {
  const info = fieldsOf(place.payload.info);
  const used = number(fieldsOf(info.last_token_usage).total_tokens);
  const limit = number(info.model_context_window);
  if (used === undefined || limit === undefined || limit <= 0 || used > limit || isAside(place)) return [];
  return [
    saying(place, {
      event_type: 'Context.UntilCompaction',
      key,
      data: {
        tokens_used: used,
        tokens_limit: limit,
        percentage_used: Math.round((used / limit) * 1_000) / 10,
        tokens_remaining: limit - used,
      },
    }),
  ];
}

// ---------------------------------------------------------------- calls

function item(place: Place): Told[] {
  const { payload, atMs } = place;
  switch (payload.type) {
    case 'function_call':
    case 'custom_tool_call':
    case 'local_shell_call':
      note(place, 'said', atMs);
      return called(place);
    case 'function_call_output':
    case 'custom_tool_call_output':
      heard(place);
      return returned(place);
    case 'web_search_call':
      note(place, 'said', atMs);
      return [];
    case 'reasoning':
      note(place, 'said', atMs);
      return [];
    case 'message':
      if (payload.role === 'assistant') note(place, 'said', atMs);
      else heard(place);
      return barePrompt(place);
  }
  return [];
}

/** What the next response answers. One that is still being written may have calls that return already. */
function heard(place: Place): void {
  note(place, recalled(place, 'said') === undefined ? 'asked' : 'heard', place.atMs);
}

/** Old files have no other sign of a prompt than the message; what the program put in is marked. */
function barePrompt(place: Place): Told[] {
  const { payload, atMs, turn } = place;
  if (payload.role !== 'user' || atMs !== undefined || turn !== undefined) return [];
  const said = textOf(payload.content);
  return /^\s*(?:<|# AGENTS\.md)/.test(said) || said === '' ? [] : prompted(place, undefined, said);
}

function called(place: Place): Told[] {
  const { payload, memory } = place;
  const call = word(payload.call_id) ?? word(payload.id);
  if (call === undefined || isAside(place)) return [];
  const tool = payload.type === 'local_shell_call' ? 'Bash' : hookName(payload);
  const input = inputOf(payload, tool);
  memory.remember('call', call, tool);
  const session = tool === 'write_stdin' ? number(input.session_id) : undefined;
  if (session !== undefined) memory.remember('stdin', call, String(session));
  return [
    saying(place, {
      event_type: 'Action.Before',
      key: call,
      data: { action: { name: actionName(tool), input } },
      facts: { ...toolFacts(tool), call, launches: launchedBy(tool, input) },
    }),
  ];
}

/** As the hook has it: a shell's command as one text, a patch as the command that it is. */
function inputOf(payload: Fields, tool: string): Fields {
  const written = text(payload.arguments) ?? text(payload.input);
  const given = payload.type === 'local_shell_call' ? fieldsOf(payload.action) : parsed(written);
  if (tool === 'apply_patch' && given === undefined) return { command: written };
  if (tool !== 'Bash') return given ?? {};
  const command = given?.cmd ?? given?.command;
  if (!Array.isArray(command)) return { command };
  const words = command.filter(part => typeof part === 'string');
  return { command: /^-l?c$/.test(words[1] ?? '') ? words[2] : words.join(' ') };
}

function parsed(json: string | undefined): Fields | undefined {
  if (json === undefined || !json.startsWith('{')) return undefined;
  try {
    return fieldsOf(JSON.parse(json));
  } catch {
    // A long line comes without its long texts: what was asked stays unknown.
    return undefined;
  }
}

interface Ending {
  /** What it gave back, as far as the row has it. */
  output?: unknown;
  success?: boolean | undefined;
  exitCode?: number | undefined;
  durationMs?: number | undefined;
  denied?: true;
  interrupted?: true;
  launched?: string | undefined;
}

/** What a call gave back. Of the text only what the program itself put before it is looked at. */
function returned(place: Place): Told[] {
  const { payload, memory } = place;
  const call = word(payload.call_id);
  if (call === undefined) return [];
  const output = textOf(payload.output);
  const tool = memory.recall('call', call) ?? 'unknown';
  const process = /^(?:Process|Script) running with (?:session|cell) ID (\w{1,32})/m.exec(headOf(output))?.[1];
  const stdin = memory.recall('stdin', call);
  if (stdin !== undefined) {
    memory.forget('stdin', call);
    // Input for a command that runs already: when that has ended, it is the command's end.
    const original = memory.recall('process', stdin);
    const told = closed(place, call, {});
    if (process !== undefined || original === undefined) return told;
    memory.forget('process', stdin);
    return [
      ...told,
      ...closed(place, original, { ...endingOf(output), output: payload.output, durationMs: undefined }),
    ];
  }
  if (process !== undefined) {
    memory.remember('process', process, call);
    return [];
  }
  const launched = tool === 'spawn_agent' ? spawnedThread(output) : undefined;
  const ending = { ...endingOf(output), output: payload.output };
  return closed(place, call, launched === undefined ? ending : { ...ending, success: true, launched });
}

function headOf(output: string): string {
  const end = output.indexOf('\nOutput:');
  return output.slice(0, end < 0 ? 400 : Math.min(end, 400));
}

function endingOf(output: string): Ending {
  const head = headOf(output);
  if (/^exec_command failed.*Rejected\(|^exec command rejected by user|rejected by user approval settings/s.test(head))
    return { denied: true };
  if (/^aborted by user/.test(head)) return { interrupted: true };
  if (/^(?:exec_command|apply_patch|spawn_agent|collab \w+)(?: \w+)? failed/.test(head)) return { success: false };
  const seconds = /^Wall time:? ([\d.]{1,16}) seconds/m.exec(head)?.[1];
  const durationMs = seconds === undefined ? undefined : Math.round(Number(seconds) * 1_000);
  const script = /^Script (completed|failed)/.exec(head)?.[1];
  if (script !== undefined) return { success: script === 'completed', durationMs };
  const code = /^(?:Process exited with code|Exit code:) (-?\d{1,6})/m.exec(head)?.[1];
  if (code !== undefined) return exited(Number(code), durationMs);
  const tail = /"metadata":\s*\{"exit_code":\s*(-?\d{1,6})(?:,\s*"duration_seconds":\s*([\d.]{1,16}))?\}\s*\}\s*$/.exec(
    output.slice(-200),
  );
  if (tail === null) return {};
  return exited(Number(tail[1]), tail[2] === undefined ? undefined : Math.round(Number(tail[2]) * 1_000));
}

const exited = (exitCode: number | undefined, durationMs: number | undefined): Ending => ({
  success: exitCode === undefined ? undefined : exitCode === 0,
  exitCode,
  durationMs,
});

function closed(place: Place, call: string | undefined, ending: Ending): Told[] {
  // Some versions tell the end of a call more than once: first what knows more.
  if (call === undefined || isAside(place) || place.memory.recall('done', call) !== undefined) return [];
  place.memory.remember('done', call, '1');
  const tool = place.memory.recall('call', call) ?? 'unknown';
  const { success, exitCode, durationMs, denied, interrupted, launched } = ending;
  return [
    saying(place, {
      event_type: 'Action.After',
      key: call,
      data: {
        action: {
          name: actionName(tool),
          result: success === undefined ? undefined : { success, exit_code: exitCode },
        },
        decision: denied ? { outcome: 'deny' } : undefined,
      },
      output: ending.output,
      facts: {
        ...toolFacts(tool),
        call,
        duration_ms: durationMs,
        interrupted,
        launches: launched === undefined ? undefined : launchedBy(tool, {}, launched),
        exit_code: exitCode,
        error_type: success === false ? (exitCode === undefined ? 'tool_error' : 'exit_code') : undefined,
        decision: denied ? { source: 'unknown', basis: 'observed' } : undefined,
      },
    }),
  ];
}

/** The provider searched by itself: no hook tells of it, and the rollout only when it is done. */
function searched(place: Place, call: string | undefined): Told[] {
  if (call === undefined || isAside(place)) return [];
  place.memory.remember('call', call, 'web_search');
  return [
    saying(place, {
      event_type: 'Action.Before',
      key: call,
      data: { action: { name: 'web_search' } },
      facts: { tool: 'web_search', call },
    }),
    ...closed(place, call, { success: true }),
  ];
}

/** Items of the paginated mode: prompts, and how calls ended, by the calls' ids. */
function itemCompleted(place: Place): Told[] {
  const { payload, memory } = place;
  const done = fieldsOf(payload.item);
  const id = word(done.id);
  const doneMs = number(payload.completed_at_ms) ?? place.atMs;
  if (done.type === 'UserMessage') return prompted(place, id, textOf(done.content));
  if (id === undefined) return [];
  if (done.type === 'WebSearch') return searched(place, id);
  const tool = own(itemTools, String(done.type))?.(done);
  if (tool === undefined) return [];
  const durationMs = spanMs(done.duration);
  const ending =
    done.type === 'CommandExecution'
      ? { ...exited(number(done.exit_code), durationMs), output: done.aggregated_output }
      : { success: done.status === 'completed', durationMs, output: done.result };
  // Nested in a script: hooks tell of it under an id that no rollout has.
  const nested = memory.recall('call', id) === undefined;
  if (nested) memory.remember('call', id, tool);
  const at = { ...place, atMs: doneMs };
  const after = closed(at, id, { ...ending, ...(done.status === 'declined' ? { denied: true } : {}) });
  if (!nested) return after;
  const startMs = doneMs === undefined || durationMs === undefined ? doneMs : doneMs - durationMs;
  const before = saying(at, {
    event_type: 'Action.Before',
    key: id,
    data: { action: { name: actionName(tool) } },
    facts: { ...toolFacts(tool), call: id },
    atMs: startMs,
  });
  return [before, ...after].map(told => ('over' in told ? told : { ...told, unless: 'hooked' as const }));
}

const itemTools: Readonly<Record<string, (done: Fields) => string>> = {
  CommandExecution: () => 'Bash',
  FileChange: () => 'apply_patch',
  McpToolCall: done => `mcp__${word(done.server) ?? 'unknown'}__${word(done.tool) ?? 'unknown'}`,
};

function spanMs(duration: unknown): number | undefined {
  const { secs, nanos } = fieldsOf(duration);
  const seconds = number(secs);
  return seconds === undefined ? undefined : Math.round(seconds * 1_000 + (number(nanos) ?? 0) / 1_000_000);
}

/** A text, or the texts of a list of blocks. */
function textOf(content: unknown): string {
  if (typeof content === 'string') return content;
  if (isFields(content)) return textOf(content.content ?? content.output ?? content.body);
  if (!Array.isArray(content)) return '';
  return content.map(block => text(fieldsOf(block).text) ?? '').join('\n');
}
