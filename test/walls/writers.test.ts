/** Only store/ writes the state folder. Every other writer of a file is listed here, with the file and the reason. */
import { expect, it } from 'vitest';
import { isNode, type Node, nodes, type Source, sources, textOf, wordOf } from './sources.ts';

const writers: Readonly<Record<string, string>> = {
  'commands/convert-write.ts': 'files of hooks, into the folder that --out names',
  'commands/hook-test.ts': 'the program of an agent, into a folder for temporary files',
  'commands/export.ts': 'the file that --output names',
  'commands/preview.ts': 'bodies of requests, into the folder that --raw names',
  'commands/show-file.ts': 'the file that --html or --svg names',
  'commands/traceparent.ts': 'a line at the end of the file that the agent runs before its commands',
  'commands/uninstall.ts': 'nothing new: with --purge it removes our folders of data and configuration',
  'config/files.ts': 'our configuration file, when `enable` gets an endpoint, and which project files the user trusts',
  'demo/demonstration.ts': 'a temporary folder that stands for a home, removed at the end',
  'doctor/machine.ts': 'modes of our own folders and files, when `doctor --fix` was agreed to',
  'hook/hook.ts': 'the Node front end: one new fragment in the inbox',
  'hook/kick.ts': 'the empty marker of a start, and older markers away again',
  'hook/state-files.ts': 'the folders that lead there, and signs in problems/',
  'hook/stdin.ts': 'nothing: standard input opened once more, so that a read does not block',
  'lib/make-path.ts': 'folders on the way to what its callers write',
  'lib/regular-file.ts': 'nothing: it opens to read, with flags so that a pipe or a link delays nothing',
  'lib/remove-folder.ts': 'temporary folders, for those who made them',
  'run-hook/payload.ts': 'nothing: standard input opened once more, so that a read does not block',
  'run-hook/run-hook.ts': 'nothing: its answer, to standard output and standard error',
  'serve/fragment-writer.ts':
    'the HTTP front end: new fragments in the inbox, and a half-written one of its own away again',
  'setup/places.ts': 'the list of places where hooks were written, in the data folder',
  'setup/restore.ts': 'nothing new: it removes the scripts that `enable` wrote',
  'setup/setup.ts': "an agent's settings file and the shell script, on command",
  'ship/local.ts': 'the file that a `file` or `agent-hooks-log` destination names',
};

const writing =
  /^(writeFile|appendFile|mkdir|mkdtemp|rm|rmdir|rename|unlink|truncate|ftruncate|copyFile|cp|link|symlink|chmod|fchmod|lchmod|chown|utimes|futimes|lutimes|writev?)(Sync)?$|^createWriteStream$/;

const found = sources().filter(source => source.room !== 'store' && writes(source).length > 0);

it('no other file of src writes files', () => {
  const strangers = found.filter(source => writers[source.path] === undefined);
  expect(strangers.map(source => `${source.path}: ${writes(source).join(', ')}`)).toEqual([]);
});

it('each file in the list writes files', () => {
  expect(Object.keys(writers).filter(path => !found.some(source => source.path === path))).toEqual([]);
});

/** The functions that a file imports from node:fs in order to write, or calls, if it imports all of node:fs. */
function writes(source: Source): string[] {
  const tree = nodes(source.program);
  // The front end asks for its functions in one place.
  const isFiles = (name: string | undefined) =>
    name !== undefined && /^(node:fs(\/promises)?|.*\/builtins\.ts)$/.test(name);
  if (![...source.packages, ...source.imports].some(isFiles)) return [];
  const imported = tree
    .filter(node => node.type === 'ImportDeclaration' && isFiles(textOf(node.source as Node)))
    .flatMap(node => (Array.isArray(node.specifiers) ? node.specifiers.filter(isNode) : []))
    .flatMap(node => (isNode(node.imported) ? (wordOf(node.imported) ?? []) : []))
    // Writes to an open descriptor; its opener is checked instead.
    .filter(name => writing.test(name) && !/^writev?(Sync)?$/.test(name));
  const called = tree.filter(node => node.type === 'CallExpression' && isNode(node.callee)).flatMap(writingCall);
  return [...new Set([...imported, ...called])];
}

function writingCall(call: Node): string[] {
  const callee = call.callee as Node;
  const isMember = callee.type === 'MemberExpression';
  const name = wordOf(isMember ? (callee.property as Node) : callee) ?? '';
  // process.stdout.write and a socket's write do not write files.
  if (name === 'write' && isMember && !/^(fs|files?)$/.test(wordOf(callee.object as Node) ?? '')) return [];
  // The standard streams are not files either.
  if (name === 'writeSync' && Array.isArray(call.arguments) && /^[12]$/.test(String(call.arguments[0]?.value)))
    return [];
  if (writing.test(name)) return [name];
  const flags = Array.isArray(call.arguments) && isNode(call.arguments[1]) ? textOf(call.arguments[1]) : undefined;
  const isOpen = /^open(Sync)?$/.test(name) && Array.isArray(call.arguments) && call.arguments.length > 1;
  return isOpen && flags !== 'r' ? [name] : [];
}
