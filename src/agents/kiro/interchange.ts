/**
 * Kiro's hooks in the words of the Hook Interchange Format: its registries of 2026.03 and 2026.04, the vendor's documents of autumn 2026.
 * The format has the names that its IDE shows (`Agent Stop`); files spell them in three ways.
 */

import { fieldsOf } from '../../lib/read.ts';
import { eventsIn, flat, flatEntries, jsonFile, listed, readFile } from '../../standards/interchange/layouts.ts';
import { type Facts, type Layout, nothing, type Provider } from '../../standards/interchange/provider.ts';

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

/** The part of an agent's file, which may hold nothing but these. */
const agentFile = flat('.kiro/agents/hooks.json');

/** Later releases have a file of their own, in which what is run is one field. */
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
  product: { events: { session_start: ['agentSpawn'], agent_stop: ['stop'] } },
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
    tools: { read: 'file_read', write: 'file_write', shell: 'shell' },
  },
  fileFilters: ['file_changed', 'file_saved', 'file_created', 'file_deleted'],
  data: { cache_ttl_seconds: 'number' },
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
      title: 'hooks file of later releases',
      file: '.kiro/hooks/hooks.json',
      isFile: /(^|[\\/])\.kiro[\\/]hooks[\\/][^\\/]+\.json$/,
      read(text, name) {
        const read = later.read(text, name);
        if (!read.ok) return read;
        const { version: _, ...file } = read.file;
        const entries = read.entries.map(entry => {
          const { action, ...rest } = entry.handler;
          const { type, ...what } = fieldsOf(action);
          return { ...entry, handler: { ...rest, ...(type === 'command' ? {} : { type }), ...what } };
        });
        return { ...read, entries, file };
      },
      write(entries) {
        const hooks = entries.map(({ event, matcher, handler, hook }, i) => {
          const { command, type = 'command', prompt, ...rest } = handler;
          return {
            name: hook?.name ?? `hook-${i + 1}`,
            trigger: event,
            ...(matcher === undefined ? {} : { matcher }),
            action: { type, ...(command === undefined ? { prompt } : { command }) },
            ...rest,
          };
        });
        return [jsonFile('.kiro/hooks/hooks.json', { version: 'v1', hooks })];
      },
      matching,
      fields: { command: 'command', timeout: { name: 'timeout', unit: 's' }, types: { agent: { prompt: 'prompt' } } },
    },
  },
};
