/**
 * Sessions of Kiro CLI 2.x: `~/.kiro/sessions/cli/<session>.jsonl`, with a card `<session>.json` beside it that is
 * rewritten after each turn. Facts: sessions of June to August 2026; checked 2026-11-18. Sessions of CLI 3 and IDE 1
 * have another format: later.ts.
 *
 * Only prompts have times. The card has the end of each turn, the model, credits, and counts of tokens that are 0 in
 * all but one of the sessions seen: 0 counts as unknown, and a count covers a whole turn and is reported with its last
 * response. A rewound session repeats its messages under their ids.
 */
import { join } from 'node:path';
import type { Fields } from '../../event/event.ts';
import { count, fieldsOf, isFields, number, text, word } from '../../lib/read.ts';
import type { LineReader, Look, Memory, ReadFile, Transcript, TranscriptEntry } from '../contract/contract.ts';
import { LATER, later } from './later.ts';
import { actionName, exitCodeOf, toolFacts } from './tools.ts';

const reader: LineReader = {
  format: 'lines',
  at: timeOf,
  row(row, memory, file) {
    const data = fieldsOf(row.data);
    const id = word(data.message_id);
    const blocks = Array.isArray(data.content) ? data.content.map(fieldsOf) : [];
    switch (row.kind) {
      case 'Prompt':
        return id === undefined ? [] : [...responded(memory, file), prompted(id, blocks, timeOf(row), memory)];
      case 'AssistantMessage':
        return id === undefined ? [] : answered(id, blocks, memory, file);
      case 'ToolResults':
        return blocks.flatMap(block => returned(fieldsOf(block.data), memory));
      case 'Compaction':
        return [compacted(id, memory)];
    }
    return [];
  },
  rest: responded,
};

const folderOf = (home: string): string => join(home, '.kiro', 'sessions', 'cli');

export const transcript: Transcript = {
  files({ main, home, session }, look) {
    if (session.startsWith('sess_')) {
      const kept = laterIn(home, look).filter(each => LATER.exec(each)?.[1] === session);
      return (main === undefined ? kept : [main]).map(each => ({ path: each }));
    }
    const path = main ?? join(folderOf(home), `${session}.jsonl`);
    if (main === undefined && look.head(path) === '') return [];
    return [{ path, beside: [path.replace(/\.jsonl$/, '.json')] }];
  },
  installed: ({ home }, look) => [
    ...look
      .names(folderOf(home))
      .filter(name => name.endsWith('.jsonl'))
      .map(name => ({ path: join(folderOf(home), name) })),
    ...laterIn(home, look).map(path => ({ path })),
  ],
  sessions({ path }, { rows }) {
    const id = LATER.exec(path)?.[1];
    if (id !== undefined) return rows.some(row => word(fieldsOf(row.payload).type)) ? [{ session: id }] : [];
    const session = /([^\\/]+)\.jsonl$/.exec(path)?.[1];
    if (session === undefined || !rows.some(row => row.version === 'v1' && word(row.kind) !== undefined)) return [];
    return [{ session, atMs: [...rows].map(timeOf).findLast(time => time !== undefined) }];
  },
  read: reader,
  others: [{ fits: path => LATER.test(path), read: later }],
};

function laterIn(home: string, look: Look): string[] {
  const sessions = join(home, '.kiro', 'sessions');
  return look
    .names(sessions)
    .flatMap(folder => look.names(join(sessions, folder)).map(name => join(sessions, folder, name, 'messages.jsonl')))
    .filter(path => LATER.test(path) && look.head(path) !== '');
}

/** Returns the time in whole seconds; only prompts have one. */
function timeOf(row: Fields): number | undefined {
  const seconds = number(fieldsOf(fieldsOf(row.data).meta).timestamp);
  return seconds === undefined ? undefined : seconds * 1_000;
}

const textsOf = (blocks: readonly Fields[]): string =>
  blocks.flatMap(block => (block.kind === 'text' ? (text(block.data) ?? []) : [])).join('\n');

function prompted(id: string, blocks: readonly Fields[], atMs: number | undefined, memory: Memory): TranscriptEntry {
  if (atMs !== undefined) memory.remember('turn', 'asked', String(atMs));
  return {
    event_type: 'Prompt.Submitted',
    key: id,
    unless: 'hooked',
    data: { prompt: textsOf(blocks) },
    actor: 'user',
    atMs,
  };
}

function answered(id: string, blocks: readonly Fields[], memory: Memory, file: ReadFile): TranscriptEntry[] {
  memory.remember('answers', id, '1');
  const uses = blocks.filter(block => block.kind === 'toolUse').map(block => fieldsOf(block.data));
  const calls = uses.flatMap((use): TranscriptEntry[] => {
    const call = word(use.toolUseId);
    const tool = word(use.name) ?? 'unknown';
    if (call === undefined) return [];
    memory.remember('calls', call, tool);
    return [
      {
        event_type: 'Action.Before',
        key: call,
        unless: 'hooked',
        data: { action: { name: actionName(tool), input: fieldsOf(use.input) } },
        facts: { ...toolFacts(tool), call },
      },
    ];
  });
  if (uses.length > 0) return calls;
  return [
    {
      event_type: 'Agent.Response',
      key: id,
      unless: 'hooked',
      data: { response: textsOf(blocks), final: true },
      // The row has no time; the card has the end of its turn, if it is written already.
      atMs: endOf(turnOf(turnsIn(cardOf(file)), id, memory)),
    },
  ];
}

