/**
 * Events that no type of our model fits. They are kept under their own names, with their numbers, truth values and words
 * of closed sets. Of texts only the length stays, of lists only the count; a path stays only where the user asked for
 * paths. Most of them are registered on request.
 */
import { fieldsOf, isFields, text, word } from '../../lib/read.ts';
import type { HookEvent, Registration } from '../contract/contract.ts';
import { reading } from './hook-reading.ts';

interface Further {
  register: Registration | undefined;
  /** Fields that stay as they are. */
  plain?: readonly string[];
  /** Texts and lists of which the length stays, as `<field>_length` or `<field>_count`. */
  counted?: readonly string[];
  /** The field with a path. */
  path?: string;
  /** The field with the name of an MCP server. */
  server?: string;
}

export const further = ({ register, plain = [], counted = [], path, server }: Further): HookEvent => ({
  plain: [...plain],
  ...(register === undefined ? {} : { register }),
  read(fields) {
    const kept = plain
      .filter(name => fields[name] !== undefined)
      .map((name): [string, unknown] => [name, fields[name]]);
    const data = Object.fromEntries([...kept, ...counted.flatMap(name => sizeOf(name, fields[name]))]);
    const named = server === undefined ? undefined : serverNamed(word(fields[server]));
    return [
      reading(fields, {
        event_type: `vendor.claude-code.${text(fields.hook_event_name)}`,
        data,
        path: path === undefined ? undefined : text(fields[path]),
        facts: {
          fields: Object.keys(data),
          ...(named === undefined ? {} : { mcp: { server: named } }),
        },
      }),
    ];
  },
});

/** A name as in the names of tools, without blanks. */
const serverNamed = (name: string | undefined): string | undefined =>
  /^[\w.:-]{1,64}$/.test(name ?? '') ? name : undefined;

function sizeOf(name: string, value: unknown): [string, number][] {
  if (typeof value === 'string') return [[`${name}_length`, value.length]];
  if (Array.isArray(value)) return [[`${name}_count`, value.length]];
  return isFields(value) ? [[`${name}_count`, Object.keys(fieldsOf(value)).length]] : [];
}

const modelSwitch = [
  'from_model',
  'to_model',
  'requested_model',
  'source',
  'context_tokens',
  'prompt_cache_warm',
  'cache_ttl',
  'estimated_cache_write_usd',
];

export const furtherEvents: Record<string, HookEvent> = {
  // The transcript reports the end of the compaction and its size. No id relates the two.
  PostCompact: further({ register: undefined, plain: ['trigger'], counted: ['compact_summary'] }),
  UserPromptExpansion: further({
    register: 'all',
    plain: ['expansion_type', 'command_source', 'command_name'],
    counted: ['command_args', 'prompt'],
  }),
  // If this hook takes too long, the program refuses the switch.
  PreModelSwitch: further({ register: 'named', plain: modelSwitch }),
  PostModelSwitch: further({ register: 'all', plain: modelSwitch }),
  TaskCreated: further({
    register: 'all',
    plain: ['task_id'],
    counted: ['task_name', 'task_subject', 'task_description'],
  }),
  TaskCompleted: further({
    register: 'all',
    plain: ['task_id'],
    counted: ['task_name', 'task_subject', 'task_description'],
  }),
  TeammateIdle: further({ register: 'all', counted: ['teammate_name'] }),
  Setup: further({ register: 'all', plain: ['trigger'] }),
  ConfigChange: further({ register: 'all', plain: ['source'], path: 'file_path' }),
  InstructionsLoaded: further({
    register: 'all',
    plain: ['memory_type', 'load_reason'],
    counted: ['globs'],
    path: 'file_path',
  }),
  CwdChanged: further({ register: 'all', path: 'new_cwd' }),
  DirectoryAdded: further({ register: 'all', plain: ['source'], path: 'directory' }),
  Elicitation: further({
    register: 'all',
    plain: ['mode'],
    counted: ['message', 'requested_schema'],
    server: 'mcp_server_name',
  }),
  ElicitationResult: further({
    register: 'all',
    plain: ['mode', 'action'],
    counted: ['content'],
    server: 'mcp_server_name',
  }),
  // A removal waits for its hooks, and a failing hook keeps the worktree. Ours always succeeds.
  WorktreeRemove: further({ register: 'all', path: 'worktree_path' }),
  // A hook on WorktreeCreate replaces the built-in step and must print a path: a silent one makes every creation fail.
  WorktreeCreate: further({ register: false, counted: ['name'], path: 'worktree_path' }),
  // The matcher of a FileChanged hook defines the list of watched files.
  FileChanged: further({ register: 'files', plain: ['event'], path: 'file_path' }),
  // Runs before each piece of text is shown.
  MessageDisplay: further({ register: 'named', plain: ['index', 'final'], counted: ['delta'] }),
};
