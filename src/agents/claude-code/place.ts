/** The place of a row in a transcript: its agent, its turn, its time, and the facts that all of its readings share. */

import type { AgentMode, Fields } from '../../event/event.ts';
import { fieldsOf, text, word } from '../../lib/read.ts';
import type { Memory, ReadFile, TranscriptEntry, TranscriptReading } from '../contract/contract.ts';

/**
 * Returns true for agents that the program starts for its own work (compaction, suggestions): their names have a word
 * before the number, and no hook reports them.
 */
export const isInternal = (id: string): boolean => /^a[a-z_]+-[0-9a-f]+$/.test(id);

export interface Place {
  memory: Memory;
  file: ReadFile;
  atMs: number | undefined;
  /** The agent of the row; undefined for the main agent. */
  subagent: string | undefined;
  /** The row belongs to an internal agent: its tokens count, but it starts and ends no turn. */
  aside: boolean;
  turn: string | undefined;
  /** The session of the original, if the row was copied by a fork. */
  copyOf: string | undefined;
}

export function placeOf(row: Fields, memory: Memory, file: ReadFile): Place {
  const time = text(row.timestamp);
  const atMs = time === undefined ? Number.NaN : Date.parse(time);
  const turn = memory.recall('place', 'turn');
  // An interrupt belongs to the running turn, even if its row has the id of a queued prompt.
  const isLater = row.isSidechain === true || (turn !== undefined && row.type === 'user' && isInterrupt(wordsOf(row)));
  const prompt = isLater ? undefined : word(row.promptId);
  if (prompt !== undefined && prompt !== turn) memory.remember('place', 'turn', prompt);
  // Old versions wrote rows of subagents into the main file. Rows with ids are repeated in the subagents' own files.
  const agent = word(row.agentId);
  const side = row.isSidechain === true && agent !== undefined && !isInternal(agent) ? agent : undefined;
  const mode = word(row.permissionMode);
  // The state keeps the mode, so only the form of a mode is kept.
  if (mode !== undefined) memory.remember('place', 'mode', /^[A-Za-z]{1,32}$/.test(mode) ? mode : 'other');
  // Written right after a plan was approved. A later row states the new mode.
  else if (fieldsOf(row.attachment).type === 'plan_mode_exit') memory.remember('place', 'mode', 'other');
  return {
    memory,
    file,
    atMs: Number.isNaN(atMs) ? undefined : atMs,
    subagent: file.subagent ?? side,
    aside: row.isSidechain === true && file.subagent === undefined && side === undefined,
    turn: prompt ?? turn,
    copyOf: word(fieldsOf(row.forkedFrom).sessionId),
  };
}

export function entryAt(at: Place, reading: TranscriptReading): TranscriptReading {
  const permissionMode = hasMode(reading) ? at.memory.recall('place', 'mode') : undefined;
  const { turn, copyOf } = at;
  const facts = { turn, agent: kindOf(at), permission_mode: permissionMode, ...reading.facts };
  // Written out, so that all readings have one shape: V8 is slow with many shapes, and with members after a spread.
  return {
    event_type: reading.event_type,
    key: reading.key,
    unless: reading.unless,
    data: reading.data,
    actor: reading.actor,
    output: reading.output,
    path: reading.path,
    edits: reading.edits,
    mode: modeOf(permissionMode),
    subagent: reading.subagent ?? at.subagent,
    atMs: reading.atMs ?? at.atMs,
    copyOf,
    corrects: 'open actions',
    facts,
  } as TranscriptReading;
}

/** The hooks of these events carry the mode. */
const hasMode = ({ event_type: type }: TranscriptReading): boolean =>
  type === 'Prompt.Submitted' || type === 'Action.Before' || type === 'Action.After';

/**
 * Returns true for versions whose rows state decisions and mark copies of forks. Seen in 2.1.327, not before 2.1.290.
 */
export function isRecent(version = ''): boolean {
  const [major = 0, minor = 0, patch = 0] = version.split('.').map(Number);
  return major > 2 || (major === 2 && (minor > 1 || (minor === 1 && patch >= 300)));
}

export const modeOf = (permissionMode: string | undefined): AgentMode | undefined =>
  permissionMode === undefined ? undefined : permissionMode === 'plan' ? 'plan' : 'agent';

/** Returns the key of the failure that ends a turn. The hook and the row share only the id of the turn. */
export const failureKey = (turn: string | undefined): string | undefined =>
  turn === undefined ? undefined : `failed:${turn}`;

function kindOf({ subagent, memory, file }: Place): string | undefined {
  if (subagent === undefined) return undefined;
  const known = memory.recall('place', 'kind');
  if (known !== undefined) return known === '' ? undefined : known;
  const kind = word(cardOf(file).agentType);
  memory.remember('place', 'kind', kind ?? '');
  return kind;
}

export function cardOf(file: ReadFile): Fields {
  const [card] = file.companions;
  if (card === undefined) return {};
  try {
    return fieldsOf(JSON.parse(card.toString('utf8')));
  } catch {
    // The file is incomplete: the kind stays unknown.
    return {};
  }
}

export function wordsOf(row: Fields): string | undefined {
  const { content } = fieldsOf(row.message);
  if (!Array.isArray(content)) return text(content);
  return text(content.map(fieldsOf).find(block => block.type === 'text')?.text);
}

export const isInterrupt = (prompt: string | undefined): boolean =>
  prompt?.startsWith('[Request interrupted by user') === true;

export const ended = (at: Place, subagent: string): TranscriptEntry =>
  entryAt(at, { event_type: 'Session.End', key: 'end', unless: 'hooked', subagent, data: { end_reason: 'completed' } });

export const overOf = (at: Place): TranscriptEntry =>
  at.subagent === undefined
    ? { over: 'turn', id: at.turn, atMs: at.atMs }
    : { over: 'subagent', id: at.subagent, atMs: at.atMs };
