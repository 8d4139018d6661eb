/**
 * Kiro's hooks in terms of the Hook Interchange Format: its registries of 2026.03 and 2026.04, the vendor's documents of autumn 2026.
 * The format has the names that its IDE shows (`Agent Stop`); files spell them in three ways.
 */

import type { Fields } from '../../event/event.ts';
import { eventsIn, flat, flatEntries, jsonFile, listed, readFile, readNative } from '../../interchange/layouts.ts';
import { type Entry, type Facts, type Layout, nothing, type Provider } from '../../interchange/provider.ts';
import { fieldsOf } from '../../lib/read.ts';

const draft: Facts = {
  events: {
    before_tool_execute: ['preToolUse'],
    after_tool_execute: ['postToolUse'],
    session_start: ['agentSpawn'],
    before_prompt: ['userPromptSubmit'],
    agent_stop: ['stop'],
    session_end: ['stop'],
    file_created: ['File Create'],
    file_saved: ['File Save'],
    file_deleted: ['File Delete'],
    before_task: ['Pre Task Execution'],
    after_task: ['Post Task Execution'],
  },
  tools: {
    shell: 'execute_bash',
    file_read: 'fs_read',
    file_write: 'fs_write',
    file_edit: 'fs_write',
    search: 'grep',
    find: 'glob',
    web_search: 'web_search',
    web_fetch: 'web_fetch',
    agent: 'use_subagent',
  },
  mcp: { before: 'mcp__', between: '__' },
  supports: { ...nothing, structured_output: 'unsaid', llm_evaluated: 'partly' },
  blocks: { before_tool_execute: 'prevent' },
};

const now: Facts = {
  ...draft,
  events: {
    before_tool_execute: ['preToolUse'],
    after_tool_execute: ['postToolUse'],
    before_prompt: ['userPromptSubmit'],
    agent_stop: ['Agent Stop'],
    file_changed: ['File Save'],
    file_created: ['File Create'],
    file_deleted: ['File Delete'],
    before_task: ['Pre Task Execution'],
    after_task: ['Post Task Execution'],
    manual_trigger: ['Manual Trigger'],
  },
};

/** The hooks part of an agent's file, which may hold only these members. */
const agentFile = flat('.kiro/agents/hooks.json');

/** Later releases have a separate file, in which one field holds the action. */
const later = listed('.kiro/hooks/hooks.json', { event: 'trigger', matcher: 'matcher' });

const matching: Layout['matching'] = {
  how: 'each',
  server: server => `@${server}`,
  anyMcp: '@mcp',
  hasNoPatterns: true,
};

