/** Files that programs read, write and delete. */
import { type Place, plainPath } from '../places.ts';
import { type Deleted, type Invocation, optionValue, type Program, type Written } from '../program.ts';
import { MOST_NEIGHBOURS, placesIn } from '../walk.ts';
import { foundPaths } from './find.ts';

type Paths = (invocation: Invocation) => readonly string[];
type Writes = (invocation: Invocation) => readonly Written[];
type Deletes = (invocation: Invocation) => readonly Deleted[];

// ---------------------------------------------------------------- reads

export const operandsOf: Paths = ({ operands }) => operands;

/** Reads and shows all files that its operands name. */
export const reader: Program = { reads: operandsOf, showsOperands: true };

/** The first operand is a pattern, unless an option gives the pattern. */
export const operandsAfterPattern: Paths = ({ operands, flags }) =>
  flags.includes('e') || flags.includes('f') ? operands : operands.slice(1);

export const patternReader: Program = { reads: operandsAfterPattern, showsOperands: true };

/** All operands but the target. */
export const sourcesOf: Paths = ({ operands }) => operands.slice(0, -1);

/** A file that moves within the project stays in a known place. */
export const sourcesMovedAway: Paths = invocation => {
  const target = invocation.operands.at(-1);
  const isWithin = target !== undefined && placesIn(target, invocation.walk).includes('workspace');
  return isWithin ? [] : sourcesOf(invocation);
};

export const isInPlace = ({ args }: Invocation): boolean => args.some(arg => /^-[a-zA-Z]*i|^--in-place/.test(arg));

