/**
 * Windsurf's Cascade, now also sold as Devin Desktop. Facts: the vendor's hook pages of 2026 and third parties' tests
 * of 2026-08; no recorded payload was available; checked 2026-11-18.
 *
 * Hooks report four families of actions, each before and after: reading, writing, commands, MCP. Calls have no ids, so
 * they pair by their input, in order, within an execution (the turn). The hook at the end of a command has no result;
 * only the transcript has it. A call with a `pre_` hook and without a `post_` hook was refused, cancelled or failed.
 * Sessions have no start and no end.
 */
import type { Fields } from '../../event/event.ts';
import { fieldsOf, isFields, text, word } from '../../lib/read.ts';
import { type Agent, absent, type HookEvent } from '../contract/contract.ts';
import { type Call, closeCall, openCall } from '../shared/pairing.ts';
import { readingsWith } from '../shared/readings.ts';
import { timeOf } from '../shared/times.ts';
import { settings } from './settings.ts';
import { transcript } from './transcript.ts';
import { truth } from './truth.ts';

/** Hooks do not name tools, so the names of the families are used. */
const actions = {
  read_code: 'read_file',
  run_command: 'shell',
  write_code: 'write_file',
} as const satisfies Record<string, string>;

type Family = keyof typeof actions | 'mcp_tool_use';

interface Performed {
  name: string;
  tool: string;
  input: Fields;
  mcp?: { server: string } | undefined;
}

const before = (family: Family): HookEvent => ({
  read(fields, memory) {
    const { name, tool, input, mcp } = performed(family, fields);
    const call = openCall(callOf(family, fields), memory);
    return [
      reading(fields, {
        event_type: 'Action.Before',
        key: call,
        data: { action: { name, input } },
        facts: { tool, mcp, call },
      }),
    ];
  },
});

const after = (family: Family, success: (info: Fields) => boolean | undefined): HookEvent => ({
  read(fields, memory) {
    const { name, tool, input, mcp } = performed(family, fields);
    const call = closeCall(callOf(family, fields), memory);
    const succeeded = success(infoOf(fields));
    return [
      reading(fields, {
        event_type: 'Action.After',
        key: call,
        data: { action: { name, input, result: succeeded === undefined ? {} : { success: succeeded } } },
        output: infoOf(fields).mcp_result,
        facts: { tool, mcp, call, error_type: succeeded === false ? 'tool_error' : undefined },
      }),
    ];
  },
});

/** Two hooks report the end of a turn; the one with the transcript has no answer. */
const responded: HookEvent = {
  edge: true,
  read: fields => [
    reading(fields, {
      event_type: 'Agent.Response',
      key: word(fields.execution_id),
      data: { response: text(infoOf(fields).response), final: true },
    }),
  ],
};

const documented: Record<string, HookEvent> = {
  pre_user_prompt: {
    edge: true,
    read: fields => [
      reading(fields, {
        event_type: 'Prompt.Submitted',
        data: { prompt: text(infoOf(fields).user_prompt) },
        actor: 'user',
      }),
    ],
  },
  pre_read_code: before('read_code'),
  post_read_code: after('read_code', () => true),
  pre_write_code: before('write_code'),
  post_write_code: after('write_code', () => true),
  pre_run_command: before('run_command'),
  post_run_command: after('run_command', () => undefined),
  pre_mcp_tool_use: before('mcp_tool_use'),
  post_mcp_tool_use: after('mcp_tool_use', info => (isMcpError(info.mcp_result) ? false : undefined)),
  post_cascade_response: responded,
  post_cascade_response_with_transcript: responded,
  post_setup_worktree: {
    register: 'all',
    // A trajectory starts in a worktree, or moves to another one.
    read: (fields, memory) => [
      memory.recall('trajectory', 'began') === undefined
        ? reading(fields, { event_type: 'Session.Start', data: { start_reason: 'new' } })
        : reading(fields, { event_type: 'vendor.windsurf.post_setup_worktree', data: {} }),
    ],
  },
};