export const interchange: Provider = {
  slug: 'kiro',
  title: 'Kiro',
  checked: '2026-11-18',
  registry: { '2026.03': draft, '2026.04': now },
  // The file of an agent has five events; all others belong into hooks files.
  product: {
    layout: 'v1',
    events: {
      session_start: ['agentSpawn'],
      agent_stop: ['stop'],
      ...{ file_changed: [], file_created: [], file_deleted: [], before_task: [], after_task: [], manual_trigger: [] },
    },
    mcp: { before: '@', between: '/' },
  },
  spelling: event => event.replace(/[\s_-]/g, '').toLowerCase(),
  also: {
    events: {
      agentSpawn: 'session_start',
      sessionStart: 'session_start',
      stop: 'agent_stop',
      promptSubmit: 'before_prompt',
      fileEdited: 'file_changed',
      postFileSave: 'file_changed',
      fileCreated: 'file_created',
      postFileCreate: 'file_created',
      fileDeleted: 'file_deleted',
      postFileDelete: 'file_deleted',
      preTaskExec: 'before_task',
      postTaskExec: 'after_task',
      userTriggered: 'manual_trigger',
      manual: 'manual_trigger',
    },
    tools: {
      fs_append: 'file_write',
      str_replace: 'file_edit',
      read: 'file_read',
      write: 'file_write',
      shell: 'shell',
    },
  },
  fileFilters: ['file_changed', 'file_saved', 'file_created', 'file_deleted'],
  data: { cache_ttl_seconds: 'number' },
  plainContext: ['session_start', 'before_prompt'],
  layouts: {
    native: {
      title: "hooks of an agent's file",
      file: '.kiro/agents/hooks.json',
      isFile: /(^|[\\/])\.kiro[\\/]agents[\\/][^\\/]+\.json$/,
      ...agentFile,
      read: text => readFile(text, hooks => eventsIn(hooks, flatEntries)),
      fileKeys: ['name', 'description', 'prompt'],
      matching,
      fields: { command: 'command', timeout: { name: 'timeout_ms', unit: 'ms' } },
    },
    v1: {
      title: 'hooks file of CLI 3 and IDE 1',
      file: '.kiro/hooks/hooks.json',
      isFile: /(^|[\\/])\.kiro[\\/]hooks[\\/][^\\/]+\.json$/,
      facts: {
        events: {
          before_tool_execute: ['PreToolUse'],
          after_tool_execute: ['PostToolUse'],
          session_start: ['SessionStart'],
          session_end: [],
          before_prompt: ['UserPromptSubmit'],
          agent_stop: ['Stop'],
          file_changed: ['PostFileSave'],
          file_saved: ['PostFileSave'],
          file_created: ['PostFileCreate'],
          file_deleted: ['PostFileDelete'],
          before_task: ['PreTaskExec'],
          after_task: ['PostTaskExec'],
          manual_trigger: ['Manual'],
        },
        tools: { file_edit: 'str_replace' },
        mcp: { before: '@', between: '/' },
        blocks: { before_tool_execute: 'prevent', before_prompt: 'prevent', before_task: 'prevent' },
      },
      read(text, name) {
        const read = later.read(text, name);
        if (!read.ok) return read;
        const { version: _, ...file } = read.file;
        const entries = read.entries.map(entry => {
          const { action, ...rest } = entry.handler;
          return { ...entry, handler: { ...rest, ...handlerIn(fieldsOf(action), 'command') } };
        });
        return { ...read, entries, file };
      },
      write(entries) {
        const named = unique(entries);
        const hooks = entries.map(({ event, matcher, handler }, i) => {
          const { command, type = 'command', prompt, ...rest } = handler;
          return {
            ...rest,
            name: named[i],
            trigger: event,
            ...(matcher === undefined ? {} : { matcher }),
            action: { type, ...(command === undefined ? { prompt } : { command }) },
          };
        });
        return [jsonFile('.kiro/hooks/hooks.json', { version: 'v1', hooks })];
      },
      matching: { how: 'expression' },
      fileFilter: 'expression',
      fields: { command: 'command', timeout: { name: 'timeout', unit: 's' }, types: { agent: { prompt: 'prompt' } } },
    },
    ide: {
      title: 'files of IDE 0, one for each hook',
      file: '.kiro/hooks/',
      isFile: /\.kiro\.hook$/,
      facts: {
        events: {
          session_start: [],
          session_end: [],
          before_prompt: ['promptSubmit'],
          agent_stop: ['agentStop'],
          file_changed: ['fileEdited'],
          file_saved: ['fileEdited'],
          file_created: ['fileCreated'],
          file_deleted: ['fileDeleted'],
          manual_trigger: ['userTriggered'],
        },
      },
      read(text) {
        const read = readNative(text);
        if (!read.ok) return read;
        const { when, then, version: _, ...rest } = read.value;
        const { type: event, patterns, ...narrowed } = fieldsOf(when);
        if (typeof event !== 'string') return { ok: false, why: 'its trigger has no event' };
        const [pattern, ...others] = Array.isArray(patterns) ? patterns : [];
        // Several patterns have no place in a matcher.
        const isOne = typeof pattern === 'string' && others.length === 0;
        const handler = {
          ...rest,
          ...narrowed,
          ...(isOne || patterns === undefined ? {} : { patterns }),
          ...handlerIn(fieldsOf(then), 'runCommand'),
        };
        return { ok: true, odd: [], file: {}, entries: [{ event, handler, ...(isOne ? { matcher: pattern } : {}) }] };
      },
      write(entries) {
        const named = unique(entries);
        return entries.map(({ event, matcher, handler }, i) => {
          const { command, type, prompt, timeout, patterns = matcher && [matcher], toolTypes, ...rest } = handler;
          const name = named[i] ?? '';
          const what = type === 'agent' ? { type: 'askAgent', prompt } : { type: 'runCommand', command };
          return jsonFile(`.kiro/hooks/${fileName(name)}.kiro.hook`, {
            enabled: true,
            ...rest,
            name,
            version: '1',
            when: { type: event, ...(patterns ? { patterns } : {}), ...(toolTypes ? { toolTypes } : {}) },
            // biome-ignore lint/suspicious/noThenProperty: the file format has this name; the object is not awaited.
            then: { ...what, ...(timeout === undefined ? {} : { timeout }) },
          });
        });
      },
      matching: { how: 'none' },
      fileFilter: 'glob',
      fields: { command: 'command', timeout: { name: 'timeout', unit: 's' }, types: { agent: { prompt: 'prompt' } } },
    },
  },
};

/** Returns an entry of this file. It has the type `command`, and a separate field holds the command. */
function handlerIn({ type, ...what }: Fields, command: string): Fields {
  return { ...(type === command ? {} : { type: type === 'askAgent' ? 'agent' : type }), ...what };
}

const fileName = (name: string): string => name.replace(/[^\w-]+/g, '-');

/** Makes the names of the hooks unique. Each name is also the name of a file. */
function unique(entries: readonly Entry[]): string[] {
  const taken = new Set<string>();
  return entries.map(({ handler, hook }, i) => {
    const wanted = (typeof handler.name === 'string' ? handler.name : hook?.name) || `hook-${i + 1}`;
    let name = wanted;
    for (let n = 2; taken.has(fileName(name).toLowerCase()); n += 1) name = `${wanted}-${n}`;
    taken.add(fileName(name).toLowerCase());
    return name;
  });
}
