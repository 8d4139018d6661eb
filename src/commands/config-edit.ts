/**
 * `config get`, `set` and `unset`: read and change one key of the user's configuration file. The rest of the file stays
 * byte for byte.
 */

import type { LoadedConfig } from '../config/files.ts';
import { factsOf, isKey, type Key, keys } from '../config/schema.ts';
import { shownJson, shownValue, writtenValue } from '../config/shown.ts';
import { nearest } from '../lib/nearest.ts';
import { asShown } from '../lib/shown.ts';
import { applySetup, type Planned, planConfig } from '../setup/setup.ts';
import { type Io, UsageError, type Words } from './command.ts';
import {
  type DestinationKey,
  destinationKeyOf,
  ofFile,
  planDestination,
  shownDestination,
  textOf,
} from './config-destinations.ts';
import { type Folders, foldersOf } from './place.ts';
import { problemText, shownPath } from './text.ts';

export function getKey(words: Words, io: Io): number {
  const { config } = foldersOf(words, io);
  const word = words.rest[1];
  const named = destinationKeyOf(word, config);
  const key = named === undefined ? keyOf(word) : named.word;
  if (words.rest.length > 2) throw new UsageError('get takes one key: config get KEY');
  const { value, origin } = named === undefined ? shownSetting(key as Key, config) : shownDestination(config, named);
  if (words.flags['--json']) {
    const found = value === undefined ? {} : { value, origin };
    io.out(`${JSON.stringify({ v: 1, key, ...found }, null, 2)}\n`);
  } else if (value === undefined)
    io.err(`otel-hooks: ${key} is not set.\n  next: otel-hooks config set ${key} VALUE\n`);
  else io.out(`${asShown(textOf(value))}\n`);
  return value === undefined ? 1 : 0;
}

function shownSetting(key: Key, config: LoadedConfig) {
  const value = writtenValue(config, key);
  return value === undefined
    ? { value, origin: undefined }
    : { value: shownJson(key, value), origin: config.origins[key] };
}

export function setKey(words: Words, io: Io): number {
  const [, word, text, ...more] = words.rest;
  const folders = foldersOf(words, io);
  const named = destinationKeyOf(word, folders.config);
  const key = named === undefined ? keyOf(word) : undefined;
  if (text === undefined || more.length > 0)
    throw new UsageError('set takes a key and one value: config set KEY VALUE');
  if (named !== undefined) return changeDestination(named, text, folders, words, io);
  return key === undefined ? 1 : change(key, typedValue(key, text), folders, words, io);
}

export function unsetKey(words: Words, io: Io): number {
  const word = words.rest[1];
  const folders = foldersOf(words, io);
  const named = destinationKeyOf(word, folders.config);
  const key = named === undefined ? keyOf(word) : undefined;
  if (words.rest.length > 2) throw new UsageError('unset takes one key: config unset KEY');
  if (named !== undefined) return changeDestination(named, undefined, folders, words, io);
  return key === undefined ? 1 : change(key, undefined, folders, words, io);
}

function keyOf(word: string | undefined): Key {
  if (word === undefined) throw new UsageError('takes a key, such as otlp.endpoint');
  if (isKey(word)) return word;
  const meant = nearest(word, keys);
  throw new UsageError(`there is no key ${word}${meant === undefined ? '' : `; did you mean ${meant}?`}`);
}

/** Returns a text as a value of the key: unchanged, or parsed as JSON (numbers, switches, lists, tables). */
function typedValue(key: Key, text: string): unknown {
  const { schema, text: kind } = factsOf(key);
  const isPlain = kind === 'text' || kind === 'word' || kind === 'path' || kind === 'pairs';
  const parsed = parsedJson(text);
  const candidates = isPlain ? [text, parsed] : [parsed, text];
  for (const value of candidates) if (value !== undefined && schema.safeParse(value).success) return value;
  const issue = schema.safeParse(isPlain ? text : (parsed ?? text)).error?.issues[0]?.message ?? 'is not valid';
  throw new UsageError(`${key} does not take this value: ${issue}`);
}

function parsedJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    // Most values are plain texts.
    return undefined;
  }
}

function change(key: Key, value: unknown, folders: Folders, words: Words, io: Io): number {
  const planned = planConfig(folders.config.globalFile, [[key.split('.'), value]], folders.data);
  const shown = value === undefined ? undefined : { text: shownValue(key, value), json: shownJson(key, value) };
  const layer = (): string | undefined => {
    const after = foldersOf(words, io).config;
    const origin = after.origins[key];
    if (origin === undefined || origin === 'default' || origin === 'global file') return undefined;
    return `${asShown(shownValue(key, writtenValue(after, key)))} (${asShown(origin)})`;
  };
  return write(planned, { key, shown, layer }, folders, words, io);
}

function changeDestination(
  named: DestinationKey,
  text: string | undefined,
  folders: Folders,
  words: Words,
  io: Io,
): number {
  const { config } = folders;
  const planned = planDestination(named, text, folders);
  const after = planned.ok ? planned.plan.changes[0]?.after : undefined;
  const file = after === undefined ? config : { ...config, ...ofFile(config.globalFile, after) };
  const { value } = text === undefined ? { value: undefined } : shownDestination(file, named);
  const layer = (): string | undefined => {
    const found = shownDestination(foldersOf(words, io).config, named);
    const isOther = found.origin !== undefined && found.origin !== 'global file';
    return isOther ? `${asShown(textOf(found.value))} (${asShown(found.origin ?? '')})` : undefined;
  };
  const shown = value === undefined ? undefined : { text: textOf(value), json: value };
  return write(planned, { key: named.word, shown, layer }, folders, words, io);
}

/** `layer`: the value of another layer that is in force here. */
interface Written {
  key: string;
  shown: { text: string; json: unknown } | undefined;
  layer: () => string | undefined;
}

function write(planned: Planned, { key, shown, layer }: Written, folders: Folders, words: Words, io: Io): number {
  const file = folders.config.globalFile;
  const done = planned.ok ? applySetup(planned.plan) : planned;
  if (!planned.ok || !done.ok) {
    if (!done.ok) io.err(problemText(done.problem));
    return 1;
  }
  const { changed } = planned.plan;
  if (words.flags['--json']) {
    const set = shown === undefined ? {} : { value: shown.json };
    io.out(`${JSON.stringify({ v: 1, file, key, changed, ...set }, null, 2)}\n`);
    return 0;
  }
  const what = shown === undefined ? `${key} is not set` : `${key} = ${shown.text}`;
  io.out(`${asShown(`${shownPath(file, io.home)}: ${what}${changed ? '' : ' (as before)'}`)}\n`);
  const other = layer();
  if (other !== undefined) io.out(`In force here is the value of another layer: ${other}.\n`);
  return 0;
}
