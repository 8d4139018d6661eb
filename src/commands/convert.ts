/** `convert`: writes the hooks of a provider or a manifest in the form of another provider, and reports the losses. */
import { existsSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { providers } from '../agents/interchange.ts';
import { dataFolder } from '../config/folders.ts';
import { convertManifest, decode } from '../interchange/conversion.ts';
import { doubledLosses, type Other } from '../interchange/doubled.ts';
import type { Loss } from '../interchange/losses.ts';
import { type Manifest, nameOf, spelled } from '../interchange/manifest.ts';
import { plainTextLosses } from '../interchange/plain-text.ts';
import { type Choice, type NativeFile, type Provider, type Target, targetOf } from '../interchange/provider.ts';
import { withDialect } from '../interchange/runtime-command.ts';
import { jsonText, yamlText } from '../interchange/source.ts';
import { LATEST } from '../interchange/vocabulary.ts';
import { readRegularFile } from '../lib/regular-file.ts';
import { flagText, type Io, UsageError, type Words } from './command.ts';
import { placedScripts, type Scripts } from './convert-scripts.ts';
import { type Made, makeChanges, type PlannedFiles, planFiles, type Wanted, type Way } from './convert-write.ts';
import {
  asShown,
  CANONICAL,
  choiceOf,
  formats,
  type Hooks,
  hooksIn,
  lossesText,
  providerOf,
  targetFor,
} from './interchange.ts';

export async function run(words: Words, io: Io): Promise<number> {
  const order = orderOf(words, io);
  const choice = { ...order.choice, layout: order.to === CANONICAL ? order.choice.layout : undefined };
  const read = await hooksIn(order.file, flagText(words, '--from'), choice, io);
  if (read === undefined) return 1;
  const results = order.targets.map(target => converted(read, target, order));
  const files = [
    ...results.flatMap(({ files: each, target }): Wanted[] => each.map(file => ({ file, target }))),
    ...results.flatMap(({ scripts }): Wanted[] => scripts.map(file => ({ file, target: undefined }))),
  ];
  const out = order.out === undefined || files.length === 0 ? undefined : written(files, order.out, order, io);
  if (out === 'refused') return 1;
  if (words.flags['--json']) io.out(`${JSON.stringify(jsonOf(read, results, out, order), null, 2)}\n`);
  else print(results, out, order, io);
  return results.some(({ why, losses }) => why !== undefined || losses.some(loss => counts(loss, words))) ? 1 : 0;
}

interface Order {
  file: string;
  to: string;
  /** `undefined`: a manifest is written. */
  targets: (Target | undefined)[];
  choice: Choice;
  format: string;
  out: string | undefined;
  way: Way;
  isDry: boolean;
  scripts: Scripts;
  /** The folder from which relative paths of scripts start. */
  base: string;
}

function orderOf(words: Words, io: Io): Order {
  const [file] = words.rest;
  if (file === undefined) throw new UsageError('a FILE is needed (- for standard input)');
  const to = flagText(words, '--to');
  if (to === undefined) throw new UsageError(`--to is missing: ${formats()}, all`);
  const format = flagText(words, '--format') ?? 'json';
  if (!['json', 'yaml'].includes(format)) throw new UsageError(`--format is json or yaml, not ${format}`);
  const choice: Choice = { ...choiceOf(words), commands: words.flags['--plain'] === true ? 'plain' : 'runtime' };
  if (format === 'yaml' && to !== CANONICAL) throw new UsageError(`--format yaml is for --to ${CANONICAL}`);
  if (to === 'all' && choice.layout !== undefined) throw new UsageError('--layout is for one agent, not for --to all');
  const folder = flagText(words, '--out');
  const ways = (['force', 'merge', 'remove'] as const).filter(way => words.flags[`--${way}`]);
  if (ways.length > 1) throw new UsageError(`--${ways[0]} and --${ways[1]} exclude each other`);
  const scripts = flagText(words, '--scripts') ?? 'keep';
  if (scripts !== 'keep' && scripts !== 'absolute' && scripts !== 'copy')
    throw new UsageError(`--scripts is keep, absolute or copy, not ${scripts}`);
  const ofOut = [...ways.map(way => `--${way}`), ...(words.flags['--dry-run'] ? ['--dry-run'] : [])];
  if (scripts === 'copy') ofOut.push('--scripts copy');
  if (folder === undefined && ofOut.length > 0) throw new UsageError(`${ofOut[0]} needs --out FOLDER`);
  return {
    ...{ file, to, choice, format, scripts },
    targets:
      to === CANONICAL ? [undefined] : to === 'all' ? everyTarget(choice) : [targetFor(providerOf(to, '--to'), choice)],
    out: folder === undefined ? undefined : resolve(io.cwd, folder),
    way: ways[0] ?? 'write',
    isDry: words.flags['--dry-run'] === true,
    base: file === '-' ? io.cwd : dirname(resolve(io.cwd, file)),
  };
}

/** One target for each place of a file: of two agents that read the same file, the first one. */
function everyTarget(choice: Choice): Target[] {
  const places = new Set<string>();
  return providers.flatMap(provider => {
    const target = targetOf(provider, choice);
    if ('why' in target || places.has(target.layout.file)) return [];
    places.add(target.layout.file);
    return [target];
  });
}

interface Result {
  target: Target | undefined;
  manifest: Manifest;
  why: string | undefined;
  hooks: object[];
  files: readonly NativeFile[];
  scripts: NativeFile[];
  losses: Loss[];
}

/** Hooks of an agent's file get a note of their dialect. */
const withNote = ({ manifest, from }: Hooks, target: Target | undefined, { commands }: Choice): Manifest =>
  from === CANONICAL || (commands === 'plain' && target === undefined) ? manifest : withDialect(manifest, from);

/** The runtime passes plain text on to agents that read answers, and the note of the dialect keeps it in a manifest. */
const isPassedOn = (target: Target | undefined, { commands }: Choice): boolean =>
  commands === 'runtime' && (target === undefined || target.facts.supports.structured_output !== 'no');

function converted(read: Hooks, target: Target | undefined, order: Order): Result {
  const { format, base, out, to } = order;
  const {
    manifest,
    files: scripts,
    missing,
  } = placedScripts(withNote(read, target, order.choice), order.scripts, base, out ?? base, target);
  const encoded = target === undefined ? undefined : convertManifest(manifest, target);
  const source = read.from === CANONICAL ? undefined : providerOf(read.from, '--from');
  const losses: Loss[] = [
    ...read.losses,
    ...missing.map((path): Loss => ({ kind: 'odd_input', severity: 'warning', message: `there is no script ${path}` })),
    ...(source === undefined || isPassedOn(target, order.choice) ? [] : plainTextLosses(manifest, source, target)),
    ...(encoded?.losses ?? []),
    ...(target === undefined ? [] : doubledLosses(manifest, target, othersOf(target, source, order))),
  ];
  losses.sort((a, b) => (a.hook ?? Number.MAX_SAFE_INTEGER) - (b.hook ?? Number.MAX_SAFE_INTEGER));
  const hooks = manifest.hooks.map((hook, index) => {
    const outcome = encoded === undefined ? 'keep' : encoded.fit.hooks.find(each => each.index === index)?.outcome;
    return { hook: index + 1, name: nameOf(hook, index), event: hook.event, outcome: outcome ?? 'exclude' };
  });
  const canonical: NativeFile[] = [{ path: `hook.${format}`, text: canonicalText(manifest, format) }];
  const files = encoded === undefined ? canonical : encoded.ok ? encoded.files : [];
  // Among all agents, one without these hooks is no failure: its losses say whether a guard is lost.
  const why = encoded?.ok === false && !(to === 'all' && encoded.fit.hooks.length === 0) ? encoded.why : undefined;
  return { target, manifest, why, hooks, files, scripts: files.length === 0 ? [] : scripts, losses };
}

/** The hooks of other agents whose files the target reads, too: of the source, of the project, and of the other targets. */
function othersOf({ provider }: Target, source: Provider | undefined, { out, targets }: Order): Other[] {
  return (provider.alsoReads ?? []).flatMap((slug): Other[] => {
    const other = providers.find(each => each.slug === slug);
    if (other === undefined) return [];
    const { title } = other;
    const isTarget = targets.some(each => each?.provider.slug === slug);
    if (source?.slug === slug || isTarget) return [{ title, hooks: undefined }];
    const target = targetOf(other, { products: true });
    if (out === undefined || 'why' in target) return [];
    const path = join(out, target.layout.file);
    if (!existsSync(path)) return [];
    const decoded = decode(readRegularFile(path, 16 * 1024 * 1024).toString('utf8'), path, target);
    return decoded.ok ? [{ title, hooks: decoded.manifest.hooks }] : [];
  });
}

/** Whether a loss makes the exit code 1. */
const counts = ({ severity }: Loss, words: Words): boolean =>
  severity === 'error' || (words.flags['--strict'] === true && severity === 'warning');

const canonicalText = (manifest: Manifest, format: string): string =>
  format === 'yaml' ? yamlText(spelled(manifest)) : jsonText(spelled(manifest));

/** The files of all agents that can name a script. */
const filesOfAgents = providers.flatMap(({ layouts }) => Object.values(layouts).map(({ file }) => file));

interface Out {
  planned: PlannedFiles;
  made: Made;
}

/** Changes all files, or none. */
function written(files: readonly Wanted[], folder: string, { way, isDry }: Order, io: Io): Out | 'refused' {
  const planned = planFiles(files, folder, way, filesOfAgents);
  for (const { file, why } of planned.refused) io.err(`otel-hooks: ${file} ${why}; nothing was written.\n`);
  if (planned.refused.length > 0) {
    io.err(
      '  next: without --out it is printed; --merge adds the hooks to the file; --force replaces the hooks in it.\n',
    );
    return 'refused';
  }
  if (isDry || planned.changes.length === 0) return { planned, made: { ok: true, backups: [] } };
  const made = makeChanges(
    planned,
    way,
    join(dataFolder({ env: io.env, home: io.home, platform: io.platform }), 'folders.json'),
  );
  if (made.ok) return { planned, made };
  io.err(`otel-hooks: ${made.file} cannot be written: ${made.why}; nothing was written.\n`);
  return 'refused';
}

function print(results: readonly Result[], out: Out | undefined, order: Order, io: Io): void {
  const several = results.length > 1;
  const files = results.flatMap(result => result.files);
  if (out === undefined) io.out(files.map(each => printed(each, files.length)).join(''));
  else printChanges(out, order, io);
  for (const { target, losses, why } of results) {
    if (several && (losses.length > 0 || why !== undefined)) io.err(`\n${target?.provider.title}:\n`);
    io.err(lossesText(losses));
    if (why !== undefined) io.err(`otel-hooks: ${why}; nothing was written.\n`);
  }
}

function printChanges({ planned, made }: Out, { way, isDry }: Order, io: Io): void {
  io.err(asDiff(isDry ? planned.diff : planned.diffOfExisting));
  for (const { file, hooks } of planned.replaced)
    for (const hook of hooks) io.err(`${file}: the replacement deletes ${asShown(hook)}\n`);
  const verb = way === 'remove' ? 'would change ' : 'would write ';
  for (const { file, after } of planned.changes)
    io.out(`${isDry ? verb : after === undefined ? 'removed ' : ''}${file}\n`);
  for (const file of planned.unchanged) io.out(`${file} (no change)\n`);
  for (const backup of made.ok ? made.backups : []) io.err(`The former file is ${backup}.\n`);
}

/** Lines of a diff hold texts of unknown authors. */
const asDiff = (diff: string): string =>
  diff
    .split('\n')
    .map(line => (line === '' ? '' : asShown(line)))
    .join('\n');

/** A line with its name precedes each of several files on standard output. */
const printed = ({ path, text }: NativeFile, files: number): string =>
  files > 1 ? `==> ${path} <==\n${text}\n` : text;

function jsonOf({ from, leftOut }: Hooks, results: readonly Result[], out: Out | undefined, order: Order): object {
  const { choice, to } = order;
  const shared = { registry: choice.registry ?? LATEST, products: choice.products === true };
  const changed = out && {
    written: order.isDry ? [] : out.planned.changes.map(({ file }) => file),
    diff: out.planned.diff,
    replaced: out.planned.replaced.filter(({ hooks }) => hooks.length > 0),
    backups: out.made.ok ? out.made.backups : [],
  };
  const [first] = results;
  const ofResult = ({ target, why, hooks, files, scripts, losses }: Result): object => ({
    ...{ to: target?.provider.slug ?? CANONICAL, why, hooks, files: [...scripts, ...files] },
    losses,
  });
  if (to !== 'all' && first !== undefined)
    return { v: 1, ok: first.why === undefined, from, ...shared, ...ofResult(first), ...changed, left_out: leftOut };
  const ok = results.every(({ why }) => why === undefined);
  return { v: 1, ok, from, to, ...shared, targets: results.map(ofResult), ...changed, left_out: leftOut };
}
