/**
 * `~/.copilot/session-state/<session>/events.jsonl`, the event log of the CLI and of everything that runs on it, and
 * the transcript of the chat agent in VS Code, with the same envelope and fewer rows. Facts: the vendor's published
 * event types of 2026-08, recordings of CLI 1.0.45, 1.0.77 and 1.0.78 and of VS Code 1.109; checked 2026-11-18.
 *
 * For a response, the log states the model and the output tokens. The input tokens come at the end of the program, as
 * the sum of the whole session for each model. That sum, less the known part, is reported as one; a resumed session
 * continues it. A compaction is a response of its own, which the sum leaves out. A killed session has no sum.
 *
 * Hooks name neither turns nor calls. In a session with hooks, only the hooks report prompts, calls and answers.
 */
import { join } from 'node:path';
import type { DecisionSource, Fields } from '../../event/event.ts';
import { count, fieldsOf, number, own, text, word } from '../../lib/read.ts';
import type {
  Look,
  Memory,
  Places,
  ReadFile,
  Transcript,
  TranscriptEntry,
  TranscriptFile,
  TranscriptReading,
} from '../contract/contract.ts';
import { exitCodeOf, inputOf, launchedBy, toolOf } from './tools.ts';

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
  unread: [
    {
      why: 'the database of usage: its rows have no id that the messages of the event log have, too',
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

interface Row {
  id: string;
  atMs: number | undefined;
  data: Fields;
  /** The subagent of the row: the call that launched it. */
  subagent: string | undefined;
  /** A row of the chat agent in VS Code. */
  isChat: boolean;
  memory: Memory;
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
    isChat: CHAT_LOG.test(file.path),
    memory,
  };
  return own(readers, text(fields.type) ?? '')?.(row) ?? [];
}

const readers: Readonly<Record<string, (row: Row) => TranscriptEntry[]>> = {
  'session.start': row => started(row, 'new'),
  'session.resume': row => started(row, 'resume'),
  'session.model_change': ({ data, memory }) => chosen(data.newModel, memory),
  'session.auto_mode_resolved': ({ data, memory }) => chosen(data.chosenModel, memory),
  'user.message': prompted,
  'assistant.turn_start': asked,
  'assistant.message': responded,
  'tool.user_requested': typedByPerson,
  'tool.execution_start': callStarted,
  'tool.execution_complete': callEnded,
  'permission.requested': permissionAsked,
  'permission.completed': permissionGiven,
  'subagent.started': subagentStarted,
  'subagent.completed': row => subagentEnded(row, true),
  'subagent.failed': row => subagentEnded(row, false),
  'session.compaction_start': compactionStarted,
  'session.compaction_complete': compacted,
  'session.error': failed,
  abort: aborted,
  'session.shutdown': shutDown,
};

function entryOf(row: Row, reading: Omit<TranscriptReading, 'key'> & { key?: string }): TranscriptReading {
  return {
    key: row.id,
    atMs: row.atMs,
    subagent: row.subagent,
    ...reading,
  } as TranscriptReading;
}

// ---------------------------------------------------------------- sessions, prompts, answers

function started(row: Row, reason: 'new' | 'resume'): TranscriptEntry[] {
  chosen(row.data.selectedModel, row.memory);
  const model = row.memory.recall('model', 'chosen');
  return [
    entryOf(row, { event_type: 'Session.Start', unless: 'hooked', data: { start_reason: reason }, facts: { model } }),
  ];
}

/** `auto` is no model; the chosen model follows later. */
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
  return [
    entryOf(row, { event_type: 'Prompt.Submitted', unless: 'hooked', actor, data: { prompt: text(row.data.content) } }),
  ];
}

/** Notes that the model is asked now, for the main agent or a subagent. */
function asked({ memory, subagent, atMs }: Row): TranscriptEntry[] {
  if (atMs !== undefined) memory.remember('asked', subagent ?? '', String(atMs));
  return [];
}

