/**
 * `~/.factory/sessions/<folder>/<session>.jsonl`: one row per message, with blocks in the form of Anthropic's API, and
 * beside it `<session>.settings.json` with the model and the tokens of the whole session. Facts: files of January 2026
 * and of version 0.215; checked 2026-11-19.
 *
 * Hooks have no id of a call, and a call that fails has no closing hook. So the rows report prompts, calls and answers,
 * and hooks only trigger their reading. The row of a result is written after the slowest call of its response, so the
 * end of a call is taken from the row of its hook. A subagent is a separate session, whose first row names the call
 * that launched it. A fork begins with copies of the rows of its parent.
 *
 * Tokens are known only for the session as a whole, without its subagents; each reading reports the tokens that were
 * added since the previous one. Input tokens are counted without the cache.
 */
import { dirname, join } from 'node:path';
import type { Fields } from '../../event/event.ts';
import { fieldsOf, isFields, number, text, word } from '../../lib/read.ts';
import type {
  Look,
  Memory,
  ReadFile,
  Transcript,
  TranscriptEntry,
  TranscriptFile,
  TranscriptReading,
} from '../contract/contract.ts';
import { timeOf } from '../shared/times.ts';
import { actionName, endingOf, outputOf, toolFacts } from './tools.ts';

export const transcript: Transcript = {
  namedFiles: fields => ({ main: word(fields.transcript_path) }),
  files({ main, home, session }, look) {
    const own = main === undefined ? filesIn(home, look).find(({ path }) => sessionIn(path) === session) : fileAt(main);
    return own === undefined ? [] : [own, ...subagentsOf(own.path, session, look)];
  },
  installed: ({ home }, look) => filesIn(home, look),
  sessions({ path }, { rows }) {
    const first = rows.find(({ type }) => type === 'session_start');
    // The row of the start may be missing or damaged: then the path identifies the session.
    if (first === undefined && !/[\\/]\.factory[\\/]/.test(path)) return [];
    const session = word(first?.id) ?? sessionIn(path);
    if (word(first?.callingSessionId) !== undefined) return [];
    return session === undefined ? [] : [{ session, cwd: word(first?.cwd) }];
  },
  read: { format: 'lines', row, rest },
};

const fileAt = (path: string): TranscriptFile => ({ path, beside: [path.replace(/\.jsonl$/, '.settings.json')] });

const sessionIn = (path: string): string | undefined => /([^\\/]+)\.jsonl$/.exec(path)?.[1];

/** One folder for each working folder; earlier versions wrote all sessions into one. */
function filesIn(home: string, look: Look): TranscriptFile[] {
  const root = join(home, '.factory', 'sessions');
  const names = look.names(root);
  const paths = names.flatMap(name =>
    name.includes('.') ? [join(root, name)] : look.names(join(root, name)).map(file => join(root, name, file)),
  );
  return paths.filter(path => path.endsWith('.jsonl')).map(fileAt);
}

/** Returns the files of subagents, and of their subagents. They are in the folder of the session's file. */
function subagentsOf(main: string, session: string, look: Look): TranscriptFile[] {
  const folder = dirname(main);
  const parents = new Map<string, string>();
  for (const name of look.names(folder)) {
    const id = name.endsWith('.jsonl') ? sessionIn(name) : undefined;
    const parent = id === undefined ? undefined : CALLING.exec(look.head(join(folder, name)))?.[1];
    if (id !== undefined && parent !== undefined) parents.set(id, parent);
  }
  const family = new Set([session]);
  for (const known of family) for (const [id, parent] of parents) if (parent === known) family.add(id);
  family.delete(session);
  return [...family].map(id => ({ ...fileAt(join(folder, `${id}.jsonl`)), subagent: id }));
}

const CALLING = /^[^\n]*"callingSessionId"\s*:\s*"([^"]{1,128})"/;

/** A row with its place: its session or subagent, its turn, and its original if a fork copied it. */
interface Row {
  fields: Fields;
  message: Fields;
  blocks: readonly Fields[];
  key: string;
  atMs: number | undefined;
  memory: Memory;
  file: ReadFile;
}

function row(fields: Fields, memory: Memory, file: ReadFile): TranscriptEntry[] {
  if (fields.type === 'session_start') return opened(fields, memory, file);
  // The hooks of a subagent carry its own session id; its rows belong to the session that launched it.
  if (memory.recall('session', 'is') === 'subagent' && file.subagent === undefined) return [];
  const message = fieldsOf(fields.message);
  const key = word(fields.id);
  if (fields.type === 'agent_turn_outcome') return turnEnded(fields, memory, file);
  if (key === undefined) return [];
  const blocks = Array.isArray(message.content) ? message.content.map(fieldsOf) : [];
  const at: Row = { fields, message, blocks, key, atMs: timeOf(fields.timestamp), memory, file };
  leaveCopies(at);
  return fields.type === 'message' ? entriesOf(at) : fields.type === 'compaction_state' ? compacted(at) : [];
}

