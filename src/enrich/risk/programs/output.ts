/** Output of programs: downloads, decoded text, secrets, and the paths that they list. */
import { hostOf, isLocal } from '../address.ts';
import { isSecretName } from '../named.ts';
import { plainPath } from '../places.ts';
import { type Invocation, isOfTest, optionValue } from '../program.ts';
import {
  type Flow,
  isPersonal,
  isSecretFile,
  MOST_NEIGHBOURS,
  noteWrite,
  nothing,
  rememberFetched,
  type Walk,
} from '../walk.ts';
import { foundPaths } from './find.ts';

/** An output with the tags of the input and of the substitutions. */
export function passedOn({ program, input, substituted }: Invocation): Flow {
  const out = nothing();
  out.programs = [...input.programs, program].slice(-MOST_NEIGHBOURS);
  for (const tag of [...input.tags, ...substituted.tags]) out.tags.add(tag);
  return out;
}

/** The output of a program: its own, or the usual one with the tags of the files that it shows. */
export function outputOf(invocation: Invocation): Flow {
  const { row, operands, walk } = invocation;
  const whole = row.outputs?.(invocation);
  if (whole !== undefined) return whole;
  const out = passedOn(invocation);
  out.paths = invocation.input.paths;
  row.adds?.(invocation, out);
  if (row.hidesValues?.(invocation)) out.tags.clear();
  else if (row.showsOperands) {
    if (operands.some(operand => isSecretFile(operand, walk))) out.tags.add('secret');
    if (operands.length > 0) out.tags.add('file');
    if (operands.some(operand => isPersonal(operand, walk))) out.tags.add('personal');
  }
  return out;
}

export const addsTag =
  (tag: string, isSo: (invocation: Invocation) => boolean) =>
  (invocation: Invocation, out: Flow): void => {
    if (isSo(invocation)) out.tags.add(tag);
  };

// ---------------------------------------------------------------- downloads

interface FetchStyle {
  /** Without an option it writes a file. */
  savesByDefault?: true;
  /** `-O` takes no value: the address names the file. */
  hasRemoteName?: true;
}

const rememberDownload = (path: string, walk: Walk): void => {
  walk.fetched.set(plainPath(path, walk.cwd), 'download');
};

export const fetched =
  (style: FetchStyle = {}) =>
  (invocation: Invocation): Flow => {
    const { program, args, walk } = invocation;
    const out = passedOn(invocation);
    out.tags.delete('download');
    const remote = args.filter(isAddress);
    const isRemote = remote.some(url => !isLocal(hostOf(url)));
    const target = targetOf(args, style);
    if (target === undefined) {
      if (isRemote) out.tags.add('download');
      return out;
    }
    const path = target.path ?? inFolder(target.folder, nameInAddress(remote[0]));
    if (path !== '' && isRemote) rememberDownload(path, walk);
    if (target.isStated) noteWrite(path, program, 'replace', walk);
    return out;
  };

interface FetchTarget {
  /** Undefined: the address names the file. */
  path: string | undefined;
  folder: string;
  /** The arguments state the file or its folder. */
  isStated: boolean;
}

/** The file that a download goes to; undefined: its output shows the download. */
function targetOf(args: readonly string[], { savesByDefault, hasRemoteName }: FetchStyle): FetchTarget | undefined {
  const at = args.findIndex(arg => OUTPUT_OPTION.test(arg) && arg !== '-i');
  const joined = args.find(arg => /^(?:-[a-zA-Z]*[oO]-|--output(?:-document)?=.)/.test(arg));
  // Without an option, a first argument `-` is standard output too.
  const value = hasRemoteName && /O$/.test(args[at] ?? '') ? undefined : args[at + 1];
  const isShown = at < 0 && (!savesByDefault || joined !== undefined);
  if (isShown || value === '-') return undefined;
  const name = at < 0 ? undefined : value;
  const folder = optionValue(args, /^(?:-P|--directory-prefix|--output-dir|-d|--dir)(?:=|$)/);
  const path = name !== undefined && hasRemoteName ? inFolder(folder, name) : name;
  return { path, folder, isStated: name !== undefined || folder !== '' };
}

const inFolder = (folder: string, name: string): string =>
  folder === '' || folder.startsWith('@') ? name : `${folder}/${name}`;

const OUTPUT_OPTION = /^(?:-[a-zA-Z]*[oO]|--output|--output-document|-outfile)$/i;

const isAddress = (arg: string): boolean =>
  /^(?:https?|ftp):\/\//i.test(arg) || /^[\w-]+(?:\.[\w-]+)+(?:\/|$)/.test(arg) || /^\$\w+$/.test(arg);

