/**
 * `~/.copilot/session-state/<session>/events.jsonl`, the event log of the CLI and of everything that runs on it, and
 * the transcript of the chat agent in VS Code, with the same envelope and fewer rows. Facts: the vendor's published
 * event types of 2026-08, recordings of CLI 1.0.45, 1.0.77 and 1.0.78 and of VS Code 1.109; checked 2026-11-18.
 *
 * Since 1.0.102, a row has the exact tokens of each response. Older logs have the model and the output tokens of each
 * response and, at the end of the program, the sum of the whole session for each model. That sum without the known part
 * is reported as one value. A resumed session continues the sum. A killed session has no sum.
 *
 * Hooks of the CLI name neither turns nor calls, and hooks of a subagent have the session id of the subagent. So the
 * log reports prompts, calls and answers; hooks report the start and the end of a session. The hooks of the chat agent
 * in VS Code have ids, so there the hooks report the events that both have.
 */

import { join } from 'node:path';
import type { Fields } from '../../event/event.ts';
import { count, fieldsOf, number, own, text, word } from '../../lib/read.ts';
import type {
  Look,
  Memory,
  Places,
  ReadFile,
  Transcript,
  TranscriptEntry,
  TranscriptFile,
} from '../contract/contract.ts';
import { callEnded, callStarted, permissionAsked, permissionGiven, typedByPerson } from './calls.ts';
import { entryOf, type Row, sharedEntry } from './row.ts';

/** The file of the CLI, and that of the chat agent in VS Code. */
export const EVENT_LOG = /[\\/]session-state[\\/]([^\\/]+)[\\/]events\.jsonl$/;

export const CHAT_LOG = /[\\/]GitHub\.copilot-chat[\\/]transcripts[\\/]([^\\/]+)\.jsonl$/;

const OWN_NAME = /(?:^|[\\/])([\w.-]{1,128})\.jsonl$/;

export const transcript: Transcript = {
  namedFiles(fields) {
    const main = word(fields.transcriptPath) ?? word(fields.transcript_path);
    return { main: main !== undefined && (EVENT_LOG.test(main) || CHAT_LOG.test(main)) ? main : undefined };
  },
  files({ main, home, env, session }, look) {
    if (main !== undefined) return [{ path: main }];
    if (!/^[\w-]{1,128}$/.test(session)) return [];
    const path = join(sessionsFolder({ home, env }), session, 'events.jsonl');
    return look.head(path) === '' ? [] : [{ path }];
  },
  installed: (places, look) => [...eventLogs(places, look), ...chatLogs(places, look)],
  sessions({ path }, { rows }) {
    const data = fieldsOf(rows.find(row => row.type === 'session.start')?.data);
    const isIts = text(data.producer)?.startsWith('copilot') || word(data.copilotVersion) !== undefined;
    // Without the first row, the folder or the file name identifies the session.
    const isRest = rows.some(
      row => own(readers, text(row.type) ?? '') !== undefined && word(row.id) && 'parentId' in row,
    );
    const [, named] = (isRest && (EVENT_LOG.exec(path) ?? CHAT_LOG.exec(path) ?? OWN_NAME.exec(path))) || [];
    const session = isIts ? word(data.sessionId) : named;
    return session === undefined ? [] : [{ session, cwd: word(fieldsOf(data.context).cwd) }];
  },
  read: { format: 'lines', version: row => word(fieldsOf(row.data).copilotVersion), row: readRow },
  // The CLI ends each run with a row, and may write its last rows after its last hook. VS Code's versions begin with 0.
  hasTotals: version => /^[1-9]/.test(version),
  unread: [
    {
      why: 'the database of usage: its rows share no id with the messages of the event log',
      fits: path => /[\\/]session-store\.db$/.test(path),
      installed: (places, look) =>
        [join(sessionsFolder(places), '..', 'session-store.db')].filter(path => look.head(path) !== ''),
    },
  ],
};

const sessionsFolder = ({ home, env }: Pick<Places, 'home' | 'env'>): string =>
  join(word(env.COPILOT_HOME) ?? join(home, '.copilot'), 'session-state');