/** Detects the end of a fork's copies: the row at which the fork was made, and the rows of hooks after it. */
function leaveCopies({ key, message, memory }: Row): void {
  const forkedAt = memory.recall('session', 'forkedAt');
  if (forkedAt === undefined) return;
  if (forkedAt === key) memory.remember('session', 'forkedAt', '');
  const isHook = message.hookEventName !== undefined;
  if (forkedAt !== '' || (isHook && message.hookEventName !== 'SessionStart')) return;
  memory.forget('session', 'forkedAt');
  memory.forget('session', 'copies');
}

function opened(fields: Fields, memory: Memory, file: ReadFile): TranscriptEntry[] {
  const parent = word(fields.parent);
  const forkedAt = word(fields.forkedAtMessageId);
  if (parent !== undefined && forkedAt !== undefined) {
    memory.remember('session', 'parent', parent);
    memory.remember('session', 'copies', parent);
    memory.remember('session', 'forkedAt', forkedAt);
  }
  if (word(fields.callingSessionId) !== undefined && file.subagent === undefined)
    memory.remember('session', 'is', 'subagent');
  memory.remember('session', 'start', word(fields.callingToolUseId) ?? '');
  return [];
}

function entriesOf(at: Row): TranscriptEntry[] {
  const { message, memory, fields } = at;
  const { role, hookEventName } = message;
  const hook = word(hookEventName);
  // A fork begins with its first own row.
  const entries = memory.recall('session', 'copies') === undefined ? started(at, hook) : [];
  if (hook !== undefined) return [...entries, ...hookRan(at, hook)];
  if (role === 'assistant') return [...entries, ...answered(at)];
  // The program adds rows for the model (context) and for the user (errors).
  if (role !== 'user' || message.visibility === 'user_only' || word(fields.id)?.startsWith('context-')) {
    if (message.visibility === 'user_only' && at.atMs !== undefined)
      memory.remember('turn', 'noticed', String(at.atMs));
    return entries;
  }
  return [...entries, ...asked(at)];
}

const readingAt = ({ atMs, memory, file }: Row, reading: TranscriptReading): TranscriptReading => ({
  atMs,
  copyOf: memory.recall('session', 'copies'),
  ...reading,
  facts: {
    turn: file.subagent === undefined ? memory.recall('turn', 'id') : undefined,
    agent: file.subagent === undefined ? undefined : memory.recall('session', 'kind'),
    ...reading.facts,
  },
});

/** The row of the start has no time; the first message has one, and the row of its hook an earlier one. */
function started(at: Row, hook: string | undefined): TranscriptEntry[] {
  const { memory, file, message } = at;
  const launchedBy = memory.recall('session', 'start');
  const isAgain = launchedBy === undefined && hook === 'SessionStart' && file.subagent === undefined;
  if (launchedBy === undefined && !isAgain) return [];
  memory.forget('session', 'start');
  const parent = memory.recall('session', 'parent');
  const start: TranscriptReading = {
    event_type: 'Session.Start',
    key: isAgain ? at.key : 'start',
    atMs: number(message.hookStartTime) ?? at.atMs,
    actor: file.subagent === undefined ? 'user' : undefined,
    data: { start_reason: isAgain || parent !== undefined ? 'resume' : 'new' },
    facts: { turn: undefined, previous: parent === undefined || isAgain ? undefined : { session: parent } },
  };
  if (file.subagent === undefined) return [readingAt(at, { ...start, unless: 'hooked' })];
  return [readingAt(at, { ...start, facts: { launched_by: launchedBy === '' ? undefined : launchedBy } })];
}

/** Reads a row that the program wrote after a hook. It has the end time of a call or of the session. */
function hookRan(at: Row, hook: string): TranscriptEntry[] {
  const { message, memory, file } = at;
  const beganMs = number(message.hookStartTime);
  const call = word(message.hookToolCallId);
  if (hook === 'PostToolUse' && call !== undefined && beganMs !== undefined)
    memory.remember('ended', call, String(beganMs));
  if (hook !== 'SessionEnd' || memory.recall('session', 'copies') !== undefined) return [];
  if (file.subagent !== undefined) return [];
  const end: TranscriptReading = {
    event_type: 'Session.End',
    key: at.key,
    unless: 'hooked',
    atMs: beganMs ?? at.atMs,
    data: {},
    facts: { turn: undefined },
  };
  return [readingAt(at, end)];
}

