/** Calls of a rollout, their results, and rows that hold single items of a response. */
import type { Fields } from '../../event/event.ts';
import { fieldsOf, isFields, number, own, text, word } from '../../lib/read.ts';
import type { TranscriptEntry } from '../contract/contract.ts';
import { entryAt, isAside, note, type Place, recalled } from './place.ts';
import { actionName, hookName, launchedBy, spawnedThread, toolFacts } from './tools.ts';
import { prompted } from './turns.ts';

export function item(place: Place): TranscriptEntry[] {
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

/**
 * Notes the time that the next response answers. A response that is still being written may have calls that already
 * return.
 */
function heard(place: Place): void {
  note(place, recalled(place, 'said') === undefined ? 'asked' : 'heard', place.atMs);
}

/** Old files mark a prompt only by its message; texts that the program inserted are marked. */
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
  const session = tool === 'write_stdin' ? number(input.session_id) : undefined;
  if (session !== undefined) memory.remember('stdin', call, String(session));
  return [
    entryAt(place, {
      event_type: 'Action.Before',
      key: call,
      data: { action: { name: actionName(tool), input } },
      facts: { ...toolFacts(tool), call, launches: launchedBy(tool, input) },
    }),
  ];
}

/** Returns the input as the hook has it: the command of a shell as one text, a patch as a command. */
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
    // A long line comes without its long texts: the input stays unknown.
    return undefined;
  }
}

interface Ending {
  /** The output, as far as the row has it. */
  output?: unknown;
  success?: boolean | undefined;
  exitCode?: number | undefined;
  durationMs?: number | undefined;
  denied?: true;
  interrupted?: true;
  launched?: string | undefined;
}

/** Reads the end of a call. Of its text only the lines that the program itself put before the output are read. */
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
    const entries = closed(place, call, {});
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
  const { success, exitCode, durationMs, denied, interrupted, launched } = ending;
  return [
    entryAt(place, {
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

/** Items of the paginated mode: prompts, and the ends of calls by their ids. */
export function itemCompleted(place: Place): TranscriptEntry[] {
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
  // A call nested in a script: hooks report it under an id that no rollout has.
  const nested = memory.recall('call', id) === undefined;
  if (nested) memory.remember('call', id, tool);
  const at = { ...place, atMs: doneMs };
  const after = closed(at, id, { ...ending, ...(done.status === 'declined' ? { denied: true } : {}) });
  if (!nested) return after;
  const startMs = doneMs === undefined || durationMs === undefined ? doneMs : doneMs - durationMs;
  const before = entryAt(at, {
    event_type: 'Action.Before',
    key: id,
    data: { action: { name: actionName(tool) } },
    facts: { ...toolFacts(tool), call: id },
    atMs: startMs,
  });
  return [before, ...after].map(entry => ('over' in entry ? entry : { ...entry, unless: 'hooked' as const }));
}

const itemTools: Readonly<Record<string, (done: Fields) => string>> = {
  CommandExecution: () => 'Bash',
  FileChange: () => 'apply_patch',
  McpToolCall: done => `mcp__${word(done.server) ?? 'unknown'}__${word(done.tool) ?? 'unknown'}`,
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