/** Searches files by their content: `grep`. Options name the files to look at. */
export const searcher: Program = {
  reads: invocation => [...operandsAfterPattern(invocation), ...globsOf(invocation.args)],
  showsOperands: true,
  hidesValues: ({ args, flags }) =>
    flags.some(flag => /^(?:q|c|l|L|quiet|silent|count|files-with-matches|files-without-match|files)$/.test(flag)) ||
    (flags.includes('o') && args.some(arg => /^\^?(?:\\?\(|\[A-Z|[A-Z_]+)[^=]*$/.test(arg) && !arg.startsWith('-'))),
};

const globsOf = (args: readonly string[]): string[] =>
  args.flatMap((arg, at) => {
    const [, joined] = /^--(?:include|glob|iglob)=(.+)$/.exec(arg) ?? [];
    if (joined !== undefined) return [joined];
    return /^(?:--include|-g|--glob|--iglob)$/.test(args[at - 1] ?? '') && !arg.startsWith('!') ? [arg] : [];
  });

export const showsNoDifference = ({ flags }: Invocation): boolean =>
  flags.some(flag => /^(?:q|s|brief|silent|quiet)$/.test(flag));

/** `perl -n` and `perl -p` read their operands line by line. */
export const operandsByLine: Paths = ({ args, operands }) =>
  args.some(arg => /^-[a-z]*[np][a-z]*\d?/.test(arg)) ? operands : [];

export const fileOfJsonTool: Paths = ({ args }) =>
  args[0] === '-m' && args[1] === 'json.tool' && args[2] !== undefined ? [args[2]] : [];

/** `docker cp NAME:PATH` reads a file of the container. */
export const copiedFromContainer: Paths = ({ args, operands }) => {
  if (!args.slice(0, MOST_NEIGHBOURS).includes('cp')) return [];
  const from = operands[operands.indexOf('cp') + 1] ?? '';
  return from.includes(':') ? [from.slice(from.indexOf(':') + 1)] : [];
};

/** Keys that `openssl` shows: not those that it only uses, and not public parts. */
export const keysShown: Paths = ({ args, flags }) => {
  const isKey = /^(?:rsa|ec|dsa|pkey|pkcs8|pkcs12|base64|enc|asn1parse)$/.test(args[0] ?? '');
  if (!isKey || flags.includes('pubout') || (flags.includes('noout') && !flags.includes('text'))) return [];
  return args.filter((_, at) => args[at - 1] === '-in');
};

/** Files whose present or former content `git` shows. */
export const filesOfRepository: Paths = ({ args }) => {
  const verb = args.find(arg => /^(?:show|log|diff|blame|annotate|cat-file)$/.test(arg));
  if (verb === undefined || (verb === 'log' && !args.some(arg => /^(?:-p|-u|--patch)$/.test(arg)))) return [];
  if (args.some(arg => /^--(?:stat|name-only|name-status|shortstat|numstat)$/.test(arg))) return [];
  return args
    .slice(args.indexOf(verb) + 1)
    .filter(arg => !arg.startsWith('-'))
    .map(arg => arg.slice(arg.indexOf(':') + 1));
};

export const sourceOfDd: Paths = ({ args }) => args.filter(arg => arg.startsWith('if=')).map(arg => arg.slice(3));

// ---------------------------------------------------------------- writes

const written =
  (paths: Paths, how: Written['how']): Writes =>
  invocation =>
    paths(invocation).map(path => ({ path, how }));

export const appendsToOperands: Writes = written(operandsOf, 'append');
export const replacesLastOperand: Writes = written(({ operands }) => operands.slice(-1), 'replace');
export const appendsToFirstOperand: Writes = written(({ operands }) => operands.slice(0, 1), 'append');
export const replacesTargetOfDd: Writes = written(
  ({ args }) => args.filter(arg => arg.startsWith('of=')).map(arg => arg.slice(3)),
  'replace',
);
export const replacesOption = (option: RegExp): Writes =>
  written(({ args }) => [optionValue(args, option)].filter(path => path !== ''), 'replace');

export const editsInPlace = (paths: Paths): Writes =>
  written(invocation => (isInPlace(invocation) ? paths(invocation) : []), 'append');

/** An editor that runs as root is assumed to write its files. */
export const editsAsRoot: Writes = written(({ operands, isSudo }) => (isSudo ? operands : []), 'append');

/** `tee`: with `-a` it appends. */
export const writesInput: Writes = ({ operands, flags }) =>
  operands.map(path => ({ path, how: flags.includes('a') ? 'append' : 'replace' }));

/** Returns the write to the last operand, unless it is on another machine. A copy of /dev/null empties the target. */
export const copiesToLast: Writes = ({ operands }) => {
  const target = operands.at(-1);
  if (target === undefined || operands.length < 2 || /^(?:[^/\\]{2,}|.*@.*):/.test(target)) return [];
  return [{ path: target, how: 'replace', ...(operands[0] === '/dev/null' && { by: 'cat' }) }];
};

/** `Set-Content` and `Add-Content` of PowerShell. */
export const writesContent =
  (how: Written['how']): Writes =>
  ({ args, operands }) => {
    const path = optionValue(args, /^-(?:literal)?(?:file)?path$/i) || operands[0];
    return path === undefined || path === '' ? [] : [{ path, how }];
  };

/** A folder into which an archive is unpacked; programs are expected in /opt. */
export const unpacksInto =
  (option: RegExp, isOther: (invocation: Invocation) => boolean = () => false): Writes =>
  invocation => {
    const folder = isOther(invocation) ? '' : optionValue(invocation.args, option);
    return folder === '' || /^\/opt\//.test(folder) ? [] : [{ path: folder, how: 'append' }];
  };

/** `tar` that packs or lists. */
export const packsOrLists = ({ flags }: Invocation): boolean => flags.includes('c') || flags.includes('t');

// ---------------------------------------------------------------- deletes

const recursive = (path: string): Deleted => ({ path, how: 'recursive' });

/** `rm`: in PowerShell the paths may come through the pipe. */
export const deletesOperands: Deletes = ({ operands, flags, input }) => {
  if (flags.includes('help')) return [];
  const how = flags.some(flag => /^(?:r|R|recursive)$/.test(flag)) ? 'recursive' : 'single';
  const piped = input.paths.length > 0 ? input.paths : ['$()'];
  const paths = operands.length === 0 && input.programs.length > 0 ? piped : operands;
  return paths.map(path => ({ path, how }));
};

/** `robocopy /mir` deletes in the target all files that the source does not have. */
export const mirrorsToSecond: Deletes = ({ args, operands }) =>
  args.some(arg => /^\/mir$/i.test(arg)) && operands[1] !== undefined ? [recursive(operands[1])] : [];

const IMPORTANT: ReadonlySet<Place> = new Set<Place>(['root', 'home', 'system', 'disk']);

/**
 * `rsync --delete` also deletes in the target. The usual targets are copies. A source without files deletes all files of
 * the target, on another machine too.
 */
export const mirrorsToLast: Deletes = ({ args, operands, walk }) => {
  const target = operands.at(-1);
  if (target === undefined || !args.some(arg => arg.startsWith('--del'))) return [];
  if (operands.length === 2 && EMPTY_FOLDER.test(operands[0] ?? '')) return [recursive(target.replace(/^[^/]*:/, ''))];
  return placesIn(target, walk).some(place => IMPORTANT.has(place)) ? [recursive(target)] : [];
};

const EMPTY_FOLDER = /(?:^|[/._-])(?:empty|blank|void)(?:[._-]?dir)?\/?$|mktemp/i;

/** `truncate -s 0 FILE`: nothing of the file is left, and no trash holds it. */
export const emptied: Deletes = ({ args, operands }) => {
  const size =
    optionValue(args, /^(?:-s|--size(?:=|$))/) || /^-s(.+)$/.exec(args.find(arg => /^-s./.test(arg)) ?? '')?.[1];
  return size === '0' ? operands.filter(operand => operand !== '0').map(recursive) : [];
};

/** `mv X /dev/null` */
export const movesToNothing: Deletes = invocation =>
  invocation.operands.at(-1) === '/dev/null' ? sourcesOf(invocation).map(recursive) : [];

export const deletesFound: Deletes = ({ args }) => (args.includes('-delete') ? foundPaths(args).map(recursive) : []);

// ---------------------------------------------------------------- unpacked archives

/** Remembers a folder into which a downloaded archive was unpacked. */
export function rememberUnpacked({ args, operands, flags, walk, input }: Invocation): void {
  if (flags.includes('t') || flags.includes('c')) return;
  const isFetched = operands.some(operand => walk.fetched.has(plainPath(operand, walk.cwd)));
  if (!isFetched && !input.tags.has('download')) return;
  const at = args.findIndex(arg => /^(?:-C|-d|--directory)$/.test(arg));
  walk.unpacked.add(plainPath(at < 0 ? '.' : (args[at + 1] ?? '.'), walk.cwd));
}
