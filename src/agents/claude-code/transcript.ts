/**
 * Claude Code's transcripts: `<config>/projects/<folder>/<session>.jsonl`, subagents in
 * `<session>/subagents/agent-<id>.jsonl` with a card `agent-<id>.meta.json`; versions before 2.1.3x kept
 * `agent-<id>.jsonl` beside the main file. The format is internal: unknown rows are skipped. Facts: recordings of
 * 2.0.76 to 2.1.289, and runs of 2.1.327; checked 2026-11-19.
 *
 * A response is written as one row per block, all with the id of the response. Since 2.1.97, each row has the final
 * usage; in older versions, early rows have placeholders. Rows of parallel subagents in one file are mixed. Rows are
 * therefore grouped until the next response of the same speaker begins, and the largest output counts.
 *
 * Responses, calls and prompts have the same ids as in the hooks and at the provider. So copies in a resumed session,
 * after a compaction or in another file are recognized.
 */
import { type Facts, type Fields, TOTALS } from '../../event/event.ts';
import { fieldsOf, number, text, word } from '../../lib/read.ts';
import type { LineReader, Memory, Transcript, TranscriptEntry } from '../contract/contract.ts';
import { namedFiles } from '../shared/named-files.ts';
import { result } from './calls.ts';
import { filesOf, installedFiles, isConversation, sessionsIn } from './files.ts';
import { cardOf, entryAt, isInterrupt, isRecent, overOf, type Place, placeOf, wordsOf } from './place.ts';
import { assistant, closeResponses } from './responses.ts';

const rows: LineReader = {
  format: 'lines',
  version: row => word(row.version),
  origin: row => (isConversation(row) && row.isSidechain !== true ? word(row.uuid) : undefined),
  // Since 2.1.327: parameters of requests, which contain whole system prompts. They are large, and they are content.
  skips: ['api-request', 'tools-used', 'last-prompt', 'atis-latch'],
  // Prompts, answers and inputs are hashed as a whole. Of a result, only the beginning is read.
  isBrief(row) {
    const { content } = fieldsOf(row.message);
    return (
      row.type === 'user' &&
      // The lines of a new file are counted in its text.
      fieldsOf(row.toolUseResult).type !== 'create' &&
      Array.isArray(content) &&
      content.every(block => fieldsOf(block).type === 'tool_result' && word(fieldsOf(block).tool_use_id) !== undefined)
    );
  },
  row(row, memory, file) {
    // A row that another session wrote is read with that session.
    const session = word(row.sessionId);
    if (session !== undefined && session !== file.root) return [];
    if (isOlder(row, memory)) {
      if (isConversation(row)) memory.remember('place', 'copied', '1');
      return [];
    }
    const at = placeOf(row, memory, file);
    const entries =
      row.type === 'assistant'
        ? assistant(row, at)
        : row.type === 'user'
          ? user(row, at)
          : row.type === 'system'
            ? system(row, at)
            : row.type === 'cost-state'
              ? costState(row, at)
              : [];
    // A response answers the row before it: a prompt, or the results of calls.
    if (at.atMs !== undefined && row.type === 'user') memory.remember('place', 'asked', String(at.atMs));
    const first = row.type === 'cost-state' || entries.length === 0 ? [] : resumption(row, at);
    const lastMs = Number(memory.recall('place', 'last') ?? 0);
    if (at.atMs !== undefined && at.atMs >= lastMs && isConversation(row)) {
      memory.remember('place', 'last', String(at.atMs));
      memory.remember('place', 'row', word(row.uuid) ?? '');
    }
    return entries.length === 0 ? entries : [...firstSign(at), ...first, ...entries];
  },
  rest: (memory, file) => closeResponses(placeOf({}, memory, file)),
};

export const transcript: Transcript = {
  namedFiles,
  files: filesOf,
  installed: installedFiles,
  sessions: sessionsIn,
  read: rows,
  hasTotals: isRecent,
};

/**
 * Returns true for a row that a fork copied from its parent. A copy keeps its time and the id of its response, and gets
 * the id of the fork's first prompt. In older versions, such rows belong to a resumed session. The first new row of a
 * fork is the queued prompt before the first copy.
 */
