/** `convert`: writes the hooks of a provider or a manifest in the form of another provider, and reports the losses. */
import { chmodSync, existsSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { applyEdits, modify, type ParseError, parse } from 'jsonc-parser';
import { convertManifest } from '../interchange/conversion.ts';
import type { Loss } from '../interchange/losses.ts';
import { type Manifest, nameOf, spelled } from '../interchange/manifest.ts';
import { plainTextLosses } from '../interchange/plain-text.ts';
import type { Choice, NativeFile, Target } from '../interchange/provider.ts';
import { jsonText, yamlText } from '../interchange/source.ts';
import { LATEST } from '../interchange/vocabulary.ts';
import { makePath } from '../lib/make-path.ts';
import { isInside, realPathOf } from '../lib/real-path.ts';
import { readRegularFile } from '../lib/regular-file.ts';
import { isObject } from '../standards/wording.ts';
import { flagText, type Io, UsageError, type Words } from './command.ts';
import { CANONICAL, choiceOf, formats, hooksIn, lossesText, providerOf, targetFor } from './interchange.ts';

export async function run(words: Words, io: Io): Promise<number> {
  const order = orderOf(words);
  const { target, choice, format } = order;
  const read = await hooksIn(
    order.file,
    flagText(words, '--from'),
    { ...choice, layout: target === undefined ? choice.layout : undefined },
    io,
  );
  if (read === undefined) return 1;
  const { manifest } = read;
  const encoded = target === undefined ? undefined : convertManifest(manifest, target);
  const source = read.from === CANONICAL ? undefined : providerOf(read.from, '--from');
  const losses = [
    ...read.losses,
    ...(source === undefined ? [] : plainTextLosses(manifest, source, target)),
    ...(encoded?.losses ?? []),
  ].sort((a, b) => (a.hook ?? Number.MAX_SAFE_INTEGER) - (b.hook ?? Number.MAX_SAFE_INTEGER));
  const why = encoded?.ok === false ? encoded.why : undefined;
  const canonical: NativeFile[] = [{ path: `hook.${format}`, text: canonicalText(manifest, format) }];
  const files = encoded === undefined ? canonical : encoded.ok ? encoded.files : [];
  const out = flagText(words, '--out');
  const written = out === undefined || why !== undefined ? undefined : write(files, resolve(io.cwd, out), words, io);
  if (written === 'refused') return 1;
  if (words.flags['--json']) {
    const found = {
      ...{ v: 1, ok: why === undefined, from: read.from, to: target?.provider.slug ?? CANONICAL },
      ...{ registry: choice.registry ?? LATEST, why, hooks: outcomesOf(manifest, encoded), files, written, losses },
      left_out: read.leftOut,
    };
    io.out(`${JSON.stringify(found, null, 2)}\n`);
  } else {
    const printedFiles = why === undefined && written === undefined ? files : [];
    io.out(
      [...printedFiles.map(each => printed(each, files.length)), ...(written ?? []).map(path => `${path}\n`)].join(''),
    );
    io.err(lossesText(losses));
    if (why !== undefined) io.err(`otel-hooks: ${why}; nothing was written.\n`);
  }
  return why !== undefined || losses.some(({ severity }) => counts(severity, words)) ? 1 : 0;
}

interface Order {
  file: string;
  /** Undefined: the output is a manifest. */
  target: Target | undefined;
  choice: Choice;
  format: string;
}

function orderOf(words: Words): Order {
  const [file] = words.rest;
  if (file === undefined) throw new UsageError('a FILE is needed (- for standard input)');
  const to = flagText(words, '--to');
  if (to === undefined) throw new UsageError(`--to is missing: ${formats()}`);
  const format = flagText(words, '--format') ?? 'json';
  if (!['json', 'yaml'].includes(format)) throw new UsageError(`--format is json or yaml, not ${format}`);
  const choice = choiceOf(words);
  const isCanonical = to === CANONICAL;
  if (format === 'yaml' && !isCanonical) throw new UsageError(`--format yaml is for --to ${CANONICAL}`);
  return { file, target: isCanonical ? undefined : targetFor(providerOf(to, '--to'), choice), choice, format };
}

const outcomesOf = (manifest: Manifest, encoded: ReturnType<typeof convertManifest> | undefined): object[] =>
  manifest.hooks.map((hook, index) => ({
    hook: index + 1,
    name: nameOf(hook, index),
    event: hook.event,
    outcome:
      encoded === undefined ? 'keep' : (encoded.fit.hooks.find(each => each.index === index)?.outcome ?? 'exclude'),
  }));

/** Returns true if a loss makes the exit code 1. */
const counts = (severity: Loss['severity'], words: Words): boolean =>
  severity === 'error' || (words.flags['--strict'] === true && severity === 'warning');

const canonicalText = (manifest: Manifest, format: string): string =>
  format === 'yaml' ? yamlText(spelled(manifest)) : jsonText(spelled(manifest));

/** If several files go to standard output, a line with its name precedes each file. */
const printed = ({ path, text }: NativeFile, files: number): string =>
  files > 1 ? `==> ${path} <==\n${text}\n` : text;

const LARGEST_BYTES = 16 * 1024 * 1024;

/** Writes all files, or none. An existing file is only changed with --force. */
function write(files: readonly NativeFile[], folder: string, words: Words, io: Io): string[] | 'refused' {
  const force = words.flags['--force'] === true;
  const texts = new Map<string, string>();
  for (const file of files) {
    const path = join(folder, file.path);
    const text = textFor(path, file.text, folder, force);
    if (typeof text === 'string') texts.set(path, text);
    else io.err(`otel-hooks: ${path} ${text.why}; nothing was written.\n`);
  }
  if (texts.size < files.length) {
    io.err('  next: without --out it is printed, to be taken over by hand; --force replaces the hooks in it.\n');
    return 'refused';
  }
  for (const { path: name, isExecutable = false } of files) {
    const path = join(folder, name);
    replaceFile(path, texts.get(path) ?? '', isExecutable);
  }
  return [...texts.keys()];
}

/** Returns the new text of a file, or the reason why it cannot be written. */
function textFor(path: string, text: string, folder: string, force: boolean): string | { why: string } {
  const target = realPathOf(path);
  // A clone can contain a link to any file of the user.
  if (!isInside(target, realPathOf(folder))) return { why: `leads out of ${folder}, to ${target}` };
  if (!existsSync(path)) return text;
  const before = readRegularFile(path, LARGEST_BYTES).toString('utf8');
  const edited = path.endsWith('.json') ? inPlace(before, text) : text;
  if (edited !== undefined && (before === edited || force)) return edited;
  return { why: force ? 'is not JSON that could be kept' : 'is there already' };
}

function replaceFile(path: string, text: string, isExecutable: boolean): void {
  // The umask decides the mode, as for the user's own files.
  makePath(dirname(path), 0o777);
  const beside = `${path}.${process.pid}`;
  const mode = statSync(path, { throwIfNoEntry: false })?.mode;
  try {
    writeFileSync(beside, text, { flag: 'wx' });
    if (isExecutable) chmodSync(beside, 0o777 & ~process.umask());
    else if (mode !== undefined) chmodSync(beside, mode & 0o777);
    renameSync(beside, path);
  } finally {
    rmSync(beside, { force: true });
  }
}

/** Replaces the values of the same names in a JSON file. All other text of the file stays as it is. */
function inPlace(before: string, text: string): string | undefined {
  const errors: ParseError[] = [];
  const root: unknown = parse(before, errors, { allowTrailingComma: true });
  if (errors.length > 0 || !isObject(root)) return undefined;
  const formattingOptions = { insertSpaces: true, tabSize: 2 };
  return Object.entries(JSON.parse(text)).reduce(
    (edited, [key, value]) => applyEdits(edited, modify(edited, [key], value, { formattingOptions })),
    before,
  );
}
