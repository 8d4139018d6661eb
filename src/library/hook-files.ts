/**
 * Registers the hooks that a file declares with a runner: entries of `mcp.json` as tools of MCP servers, entries of
 * `hooks.json`, `.github/hooks/*.json` and the front matter of an agent's page as commands.
 *
 * The author of such a file may be a stranger. So the application decides about each command before it is registered,
 * and calls the tools itself.
 */
import { spawn } from 'node:child_process';
import { basename, dirname, resolve } from 'node:path';
import { parse } from 'yaml';
import { fieldsOf, isFields, number, text, word } from '../lib/read.ts';
import { readRegularFile } from '../lib/regular-file.ts';
import type { BaseCoatResponse } from '../standards/base-coat/envelope.ts';
import { type HookPoint, hookPointOf } from '../standards/base-coat/hook-points.ts';
import type { HookContext, HookHandler, HookRunner } from './hook-runner.ts';

/**
 * A command that a file declares for a hook point.
 *
 * @example
 * ```ts
 * const isOurs = ({ command, folder }: HookCommandEntry): boolean => folder === '/srv/app' && command.startsWith('./scripts/');
 * ```
 */
export interface HookCommandEntry {
  hook: HookPoint;
  command: string;
  /** The folder in which the command runs. */
  folder: string;
  file: string;
}

/**
 * Options of `registerHookFile`.
 *
 * @example
 * ```ts
 * const options: HookFileOptions = { mayRun: ({ command }) => command === './scripts/validate-tool.sh' };
 * ```
 */
export interface HookFileOptions {
  /** Decides about each command. Without this function, no command is registered. */
  mayRun?: ((entry: HookCommandEntry) => boolean) | undefined;
  /** Calls the tool of an entry of `mcp.json`. Without this function, no such entry is registered. */
  callTool?:
    | ((tool: string, ...event: Parameters<HookHandler>) => ReturnType<HookHandler> | Promise<unknown>)
    | undefined;
  /** The folder to which the folders of commands are relative. Default: the folder of the project, or of the file. */
  folder?: string | undefined;
}

/**
 * What `registerHookFile` registered, and what it did not.
 *
 * @example
 * ```ts
 * const textOf = ({ skipped }: HookFileResult): string => skipped.map(({ where, why }) => `${where}: ${why}`).join('\n');
 * ```
 */
export interface HookFileResult {
  registered: { hook: HookPoint; id: string }[];
  skipped: { where: string; why: string }[];
  /** Removes the registered hooks. */
  remove(): void;
}

const MAX_FILE_BYTES = 1024 * 1024;

/**
 * Registers the hooks of a file. Throws if the file cannot be read or parsed; an entry that cannot be registered is
 * skipped with its place and the reason, and the other entries are registered.
 *
 * @example
 * ```ts
 * const hooks = createHookRunner();
 * const { skipped } = registerHookFile(hooks, '.github/hooks/policy.json', { mayRun: () => true });
 * ```
 */
export function registerHookFile(hooks: HookRunner, file: string, options: HookFileOptions = {}): HookFileResult {
  const path = resolve(file);
  const declared = hooksIn(readRegularFile(path, MAX_FILE_BYTES).toString('utf8'), path);
  const removals: (() => void)[] = [];
  const result: HookFileResult = {
    registered: [],
    skipped: [],
    remove() {
      for (const remove of removals.splice(0)) remove();
    },
  };
  for (const [name, entries] of Object.entries(declared)) {
    const hook = hookPointOf(name);
    const list = Array.isArray(entries) ? entries.flatMap(handlersOf) : [entries];
    for (const [i, entry] of list.entries()) {
      const where = `${basename(path)}: ${name}[${i}]`;
      const made = hook === undefined ? 'it is no hook point' : handlerOf(entry, { hook, path, options });
      if (typeof made === 'string' || hook === undefined) {
        result.skipped.push({ where, why: String(made) });
        continue;
      }
      const id = made.id ?? where;
      removals.push(hooks.register(hook, made.handler, { id, priority: made.priority, timeoutMs: made.timeoutMs }));
      result.registered.push({ hook, id });
    }
  }
  return result;
}

/** Returns the part below `hooks`. A page has its YAML between two lines of dashes. */
function hooksIn(content: string, path: string): { [name: string]: unknown } {
  const isPage = /\.md$/i.test(path);
  const page = isPage ? /^\uFEFF?---\r?\n([\s\S]*?)\r?\n---(?:\r?\n|$)/.exec(content)?.[1] : undefined;
  if (isPage && page === undefined) throw new TypeError(`${path} begins with no front matter`);
  const value: unknown = page === undefined ? JSON.parse(content) : parse(page, { maxAliasCount: 0 });
  const { hooks } = fieldsOf(value);
  if (!isFields(hooks)) throw new TypeError(`${path} has no object "hooks"`);
  return hooks;
}