function eventLogs(places: Places, look: Look): TranscriptFile[] {
  const folder = sessionsFolder(places);
  return look
    .names(folder)
    .map(session => ({ path: join(folder, session, 'events.jsonl') }))
    .filter(({ path }) => look.head(path) !== '');
}

function chatLogs({ home, env }: Places, look: Look): TranscriptFile[] {
  const data = [
    word(env.XDG_CONFIG_HOME) ?? join(home, '.config'),
    join(home, 'Library', 'Application Support'),
    ...(word(env.APPDATA) === undefined ? [] : [String(env.APPDATA)]),
  ];
  const storages = data.flatMap(folder =>
    ['Code', 'Code - Insiders'].map(product => join(folder, product, 'User', 'workspaceStorage')),
  );
  return storages.flatMap(storage =>
    look.names(storage).flatMap(workspace => {
      const folder = join(storage, workspace, 'GitHub.copilot-chat', 'transcripts');
      return look
        .names(folder)
        .filter(name => name.endsWith('.jsonl'))
        .map(name => ({ path: join(folder, name) }));
    }),
  );
}

function readRow(fields: Fields, memory: Memory, file: ReadFile): TranscriptEntry[] {
  const id = word(fields.id);
  if (id === undefined) return [];
  const atMs = Date.parse(text(fields.timestamp) ?? '');
  const row: Row = {
    id,
    atMs: Number.isNaN(atMs) ? undefined : atMs,
    data: fieldsOf(fields.data),
    subagent: word(fields.agentId),
    turn: word(fields.agentId) === undefined ? turnOf(fields, memory) : undefined,
    isChat: CHAT_LOG.test(file.path),
    memory,
  };
  return own(readers, text(fields.type) ?? '')?.(row) ?? [];
}

/** A prompt begins a turn, which the CLI calls an interaction. */
function turnOf({ type, data }: Fields, memory: Memory): string | undefined {
  const named = type === 'user.message' ? word(fieldsOf(data).interactionId) : undefined;
  if (named !== undefined) memory.remember('turn', 'running', named);
  return memory.recall('turn', 'running');
}

const readers: Readonly<Record<string, (row: Row) => TranscriptEntry[]>> = {
  'session.start': row => started(row, 'new'),
  'session.resume': row => started(row, 'resume'),
  'session.model_change': ({ data, memory }) => chosen(data.newModel, memory),
  'session.auto_mode_resolved': ({ data, memory }) => chosen(data.chosenModel, memory),
  'user.message': prompted,
  'assistant.turn_start': asked,
  'session.usage_record': paid,
  'assistant.message': responded,
  'tool.user_requested': typedByPerson,
  'tool.execution_start': callStarted,
  'tool.execution_complete': callEnded,
  'permission.requested': permissionAsked,
  'permission.completed': permissionGiven,
  'subagent.started': subagentStarted,
  'subagent.completed': row => subagentEnded(row, true),
  'subagent.failed': row => subagentEnded(row, false),
  'hook.start': hookBegan,
  'session.compaction_start': compactionStarted,
  'session.compaction_complete': compacted,
  'session.error': failed,
  abort: aborted,
  'session.shutdown': shutDown,
};

function started(row: Row, reason: 'new' | 'resume'): TranscriptEntry[] {
  const { data, memory } = row;
  chosen(data.selectedModel, memory);
  // After a new start, the sums begin at zero. After a resume, they continue.
  if (reason === 'new' && memory.recall('starts', row.id) === undefined) {
    memory.remember('starts', row.id, '1');
    for (const kind of ['sums', 'known']) for (const [of] of memory.list(kind)) memory.forget(kind, of);
  }
  const facts = { turn: undefined, model: memory.recall('model', 'chosen') };
  return [entryOf(row, { event_type: 'Session.Start', unless: 'hooked', data: { start_reason: reason }, facts })];
}

/** `auto` is not a model. The row with the selected model follows later. */
function chosen(name: unknown, memory: Memory): TranscriptEntry[] {
  const model = word(name);
  if (model !== undefined && model !== 'auto') memory.remember('model', 'chosen', model);
  return [];
}

