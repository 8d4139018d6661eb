/**
 * Gemini CLI's chats: `~/.gemini/tmp/<project>/chats/session-<time>-<first of the id>.jsonl`, subagents in
 * `chats/<session>/<agent>.jsonl`. Facts: source of August 2026 and recordings of June 2026; checked 2026-11-18. Older
 * versions rewrote one JSON object with the header's fields and the list of messages, `session-*.json`; a resumed chat
 * exists in both forms.
 *
 * A message is repeated under its id: an answer with calls is written first without and then with their results. Its
 * tokens are counted when they first appear, because a compressed, cleared or rewound chat drops messages whose tokens
 * were used. Only the following rows show whether an answer ended its turn. Hooks have no ids: the chat reports calls,
 * and in a session with hooks only the hooks report prompts and answers.
 */
import type { Fields } from '../../event/event.ts';
import { count, fieldsOf, isFields, number, text, word } from '../../lib/read.ts';
import type {
  DocumentReader,
  LineReader,
  Memory,
  ReadFile,
  Transcript,
  TranscriptEntry,
} from '../contract/contract.ts';
import { memoryOver } from '../shared/memory.ts';
import { timeOf } from '../shared/times.ts';
import { actionName, exitCodeOf } from './tools.ts';

const reader: LineReader = {
  format: 'lines',
  // A header and its changes have the time of the change.
  at: row => timeOf(row.timestamp ?? row.lastUpdated ?? fieldsOf(row.$set).lastUpdated),
  row(row, memory, file) {
    if (word(row.sessionId) !== undefined) return began(row, memory, file);
    if (word(row.id) !== undefined) return message(row, memory, file);
    const { messages } = fieldsOf(row.$set);
    if (!Array.isArray(messages)) return [];
    // The row repeats the whole list. Messages from before this chat belong to another file; ids identify the others.
    if (memory.recall('place', 'listed') !== undefined) memory.remember('place', 'replaced', '1');
    memory.remember('place', 'listed', '1');
    const startMs = Number(memory.recall('place', 'start') ?? '0');
    return messages
      .filter(isFields)
      .filter(each => (timeOf(each.timestamp) ?? 0) >= startMs && each.type === 'gemini')
      .flatMap(each => paid(each, timeOf(each.timestamp), memory));
  },
  rest,
};

/** The same messages, each once and in its last state. */
const whole: DocumentReader = {
  format: 'document',
  document(document, file) {
    const chat = fieldsOf(document.json());
    if (word(chat.sessionId) === undefined || !Array.isArray(chat.messages)) return [];
    const memory = memoryOver({}, () => '');
    const messages = chat.messages.filter(isFields).filter(row => word(row.id) !== undefined);
    const entries = [...began(chat, memory, file), ...messages.flatMap(row => message(row, memory, file))];
    return [...entries, ...rest(memory, file)];
  },
};

function rest(memory: Memory, file: ReadFile): TranscriptEntry[] {
  return [...answered(memory, file), ...ended(memory, file)];
}

/** The file name ends with the first letters of the session's id. */
const CHAT = /^session-.+-([0-9a-f]{8})\.jsonl?$/;
const isWhole = (path: string): boolean => path.endsWith('.json');

