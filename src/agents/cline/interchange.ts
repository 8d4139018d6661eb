/**
 * Cline's hooks in terms of the Hook Interchange Format: its registry of 2026.04, the vendor's documents of autumn
 * 2026. A hook is a program named after its event, which denies an action in JSON. So the converter writes a program
 * that runs the hooks and translates their exit codes.
 */

import { type Entry, type NativeFile, nothing, type Provider, type Read } from '../../interchange/provider.ts';
import { quoted } from '../../interchange/replacement-commands.ts';
import { unwrapped } from '../../interchange/runtime-command.ts';
import { isFields } from '../../lib/read.ts';

const FOLDER = '.clinerules/hooks';

export const interchange: Provider = {
  slug: 'cline',
  title: 'Cline',
  checked: '2026-11-18',
  registry: {
    '2026.04': {
      events: {
        before_tool_execute: ['PreToolUse'],
        after_tool_execute: ['PostToolUse'],
        session_start: ['TaskStart', 'TaskResume'],
        session_end: ['TaskCancel'],
        before_prompt: ['UserPromptSubmit'],
        agent_stop: ['TaskComplete'],
        before_compact: ['PreCompact'],
        notification: ['Notification'],
      },
      tools: {},
      mcp: undefined,
      supports: { ...nothing, structured_output: 'partly', platform_commands: 'partly' },
      blocks: { before_tool_execute: 'prevent', before_prompt: 'prevent', session_start: 'prevent' },
    },
  },
  product: { events: { notification: [] } },
  remarks: {
    session_start: {
      kind: 'semantic_approximation',
      message: 'TaskStart is the event of new tasks of Cline: a resumed task has a different event',
    },
    session_end: {
      kind: 'semantic_approximation',
      message: 'TaskCancel comes only when a person cancels a task of Cline',
    },
  },
  layouts: {
    native: {
      title: 'programs named after their events',
      file: `${FOLDER}/`,
      isFile: /(^|[\\/])(\.clinerules|\.cline|Cline)[\\/][Hh]ooks[\\/][A-Za-z]+(\.ps1)?$/,
      matching: { how: 'none' },
      fields: { command: 'command', isDeaf: true },
      read,
      write,
    },
  },
};

const HEAD = '# Written by `otel-hooks convert`; the next conversion writes it anew.';
const MARK = '# hook: ';

function write(entries: readonly Entry[]): NativeFile[] {
  const events = new Map<string, Entry[]>();
  for (const entry of entries) events.set(entry.event, [...(events.get(entry.event) ?? []), entry]);
  return [...events].map(([event, hooks]) => ({
    path: `${FOLDER}/${event}`,
    isExecutable: true,
    text: `#!/bin/sh\n${HEAD}\n${START}${begin(hooks)}${hooks.map(hook => run(hook)).join('')}${end(hooks)}`,
  }));
}

const hasRuntime = (hooks: readonly Entry[]): boolean =>
  hooks.some(({ handler }) => unwrapped(handler.command) !== undefined);

const begin = (hooks: readonly Entry[]): string => (hasRuntime(hooks) ? `answer='{"cancel":false}'\n` : '');

/** The runtime can answer with more than a permission. */
const end = (hooks: readonly Entry[]): string =>
  hasRuntime(hooks) ? `printf '%s\\n' "$answer"\n` : `printf '{"cancel":false}\\n'\n`;

const START = `event=$(cat)
# What a hook says on standard error is the reason, without what would end a string of JSON.
cancel() {
  printf '{"cancel":true,"errorMessage":"%s"}\\n' "$(printf '%s' "$1" | tr -d '\\000-\\037"\\\\')"
  exit 0
}
`;

function run({ handler, hook, blocking = hook?.blocking }: Entry): string {
  const command = String(handler.command);
  const kept = JSON.stringify({ ...handler, ...(blocking === true ? { blocking } : {}) });
  // The mark must stay on one line: text after a line break would not be part of the comment.
  const mark = `${MARK}${kept.replace(/[\u2028\u2029]/g, each => `\\u${each.charCodeAt(0).toString(16)}`)}\n`;
  const called = `printf '%s' "$event" | sh -c ${quoted(command)}`;
  if (unwrapped(command) !== undefined) return `${mark}${passedOn(called, blocking === true)}`;
  if (blocking !== true) return `${mark}${called} >/dev/null\n`;
  return `${mark}reason=$(${called} 2>&1 >/dev/null)\n[ $? -eq 2 ] && cancel "$reason"\n`;
}

/** The runtime answers in JSON. The first hook that cancels decides; otherwise the last answer counts. */
function passedOn(called: string, isBlocking: boolean): string {
  const failed = isBlocking ? " || cancel 'otel-hooks could not run a hook.'" : '';
  return [
    `said=$(${called})${failed}`,
    `case $said in '{"cancel":true'*) printf '%s\\n' "$said"; exit 0 ;; '{"cancel":false}' | '') ;; *) answer=$said ;; esac`,
    '',
  ].join('\n');
}

/**
 * Reads the command of a program. A program from this converter contains its command; any other program is the command.
 */
function read(text: string, name: string): Read {
  const file = name.split(/[\\/]/).at(-1) ?? '';
  const event = file.replace(/\.ps1$/, '');
  if (!/^[A-Za-z]+$/.test(event))
    return { ok: false, why: 'a hook of Cline is a program that is named after its event' };
  if (!text.includes(`${HEAD}\n`))
    return { ok: true, file: {}, odd: [], entries: [{ event, handler: { command: `./${file}` } }] };
  const entries = text.split('\n').flatMap((line): Entry[] => {
    const handler = line.startsWith(MARK) ? parsed(line.slice(MARK.length)) : undefined;
    if (!isFields(handler)) return [];
    const { blocking, ...rest } = handler;
    return [{ event, handler: rest, blocking: blocking === true }];
  });
  return { ok: true, file: {}, odd: [], entries };
}

function parsed(json: string): unknown {
  try {
    return JSON.parse(json);
  } catch {
    // A user has edited the line, so it cannot be parsed.
    return undefined;
  }
}
