/** Calls of a rollout, their results, and rows that hold single items of a response. */
import type { Decision, DecisionSource, Fields, OptionFacts } from '../../event/event.ts';
import { fieldsOf, isFields, number, own, text, whole, word } from '../../lib/read.ts';
import type { Reading, TranscriptEntry, WrittenFile } from '../contract/contract.ts';
import { linesOfDiff, linesOfText, operationNamed } from '../shared/edits.ts';
import { permitted } from '../shared/permitted.ts';
import { entryAt, isAside, note, type Place, recalled, responseTimes } from './place.ts';
import { actionName, hookName, isOwnTool, isUnasked, launchedBy, spawnedThread, toolFacts } from './tools.ts';
import { prompted } from './turns.ts';

export function item(place: Place): TranscriptEntry[] {
  const { payload, atMs } = place;
  switch (payload.type) {
    case 'function_call':
    case 'custom_tool_call':
    case 'local_shell_call':
      note(place, responseTimes.lastRow, atMs);
      return called(place);
    case 'function_call_output':
    case 'custom_tool_call_output':
      noteRequestTime(place);
      return returned(place);
    case 'web_search_call':
      note(place, responseTimes.lastRow, atMs);
      return searchRow(place);
    case 'reasoning':
      note(place, responseTimes.lastRow, atMs);
      return [];
    case 'message':
      if (payload.role === 'assistant') note(place, responseTimes.lastRow, atMs);
      else noteRequestTime(place);
      return barePrompt(place);
  }
  return [];
}

/**
 * Stores the time of the row that the next response answers. A call may return before all rows of its response are
 * written.
 */
function noteRequestTime(place: Place): void {
  const isRunning = recalled(place, responseTimes.lastRow) !== undefined;
  note(place, isRunning ? responseTimes.nextRequested : responseTimes.requested, place.atMs);
}