export const transcript: Transcript = {
  namedFiles: fields => ({ main: word(fields.transcript_path) }),
  files({ main, session }, look) {
    if (main === undefined) return [];
    const plain = main.replaceAll('\\', '/');
    const cut = plain.lastIndexOf('/');
    // After a permanent change of the model, the id differs, but the chat still belongs to the former session.
    const id = CHAT.exec(plain.slice(cut + 1))?.[1];
    if (id !== undefined && !session.startsWith(id)) return [];
    const folder = plain.slice(0, cut);
    const own = `${folder}/${session}`;
    const agents = look.names(own).filter(name => name.endsWith('.jsonl'));
    // A resumed chat continues in a new file. The former file has the messages that the new file omits.
    const parts = look
      .names(folder)
      .filter(name => id !== undefined && CHAT.exec(name)?.[1] === id && `${folder}/${name}` !== plain)
      .map(name => ({ path: `${folder}/${name}` }))
      .filter(({ path }) => look.head(path).includes(`"${session}"`));
    return [
      ...parts,
      { path: main },
      ...agents.map(name => ({ path: `${own}/${name}`, subagent: name.slice(0, -'.jsonl'.length) })),
    ];
  },
  installed({ home, env }, look) {
    const projects = `${word(env.GEMINI_CLI_HOME) ?? home}/.gemini/tmp`;
    return look.names(projects).flatMap(project =>
      look
        .names(`${projects}/${project}/chats`)
        .filter(name => name.endsWith('.jsonl') || CHAT.test(name))
        .map(name => ({ path: `${projects}/${project}/chats/${name}` })),
    );
  },
  sessions({ path }, { rows, document }) {
    const [first = {}] = rows;
    const header = document === undefined ? first : fieldsOf(document.json());
    const session = word(header.sessionId);
    // The chat has no header: its rows prove the format, and the file name identifies the session.
    const named = session === undefined && rows.some(isAnswer) ? OWN_NAME.exec(path)?.[1] : undefined;
    if (named !== undefined) return [{ session: named }];
    if (session === undefined || word(header.projectHash) === undefined || header.kind === 'subagent') return [];
    const [folder] = Array.isArray(header.directories) ? header.directories : [];
    return [{ session, cwd: word(folder), atMs: timeOf(header.lastUpdated) }];
  },
  read: reader,
  others: [{ fits: isWhole, read: whole }],
};

const OWN_NAME = /(?:^|[\\/])([\w.-]{1,128})\.jsonl$/;
const isAnswer = (row: Fields): boolean =>
  row.type === 'gemini' && isFields(row.tokens) && word(row.id) !== undefined && word(row.timestamp) !== undefined;

function began(header: Fields, memory: Memory, file: ReadFile): TranscriptEntry[] {
  const again = memory.recall('place', 'start') !== undefined;
  const atMs = timeOf(again ? header.lastUpdated : header.startTime);
  if (!again) memory.remember('place', 'start', String(atMs ?? 0));
  // A resume writes the header again.
  if (again && (file.subagent !== undefined || header.lastUpdated === header.startTime)) return [];
  return [
    {
      event_type: 'Session.Start',
      key: again ? `resume:${text(header.lastUpdated) ?? ''}` : 'start',
      // No hook reports the start of a subagent.
      unless: file.subagent === undefined ? 'hooked' : undefined,
      data: { start_reason: again ? 'resume' : 'new' },
      atMs,
    },
  ];
}

function message(row: Fields, memory: Memory, file: ReadFile): TranscriptEntry[] {
  const atMs = timeOf(row.timestamp);
  if (row.type === 'gemini') return response(row, atMs, memory, file);
  if (row.type === 'user') return asked(row, atMs, memory, file);
  if (row.type === 'error') return [...answered(memory, file), ...failed(row, atMs, file)];
  if (row.type !== 'info') return [];
  if (row.content === 'Request cancelled.') {
    memory.remember('place', 'cancelled', String(atMs ?? ''));
    return [...answered(memory, file), ...cancelled(row, atMs, file)];
  }
  const compressed = row.content === '' && memory.recall('place', 'replaced') !== undefined;
  memory.forget('place', 'replaced');
  if (!compressed) return [];
  return [
    {
      event_type: 'Context.Compaction',
      key: String(row.id),
      data: {},
      actor: 'system',
      atMs,
    },
  ];
}

/** Reads a prompt or the results of calls. The first prompt of a chat is written by the program. */
function asked(row: Fields, atMs: number | undefined, memory: Memory, file: ReadFile): TranscriptEntry[] {
  const parts = Array.isArray(row.content) ? row.content.map(fieldsOf) : [];
  const texts = typeof row.content === 'string' ? [row.content] : parts.flatMap(part => text(part.text) ?? []);
  const prompt = texts.join('\n');
  if (prompt.startsWith('<session_context>')) return [];
  if (atMs !== undefined) memory.remember('place', 'asked', String(atMs));
  if (texts.length > 0) memory.forget('place', 'cancelled');
  if (texts.length === 0) {
    // Results of calls: the answer before them did not end the turn.
    memory.forget('place', 'answer');
    return [];
  }
  return [
    ...answered(memory, file),
    {
      event_type: 'Prompt.Submitted',
      key: String(row.id),
      unless: 'hooked',
      data: { prompt },
      actor: file.subagent === undefined ? 'user' : 'ai_agent',
      atMs,
    },
  ];
}