function responded(row: Row): TranscriptEntry[] {
  const { data, memory, subagent } = row;
  const startedMs = number(Number(memory.recall('asked', subagent ?? '') ?? Number.NaN));
  memory.forget('asked', subagent ?? '');
  const model = word(data.model) ?? memory.recall('model', 'chosen');
  const output = count(data.outputTokens);
  // A long response may come in pieces, each with the tokens of the whole.
  const isPiece = (number(data.chunkCount) ?? 1) > 1;
  const key = (isPiece ? word(data.apiCallId) : undefined) ?? word(data.messageId) ?? row.id;
  const entries: TranscriptEntry[] = [];
  // A repeated row is not a second response.
  if (memory.recall('responses', key) === undefined) {
    memory.remember('responses', key, '1');
    if (model !== undefined && output !== undefined) addOutput(model, output, memory);
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
  if (subagent !== undefined) {
    return [...entries, entryOf(row, { event_type: 'Agent.Response', data: { response, final: true } })];
  }
  return [
    ...entries,
    entryOf(row, { event_type: 'Agent.Response', data: { response, final: false } }),
    entryOf(row, { event_type: 'Agent.Response', key: `end:${row.id}`, unless: 'hooked', data: { final: true } }),
    { over: 'turn', atMs: row.atMs },
  ];
}

// ---------------------------------------------------------------- calls

function callStarted(row: Row): TranscriptEntry[] {
  const call = word(row.data.toolCallId);
  if (call === undefined) return [];
  const name = text(row.data.toolName) ?? 'unknown';
  const { action, facts } = toolOf(name, mcpOf(row.data));
  const input = inputOf(row.data.arguments);
  const launches = launchedBy(action, input);
  row.memory.remember('calls', call, JSON.stringify({ action, facts }));
  return [
    entryOf(row, {
      event_type: 'Action.Before',
      key: call,
      unless: 'hooked',
      data: { action: { name: action, input } },
      // The id of a subagent is that of its call.
      facts: { ...facts, call, launches: launches && { ...launches, id: call } },
    }),
  ];
}

function mcpOf(data: Fields): { server: string | undefined; tool: string | undefined } | undefined {
  const tool = word(data.mcpToolName);
  return tool === undefined ? undefined : { server: word(data.mcpServerName), tool };
}

/** A command that the user typed between prompts is no action of the agent. */
function typedByPerson({ data, memory }: Row): TranscriptEntry[] {
  const call = word(data.toolCallId);
  if (call !== undefined) memory.remember('typed', call, '1');
  return [];
}

function callEnded(row: Row): TranscriptEntry[] {
  const { data, memory } = row;
  const call = word(data.toolCallId);
  if (call === undefined || memory.recall('typed', call) !== undefined || data.isUserRequested === true) return [];
  asked(row);
  const known = memory.recall('calls', call);
  const { action, facts } = known === undefined ? toolOf('unknown') : (JSON.parse(known) as ReturnType<typeof toolOf>);
  const denial = own(denials, memory.recall('denied', call) ?? '');
  memory.forget('calls', call);
  memory.forget('denied', call);
  const result = fieldsOf(data.result);
  const kind = text(result.result_type);
  const success =
    typeof data.success === 'boolean' ? data.success : kind === undefined ? undefined : kind === 'success';
  return [
    ...(row.isChat && success === false ? [failedInChat(row, call)] : []),
    entryOf(row, {
      event_type: 'Action.After',
      key: call,
      unless: 'hooked',
      data: {
        action: {
          name: action,
          result: denial ? undefined : { success, exit_code: exitCodeOf(action, result.content) },
        },
        decision: denial && { outcome: 'deny' },
      },
      output: result.content,
      facts: {
        ...facts,
        call,
        error_type: success === false && denial === undefined ? 'tool_error' : undefined,
        decision: denial && { source: denial.source, basis: 'observed' },
      },
    }),
  ];
}

/** No hook of VS Code reports a failed call; if hooks know the call by this id, it is at least over. */
const failedInChat = (row: Row, call: string): TranscriptEntry =>
  entryOf(row, {
    event_type: 'vendor.copilot.tool_failed',
    key: call,
    data: {},
    facts: { over: [call] },
  });

// ---------------------------------------------------------------- permissions

/** The kinds of refusals, with the source of the refusal and its policy. */
const denials: Readonly<Record<string, { source: DecisionSource; policy?: string }>> = {
  'denied-by-rules': { source: 'config', policy: 'rules' },
  'denied-by-content-exclusion-policy': { source: 'policy', policy: 'content-exclusion' },
  'denied-interactively-by-user': { source: 'user' },
  'denied-no-approval-rule-and-could-not-request-from-user': { source: 'mode', policy: 'no-approval' },
};

function permissionAsked(row: Row): TranscriptEntry[] {
  const { data, memory } = row;
  const call = word(fieldsOf(data.permissionRequest).toolCallId);
  const request = word(data.requestId);
  if (call === undefined || request === undefined) return [];
  memory.remember('requests', request, call);
  return [
    entryOf(row, {
      event_type: 'Agent.Decision',
      unless: 'hooked',
      data: { decision: { outcome: 'ask' } },
      facts: { call, decision: { source: 'unknown', basis: 'observed' } },
    }),
  ];
}

function permissionGiven(row: Row): TranscriptEntry[] {
  const { data, memory } = row;
  const kind = text(fieldsOf(data.result).kind) ?? '';
  const denial = own(denials, kind);
  const call = memory.recall('requests', word(data.requestId) ?? '');
  if (denial === undefined || call === undefined) return [];
  memory.remember('denied', call, kind);
  const decided = entryOf(row, {
    event_type: 'Agent.Decision',
    unless: 'hooked',
    data: { decision: { outcome: 'deny' } },
    facts: { call, decision: { source: denial.source, basis: 'observed' } },
  });
  if (denial.policy === undefined) return [decided];
  return [
    decided,
    // No hook reports it; without the call, which hooks know under another name.
    entryOf(row, {
      event_type: 'Policy.Blocked',
      actor: 'system',
      data: { policy_name: denial.policy },
      facts: { decision: { source: denial.source, basis: 'observed' } },
    }),
  ];
}

// ---------------------------------------------------------------- subagents

function subagentStarted(row: Row): TranscriptEntry[] {
  const id = word(row.data.toolCallId);
  if (id === undefined) return [];
  return [
    entryOf(row, {
      event_type: 'Session.Start',
      key: id,
      subagent: id,
      data: { start_reason: 'new' },
      facts: { agent: word(row.data.agentName), model: word(row.data.model) },
    }),
  ];
}

function subagentEnded(row: Row, completed: boolean): TranscriptEntry[] {
  const { data } = row;
  const id = word(data.toolCallId);
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

// ---------------------------------------------------------------- compactions

const triggerOf = (data: Fields): 'auto' | 'manual' | undefined =>
  data.trigger === 'auto' || data.trigger === 'manual' ? data.trigger : undefined;

function compactionStarted(row: Row): TranscriptEntry[] {
  return [
    entryOf(row, {
      event_type: 'Context.Compaction',
      unless: 'hooked',
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

// ---------------------------------------------------------------- ends

function failed(row: Row): TranscriptEntry[] {
  const kind = /^[a-z][a-z0-9_-]{0,63}$/.test(text(row.data.errorType) ?? '') ? String(row.data.errorType) : 'unknown';
  const status = number(row.data.statusCode);
  return [
    entryOf(row, {
      event_type: 'Model.Failed',
      unless: 'hooked',
      data: { error_type: kind, error_message: text(row.data.message) },
      facts: { error_type: status === undefined ? kind : String(status) },
    }),
    { over: 'turn', atMs: row.atMs },
  ];
}

function aborted(row: Row): TranscriptEntry[] {
  return [
    entryOf(row, { event_type: 'Agent.Response', data: { final: true }, facts: { interrupted: true } }),
    { over: 'turn', atMs: row.atMs },
  ];
}

const CLASSES = ['inputTokens', 'outputTokens', 'cacheReadTokens', 'cacheWriteTokens', 'reasoningTokens'] as const;

/** The sums of the log by model, less the part that was reported before. */
function shutDown(row: Row): TranscriptEntry[] {
  const { data, memory } = row;
  const sums = Object.entries(fieldsOf(data.modelMetrics)).flatMap(([model, metrics]) =>
    sumOf(row, model, fieldsOf(fieldsOf(metrics).usage)),
  );
  memory.forget('asked', '');
  const isError = data.shutdownType === 'error';
  return [
    ...sums,
    entryOf(row, {
      event_type: isError ? 'Session.Abort' : 'Session.End',
      unless: 'hooked',
      data: { end_reason: isError ? 'error' : 'completed' },
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
  // Some builds restart the sum after a compaction: then no part of it was reported before.
  const again = now.some((tokens, i) => (tokens ?? 0) < (before[i] ?? 0));
  const [input, output, read, written, reasoning] = now.map((tokens, i) =>
    tokens === undefined ? undefined : tokens - (again ? 0 : (before[i] ?? 0)),
  );
  const known = Number(memory.recall('output', model) ?? '0');
  memory.forget('output', model);
  const rest = output === undefined ? undefined : Math.max(0, output - known);
  if ([input, rest, read, written, reasoning].every(tokens => (tokens ?? 0) === 0)) return [];
  return [
    entryOf(row, {
      event_type: 'Model.Responded',
      key: `${row.id}:${model}`,
      subagent: undefined,
      data: { model_id: model, input_tokens: input, output_tokens: rest === 0 ? undefined : rest },
      facts: {
        sum: 'session',
        usage: { cache_read_tokens: read, cache_write_tokens: written, reasoning_tokens: reasoning },
      },
    }),
  ];
}

function addOutput(model: string, tokens: number, memory: Memory): void {
  memory.remember('output', model, String(Number(memory.recall('output', model) ?? '0') + tokens));
}
