/**
 * Claude Code's transcripts: `<config>/projects/<folder>/<session>.jsonl`, subagents in
 * `<session>/subagents/agent-<id>.jsonl` with a card `agent-<id>.meta.json`; versions before 2.1.3x kept
 * `agent-<id>.jsonl` beside the main file. The format is internal: unknown rows are skipped. Facts: recordings of
 * 2.0.76 to 2.1.289; checked 2026-11-18.
 *
 * A response is written as one row per block, all with its id. Since 2.1.97 each of them holds the final usage; before,
 * early rows are placeholders. Rows are therefore grouped until the next response of the same speaker begins, and the
 * largest output counts: rows of parallel subagents in one file are mixed.
 *
 * Ids of responses, calls and prompts equal those of the hooks and the provider, so copies in a resumed session, after
 * a compaction or in another file are recognized.
 */
import type { Fields } from '../../event/event.ts';
import { fieldsOf, number, word } from '../../lib/read.ts';
import type { LineReader, Transcript, TranscriptEntry } from '../contract/contract.ts';
import { namedFiles } from '../shared/named-files.ts';
import { result } from './calls.ts';
import { filesOf, installedFiles, isConversation, sessionsIn } from './files.ts';
import { cardOf, entryAt, isInterrupt, overOf, type Place, placeOf, wordsOf } from './place.ts';
import { assistant, closeResponses } from './responses.ts';

const rows: LineReader = {
  format: 'lines',
  version: row => word(row.version),
  origin: row => (isConversation(row) && row.isSidechain !== true ? word(row.uuid) : undefined),
  // Prompts, answers and inputs are hashed as a whole; of a result only the beginning is read.
  isBrief(row) {
    const { content } = fieldsOf(row.message);
    return (
      row.type === 'user' &&
      Array.isArray(content) &&
      content.every(block => fieldsOf(block).type === 'tool_result' && word(fieldsOf(block).tool_use_id) !== undefined)
    );
  },
  row(row, memory, file) {
    // A row that another session wrote is read with that session.
    const session = word(row.sessionId);
    if (session !== undefined && session !== file.root) return [];
    const at = placeOf(row, memory, file);
    const entries =
      row.type === 'assistant'
        ? assistant(row, at)
        : row.type === 'user'
          ? user(row, at)
          : row.type === 'system'
            ? system(row, at)
            : [];
    // A response answers the row before it: a prompt, or the results of calls.
    if (at.atMs !== undefined && row.type === 'user') memory.remember('place', 'asked', String(at.atMs));
    return entries.length === 0 ? entries : [...firstSign(at), ...entries];
  },
  rest: (memory, file) => closeResponses(placeOf({}, memory, file)),
};

export const transcript: Transcript = {
  namedFiles,
  files: filesOf,
  installed: installedFiles,
  sessions: sessionsIn,
  read: rows,
};

/** The first row of a subagent is its start. Its card names its kind and the call that launched it. */
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

/** The only evidence of an interrupt: the turn ends here. */
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

/** Records of local commands, and texts that the program inserts, are no prompts. */
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

function turnEnd(key: string, at: Place): TranscriptEntry[] {
  if (at.aside || at.memory.recall('place', 'answered') !== undefined) return [];
  at.memory.remember('place', 'answered', key);
  return [
    entryAt(at, { event_type: 'Agent.Response', key: `end:${key}`, unless: 'hooked', data: { final: true } }),
    overOf(at),
  ];
}