interface Made {
  handler: HookHandler;
  id?: string | undefined;
  priority?: number | undefined;
  timeoutMs?: number | undefined;
}

interface Declared {
  hook: HookPoint;
  path: string;
  options: HookFileOptions;
}

/** Settings files have groups of handlers, each with a matcher for the names of tools. */
function handlersOf(entry: unknown): unknown[] {
  const { hooks, matcher } = fieldsOf(entry);
  if (!Array.isArray(hooks)) return [entry];
  return hooks.map(each => (isFields(each) ? { ...each, matcher: each.matcher ?? matcher } : each));
}

/** Returns the handler of an entry, or the reason why there is none. */
function handlerOf(entry: unknown, declared: Declared): Made | string {
  if (!isFields(entry)) return 'it is not an object';
  const priority = number(entry.priority);
  const tool = word(entry.tool);
  if (tool !== undefined) {
    const { callTool } = declared.options;
    if (callTool === undefined) return 'a tool of an MCP server needs callTool';
    return {
      id: tool,
      priority,
      handler: async (event, context) => (await callTool(tool, event, context)) as BaseCoatResponse | undefined,
    };
  }
  if (entry.type !== 'command') return 'it has neither a tool nor the type "command"';
  const isWindows = process.platform === 'win32';
  const command = text(isWindows ? entry.powershell : entry.bash) ?? text(entry.command);
  if (!command) return `it has no command for ${isWindows ? 'PowerShell' : 'a POSIX shell'}`;
  const folder = resolve(declared.options.folder ?? projectOf(declared.path), text(entry.cwd) ?? '.');
  const allowed = declared.options.mayRun?.({ hook: declared.hook, command, folder, file: declared.path });
  if (allowed !== true) return 'mayRun did not allow the command';
  const seconds = number(entry.timeoutSec) ?? number(entry.timeout);
  const names = text(entry.matcher) ?? '*';
  return {
    priority,
    timeoutMs: seconds !== undefined && seconds > 0 ? seconds * 1_000 : undefined,
    handler: (event, context) =>
      isMatch(names, event.tool?.name) ? answerOf(command, folder, event, context) : undefined,
  };
}

/** A file in `hooks` of a folder whose name begins with a dot, or in that folder, belongs to the folder above it. */
function projectOf(path: string): string {
  const own = dirname(path);
  const folder = basename(own) === 'hooks' ? dirname(own) : own;
  return basename(folder).startsWith('.') ? dirname(folder) : own;
}

/** Names with `|` between them; `*` and nothing match every tool. */
const isMatch = (names: string, tool: string | undefined): boolean =>
  names === '' || names === '*' || names.split('|').includes(tool ?? '');

const MOST_OUTPUT_BYTES = 1024 * 1024;

/** Runs a command with the event as JSON on its standard input. Rejects if the command fails. */
function answerOf(
  command: string,
  cwd: string,
  event: Parameters<HookHandler>[0],
  { signal }: HookContext,
): Promise<BaseCoatResponse | undefined> {
  return new Promise((settle, reject) => {
    const shell = process.platform === 'win32' ? 'powershell' : 'sh';
    const flags = process.platform === 'win32' ? ['-NoProfile', '-NonInteractive', '-Command'] : ['-c'];
    const child = spawn(shell, [...flags, command], {
      cwd,
      signal,
      stdio: ['pipe', 'pipe', 'pipe'],
      windowsHide: true,
    });
    const texts = { out: '', err: '' };
    const collect = (name: 'out' | 'err') => (part: Buffer) => {
      if (texts[name].length < MOST_OUTPUT_BYTES) texts[name] += part.toString();
    };
    child.stdout.on('data', collect('out'));
    child.stderr.on('data', collect('err'));
    child.on('error', reject);
    child.on('close', code => {
      if (code === 0) settle(responseIn(texts.out));
      // Platforms take this code for a block.
      else if (code === 2) settle({ action: 'block', reason: texts.err.trim().slice(0, 1_000) || undefined });
      else reject(new Error(`the command ended with ${code ?? 'a signal'}`));
    });
    child.stdin.on('error', () => undefined);
    child.stdin.end(JSON.stringify(event));
  });
}

/** Reads an answer of Base Coat, or a platform's denial or context. Any other output changes nothing. */
function responseIn(output: string): BaseCoatResponse | undefined {
  let value: unknown;
  try {
    value = JSON.parse(output);
  } catch {
    // The output is text for people.
    return undefined;
  }
  const answer = fieldsOf(value);
  if (answer.action !== undefined) return answer as unknown as BaseCoatResponse;
  const inner = { ...answer, ...fieldsOf(answer.hookSpecificOutput) };
  const reason = text(inner.permissionDecisionReason) ?? text(inner.reason);
  if (inner.permissionDecision === 'deny' || inner.decision === 'block') return { action: 'block', reason };
  const context = text(inner.additionalContext);
  return context === undefined ? undefined : { action: 'injectContext', additionalContext: [context] };
}