function returned(result: Fields, memory: Memory): TranscriptEntry[] {
  const call = word(result.toolUseId);
  if (call === undefined) return [];
  const tool = memory.recall('calls', call) ?? 'unknown';
  const parts = Array.isArray(result.content) ? result.content.map(part => fieldsOf(fieldsOf(part).data)) : [];
  const status = parts.map(part => part.exit_status).find(known => known !== undefined);
  const exitCode = actionName(tool) === 'shell' ? exitCodeOf(status) : undefined;
  const ran = result.status === 'success' ? true : result.status === 'error' ? false : undefined;
  const success = exitCode === undefined ? ran : exitCode === 0;
  return [
    {
      event_type: 'Action.After',
      key: call,
      unless: 'hooked',
      data: {
        action: {
          name: actionName(tool),
          result: success === undefined ? undefined : { success, exit_code: exitCode },
        },
      },
      output: result.content,
      facts: {
        ...toolFacts(tool),
        call,
        error_type: success === false ? (exitCode === undefined ? 'tool_error' : 'exit_code') : undefined,
      },
    },
  ];
}

function compacted(id: string | undefined, memory: Memory): TranscriptEntry {
  const count = Number(memory.recall('count', 'compactions') ?? '0') + 1;
  memory.remember('count', 'compactions', String(count));
  return {
    event_type: 'Context.Compaction',
    key: id ?? `compaction:${count}`,
    data: {},
    actor: 'system',
  };
}

/** Returns the responses of a turn that is over, with the facts that the card has so far. */
function responded(memory: Memory, file: ReadFile): TranscriptEntry[] {
  const card = cardOf(file);
  const turns = turnsIn(card);
  const info = fieldsOf(fieldsOf(fieldsOf(card.session_state).rts_model_state).model_info);
  const answers = memory.list('answers').map(([id]) => id);
  for (const id of answers) memory.forget('answers', id);
  const last = answers.at(-1);
  const turn = turnOf(turns, last, memory);
  if (last !== undefined) memory.remember('count', 'turns', String(turnsBefore(memory) + 1));
  // The card states the current model, which is that of the last turn; earlier turns may have had another.
  const model = turn !== undefined && turn === turns.at(-1) ? word(info.model_id) : undefined;
  const atMs = endOf(turn);
  // A response without a time has the time of the prompt, as all rows of its turn.
  const asked = memory.recall('turn', 'asked');
  const askedMs = asked === undefined ? undefined : Number(asked);
  const entries: TranscriptEntry[] = answers.map(id => ({
    event_type: 'Model.Responded',
    key: id,
    data: {
      model_id: model,
      input_tokens: id === last ? nonZero(turn?.input_token_count) : undefined,
      output_tokens: id === last ? nonZero(turn?.output_token_count) : undefined,
    },
    facts: { model, response: id },
    atMs: (id === last ? atMs : undefined) ?? askedMs,
  }));
  return turn === undefined || last === undefined ? entries : [...entries, ...metered(turn, info, last, atMs)];
}

function turnsIn(card: Fields): Fields[] {
  const list = fieldsOf(fieldsOf(card.session_state).conversation_metadata).user_turn_metadatas;
  return Array.isArray(list) ? list.filter(isFields) : [];
}

const turnsBefore = (memory: Memory): number => Number(memory.recall('count', 'turns') ?? '0');

/** Returns the turn that ended with this message. Older cards do not name messages; their turns are in order. */
function turnOf(turns: readonly Fields[], last: string | undefined, memory: Memory): Fields | undefined {
  if (last === undefined) return undefined;
  const named = turns.find(turn => Array.isArray(turn.message_ids) && turn.message_ids.includes(last));
  return named ?? (turns.some(turn => turn.message_ids !== undefined) ? undefined : turns[turnsBefore(memory)]);
}

function endOf(turn: Fields | undefined): number | undefined {
  const endMs = Date.parse(text(turn?.end_timestamp) ?? '');
  return Number.isNaN(endMs) ? undefined : endMs;
}

const nonZero = (tokens: unknown): number | undefined => (tokens === 0 ? undefined : count(tokens));

/** Credits state the cost; they are neither tokens nor a currency. */
function metered(turn: Fields, info: Fields, key: string, atMs: number | undefined): TranscriptEntry[] {
  const credits = (Array.isArray(turn.metering_usage) ? turn.metering_usage : [])
    .map(fieldsOf)
    .flatMap(usage => (usage.unit === 'credit' ? (number(usage.value) ?? []) : []));
  const { secs, nanos } = fieldsOf(turn.turn_duration);
  const seconds = number(secs);
  const data = {
    credits: credits.length === 0 ? undefined : credits.reduce((sum, each) => sum + each, 0),
    requests: number(turn.total_request_count),
    duration_ms: seconds === undefined ? undefined : Math.round(seconds * 1_000 + (number(nanos) ?? 0) / 1_000_000),
  };
  const entries: TranscriptEntry[] = [
    { event_type: 'vendor.kiro.TurnMetered', key, data, facts: { fields: Object.keys(data) }, atMs },
  ];
  const percentage = number(turn.context_usage_percentage);
  const limit = number(info.context_window_tokens);
  if (percentage === undefined) return entries;
  entries.push({
    event_type: 'Context.UntilCompaction',
    key,
    data: { tokens_limit: limit, percentage_used: Math.round(percentage * 10) / 10 },
    atMs,
  });
  return entries;
}

function cardOf({ companions }: ReadFile): Fields {
  const [card] = companions;
  if (card === undefined) return {};
  try {
    return fieldsOf(JSON.parse(card.toString('utf8')));
  } catch {
    // The file is incomplete: its content is read with the next turn.
    return {};
  }
}