/** Reads the prompt of an old file, which is a plain message. Texts that the program inserted are marked. */
function barePrompt(place: Place): TranscriptEntry[] {
  const { payload, atMs, turn } = place;
  if (payload.role !== 'user' || atMs !== undefined || turn !== undefined) return [];
  const prompt = textOf(payload.content);
  return /^\s*(?:<|# AGENTS\.md)/.test(prompt) || prompt === '' ? [] : prompted(place, undefined, prompt);
}

function called(place: Place): TranscriptEntry[] {
  const { payload, memory } = place;
  const call = word(payload.call_id) ?? word(payload.id);
  if (call === undefined || isAside(place)) return [];
  const tool = payload.type === 'local_shell_call' ? 'Bash' : hookName(payload);
  const input = inputOf(payload, tool);
  memory.remember('call', call, tool);
  if (place.atMs !== undefined) memory.remember('began', call, String(place.atMs));
  const { sandbox_permissions: permissions, timeout_ms: timeout } = parsed(text(payload.arguments)) ?? {};
  if (permissions === 'require_escalated') memory.remember('escalated', call, '1');
  const session = tool === 'write_stdin' ? number(input.session_id) : undefined;
  if (session !== undefined) memory.remember('stdin', call, String(session));
  return [
    entryAt(place, {
      event_type: 'Action.Before',
      key: call,
      data: { action: { name: actionName(tool), input } },
      facts: { ...toolFacts(tool), call, options: timeLimit(tool, timeout), launches: launchedBy(tool, input) },
    }),
  ];
}

/** Returns the limit of a shell command's time. */
function timeLimit(tool: string, timeout: unknown): OptionFacts | undefined {
  const timeoutMs = tool === 'Bash' ? whole(number(timeout)) : undefined;
  return timeoutMs === undefined ? undefined : { timeout_ms: timeoutMs };
}

/** Returns the input as the hook has it: the command of a shell as one text, a patch as a command. */
function inputOf(payload: Fields, tool: string): Fields {
  const written = text(payload.arguments) ?? text(payload.input);
  const given = payload.type === 'local_shell_call' ? fieldsOf(payload.action) : parsed(written);
  if (tool === 'apply_patch' && given === undefined) return { command: written };
  if (tool !== 'Bash') return given ?? {};
  const command = given?.cmd ?? given?.command;
  return { command: Array.isArray(command) ? lineOf(command) : command };
}

function parsed(json: string | undefined): Fields | undefined {
  if (json === undefined || !json.startsWith('{')) return undefined;
  try {
    return fieldsOf(JSON.parse(json));
  } catch {
    // A long line comes without its long texts: the input stays unknown.
    return undefined;
  }
}

interface Ending {
  /** The stated time of the call, which some tools round to tenths of a second. */
  wallMs?: number | undefined;
  /** The output, as far as the row has it. */
  output?: unknown;
  success?: boolean | undefined;
  exitCode?: number | undefined;
  durationMs?: number | undefined;
  /** The source that refused the call. */
  denied?: DecisionSource;
  interrupted?: true;
  launched?: string | undefined;
  edits?: WrittenFile[] | undefined;
}

/** Reads the end of a call. Of its text, only the lines that Codex adds before the output are read. */
function returned(place: Place): TranscriptEntry[] {
  const { payload, memory } = place;
  const call = word(payload.call_id);
  if (call === undefined) return [];
  const output = textOf(payload.output);
  const tool = memory.recall('call', call) ?? 'unknown';
  const process = /^(?:Process|Script) running with (?:session|cell) ID (\w{1,32})/m.exec(headOf(output))?.[1];
  const stdin = memory.recall('stdin', call);
  if (stdin !== undefined) {
    memory.forget('stdin', call);
    // Input for a running command: the end of that command is the end of this call.
    const original = memory.recall('process', stdin);
    const entries = closed(place, call, { success: /^Wall time/m.test(headOf(output)) || undefined });
    if (process !== undefined || original === undefined) return entries;
    memory.forget('process', stdin);
    return [
      ...entries,
      ...closed(place, original, { ...endingOf(output), output: payload.output, durationMs: undefined }),
    ];
  }
  if (process !== undefined) {
    memory.remember('process', process, call);
    return [];
  }
  const launched = tool === 'spawn_agent' ? spawnedThread(output) : undefined;
  const ending = { ...endingOf(output), output: payload.output };
  const at = { ...place, atMs: readyMs(place, call, ending.wallMs) };
  if (launched !== undefined) return closed(at, call, { ...ending, success: true, launched });
  return closed(at, call, isAnswer(tool, output, ending) ? { ...ending, success: true } : ending);
}

/**
 * Returns the time at which an output was ready. Outputs are written in the order of their calls, so an output may wait
 * for the output of an earlier call. Then its call ended at its start plus its stated duration.
 */
function readyMs(place: Place, call: string, wallMs: number | undefined): number | undefined {
  const { memory, atMs } = place;
  const begunMs = memory.recall('began', call);
  const previousMs = recalled(place, 'output');
  note(place, 'output', atMs);
  if (atMs === undefined || begunMs === undefined || wallMs === undefined) return atMs;
  const hasWaited = previousMs !== undefined && previousMs > Number(begunMs);
  return hasWaited ? Math.min(atMs, Number(begunMs) + wallMs) : atMs;
}

/** Returns true for the answer of a tool of Codex itself: JSON, while errors are plain texts. */
function isAnswer(tool: string, output: string, { success, denied, interrupted }: Ending): boolean {
  if (success !== undefined || denied !== undefined || interrupted) return false;
  return isOwnTool(tool) && /^\s*[{[]/.test(output);
}

function headOf(output: string): string {
  const end = output.indexOf('\nOutput:');
  return output.slice(0, end < 0 ? 400 : Math.min(end, 400));
}

/** The texts of refusals, with the source of each refusal. */
const refusals: readonly (readonly [RegExp, DecisionSource])[] = [
  [/^[\w ]{1,32} blocked by \w{1,32} hook\b/, 'hook'],
  [/^patch rejected: .*\bsandbox\b/, 'sandbox'],
  [/^approval policy is Never; reject command/, 'mode'],
  [/^(?:exec command|patch) rejected by user(?! approval)/, 'user'],
  [/rejected by user approval settings/, 'mode'],
  [/^exec_command failed.*Rejected\(.*policy forbids /s, 'config'],
  [/^exec_command failed.*Rejected\(.*\bNever\b/s, 'mode'],
  [/^exec_command failed.*Rejected\(/s, 'unknown'],
];

const failures =
  /^(?:(?:exec_command|apply_patch|spawn_agent|collab \w+)(?: \w+)? failed|unsupported call: |failed to parse )/;

function endingOf(output: string): Ending {
  const head = headOf(output);
  const denied = refusals.find(([words]) => words.test(head))?.[1];
  if (denied !== undefined) return { denied };
  if (failures.test(head)) return { success: false };
  const seconds = /^Wall time:? ([\d.]{1,16}) seconds/m.exec(head)?.[1];
  const wallMs = seconds === undefined ? undefined : Math.round(Number(seconds) * 1_000);
  // The times of the rows are more exact than a rounded duration.
  const durationMs = /\.\d{3}/.test(seconds ?? '') && wallMs !== 0 ? wallMs : undefined;
  if (/^(?:Wall time:? [\d.]{1,16} seconds\n)?aborted by user/.test(head)) return { interrupted: true, wallMs };
  const script = /^Script (completed|failed)/.exec(head)?.[1];
  if (script !== undefined) return { success: script === 'completed', durationMs, wallMs };
  const code = /^(?:Process exited with code|Exit code:) (-?\d{1,6})/m.exec(head)?.[1];
  if (code !== undefined) return { ...exited(Number(code), durationMs), wallMs };
  const tail = /"metadata":\s*\{"exit_code":\s*(-?\d{1,6})(?:,\s*"duration_seconds":\s*([\d.]{1,16}))?\}\s*\}\s*$/.exec(
    output.slice(-200),
  );
  if (tail === null) return {};
  return exited(Number(tail[1]), tail[2] === undefined ? undefined : Math.round(Number(tail[2]) * 1_000));
}

export const exited = (exitCode: number | undefined, durationMs: number | undefined): Ending => ({
  success: exitCode === undefined ? undefined : exitCode === 0,
  exitCode,
  durationMs,
});

export function closed(place: Place, call: string | undefined, ending: Ending): TranscriptEntry[] {
  // Some versions report the end of a call several times: the most detailed report comes first.
  if (call === undefined || isAside(place) || place.memory.recall('done', call) !== undefined) return [];
  place.memory.remember('done', call, '1');
  const tool = place.memory.recall('call', call) ?? 'unknown';
  const { success, exitCode, durationMs, interrupted, launched } = ending;
  const decision = decisionOn(place, call, tool, ending);
  return [
    entryAt(place, {
      event_type: 'Action.After',
      key: call,
      data: {
        action: {
          name: actionName(tool),
          result: success === undefined ? undefined : { success, exit_code: exitCode },
        },
        decision: decision?.outcome,
      },
      output: ending.output,
      edits: success === true ? ending.edits : undefined,
      facts: {
        ...toolFacts(tool),
        call,
        duration_ms: durationMs,
        interrupted,
        launches: launched === undefined ? undefined : launchedBy(tool, {}, launched),
        exit_code: exitCode,
        error_type: success === false ? (exitCode === undefined ? 'tool_error' : 'exit_code') : undefined,
        decision: decision?.source,
      },
    }),
  ];
}

interface Decided {
  outcome?: Decision | undefined;
  source: NonNullable<Reading['facts']>['decision'];
}

/**
 * Returns the decision about a call that ended. As with hooks, each command that ran was allowed, and other calls were
 * allowed if they succeeded. If the user was asked, an interrupt is a denial by the user. The user is asked about
 * commands that leave the sandbox.
 */
function decisionOn({ memory }: Place, call: string, tool: string, ending: Ending): Decided | undefined {
  const { denied, interrupted, success } = ending;
  if (denied) return { outcome: { outcome: 'deny' }, source: { source: denied, basis: 'observed' } };
  const policy = memory.recall('place', 'policy');
  const isAsked = policy !== 'never' && memory.recall('escalated', call) !== undefined;
  if (interrupted)
    return { outcome: isAsked ? { outcome: 'deny' } : undefined, source: { source: 'user', basis: 'inferred' } };
  const ran = success === true || (tool === 'Bash' && success === false);
  if (!ran || isUnasked(tool) || (policy !== 'never' && policy !== 'on-request')) return undefined;
  return { outcome: { outcome: 'allow' }, source: permitted(isAsked, policy === 'never') };
}

/** A search by the provider: no hook reports it, and the rollout only reports its end. */
export function searched(place: Place, call: string | undefined): TranscriptEntry[] {
  if (call === undefined || isAside(place)) return [];
  place.memory.remember('call', call, 'web_search');
  return [
    entryAt(place, {
      event_type: 'Action.Before',
      key: call,
      data: { action: { name: 'web_search' } },
      facts: { tool: 'web_search', call },
    }),
    ...closed(place, call, { success: true }),
  ];
}

/**
 * Reads the row of a search. With an id it is the search that another row may report under the same id. Without an id,
 * it is unknown which search it repeats, so it becomes a separate event and not an action.
 */
function searchRow(place: Place): TranscriptEntry[] {
  const { payload, turn } = place;
  const id = word(payload.id) ?? word(payload.call_id);
  if (id !== undefined) return searched(place, id);
  if (isAside(place)) return [];
  const rows = (recalled(place, 'searches') ?? 0) + 1;
  note(place, 'searches', rows);
  const data = { status: word(payload.status), kind: word(fieldsOf(payload.action).type) };
  return [
    entryAt(place, {
      event_type: 'vendor.codex.web_search_call',
      key: `web_search_call:${turn ?? ''}:${rows}`,
      data,
      facts: { fields: Object.keys(data) },
    }),
  ];
}

/** The form of the ids of calls within a script. Hooks and the rollout have the same ids. */
const NESTED = /^exec-[0-9a-f]{8}-[0-9a-f-]{27}$/;

/** Items of the paginated mode: prompts, and the ends of calls by their ids. */
export function itemCompleted(place: Place): TranscriptEntry[] {
  const { payload, memory } = place;
  const done = fieldsOf(payload.item);
  const id = word(done.id);
  if (done.type === 'UserMessage') return prompted(place, id, textOf(done.content));
  if (id === undefined) return [];
  if (done.type === 'WebSearch') return searched(place, id);
  const tool = own(itemTools, String(done.type))?.(done);
  if (tool === undefined) return [];
  const isNested = memory.recall('call', id) === undefined;
  if (isNested) memory.remember('call', id, tool);
  const at = { ...place, atMs: number(payload.completed_at_ms) ?? place.atMs };
  const ending = endingOfItem(done);
  const after = closed(at, id, ending);
  if (!isNested) return after;
  const { durationMs } = ending;
  const startMs = number(payload.started_at_ms) ?? (at.atMs === undefined ? undefined : at.atMs - (durationMs ?? 0));
  const before = entryAt(at, {
    event_type: 'Action.Before',
    key: id,
    data: { action: { name: actionName(tool), input: inputOfItem(done) } },
    facts: { ...toolFacts(tool), call: id },
    atMs: startMs,
  });
  // Older versions give such a call another id in hooks.
  if (!NESTED.test(id))
    return [before, ...after].map(entry => ('over' in entry ? entry : { ...entry, unless: 'hooked' as const }));
  // Without a duration, the start of the call is unknown.
  return [startMs === at.atMs ? { ...before, unless: 'hooked' } : before, ...after];
}

function endingOfItem(done: Fields): Ending {
  // Codex starts to measure a short command after it has ended, so the times of the rows are more exact.
  const durationMs = spanMs(done.duration) || undefined;
  if (done.status === 'declined') return { denied: 'unknown' };
  if (done.type === 'CommandExecution')
    return { ...exited(number(done.exit_code), durationMs), output: done.aggregated_output };
  const launched = done.type === 'SubAgentActivity' ? word(done.agent_thread_id) : spawnedBy(done);
  const success = done.type === 'SubAgentActivity' || done.status === 'completed';
  return { success, durationMs, output: done.result, launched, edits: editsIn(done.changes) };
}

const spawnedBy = ({ tool, receiver_thread_ids: threads }: Fields): string | undefined =>
  tool === 'spawn_agent' && Array.isArray(threads) ? word(threads[0]) : undefined;

/** The files of a patch. A file that moves is deleted at its old place and created at the new one. */
export function editsIn(changes: unknown): WrittenFile[] | undefined {
  if (!isFields(changes)) return undefined;
  return Object.entries(changes).flatMap(([path, value]): WrittenFile[] => {
    const change = fieldsOf(value);
    const operation = operationNamed(change);
    const moved = text(change.move_path);
    if (moved !== undefined)
      return [
        { path, operation: 'delete' as const },
        { path: moved, operation: 'create' as const },
      ];
    const lines = operation === 'create' ? linesOfText(text(change.content)) : linesOfDiff(text(change.unified_diff));
    return [{ path, operation, lines: operation === 'delete' ? undefined : lines }];
  });
}

/** Returns the input of a nested call as its hook has it, as far as the item states it. */
function inputOfItem({ command, changes }: Fields): Fields | undefined {
  if (Array.isArray(command)) return { command: lineOf(command) };
  if (!isFields(changes)) return undefined;
  const parts = Object.entries(changes).map(([path, change]) => {
    const kind = text(fieldsOf(change).type);
    return `*** ${kind === 'add' ? 'Add' : kind === 'delete' ? 'Delete' : 'Update'} File: ${path}`;
  });
  return { command: ['*** Begin Patch', ...parts, '*** End Patch'].join('\n') };
}

/** Returns the line that a shell ran, or the words of another command. */
function lineOf(command: readonly unknown[]): string {
  const words = command.filter(part => typeof part === 'string');
  return (/^-l?c$/.test(words[1] ?? '') ? words[2] : undefined) ?? words.join(' ');
}

/** The tools of the items that end a call. */
const itemTools: Readonly<Record<string, (done: Fields) => string | undefined>> = {
  CommandExecution: () => 'Bash',
  FileChange: () => 'apply_patch',
  McpToolCall: done => `mcp__${word(done.server) ?? 'unknown'}__${word(done.tool) ?? 'unknown'}`,
  CollabAgentToolCall: done => (done.tool === 'wait' ? 'wait_agent' : word(done.tool)),
  SubAgentActivity: done => (done.kind === 'started' ? 'spawn_agent' : undefined),
};

export function spanMs(duration: unknown): number | undefined {
  const { secs, nanos } = fieldsOf(duration);
  const seconds = number(secs);
  return seconds === undefined ? undefined : Math.round(seconds * 1_000 + (number(nanos) ?? 0) / 1_000_000);
}

/** Returns a text, or the texts of a list of blocks. */
function textOf(content: unknown): string {
  if (typeof content === 'string') return content;
  if (isFields(content)) return textOf(content.content ?? content.output ?? content.body);
  if (!Array.isArray(content)) return '';
  return content.map(block => text(fieldsOf(block).text) ?? '').join('\n');
}