function asked(at: Row): TranscriptEntry[] {
  const { blocks, key, atMs, memory, file } = at;
  if (atMs !== undefined) memory.remember('turn', 'requested', String(atMs));
  const results = blocks.filter(({ type }) => type === 'tool_result');
  if (results.length > 0) return [...results.flatMap(block => result(at, block)), ...stopped(at, results)];
  // All blocks after the first text were added by the program: contents of named files.
  const prompt = blocks.find(({ type }) => type === 'text');
  if (file.subagent !== undefined) return [];
  memory.remember('turn', 'id', key);
  return [
    readingAt(at, {
      event_type: 'Prompt.Submitted',
      key,
      // The end of a task in the background starts a turn.
      actor: key.startsWith('task-completion:') ? 'system' : 'user',
      data: { prompt: text(prompt?.text) },
    }),
  ];
}

/** A call that the user cancelled ends its turn. */
function stopped(at: Row, results: readonly Fields[]): TranscriptEntry[] {
  const { key, atMs, file } = at;
  if (file.subagent !== undefined || !results.some(block => endingOf('', block).cancelled)) return [];
  const end = readingAt(at, {
    event_type: 'Agent.Response',
    key,
    actor: 'user',
    data: { final: true },
    facts: { interrupted: true },
  });
  return [end, { over: 'turn', atMs }];
}

function result(at: Row, block: Fields): TranscriptEntry[] {
  const { memory } = at;
  const call = word(block.tool_use_id);
  if (call === undefined) return [];
  const tool = memory.recall('tool', call) ?? 'unknown';
  const ending = endingOf(tool, block);
  const endedMs = Number(memory.recall('ended', call) ?? Number.NaN);
  memory.forget('ended', call);
  const launched = tool === 'Task' ? LAUNCHED.exec(outputOf(block))?.[1] : undefined;
  return [
    readingAt(at, {
      event_type: 'Action.After',
      key: call,
      atMs: Number.isNaN(endedMs) ? at.atMs : Math.min(endedMs, at.atMs ?? endedMs),
      data: {
        action: { name: actionName(tool), result: ending.denied ? undefined : { ...ending.result } },
        decision: ending.denied ? { outcome: 'deny' } : undefined,
      },
      output: block.content,
      facts: {
        ...toolFacts(tool),
        call,
        launches: launched === undefined ? undefined : { id: launched, agent: memory.recall('kind', call) },
        interrupted: ending.interrupted,
        error_type: ending.errorType,
        decision: ending.denied ? { source: 'mode', basis: 'observed' } : undefined,
      },
    }),
  ];
}

const LAUNCHED = /^session_id: ([\w-]{1,128})$/m;

function answered(at: Row): TranscriptEntry[] {
  const { blocks, key, memory, message, file } = at;
  const model = word(message.modelId);
  if (model !== undefined) memory.remember('session', 'model', model);
  const settings = settingsIn(file);
  const requested = memory.recall('turn', 'requested');
  // Texts of the program have no model, unlike the responses of the same version.
  const isResponse = model !== undefined || memory.recall('session', 'model') === undefined;
  const entries: TranscriptEntry[] = isResponse
    ? [
        readingAt(at, {
          event_type: 'Model.Responded',
          key,
          data: { model_id: model ?? settings.model },
          facts: {
            provider: settings.provider,
            response: word(message.openaiMessageId),
            started_ms: requested === undefined ? undefined : Number(requested),
          },
        }),
      ]
    : [];
  let calls = 0;
  for (const { type, id, name, input } of blocks) {
    const call = word(id);
    if (type !== 'tool_use' || call === undefined) continue;
    calls += 1;
    const tool = word(name) ?? 'unknown';
    memory.remember('tool', call, tool);
    const kind = tool === 'Task' ? word(fieldsOf(input).subagent_type) : undefined;
    if (kind !== undefined) memory.remember('kind', call, kind);
    entries.push(
      readingAt(at, {
        event_type: 'Action.Before',
        key: call,
        data: { action: { name: actionName(tool), input: fieldsOf(input) } },
        facts: {
          ...toolFacts(tool),
          call,
          launches: tool === 'Task' ? { agent: kind } : undefined,
        },
      }),
    );
  }
  const answer = blocks.flatMap(({ type, text: each }) => (type === 'text' ? (text(each) ?? []) : [])).join('\n');
  if (calls > 0 || answer === '') return entries;
  // A response without calls is the answer.
  const final = readingAt(at, { event_type: 'Agent.Response', key, data: { response: answer, final: true } });
  if (file.subagent === undefined) return [...entries, final, { over: 'turn', atMs: at.atMs }];
  const end = readingAt(at, { event_type: 'Session.End', key: 'end', data: { end_reason: 'completed' } });
  return [...entries, end, { over: 'subagent', id: file.subagent, atMs: at.atMs }];
}

