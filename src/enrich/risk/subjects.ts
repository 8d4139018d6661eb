/**
 * The subjects of one action: its command line, its files, addresses, statements and texts, and the mode of the agent.
 */
import type { Action, Fields } from '../../event/event.ts';
import { fitted } from '../../lib/fitted.ts';
import { isFields, own } from '../../lib/read.ts';
import { pathFields } from '../action-facts.ts';
import { urlFields } from './address.ts';
import { secretsIn } from './named.ts';
import { placesOf, plainPath } from './places.ts';
import { statementsOf } from './programs/sql.ts';
import { subjectsOfShell } from './runs.ts';
import type { Subject } from './subject.ts';
import { newWork, paid, type Work } from './work.ts';

export interface JudgedAction {
  action: Action;
  /** Where the agent works. */
  cwd?: string | undefined;
  mode?: string | undefined;
  server?: string | undefined;
}

const STATEMENTS = ['sql', 'query', 'statement', 'statements', 'queries'];
/** The rules look at the beginning of longer texts only. */
const LONGEST_TEXT = 65_536;
const MOST_TEXTS = 64;
const MOST_WRITTEN = 4;

export function subjectsOf({ action, cwd, mode, server }: JudgedAction, work: Work): Subject[] {
  const name = typeof action.name === 'string' ? action.name : '';
  const input = isFields(action.input) ? action.input : {};
  const isMcp = name.startsWith('mcp:');
  const tool = isMcp ? plainTool(name.slice(4)) : '';
  const doing = name === 'grep' || isMcp ? doingOf(tool, isMcp) : own(DOES, name);
  const paths = doing === undefined ? [] : pathsOf(input).slice(0, MOST_TEXTS);
  // Files and texts have a separate account, so that their rules run even after an expensive command.
  const reading = newWork();
  const subjects = [
    ...(name === 'shell' ? subjectsOfCommand(input, cwd, work) : []),
    ...(isMcp ? subjectsOfMcp(tool, server, input, work) : []),
    ...(isMcp && RUNS.test(tool) ? subjectsOfCommand(input, cwd, work) : []),
    ...(doing === undefined ? [] : subjectsOfFiles(doing, paths, input, cwd, reading)),
    ...(name === 'shell' ? [] : subjectsOfAddresses(name, input)),
    ...subjectsOfTexts(name, input, paths, reading),
  ];
  if (reading.isCut) work.isCut = true;
  if (mode !== undefined) subjects.push({ on: 'mode', fields: { mode: [mode] } });
  return subjects;
}

function subjectsOfCommand(input: Fields, cwd: string | undefined, work: Work): Subject[] {
  const command = commandOf(input);
  return command === undefined ? [] : subjectsOfShell(command, cwd, work);
}

/** The tool of an MCP server with its arguments, and statements among these. */
function subjectsOfMcp(tool: string, server: string | undefined, input: Fields, work: Work): Subject[] {
  const text = Object.entries(input)
    .slice(0, MOST_TEXTS)
    .map(([key, value]) => `${key}=${typeof value === 'string' ? value : JSON.stringify(fitted(value, BRIEF))}`)
    .map(each => each.slice(0, 256));
  const fields = { tool: [tool], server: server === undefined ? [] : [server], text };
  const subjects: Subject[] = [{ on: 'mcp', fields }];
  for (const each of textsAt(input, STATEMENTS))
    if (paid(work, each.length)) for (const statement of statementsOf(each)) subjects.push(statement);
  return subjects;
}

function subjectsOfFiles(
  doing: Doing,
  paths: readonly string[],
  input: Fields,
  cwd: string | undefined,
  reading: Work,
): Subject[] {
  // Each path is matched with all texts that the action writes.
  const texts = doing === 'write' ? textsAt(input, ['content', 'new_string', 'text']).slice(0, MOST_WRITTEN) : [];
  const length = texts.reduce((sum, each) => sum + each.length, 0);
  return paths.flatMap((path): Subject[] => {
    const text = paid(reading, length) ? texts : [];
    const fields = {
      path: [plainPath(path, cwd)],
      place: placesOf(path, cwd, cwd),
      program: ['action'],
      by: ['action'],
    };
    if (doing === 'write') return [{ on: 'write', fields: { ...fields, how: ['replace'], text } }];
    if (doing === 'delete') return [{ on: 'delete', fields: { ...fields, how: ['single'] } }];
    if (doing === 'read') return [{ on: 'read', fields }];
    return fields.place.includes('secret')
      ? [{ on: 'send', fields: { ...fields, what: ['secret'], where: ['remote'] } }]
      : [];
  });
}

