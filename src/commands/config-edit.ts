/**
 * `config get`, `set` and `unset`: read and change one key of the user's configuration file. The rest of the file stays
 * byte for byte.
 */

import { factsOf, isKey, type Key, keys } from '../config/schema.ts';
import { shownJson, shownValue, writtenValue } from '../config/shown.ts';
import { nearest } from '../lib/nearest.ts';
import { asShown } from '../lib/shown.ts';
import { applySetup, planConfig } from '../setup/setup.ts';
import { type Io, UsageError, type Words } from './command.ts';
import { type Folders, foldersOf } from './place.ts';
import { problemText, shownPath } from './text.ts';

export function getKey(words: Words, io: Io): number {
  const key = keyOf(words.rest[1]);
  if (words.rest.length > 2) throw new UsageError('get takes one key: config get KEY');
  const { config } = foldersOf(words, io);
  const { origins } = config;
  const value = writtenValue(config, key);
  if (words.flags['--json']) {
    const found = value === undefined ? {} : { value: shownJson(key, value), origin: origins[key] };
    io.out(`${JSON.stringify({ v: 1, key, ...found }, null, 2)}\n`);
  } else if (value === undefined)
    io.err(`otel-hooks: ${key} is not set.\n  next: otel-hooks config set ${key} VALUE\n`);
  else io.out(`${asShown(shownValue(key, value))}\n`);
  return value === undefined ? 1 : 0;
}

export function setKey(words: Words, io: Io): number {
  const [, word, text, ...more] = words.rest;
  const key = keyOf(word);
  if (text === undefined || more.length > 0)
    throw new UsageError('set takes a key and one value: config set KEY VALUE');
  return change(key, typedValue(key, text), words, io);
}

export function unsetKey(words: Words, io: Io): number {
  const key = keyOf(words.rest[1]);
  if (words.rest.length > 2) throw new UsageError('unset takes one key: config unset KEY');
  return change(key, undefined, words, io);
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

function change(key: Key, value: unknown, words: Words, io: Io): number {
  const folders: Folders = foldersOf(words, io);
  const file = folders.config.globalFile;
  const planned = planConfig(file, [[key.split('.'), value]], folders.data);
  const done = planned.ok ? applySetup(planned.plan) : planned;
  if (!planned.ok || !done.ok) {
    if (!done.ok) io.err(problemText(done.problem));
    return 1;
  }
  const after = foldersOf(words, io).config;
  const { changed } = planned.plan;
  if (words.flags['--json']) {
    const set = value === undefined ? {} : { value: shownJson(key, value) };
    io.out(`${JSON.stringify({ v: 1, file, key, changed, ...set }, null, 2)}\n`);
  } else {
    const what = value === undefined ? `${key} is not set` : `${key} = ${shownValue(key, value)}`;
    io.out(`${asShown(`${shownPath(file, io.home)}: ${what}${changed ? '' : ' (as before)'}`)}\n`);
    const origin = after.origins[key];
    if (origin !== undefined && origin !== 'default' && origin !== 'global file')
      io.out(
        `In force here is the value of another layer: ${asShown(shownValue(key, writtenValue(after, key)))} (${asShown(origin)}).\n`,
      );
  }
  return 0;
}