function isOlder(row: Fields, memory: Memory): boolean {
  const atMs = Date.parse(text(row.timestamp) ?? '');
  if (row.type === 'queue-operation' && memory.recall('place', 'last') === undefined && !Number.isNaN(atMs)) {
    if (memory.recall('place', 'born') === undefined) memory.remember('place', 'born', String(atMs));
    return true;
  }
  const born = memory.recall('place', 'born');
  return born !== undefined && isConversation(row) && isRecent(word(row.version)) && atMs < Number(born);
}

/** The first row after the end of a run begins the next run of the same session. */
function resumption(row: Fields, at: Place): TranscriptEntry[] {
  const run = at.memory.recall('place', 'over');
  const lastMs = Number(at.memory.recall('place', 'last') ?? 0);
  if (run === undefined || at.atMs === undefined || at.atMs <= lastMs || !isConversation(row)) return [];
  at.memory.forget('place', 'over');
  return [
    entryAt(
      { ...at, turn: undefined },
      { event_type: 'Session.Start', key: `run:${run}`, unless: 'hooked', data: { start_reason: 'resume' } },
    ),
  ];
}

/** Returns the start of a subagent for its first row. The card has its kind and the call that launched it. */
function firstSign(at: Place): TranscriptEntry[] {
  const { memory, file, subagent } = at;
  if (subagent === undefined || file.subagent === undefined || memory.recall('place', 'begun') !== undefined) return [];
  memory.remember('place', 'begun', '1');
  const atMs = Number(memory.recall('place', 'asked') ?? Number.NaN);
  return [
    entryAt(at, {
      event_type: 'Session.Start',
      key: 'start',
      unless: 'hooked',
      data: { start_reason: 'new' },
      atMs: Number.isNaN(atMs) ? at.atMs : atMs,
      facts: { launched_by: word(cardOf(file).toolUseId) },
    }),
  ];
}

function user(row: Fields, at: Place): TranscriptEntry[] {
  const { content } = fieldsOf(row.message);
  const blocks = Array.isArray(content) ? content.map(fieldsOf) : [];
  const entries: TranscriptEntry[] = [];
  for (const block of blocks) {
    const call = word(block.tool_use_id);
    if (block.type === 'tool_result' && call !== undefined) entries.push(...result(block, call, row, at));
  }
  const words = wordsOf(row);
  if (words === undefined) return entries;
  if (isInterrupt(words)) return [...entries, ...interruption(row, at)];
  return [...entries, ...prompt(row, words, at)];
}

/** Ends the turn at an interrupt. No other row or hook reports the interrupt. */
function interruption(row: Fields, at: Place): TranscriptEntry[] {
  const key = word(row.uuid);
  if (key === undefined || at.aside) return closeResponses(at);
  at.memory.remember('place', 'answered', key);
  return [
    ...closeResponses(at),
    entryAt(at, {
      event_type: 'Agent.Response',
      key: `interrupted:${key}`,
      data: { final: true },
      facts: { interrupted: true },
    }),
    overOf(at),
  ];
}

/** Returns the readings of a prompt. Records of local commands and texts that the program inserts are not prompts. */
export function prompt(row: Fields, words: string, at: Place): TranscriptEntry[] {
  if (row.isMeta === true || row.isCompactSummary === true || row.isVisibleInTranscriptOnly === true) return [];
  if (at.subagent !== undefined || at.file.subagent !== undefined || row.isSidechain === true) return [];
  if (/^<(command-name|command-message|local-command-|bash-)/.test(words)) return [];
  const key = word(row.promptId) ?? word(row.uuid);
  if (key === undefined) return [];
  const { kind } = fieldsOf(row.origin);
  const automatic = kind !== undefined && kind !== 'human';
  return [
    ...closeResponses(at),
    entryAt(at, {
      event_type: 'Prompt.Submitted',
      key,
      unless: 'hooked',
      data: { prompt: words },
      actor: automatic ? 'system' : 'user',
    }),
  ];
}