function prompted(row: Row): TranscriptEntry[] {
  asked(row);
  if (row.subagent !== undefined) return [];
  // A text that the user did not write has a source.
  const actor = word(row.data.source) === undefined ? 'user' : 'system';
  return [sharedEntry(row, { event_type: 'Prompt.Submitted', actor, data: { prompt: text(row.data.content) } })];
}

/** Stores the time of a request to the model, for the main agent or a subagent. */
export function asked({ memory, subagent, atMs }: Row): TranscriptEntry[] {
  if (atMs !== undefined) memory.remember('asked', subagent ?? '', String(atMs));
  return [];
}

/** The exact tokens of one response. The row of its text follows, with the same id of the request. */
function paid(row: Row): TranscriptEntry[] {
  const usage = fieldsOf(row.data.usage);
  const { memory, atMs, subagent } = row;
  const request = word(usage.apiCallId) ?? row.id;
  const model = word(usage.model) ?? memory.recall('model', 'chosen');
  if (memory.recall('responses', request) !== undefined) return [];
  memory.remember('responses', request, 'paid');
  memory.forget('asked', subagent ?? '');
  const [input, output, read, written, reasoning] = CLASSES.map(name => count(usage[name]));
  if (model !== undefined) addKnown(model, [input, output, read, written, reasoning], memory);
  const durationMs = count(usage.duration);
  const finish = word(usage.finishReason);
  return [
    ...retried(row),
    entryOf(row, {
      event_type: 'Model.Responded',
      key: request,
      data: { model_id: model, input_tokens: input, output_tokens: output },
      facts: {
        response: word(usage.apiCallId),
        finish: finish !== undefined && /^[a-z_]{1,32}$/.test(finish) ? finish : undefined,
        started_ms: atMs === undefined || durationMs === undefined ? undefined : atMs - durationMs,
        usage: { cache_read_tokens: read, cache_write_tokens: written, reasoning_tokens: reasoning },
      },
    }),
  ];
}

/**
 * Reads the row of a hook, which is written if a hook is registered. Only the row of the error hook reports a retry.
 */
function hookBegan(row: Row): TranscriptEntry[] {
  const input = fieldsOf(row.data.input);
  if (row.data.hookType !== 'errorOccurred' || input.errorContext !== 'model_call') return [];
  row.memory.remember('error', row.subagent ?? '', JSON.stringify([row.id, row.atMs]));
  return [];
}

/** Returns a retry if an error preceded this response: the request was repeated. */
function retried(row: Row): TranscriptEntry[] {
  const error = row.memory.recall('error', row.subagent ?? '');
  if (error === undefined) return [];
  row.memory.forget('error', row.subagent ?? '');
  const [key, atMs] = JSON.parse(error) as [string, number | undefined];
  return [entryOf(row, { event_type: 'Retry.Triggered', key, atMs: atMs ?? row.atMs, actor: 'system', data: {} })];
}

function responded(row: Row): TranscriptEntry[] {
  const { data, memory, subagent } = row;
  const startedMs = number(Number(memory.recall('asked', subagent ?? '') ?? Number.NaN));
  memory.forget('asked', subagent ?? '');
  const model = word(data.model) ?? memory.recall('model', 'chosen');
  const output = count(data.outputTokens);
  // A long response may have several rows, each with the tokens of the whole response.
  const isPiece = (number(data.chunkCount) ?? 1) > 1;
  const key = (isPiece ? word(data.apiCallId) : undefined) ?? word(data.messageId) ?? row.id;
  const entries: TranscriptEntry[] = [];
  // A repeated row is not a second response.
  const isPaid = memory.recall('responses', word(data.apiCallId) ?? key) === 'paid';
  if (!isPaid && memory.recall('responses', key) === undefined) {
    memory.remember('responses', key, '1');
    if (model !== undefined && output !== undefined) addKnown(model, [undefined, output], memory);
    entries.push(
      entryOf(row, {
        event_type: 'Model.Responded',
        key,
        data: { model_id: model, output_tokens: output },
        facts: { response: word(data.apiCallId), started_ms: startedMs },
      }),
    );
  }
  const response = word(data.content);
  const calls = Array.isArray(data.toolRequests) && data.toolRequests.length > 0;
  const goesOn = calls || (isPiece && (number(data.chunkIndex) ?? 0) + 1 < (number(data.chunkCount) ?? 1));
  if (response === undefined || goesOn) return entries;
  if (subagent === undefined) memory.forget('turn', 'running');
  if (subagent !== undefined) {
    return [...entries, entryOf(row, { event_type: 'Agent.Response', data: { response, final: true } })];
  }
  return [
    ...entries,
    entryOf(row, { event_type: 'Agent.Response', data: { response, final: false } }),
    sharedEntry(row, { event_type: 'Agent.Response', key: `end:${row.id}`, data: { final: true } }),
    { over: 'turn', id: row.turn, atMs: row.atMs },
  ];
}