function subjectsOfAddresses(name: string, input: Fields): Subject[] {
  const urls = textsAt(input, ['url', 'urls', 'uri']);
  // Some agents name the address in a sentence.
  if (urls.length === 0 && name === 'web_search') urls.push(...textsAt(input, ['prompt']).flatMap(urlsIn));
  return urls
    .filter(url => /^[a-z]+:\/\//i.test(url) && !url.startsWith('file:'))
    .map(url => ({ on: 'url', fields: urlFields(url, 'action') }));
}

function subjectsOfTexts(name: string, input: Fields, paths: readonly string[], reading: Work): Subject[] {
  const by = [name === 'shell' ? 'shell' : 'action'];
  const subjects: Subject[] = [];
  for (const text of textsIn(input)) {
    if (!paid(reading, text.length)) break;
    subjects.push({ on: 'text', fields: { text: [text], path: paths, by }, holds: once(() => secretsIn(text)) });
  }
  return subjects;
}

/** Computes the value at the first call: several rules ask for it, or none. */
function once<Value>(make: () => Value): () => Value {
  let made: { value: Value } | undefined;
  return () => {
    made ??= { value: make() };
    return made.value;
  };
}

/** The effect of an action on the files that it names. */
type Doing = 'read' | 'write' | 'delete' | 'send';
const DOES: { readonly [name: string]: Doing } = {
  read_file: 'read',
  read_code: 'read',
  write_file: 'write',
  code_edit: 'write',
  write_code: 'write',
  delete_file: 'delete',
};
/** Tools of MCP servers that take a line for a shell. */
const RUNS = /(?:^|_)(?:exec\w*|run|shell|bash|sh|terminal|command|cmd|process|ssh|powershell)(?:_|$)/;

function doingOf(tool: string, isMcp: boolean): Doing | undefined {
  if (!isMcp) return 'read';
  if (/(?:^|_)(?:write|edit|create|append|update|patch|save|replace|insert)_(?:\w+_)?files?(?:_|$)/.test(tool))
    return 'write';
  if (/(?:^|_)(?:delete|remove|unlink)_(?:\w+_)?(?:files?|director(?:y|ies)|folders?|path)(?:_|$)/.test(tool))
    return 'delete';
  if (/(?:^|_)(?:upload|send|share|attach|post|publish)(?:_|$)/.test(tool)) return 'send';
  if (
    /(?:^|_)(?:read|get|view|open|fetch|load|cat|show|download)_(?:\w+_)?files?(?:_contents?|_text|_content)?(?:_|$)(?!info|metadata|tree|list|stat)/.test(
      tool,
    )
  )
    return 'read';
  return undefined;
}

const FILES = [...pathFields, 'paths', 'files', 'attachments', 'glob', 'include'];

const pathsOf = (input: Fields): string[] => textsAt(input, FILES);

const urlsIn = (text: string): string[] =>
  [...text.slice(0, 4_096).matchAll(/\bhttps?:\/\/[^\s'"<>]{1,1024}/gi)].slice(0, MOST_TEXTS).map(([url]) => url);

/** The limits of an argument that the rules of MCP tools look at. */
const BRIEF = { bytes: 512, leaves: 64 };

/** The command line of an action: as text, or as a list of words. */
function commandOf(input: Fields): string | undefined {
  const command = input.command ?? input.cmd ?? input.script;
  if (typeof command === 'string') return command;
  if (!Array.isArray(command)) return undefined;
  return command
    .slice(0, MOST_ARGUMENTS)
    .map(word => `'${(typeof word === 'string' ? word : '').replaceAll("'", "'\\''")}'`)
    .join(' ');
}

const MOST_ARGUMENTS = 4_096;

const SECRET_KEY = /key|token|secret|passw|pwd|authorization|credential/i;

const plainTool = (tool: string): string =>
  tool
    .slice(0, 256)
    .replace(/([a-z0-9])([A-Z])/g, '$1_$2')
    .replace(/[^A-Za-z0-9]+/g, '_')
    .toLowerCase();

function textsAt(input: Fields, keys: readonly string[]): string[] {
  return keys.flatMap(key => {
    const value = input[key];
    const texts = Array.isArray(value) ? value.slice(0, MOST_TEXTS) : [value];
    return texts.filter(text => typeof text === 'string').map(text => text.slice(0, LONGEST_TEXT));
  });
}

/** All texts of an input at any depth, up to the limits. */
function textsIn(input: Fields): string[] {
  const found: string[] = [];
  const queue: unknown[] = [input];
  for (let at = 0; at < queue.length && found.length < MOST_TEXTS; at += 1) {
    const value = queue[at];
    if (typeof value === 'string') found.push(value.slice(0, LONGEST_TEXT));
    else if (typeof value === 'object' && value !== null && queue.length < 1_000) {
      let left = MOST_TEXTS;
      for (const key in value) {
        if (left === 0) break;
        left -= 1;
        const part: unknown = value[key as keyof typeof value];
        queue.push(part);
        // The name of the key may mark the text as a secret.
        if (typeof part === 'string' && part.length <= 256 && SECRET_KEY.test(key)) found.push(`${key}="${part}"`);
      }
    }
  }
  return found;
}
