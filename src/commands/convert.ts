/** Hooks of one provider, or of a manifest, for another. What could not be carried over is said. */
import { chmodSync, existsSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { applyEdits, modify, type ParseError, parse } from 'jsonc-parser';
import { encode } from '../interchange/conversion.ts';
import type { Loss } from '../interchange/losses.ts';
import { type Manifest, nameOf, spelled } from '../interchange/manifest.ts';
import type { NativeFile } from '../interchange/provider.ts';
import { jsonText, yamlText } from '../interchange/source.ts';
import { LATEST } from '../interchange/vocabulary.ts';
import { makePath } from '../lib/make-path.ts';
import { isInside, realPathOf } from '../lib/real-path.ts';
import { readRegularFile } from '../lib/regular-file.ts';
import { isObject } from '../standards/wording.ts';
import { flagText, type Io, UsageError, type Words } from './command.ts';
import { CANONICAL, choiceOf, formats, hooksIn, lossesText, providerOf, targetFor } from './interchange.ts';

export async function run(words: Words, io: Io): Promise<number> {
  const [file] = words.rest;
  if (file === undefined) throw new UsageError('a FILE is needed (- for standard input)');
  const to = flagText(words, '--to');
  if (to === undefined) throw new UsageError(`--to is missing: ${formats()}`);
  const format = flagText(words, '--format') ?? 'json';
  if (!['json', 'yaml'].includes(format)) throw new UsageError(`--format is json or yaml, not ${format}`);
  const choice = choiceOf(words);
  const isCanonical = to === CANONICAL;
  if (format === 'yaml' && !isCanonical) throw new UsageError(`--format yaml is for --to ${CANONICAL}`);
  const target = isCanonical ? undefined : targetFor(providerOf(to, '--to'), choice);
  const read = await hooksIn(
    file,
    flagText(words, '--from'),
    { ...choice, layout: isCanonical ? choice.layout : undefined },
    io,
  );
  if (read === undefined) return 1;
  const { manifest } = read;
  const canonical: NativeFile[] = [{ path: `hook.${format}`, text: canonicalText(manifest, format) }];
  const encoded = target === undefined ? undefined : encode(manifest, target);
  const losses = [...read.losses, ...(encoded?.losses ?? [])];
  const why = encoded?.ok === false ? encoded.why : undefined;
  const files = encoded === undefined ? canonical : encoded.ok ? encoded.files : [];
  const isBad = why !== undefined || losses.some(({ severity }) => counts(severity, words));
  const out = flagText(words, '--out');
  const written = out === undefined || why !== undefined ? undefined : write(files, resolve(io.cwd, out), words, io);
  if (written === 'refused') return 1;

  if (words.flags['--json']) {
    const outcomes = manifest.hooks.map((hook, index) => ({
      hook: index + 1,
      name: nameOf(hook, index),
      event: hook.event,
      outcome:
        encoded === undefined ? 'keep' : (encoded.fit.hooks.find(each => each.index === index)?.outcome ?? 'exclude'),
    }));
    const said = {
      ...{ v: 1, ok: why === undefined, from: read.from, to: target?.provider.slug ?? CANONICAL },
      ...{ registry: choice.registry ?? LATEST, why, hooks: outcomes, files, written, losses, left_out: read.leftOut },
    };
    io.out(`${JSON.stringify(said, null, 2)}\n`);
  } else {
    if (why === undefined && written === undefined) for (const each of files) io.out(printed(each, files.length));
    for (const path of written ?? []) io.out(`${path}\n`);
    io.err(lossesText(losses));
    if (why !== undefined) io.err(`otel-hooks: ${why}; nothing was written.\n`);
  }
  return isBad ? 1 : 0;
}

const counts = (severity: Loss['severity'], words: Words): boolean =>
  severity === 'error' || (words.flags['--strict'] === true && severity === 'warning');

const canonicalText = (manifest: Manifest, format: string): string =>
  format === 'yaml' ? yamlText(spelled(manifest)) : jsonText(spelled(manifest));

/** Several files on one standard output are told apart by their names. */
const printed = ({ path, text }: NativeFile, files: number): string =>
  files > 1 ? `==> ${path} <==\n${text}\n` : text;

const LARGEST_BYTES = 16 * 1024 * 1024;

/** A file that is there stays as it is, unless it was said that it may go; and then all are written or none. */
function write(files: readonly NativeFile[], folder: string, words: Words, io: Io): string[] | 'refused' {
  const force = words.flags['--force'] === true;
  const texts = new Map<string, string>();
  for (const { path: name, text } of files) {
    const path = join(folder, name);
    const target = realPathOf(path);
    // A clone can bring links to any file of the person.
    if (!isInside(target, realPathOf(folder))) {
      io.err(`otel-hooks: ${path} leads out of ${folder}, to ${target}; nothing was written.\n`);
      continue;
    }
    const before = existsSync(path) ? readRegularFile(path, LARGEST_BYTES).toString('utf8') : undefined;
    const edited = before === undefined ? text : path.endsWith('.json') ? inPlace(before, text) : text;
    const isSame = before === undefined || before === edited;
    if (edited !== undefined && (isSame || force)) texts.set(path, edited);
    else if (force) io.err(`otel-hooks: ${path} is not JSON that could be kept; nothing was written.\n`);
    else io.err(`otel-hooks: ${path} is there already; nothing was written.\n`);
  }
  if (texts.size < files.length) {
    io.err('  next: without --out it is printed, to be taken over by hand; --force replaces the hooks in it.\n');
    return 'refused';
  }
  for (const { path: name, isExecutable } of files) {
    const path = join(folder, name);
    // As the user's own files are made.
    makePath(dirname(path), 0o777);
    const beside = `${path}.${process.pid}`;
    const mode = statSync(path, { throwIfNoEntry: false })?.mode;
    try {
      writeFileSync(beside, texts.get(path) ?? '', { flag: 'wx' });
      if (isExecutable) chmodSync(beside, 0o777 & ~process.umask());
      else if (mode !== undefined) chmodSync(beside, mode & 0o777);
      renameSync(beside, path);
    } finally {
      rmSync(beside, { force: true });
    }
  }
  return [...texts.keys()];
}

/** What is written anew takes the place of what had its name; all else in the file stays as a person wrote it. */
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