/** Older versions name a subagent by its call. */
const subagentOf = ({ subagent, data }: Row): string | undefined => subagent ?? word(data.toolCallId);

function subagentStarted(row: Row): TranscriptEntry[] {
  const id = subagentOf(row);
  if (id === undefined) return [];
  return [
    entryOf(row, {
      event_type: 'Session.Start',
      key: id,
      subagent: id,
      data: { start_reason: 'new' },
      facts: { agent: word(row.data.agentName), model: word(row.data.model), launched_by: word(row.data.toolCallId) },
    }),
  ];
}

function subagentEnded(row: Row, completed: boolean): TranscriptEntry[] {
  const { data } = row;
  const id = subagentOf(row);
  if (id === undefined) return [];
  const usage = {
    total_tokens: count(data.totalTokens),
    total_actions: count(data.totalToolCalls),
    duration_ms: count(data.durationMs),
  };
  return [
    entryOf(row, {
      event_type: completed ? 'Session.End' : 'Session.Abort',
      key: id,
      subagent: id,
      data: { end_reason: completed ? 'completed' : 'error', usage },
      facts: { agent: word(data.agentName) },
    }),
    { over: 'subagent', id, atMs: row.atMs },
  ];
}

const triggerOf = (data: Fields): 'auto' | 'manual' | undefined =>
  data.trigger === 'auto' || data.trigger === 'manual' ? data.trigger : undefined;

function compactionStarted(row: Row): TranscriptEntry[] {
  return [
    sharedEntry(row, {
      event_type: 'Context.Compaction',
      actor: 'system',
      data: { trigger: triggerOf(row.data), tokens_before: count(row.data.currentTokens) },
      facts: { phase: 'before' },
    }),
  ];
}

function compacted(row: Row): TranscriptEntry[] {
  const { data } = row;
  const used = fieldsOf(data.compactionTokensUsed);
  const model = word(used.model);
  const entries: TranscriptEntry[] = [];
  const input = count(used.inputTokens) ?? count(used.input);
  const output = count(used.outputTokens) ?? count(used.output);
  if (input !== undefined || output !== undefined) {
    entries.push(
      entryOf(row, {
        event_type: 'Model.Responded',
        data: { model_id: model, input_tokens: input, output_tokens: output, latency_ms: count(used.duration) },
        facts: {
          usage: {
            cache_read_tokens: count(used.cacheReadTokens) ?? count(used.cachedInput),
            cache_write_tokens: count(used.cacheWriteTokens),
          },
        },
      }),
    );
  }
  if (data.success === false) return entries;
  const removed = number(data.tokensRemoved);
  entries.push(
    entryOf(row, {
      event_type: 'Context.Compaction',
      actor: 'system',
      data: {
        trigger: triggerOf(data),
        tokens_before: count(data.preCompactionTokens),
        tokens_after: count(data.postCompactionTokens),
        // The summary of a short conversation is longer than the conversation.
        tokens_removed: removed === undefined ? undefined : Math.max(0, removed),
      },
      facts: { phase: 'after' },
    }),
  );
  return entries;
}