function system(row: Fields, at: Place): TranscriptEntry[] {
  const key = word(row.uuid);
  if (key === undefined) return [];
  switch (row.subtype) {
    case 'turn_duration':
    case 'stop_hook_summary':
      // Written after the last row of a turn, in versions whose rows state no stop reason.
      return [...closeResponses(at), ...(at.subagent === undefined ? turnEnd(key, at) : [])];
    case 'compact_boundary': {
      const meta = fieldsOf(row.compactMetadata);
      const trigger = meta.trigger === 'auto' || meta.trigger === 'manual' ? meta.trigger : undefined;
      const before = number(meta.preTokens);
      const after = number(meta.postTokens);
      const durationMs = number(meta.durationMs);
      return [
        ...closeResponses(at),
        entryAt(at, {
          event_type: 'Context.Compaction',
          key: `before:${key}`,
          unless: 'hooked',
          data: { trigger },
          atMs: at.atMs === undefined || durationMs === undefined ? at.atMs : at.atMs - durationMs,
          actor: 'system',
          facts: { phase: 'before' },
        }),
        entryAt(at, {
          event_type: 'Context.Compaction',
          key: `after:${key}`,
          data: {
            trigger,
            tokens_before: before,
            tokens_after: after,
            tokens_removed: before === undefined || after === undefined ? undefined : Math.max(0, before - after),
          },
          actor: 'system',
          facts: { phase: 'after' },
        }),
      ];
    }
    case 'api_error': {
      const error = fieldsOf(row.error);
      const status = number(error.status);
      return [
        entryAt(at, {
          event_type: 'Retry.Triggered',
          key,
          data: { attempt: number(row.retryAttempt) },
          actor: 'system',
          facts: { error_type: status === undefined ? 'connection' : String(status) },
        }),
      ];
    }
    default:
      return [];
  }
}

/**
 * Reads the end of a run of the program: the usage of all runs in this file so far, by model. It includes requests
 * without a row, such as the one of a compaction. The row is absent after SIGKILL. Seen in 2.1.327.
 */
function costState(row: Fields, at: Place): TranscriptEntry[] {
  const { memory } = at;
  // The last row before it names the run, so that a repeated row gives the same ids.
  const run = memory.recall('place', 'row') ?? '';
  memory.remember('place', 'over', run);
  const lastMs = Number(memory.recall('place', 'last') ?? Number.NaN);
  const here = { ...at, atMs: Number.isNaN(lastMs) ? undefined : lastMs, turn: undefined };
  const isFork = memory.recall('place', 'copied') !== undefined;
  return [
    ...closeResponses(at),
    ...Object.entries(fieldsOf(row.modelUsage))
      .slice(0, MOST_MODELS)
      .map(([model, used]) =>
        entryAt(here, {
          event_type: TOTALS,
          key: `totals:${run}:${model}`,
          data: {},
          actor: 'system',
          facts: {
            model,
            totals: totalsOf(fieldsOf(used)),
            cost_usd: row.hasUnknownModelCost === true ? undefined : number(fieldsOf(used).costUSD),
            previous: isFork ? {} : undefined,
          },
        }),
      ),
    entryAt(here, {
      event_type: 'Session.End',
      key: `run:${run}`,
      unless: 'hooked',
      // The row is also written after a signal, so it states no reason.
      data: {},
    }),
    { over: 'session', atMs: here.atMs },
  ];
}

const MOST_MODELS = 16;

function totalsOf(used: Fields): NonNullable<Facts['totals']> {
  const read = number(used.cacheReadInputTokens);
  const written = number(used.cacheCreationInputTokens);
  const input = number(used.inputTokens);
  return {
    input_tokens: input === undefined ? undefined : input + (read ?? 0) + (written ?? 0),
    output_tokens: number(used.outputTokens),
    cache_read_tokens: read,
    cache_write_tokens: written,
    cache_write_1h_tokens: number(used.cacheCreationEphemeral1hInputTokens),
    reasoning_tokens: number(used.thinkingTokens),
  };
}

function turnEnd(key: string, at: Place): TranscriptEntry[] {
  if (at.aside || at.memory.recall('place', 'answered') !== undefined) return [];
  at.memory.remember('place', 'answered', key);
  return [
    entryAt(at, { event_type: 'Agent.Response', key: `end:${key}`, unless: 'hooked', data: { final: true } }),
    overOf(at),
  ];
}
