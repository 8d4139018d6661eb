/**
 * OpenCode's hooks in terms of the Hook Interchange Format: its registries of 2026.03 and 2026.04, the product's source
 * of autumn 2026. Its hooks are plugins. So the converter writes a plugin that runs the commands, and it can read only
 * plugins that it has written.
 */

import { type Entry, type Facts, nothing, type Provider, type Read } from '../../interchange/provider.ts';
import { isFields, word } from '../../lib/read.ts';

const draft: Facts = {
  events: {
    before_tool_execute: ['tool.execute.before'],
    after_tool_execute: ['tool.execute.after'],
    session_start: ['session.created'],
    agent_stop: ['session.idle'],
    error_occurred: ['session.error'],
    permission_request: ['permission.asked'],
    file_created: ['file.edited'],
  },
  tools: {
    shell: 'bash',
    file_read: 'read',
    file_write: 'write',
    file_edit: 'edit',
    search: 'grep',
    find: 'glob',
  },
  mcp: undefined,
  supports: { ...nothing, structured_output: 'plugin', input_rewrite: 'plugin' },
  blocks: { before_tool_execute: 'prevent' },
};

const { file_created: _, ...events } = draft.events;

export const interchange: Provider = {
  slug: 'opencode',
  title: 'OpenCode',
  checked: '2026-11-18',
  registry: {
    '2026.03': draft,
    '2026.04': {
      ...draft,
      events: {
        ...events,
        session_end: ['session.deleted'],
        before_compact: ['experimental.session.compacting'],
        file_changed: ['file.edited'],
        opencode_command_before: ['command.execute.before'],
        opencode_command_after: ['command.execute.after'],
        opencode_chat_params: ['chat.params'],
        opencode_chat_headers: ['chat.headers'],
        opencode_shell_env: ['shell.env'],
        opencode_tool_definition: ['tool.definition'],
        opencode_tui_events: ['tui.prompt.append', 'tui.command.execute'],
      },
      blocks: { ...draft.blocks, permission_request: 'prevent' },
    },
  },
  // OpenCode joins both names with `_`, which other names of tools contain too. The plugin joins them.
  product: { mcp: { before: 'mcp:', between: '/' }, blocks: { permission_request: 'observe' } },
  remarks: {
    permission_request: {
      kind: 'blocking_may_not_work',
      message: 'OpenCode reports permission.asked to plugins, and takes no answer from them',
    },
  },
  also: { tools: { websearch: 'web_search', webfetch: 'web_fetch', task: 'agent' } },
  // The plugin runs commands in the folder of the project.
  projectVariables: ['PWD'],
  layouts: {
    native: {
      title: 'plugin',
      file: '.opencode/plugins/hooks.js',
      isFile: /(^|[\\/])\.?opencode[\\/]plugins?[\\/][^\\/]+\.[jt]s$/,
      matching: { how: 'expression', listsNames: true },
      fields: { command: 'command', timeout: { name: 'timeout', unit: 's' } },
      read,
      write: entries => [{ path: '.opencode/plugins/hooks.js', text: pluginText(entries) }],
    },
  },
};

const HEAD = '// Written by `otel-hooks convert`; the next conversion writes it anew.';

function pluginText(entries: readonly Entry[]): string {
  const hooks = entries.map(({ event, matcher, handler, hook, blocking = hook?.blocking }) => {
    const { command, timeout } = handler;
    const written = {
      event,
      ...(matcher === undefined ? {} : { matcher }),
      command,
      timeout,
      blocking: blocking === true,
    };
    return `  ${JSON.stringify(written).replace(/[\u2028\u2029]/g, each => `\\u${each.charCodeAt(0).toString(16)}`)},\n`;
  });
  return `${HEAD}\nimport { spawn } from 'node:child_process';\n\nconst hooks = [\n${hooks.join('')}];\n${BODY}`;
}