const nameInAddress = (url: string | undefined): string => url?.split(/[?#]/)[0]?.split('/').pop() ?? '';

/** A provider's program shows a remote file if its arguments match. */
export const showsRemote = (line: RegExp): ((invocation: Invocation, out: Flow) => void) =>
  addsTag('download', ({ args }) => line.test(args.slice(0, MOST_NEIGHBOURS - 1).join(' ')));

export function savesToLast({ operands, walk }: Invocation): void {
  rememberDownload(operands.at(-1) ?? '', walk);
}

/** `git clone`: installers in the new folder are downloaded code. `git ls-files` lists a part of the project. */
export function clonesOrLists({ args, operands, walk, input }: Invocation, out: Flow): void {
  if (args.includes('clone')) rememberClone(operands, walk);
  out.paths = operands[0] === 'ls-files' ? ['./part'] : input.paths;
}

function rememberClone(operands: readonly string[], walk: Walk): void {
  const at = operands.indexOf('clone');
  const from = operands[at + 1] ?? '';
  if (!/^https?:\/\//.test(from) || isLocal(hostOf(from))) return;
  const folder = operands[at + 2] ?? (from.split('/').pop() ?? '').replace(/\.git$/, '');
  for (const name of ['install', 'setup', 'bootstrap'])
    for (const end of ['', '.sh', '.py']) rememberDownload(`${folder}/${name}${end}`, walk);
}

// ---------------------------------------------------------------- decoded text

/** Its output is decoded text if its arguments ask for that. */
export const decoded =
  (isDecoding: (invocation: Invocation) => boolean = () => true) =>
  (invocation: Invocation): Flow | undefined => {
    if (!isDecoding(invocation)) return undefined;
    const out = passedOn(invocation);
    out.tags.add('decoded');
    return out;
  };

/** `gzip -dc`, and `gzip -d` of its input. */
export const isDecompressing = ({ flags, operands }: Invocation): boolean =>
  flags.some(flag => /^(?:d|decompress|uncompress)$/.test(flag)) && (operands.length === 0 || isToOutput(flags));

/** `gunzip -c`, and `gunzip` of its input. */
export const isShowingDecompressed = ({ flags, operands }: Invocation): boolean =>
  operands.length === 0 || isToOutput(flags);

const isToOutput = (flags: readonly string[]): boolean => flags.some(flag => /^(?:c|stdout|to-stdout)$/.test(flag));

export const decodesBase = ({ flags }: Invocation): boolean => flags.some(flag => /^(?:d|D|decode)$/.test(flag));

/** `tr` that rotates the alphabet. */
export const rotatesLetters = ({ args }: Invocation): boolean => args.some(arg => /[n]-za-m/i.test(arg));

/** `certutil -decode` writes its last operand. */
export function decodedByCertutil(invocation: Invocation): Flow | undefined {
  const { args, operands, walk } = invocation;
  if (!args.some(arg => /^-decode(?:hex)?$/i.test(arg))) return undefined;
  walk.fetched.set(plainPath(operands.at(-1) ?? '', walk.cwd), 'decoded');
  return decoded()(invocation);
}

export function fetchesByCertutil(invocation: Invocation): void {
  if (invocation.args.some(arg => /^-urlcache$/i.test(arg))) savesToLast(invocation);
}

// ---------------------------------------------------------------- printed text

const HAS_CODES = /\\x[0-9a-f]{2}|\\[0-3][0-7]{2}/i;

export const printed = (invocation: Invocation): Flow =>
  printedText(
    invocation,
    textOf(invocation),
    invocation.args.some(arg => /^-\w*e/.test(arg)),
  );

export const printedFormat = (invocation: Invocation): Flow =>
  printedText(invocation, textOf(invocation).replaceAll('\\n', '\n'), true);

const textOf = ({ args }: Invocation): string => args.filter(arg => !/^-[neE]+$/.test(arg)).join(' ');

function printedText(invocation: Invocation, text: string, decodes: boolean): Flow {
  const out = passedOn(invocation);
  out.text = text;
  if (decodes && HAS_CODES.test(text)) out.tags.add('decoded');
  if (invocation.words.some(word => word.variables.some(isSecretName))) out.tags.add('secret');
  return out;
}

// ---------------------------------------------------------------- folders, lists and the environment

export function changesFolder(invocation: Invocation): Flow {
  const { operands, walk } = invocation;
  walk.cwd = plainPath(operands[0] ?? '~', walk.cwd);
  return passedOn(invocation);
}

/** `env` and the like show all variables, and with them secrets. */
export const showsEnvironment = addsTag('secret', ({ operands }) => operands.length === 0);

export const showsVariables = addsTag('secret', ({ operands }) => operands.length === 0 || operands.some(isSecretName));

/** `ls`, and `ls env:` of PowerShell. */
export function lists({ operands }: Invocation, out: Flow): void {
  if (/^env:/i.test(operands[0] ?? '')) {
    out.paths = [];
    out.programs.push('env');
    out.tags.add('secret');
  } else out.paths = operands.length > 0 ? operands.map(dir => (/\*[^/]*$/.test(dir) ? dir : `${dir}/*`)) : ['*'];
}

export function listsFound({ args }: Invocation, out: Flow): void {
  out.paths = foundPaths(args);
}

export function listsSought({ operands }: Invocation, out: Flow): void {
  out.paths = operands.slice(0, 1).map(soughtPath);
}

/** The path that a pattern of `fd` finds. */
export const soughtPath = (pattern: string): string =>
  pattern.replace(/^\^/, '').replace(/\$$/, '').replaceAll('\\', '');

export function passesText({ input }: Invocation, out: Flow): void {
  out.text = input.text;
}

/** `tee`: its files hold what its input holds. */
export function copiesInput({ operands, input, walk }: Invocation, out: Flow): void {
  out.text = input.text;
  for (const file of operands) rememberFetched(file, out, walk);
}

/** Dumps of databases hold personal data, unless it is a database for tests. */
export function dumps(invocation: Invocation, out: Flow): void {
  out.tags.add('file');
  if (!isOfTest(invocation)) out.tags.add('personal');
}