/** Reads the program's record of the end of a turn. Only this record shows that the model refused the request. */
function turnEnded(fields: Fields, memory: Memory, file: ReadFile): TranscriptEntry[] {
  const turn = word(fields.turnId);
  const reason = word(fields.reason);
  const noticed = memory.recall('turn', 'noticed');
  const requested = memory.recall('turn', 'requested');
  if (turn === undefined || reason === undefined || reason === 'completed' || noticed === undefined) return [];
  const atMs = Number(noticed);
  const { model, provider } = settingsIn(file);
  const failed: TranscriptReading = {
    event_type: 'Model.Failed',
    key: turn,
    atMs,
    copyOf: memory.recall('session', 'copies'),
    data: { model_id: model, error_type: /^[a-z_]{1,64}$/.test(reason) ? reason : 'model_error' },
    facts: {
      turn: file.subagent === undefined ? turn : undefined,
      provider,
      started_ms: requested === undefined ? undefined : Number(requested),
    },
  };
  return [failed, file.subagent === undefined ? { over: 'turn', id: turn, atMs } : { over: 'subagent', atMs }];
}

/** Returns a compaction: a summary replaced the context. The row does not show whether the user asked for it. */
const compacted = (at: Row): TranscriptEntry[] => [
  readingAt(at, {
    event_type: 'Context.Compaction',
    key: at.key,
    actor: 'system',
    data: {},
    facts: { phase: 'after' },
  }),
];

/** Returns the tokens that were added since the previous reading. */
function rest(memory: Memory, file: ReadFile): TranscriptEntry[] {
  const { model, provider, used } = settingsIn(file);
  if (used === undefined) return [];
  const added = { ...noTokens };
  for (const part of parts) {
    const now = count(used[fieldOf[part]]);
    if (now === undefined) continue;
    const before = Number(memory.recall('used', part) ?? '0');
    added[part] = Math.max(0, now - before);
    memory.remember('used', part, String(Math.max(now, before)));
  }
  const { input, output, cacheRead, cacheWrite, reasoning } = added;
  if ([input, output, cacheRead, cacheWrite].every(tokens => (tokens ?? 0) === 0)) return [];
  const sum: TranscriptReading = {
    event_type: 'Model.Responded',
    key: `used-${parts.map(part => memory.recall('used', part) ?? '').join('-')}`,
    data: {
      model_id: model,
      input_tokens: input === undefined ? undefined : input + (cacheRead ?? 0) + (cacheWrite ?? 0),
      output_tokens: output,
    },
    facts: {
      sum: 'session',
      provider,
      usage: { cache_read_tokens: cacheRead, cache_write_tokens: cacheWrite, reasoning_tokens: reasoning },
    },
  };
  return [sum];
}

type Part = 'input' | 'output' | 'cacheRead' | 'cacheWrite' | 'reasoning';

const parts: readonly Part[] = ['input', 'output', 'cacheRead', 'cacheWrite', 'reasoning'];

/** Values that a file does not state stay unknown. */
const noTokens: Record<Part, number | undefined> = {
  input: undefined,
  output: undefined,
  cacheRead: undefined,
  cacheWrite: undefined,
  reasoning: undefined,
};

const fieldOf: Readonly<Record<Part, string>> = {
  input: 'inputTokens',
  output: 'outputTokens',
  cacheRead: 'cacheReadTokens',
  cacheWrite: 'cacheCreationTokens',
  reasoning: 'thinkingTokens',
};

interface Settings {
  model: string | undefined;
  provider: string | undefined;
  used: Fields | undefined;
}

function settingsIn({ companions: [settings] }: ReadFile): Settings {
  const fields = parsed(settings?.toString('utf8') ?? '');
  const { model, providerLock, tokenUsage } = fields;
  return { model: word(model), provider: word(providerLock), used: isFields(tokenUsage) ? tokenUsage : undefined };
}

function parsed(json: string): Fields {
  try {
    return fieldsOf(JSON.parse(json));
  } catch {
    // The file is missing or incomplete: it is read again with the next rows.
    return {};
  }
}

const count = (value: unknown): number | undefined =>
  typeof value === 'number' && Number.isInteger(value) && value >= 0 ? value : undefined;