function read(text: string): Read {
  if (!text.startsWith(`${HEAD}\n`))
    return { ok: false, why: 'a plugin is a program: only one that `otel-hooks convert` wrote can be read' };
  const entries = [...text.matchAll(/^ {2}(\{"event":.*\}),$/gm)].flatMap(([, json = '']): Entry[] => {
    const hook = parsed(json);
    const event = isFields(hook) ? word(hook.event) : undefined;
    if (!isFields(hook) || event === undefined) return [];
    const matcher = word(hook.matcher);
    const { command, timeout } = hook;
    const handler = { command, ...(timeout === undefined ? {} : { timeout }) };
    return [{ event, handler, blocking: hook.blocking === true, ...(matcher === undefined ? {} : { matcher }) }];
  });
  return { ok: true, entries, file: {}, odd: [] };
}

function parsed(json: string): unknown {
  try {
    return JSON.parse(json);
  } catch {
    // A user has edited the line, so it cannot be parsed.
    return undefined;
  }
}

const BODY = `
const DEFAULT_TIMEOUT_S = 30;

/**
 * Names separated by | are a list; any other text is a regular expression. An invalid expression matches everything.
 * OpenCode names the tool of an MCP server server_tool.
 */
function hits(written, tool) {
  if (written === undefined) return true;
  const matcher = written.replace(/mcp:([^/|]+)\\/(\\.\\*)?/g, (_, server, all) => (all ? '^' + server + '_.*' : server + '_'));
  if (/^[\\w|]+$/.test(matcher)) return matcher.split('|').includes(tool);
  try {
    return new RegExp(matcher).test(tool);
  } catch {
    return true;
  }
}

function run(hook, input, directory) {
  return new Promise(resolve => {
    let out = '';
    let err = '';
    const child = spawn(hook.command, { cwd: directory, shell: true, stdio: ['pipe', 'pipe', 'pipe'] });
    const timer = setTimeout(() => end(1), (hook.timeout || DEFAULT_TIMEOUT_S) * 1000);
    const end = code => {
      child.kill('SIGKILL');
      clearTimeout(timer);
      resolve({ code, out, err });
    };
    child.stdout.on('data', data => { out += data; });
    child.stderr.on('data', data => { err += data; });
    child.stdin.on('error', () => {});
    child.on('error', () => end(1));
    child.on('close', code => end(code ?? 1));
    child.stdin.end(JSON.stringify(input));
  });
}

function answerIn(out) {
  try {
    const value = JSON.parse(out);
    return typeof value === 'object' && value !== null ? value : {};
  } catch {
    return {};
  }
}

/** Plugins cannot ask the user, so a question denies the call. */
async function fire(event, input, output, directory) {
  for (const hook of hooks) {
    if (hook.event !== event || !hits(hook.matcher, input.tool ?? '')) continue;
    const { code, out, err } = await run(hook, { hook_event_name: event, ...input, tool_input: output?.args }, directory);
    const answer = code === 0 ? answerIn(out) : {};
    const isDenied = answer.decision === 'deny' || answer.decision === 'ask' || (hook.blocking && code === 2);
    if (isDenied && event === 'tool.execute.before') throw new Error(answer.reason || err.trim() || 'A hook blocked this.');
    if (answer.updated_input && output?.args) Object.assign(output.args, answer.updated_input);
  }
}

export default async ({ directory }) => ({
  'tool.execute.before': (input, output) => fire('tool.execute.before', input, output, directory),
  'tool.execute.after': input => fire('tool.execute.after', input, undefined, directory),
  'command.execute.before': input => fire('command.execute.before', input, undefined, directory),
  'command.execute.after': input => fire('command.execute.after', input, undefined, directory),
  'chat.params': input => fire('chat.params', input, undefined, directory),
  'chat.headers': input => fire('chat.headers', input, undefined, directory),
  'shell.env': input => fire('shell.env', input, undefined, directory),
  'tool.definition': input => fire('tool.definition', input, undefined, directory),
  'experimental.session.compacting': input => fire('experimental.session.compacting', input, undefined, directory),
  event: ({ event }) => fire(event.type, event.properties ?? {}, undefined, directory),
});
`;