const events: Record<string, HookEvent> = Object.fromEntries(
  Object.entries(documented).map(([name, event]) => [
    name,
    {
      ...event,
      read(fields, memory) {
        const readings = event.read(fields, memory);
        memory.remember('trajectory', 'began', '1');
        return readings;
      },
    },
  ]),
);

export const windsurf: Agent = {
  id: 'windsurf',
  title: 'Windsurf',
  source: { docs: 'https://docs.windsurf.com/windsurf/cascade/hooks', version: '1.12.41', checked: '2026-11-18' },

  signs(fields) {
    const name = eventName(fields);
    if (name === undefined || word(fields.trajectory_id) === undefined) return 0;
    // Only Windsurf sends these fields.
    return Object.hasOwn(events, name) ? 1 : 0.9;
  },
  eventName,
  session: fields => word(fields.trajectory_id),
  cwd(fields) {
    const info = infoOf(fields);
    return word(info.cwd) ?? word(info.root_workspace_path);
  },
  events,
  actions,
  truth,
  settles: { action: 'hook', turn: 'hook', subagent: 'hook', session: 'hook' },
  transcript,
  // Windsurf never reads it; it may show it to the user.
  reply: { stdout: '' },
  settings,
  interchange: async () => [(await import('./interchange.ts')).interchange],
  demo: absent('the demonstration plays another agent'),
};

/** Some builds write the names in PascalCase. */
function eventName(fields: Fields): string | undefined {
  const name = word(fields.agent_action_name);
  if (name === undefined || !/^[A-Z]/.test(name)) return name;
  const snake = name.replace(/([a-z0-9])([A-Z])|([A-Z])([A-Z][a-z])/g, '$1$3_$2$4').toLowerCase();
  return Object.hasOwn(events, snake) ? snake : name;
}

const infoOf = (fields: Fields): Fields => fieldsOf(fields.tool_info);

function performed(family: Family, fields: Fields): Performed {
  const info = infoOf(fields);
  switch (family) {
    case 'read_code':
      return { name: 'read_file', tool: family, input: { path: info.file_path } };
    case 'write_code':
      return {
        name: replaces(info.edits) ? 'code_edit' : 'write_file',
        tool: family,
        input: { path: info.file_path, edits: info.edits },
      };
    case 'run_command':
      return { name: 'shell', tool: family, input: { command: info.command_line, cwd: info.cwd } };
    case 'mcp_tool_use': {
      const tool = word(info.mcp_tool_name) ?? 'unknown';
      return {
        name: `mcp:${tool}`,
        tool,
        input: fieldsOf(info.mcp_tool_arguments),
        mcp: { server: word(info.mcp_server_name) ?? 'unknown' },
      };
    }
  }
}

/** Returns true if an edit removes text: then the file existed before. */
const replaces = (edits: unknown): boolean =>
  Array.isArray(edits) && edits.some(edit => word(fieldsOf(edit).old_string) !== undefined);

/** The values that both hooks of one call share; one of them may omit the edits. */
function callOf(family: Family, fields: Fields): Call {
  const info = infoOf(fields);
  const { input, mcp } = performed(family, fields);
  const subject =
    family === 'mcp_tool_use' ? [mcp?.server, info.mcp_tool_name, input] : [info.file_path, input.command, info.cwd];
  return { tool: family, input: [word(fields.execution_id) ?? '', ...subject] };
}

function isMcpError(result: unknown): boolean {
  if (typeof result !== 'string') return false;
  try {
    const parsed: unknown = JSON.parse(result);
    return isFields(parsed) && (parsed.isError === true || 'error' in parsed);
  } catch {
    // Most results are plain text, which does not show success.
    return false;
  }
}

const reading = readingsWith(fields => ({
  facts: { turn: word(fields.execution_id), model: modelOf(fields.model_name) },
  atMs: timeOf(fields.timestamp),
}));

/** Turns a display name ("Claude Sonnet 4") into the likely id. */
function modelOf(name: unknown): string | undefined {
  const model = word(name);
  return model === undefined || model === 'Unknown' ? undefined : model.toLowerCase().replaceAll(' ', '-');
}
