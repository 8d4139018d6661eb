/** Code in the command line of an interpreter: the shell lines, files and addresses that it names. */
import { hostOf, isLocal, urlFields } from '../address.ts';
import { type Place, plainPath } from '../places.ts';
import {
  isSecretFile,
  LONGEST_WORD,
  MOST_NEIGHBOURS,
  note,
  noteRead,
  noteWrite,
  placesIn,
  type Walk,
} from '../walk.ts';

export const isCodeOption = (arg: string): boolean => /^(?:-[a-zA-Z]{0,4}[ce]|-r|--eval|--print|-p|eval)$/.test(arg);

/** Returns true if the arguments name neither a file nor code: the interpreter then executes its input. */
export const executesInput = (args: readonly string[]): boolean =>
  args.every(arg => arg === '-' || (arg.startsWith('-') && arg !== '-m' && !isCodeOption(arg)));

const READS = /open|read|dotenv_values|slurp|get_contents|Bun\.file|\bcat\b/i;
const WRITES = /["'`]\s*,\s*(?:mode\s*=\s*)?["'`][wax]|write|append/;
const MOST_NAMED = 64;
/** Places for which a write by code is noted. */
const NOTED_PLACES = new Set<Place>(['system', 'startup', 'sudoers', 'agent-settings', 'accounts']);
const SENDS =
  /\b(?:post|put|fetch|urlopen|request|upload\w*)\(\s*f?['"`](\w+:\/\/[^'"`\s]{1,256})(?=[\s\S]{0,512}(?:open|read|environ|process\.env))/i;
const WHOLE_ENVIRONMENT = /os\.environ\b(?!\[|\.get)|process\.env\b(?!\.|\[|\?)|\bENV\.to_h/;
/** Calls that store a download in a file. */
const DOWNLOADS = /\b(?:copy|urlretrieve|file_put_contents|writeFile\w*|download\w*|DownloadFile)\s*\(/i;

export const codeLooked = (code: string): string => code.slice(0, LONGEST_WORD);

export function noteAddresses(program: string, code: string, walk: Walk): void {
  for (const [url] of code.matchAll(/\b(?:https?|ftp):\/\/[^\s'"`<>)]{1,512}/g))
    note(walk, 'url', urlFields(url, program));
}

/** Notes secret files that the code reads, important files that it writes, and secrets or files that it sends. */
export function noteFiles(program: string, code: string, walk: Walk): void {
  const isReading = READS.test(code);
  const isWriting = WRITES.test(code);
  const isFetching = DOWNLOADS.test(code) && /https?:\/\/(?!localhost|127\.)/i.test(code);
  let isSecret = WHOLE_ENVIRONMENT.test(code);
  if (!isReading && !isWriting && !isFetching && !isSecret) return;
  let isFile = false;
  for (const path of pathsIn(code)) {
    const places = placesIn(path, walk);
    if (isFetching) walk.fetched.set(plainPath(path, walk.cwd), 'download');
    if (isWriting && places.some(place => NOTED_PLACES.has(place))) noteWrite(path, program, 'append', walk);
    else if (isReading && !isWriting && isSecretFile(path, walk)) {
      noteRead(path, program, walk);
      isSecret = true;
    } else if (isReading && /^[/~]/.test(path)) isFile = true;
  }
  const host = SENDS.exec(code)?.[1];
  if (host !== undefined && (isSecret || isFile))
    note(walk, 'send', {
      what: [isSecret ? 'secret' : 'file'],
      where: [isLocal(hostOf(host)) ? 'local' : 'remote'],
      program: [program],
    });
}

/** Quoted texts that look like paths. */
function* pathsIn(code: string): Generator<string> {
  let left = MOST_NAMED;
  for (const [, path = ''] of code.matchAll(/['"`]([^'"`\s]{2,200})['"`]/g)) {
    if (left-- === 0) return;
    if (!path.includes('://') && /[./\\]/.test(path)) yield path;
  }
}

/** A call that gives a line to a shell, or starts a program with a list of words. */
const SHELL_CALL =
  /\b(?:system|shell_exec|passthru|exec(?:Sync|File|FileSync)?|spawn(?:Sync)?|[Pp]open[23]?|run|call|check_call|check_output|getoutput|qx)\s*\(?\s*(?:(['"`])((?:\\.|(?!\1)[^\\]){1,1024})\1|\[\s{0,3}((?:['"][^'"]{0,256}['"]\s{0,3}(?:,\s{0,3})?){1,32})\])/g;

/** The lines that the code gives to a shell. */
export function shellLinesIn(code: string): string[] {
  if (!/system|exec|spawn|open|run|call|output|qx/.test(code)) return [];
  return [...code.matchAll(SHELL_CALL)]
    .slice(0, MOST_NEIGHBOURS)
    .map(([, , line, words]) =>
      line === undefined ? (words ?? '').replaceAll(',', ' ') : line.replace(/\\(["'`])/g, '$1'),
    );
}