function response(row: Fields, atMs: number | undefined, memory: Memory, file: ReadFile): TranscriptEntry[] {
  const id = String(row.id);
  const calls = Array.isArray(row.toolCalls) ? row.toolCalls.filter(isFields) : [];
  const entries: TranscriptEntry[] = [];
  const [former] = pending(memory);
  if (former !== undefined && former !== id) entries.push(...answered(memory, file));
  entries.push(...paid(row, atMs, memory));
  // Cancelled calls are written after the end of their turn, without the tokens of their answer.
  const cancelledMs = isFields(row.tokens) ? undefined : stored(memory, 'cancelled');
  const answeredMs = cancelledMs === undefined ? atMs : (stored(memory, 'paid') ?? atMs);
  for (const call of calls) entries.push(...called(call, { answeredMs, cancelledMs }, memory, file));
  if (calls.length > 0) {
    memory.forget('place', 'answer');
    // Time 0 settles no turn: this answer is not complete yet, and its turn may continue.
    return file.subagent === undefined ? [...entries, { over: 'turn', atMs: 0 }] : entries;
  }
  memory.remember('place', 'answer', JSON.stringify([id, text(row.content)?.length ?? 0, atMs]));
  return file.subagent === undefined ? [...entries, { over: 'turn', atMs }] : entries;
}

/** Reports the tokens of an answer once. */
function paid(row: Fields, atMs: number | undefined, memory: Memory): TranscriptEntry[] {
  const id = word(row.id);
  if (id === undefined || !isFields(row.tokens) || memory.recall('paid', id) !== undefined) return [];
  memory.remember('paid', id, '1');
  if (atMs !== undefined) memory.remember('place', 'paid', String(atMs));
  const { input, output, cached, thoughts } = row.tokens;
  const askedMs = Number(memory.recall('place', 'asked') ?? Number.NaN);
  return [
    {
      event_type: 'Model.Responded',
      key: id,
      data: {
        model_id: word(row.model),
        input_tokens: count(input),
        output_tokens: count(output) === undefined ? undefined : (count(output) ?? 0) + (count(thoughts) ?? 0),
      },
      facts: {
        model: word(row.model),
        response: id,
        started_ms: askedMs <= (atMs ?? 0) ? askedMs : undefined,
        usage: { cache_read_tokens: count(cached), reasoning_tokens: count(thoughts) },
      },
      atMs,
    },
  ];
}

/** A stored time of the chat. */
function stored(memory: Memory, name: string): number | undefined {
  const atMs = memory.recall('place', name);
  return atMs === undefined || atMs === '' ? undefined : Number(atMs);
}

/** Returns the stored answer that may end its turn. Only its length is stored, not its text. */
function pending(memory: Memory): [id?: string, length?: number, atMs?: number] {
  const kept: unknown = JSON.parse(memory.recall('place', 'answer') ?? '[]');
  if (!Array.isArray(kept)) return [];
  return [word(kept[0]), number(kept[1]), number(kept[2])];
}

/** Reports the stored answer as the end of its turn when a new row follows. */
function answered(memory: Memory, file: ReadFile): TranscriptEntry[] {
  const [id, length, atMs] = pending(memory);
  memory.forget('place', 'answer');
  if (id === undefined) return [];
  memory.remember('place', 'ended', String(atMs ?? ''));
  return [
    {
      event_type: 'Agent.Response',
      key: id,
      unless: file.subagent === undefined ? 'hooked' : undefined,
      data: { response_length: length, final: true },
      atMs,
    },
  ];
}

/** The chat of a subagent has no last row: unless a call reports its end, it ends with its last answer. */
function ended(memory: Memory, { subagent }: ReadFile): TranscriptEntry[] {
  const last = memory.recall('place', 'ended');
  memory.forget('place', 'ended');
  if (subagent === undefined || last === undefined) return [];
  const atMs = last === '' ? undefined : Number(last);
  return [
    { event_type: 'Session.End', key: 'end', data: { end_reason: 'completed' }, atMs },
    { over: 'subagent', id: subagent, atMs },
  ];
}