function failed(row: Row): TranscriptEntry[] {
  const startedMs = Number(row.memory.recall('asked', row.subagent ?? '') ?? Number.NaN);
  row.memory.forget('error', row.subagent ?? '');
  row.memory.forget('turn', 'running');
  const kind = /^[a-z][a-z0-9_-]{0,63}$/.test(text(row.data.errorType) ?? '') ? String(row.data.errorType) : 'unknown';
  const status = number(row.data.statusCode);
  return [
    sharedEntry(row, {
      event_type: 'Model.Failed',
      data: {
        model_id: row.memory.recall('model', 'chosen'),
        error_type: kind,
        error_message: text(row.data.message),
      },
      facts: {
        error_type: status === undefined ? kind : String(status),
        started_ms: Number.isNaN(startedMs) ? undefined : startedMs,
      },
    }),
    { over: 'turn', id: row.turn, atMs: row.atMs },
  ];
}

function aborted(row: Row): TranscriptEntry[] {
  row.memory.forget('turn', 'running');
  return [
    entryOf(row, { event_type: 'Agent.Response', data: { final: true }, facts: { interrupted: true } }),
    { over: 'turn', id: row.turn, atMs: row.atMs },
  ];
}

const CLASSES = ['inputTokens', 'outputTokens', 'cacheReadTokens', 'cacheWriteTokens', 'reasoningTokens'] as const;

/** The sums of the log by model, less the part that was reported before. */
function shutDown(row: Row): TranscriptEntry[] {
  const { data, memory } = row;
  const metrics = data.modelMetrics ?? fieldsOf(data.accountingSnapshot).modelMetrics;
  const sums = Object.entries(fieldsOf(metrics)).flatMap(([model, of]) =>
    sumOf(row, model, fieldsOf(fieldsOf(of).usage)),
  );
  memory.forget('asked', '');
  const isError = data.shutdownType === 'error';
  return [
    ...sums,
    entryOf(row, {
      event_type: isError ? 'Session.Abort' : 'Session.End',
      unless: 'hooked',
      data: { end_reason: isError ? 'error' : 'completed' },
      facts: { turn: undefined },
    }),
    { over: 'session', atMs: row.atMs },
  ];
}

function sumOf(row: Row, model: string, usage: Fields): TranscriptEntry[] {
  const { memory } = row;
  // A sum that the memory cannot hold could not be reduced later.
  if (model.length > 256) return [];
  const now = CLASSES.map(name => count(usage[name]));
  const before = JSON.parse(memory.recall('sums', model) ?? '[]') as (number | null)[];
  memory.remember('sums', model, JSON.stringify(now));
  // Some builds restart the sum after a compaction. Then no part of the sum was reported before.
  const again = now.some((tokens, i) => (tokens ?? 0) < (before[i] ?? 0));
  const known = JSON.parse(memory.recall('known', model) ?? '[]') as (number | null)[];
  memory.forget('known', model);
  const [input, output, read, written, reasoning] = now.map((tokens, i) =>
    tokens === undefined ? undefined : Math.max(0, tokens - (again ? 0 : (before[i] ?? 0)) - (known[i] ?? 0)),
  );
  if ([input, output, read, written, reasoning].every(tokens => (tokens ?? 0) === 0)) return [];
  return [
    entryOf(row, {
      event_type: 'Model.Responded',
      key: `${row.id}:${model}`,
      subagent: undefined,
      data: { model_id: model, input_tokens: input, output_tokens: output === 0 ? undefined : output },
      facts: {
        turn: undefined,
        sum: 'session',
        usage: { cache_read_tokens: read, cache_write_tokens: written, reasoning_tokens: reasoning },
      },
    }),
  ];
}

/** Adds the tokens of a response to those that a later sum contains. */
function addKnown(model: string, tokens: readonly (number | undefined)[], memory: Memory): void {
  const known = JSON.parse(memory.recall('known', model) ?? '[]') as (number | null)[];
  memory.remember('known', model, JSON.stringify(CLASSES.map((_, i) => (known[i] ?? 0) + (tokens[i] ?? 0))));
}