function failed(row: Fields, atMs: number | undefined, file: ReadFile): TranscriptEntry[] {
  const content = text(row.content) ?? '';
  const status = /"status":\s*"([A-Z][A-Z_]{0,40})"/.exec(content.slice(0, 4_096))?.[1];
  const facts = { error_type: status?.toLowerCase() ?? 'unknown' };
  const key = String(row.id);
  return [
    {
      event_type: 'Model.Failed',
      key,
      data: { error_type: facts.error_type, error_message: content },
      facts,
      atMs,
    },
    {
      event_type: 'Agent.Error',
      key,
      data: { error_type: 'ModelError', error_message: content, origin_event: 'Model.Failed' },
      facts,
      atMs,
    },
    overOf(file, atMs),
  ];
}

const overOf = ({ subagent }: ReadFile, atMs: number | undefined): TranscriptEntry =>
  subagent === undefined ? { over: 'turn', atMs } : { over: 'subagent', id: subagent, atMs };

/** Reports a cancelled turn, for which there is no hook. */
const cancelled = (row: Fields, atMs: number | undefined, file: ReadFile): TranscriptEntry[] => [
  {
    event_type: 'Agent.Response',
    key: String(row.id),
    data: { final: true },
    facts: { interrupted: true },
    atMs,
  },
  overOf(file, atMs),
];

/** Reads a call. Calls are written when all calls of the answer have ended; each has the time of its end. */
function called(
  call: Fields,
  { answeredMs, cancelledMs }: { answeredMs: number | undefined; cancelledMs: number | undefined },
  memory: Memory,
  file: ReadFile,
): TranscriptEntry[] {
  const id = word(call.id);
  if (id === undefined) return [];
  const tool = word(call.name) ?? 'unknown';
  const doneMs = cancelledMs ?? timeOf(call.timestamp);
  if (doneMs !== undefined) memory.remember('place', 'asked', String(doneMs));
  const input = fieldsOf(call.args);
  const child = word(call.agentId);
  const facts = {
    call: id,
    tool,
    launches: tool === 'invoke_agent' ? { id: child, agent: word(input.agent_name) } : undefined,
  };
  const name = actionName(tool);
  const entries: TranscriptEntry[] = [
    { event_type: 'Action.Before', key: id, data: { action: { name, input } }, facts, atMs: answeredMs },
  ];
  if (tool === 'enter_plan_mode')
    entries.push({ event_type: 'Agent.Plan.Start', key: id, data: { plan_type: 'plan' }, atMs: answeredMs });
  const end = endOf(call, tool);
  if (end === undefined) return entries;
  const { success, exitCode, denied, interrupted } = end;
  entries.push({
    event_type: 'Action.After',
    key: id,
    output: outputOf(call),
    data: {
      action: { name, input, result: success === undefined ? undefined : { success, exit_code: exitCode } },
      decision: denied ? { outcome: 'deny' } : undefined,
    },
    facts: {
      ...facts,
      interrupted,
      error_type: success === false ? (exitCode === undefined ? 'tool_error' : 'exit_code') : undefined,
      decision: denied ? { source: 'config', basis: 'observed' } : undefined,
    },
    atMs: doneMs,
  });
  if (tool === 'exit_plan_mode')
    entries.push({ event_type: 'Agent.Plan.End', key: id, data: { plan_type: 'plan' }, atMs: doneMs });
  if (tool !== 'complete_task' || file.subagent === undefined) return entries;
  memory.remember('place', 'ended', String(doneMs ?? ''));
  return [...entries, ...ended(memory, file)];
}

interface End {
  success: boolean | undefined;
  exitCode?: number | undefined;
  denied?: true;
  interrupted?: true;
}

/** Returns undefined while the call runs. */
function endOf(call: Fields, tool: string): End | undefined {
  const { status } = call;
  if (status === 'cancelled') return { success: undefined, interrupted: true };
  if (status !== 'success' && status !== 'error') return undefined;
  const exitCode = tool === 'run_shell_command' ? exitCodeOf(outputOf(call), text(call.resultDisplay)) : undefined;
  if (status === 'success') return { success: (exitCode ?? 0) === 0, exitCode };
  // The message of Gemini CLI for a call that a rule of its policies denies.
  if (/^Tool execution denied by policy/.test(text(responseOf(call).error) ?? ''))
    return { success: undefined, denied: true };
  return { success: false, exitCode };
}

function responseOf(call: Fields): Fields {
  const [result] = Array.isArray(call.result) ? call.result : [];
  return fieldsOf(fieldsOf(fieldsOf(result).functionResponse).response);
}

const outputOf = (call: Fields): string | undefined => text(responseOf(call).output) ?? text(responseOf(call).error);
