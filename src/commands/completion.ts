import { existsSync } from 'node:fs';
import { agents } from '../agents/index.ts';
import type { NamedDestination } from '../config/named-destinations.ts';
import { commonMembers, keys, membersOf } from '../config/schema.ts';
import { namesOf } from '../deliver/destination-names.ts';
import { destinationsIn } from '../deliver/known-destinations.ts';
import { contentClasses } from '../event/content-classes.ts';
import { recorded } from '../journal/journal-events.ts';
import { openStore, type Store } from '../store/store.ts';
import { isTrial } from '../view/trial-sessions.ts';
import { flagText, type Io, UsageError, type Words } from './command.ts';
import { type Candidates, completionFor, isShell, shells } from './completion-scripts.ts';
import { configuredHere } from './destinations.ts';
import { foldersOf } from './place.ts';
import { commands } from './registry.ts';

export function run(words: Words, io: Io): number {
  const values = flagText(words, '--values');
  if (values !== undefined) return printValues(values, words, io);
  const [shell, ...more] = words.rest;
  if (shell === undefined || more.length > 0 || !isShell(shell))
    throw new UsageError(`takes a shell: ${shells.join(', ')}`);
  const lists: Candidates = { AGENT: agents.map(({ id }) => id), SHELL: shells };
  io.out(completionFor(shell, commands, lists));
  return 0;
}

/** Prints the candidates of this machine for the scripts, one per line. Prints nothing if they cannot be read. */
function printValues(kind: string, words: Words, io: Io): number {
  const folders = foldersOf(words, io);
  const store = existsSync(folders.state) ? openStore({ folder: folders.state, access: 'read' }) : undefined;
  try {
    const found = valuesOf(kind, store, words, io);
    io.out(
      found
        .filter(each => PLAIN.test(each))
        .map(each => `${each}\n`)
        .join(''),
    );
    return 0;
  } finally {
    store?.close();
  }
}

/**
 * A shell may expand candidates, and senders of hooks choose the ids of sessions, so only harmless characters are
 * printed.
 */
const PLAIN = /^[\w@+][\w.:@+-]{0,127}$/;

function valuesOf(kind: string, store: Store | undefined, words: Words, io: Io): string[] {
  if (kind === 'sessions') return sessionsIn(store);
  if (kind === 'keys') return keysWith(foldersOf(words, io).config.named);
  if (kind !== 'destinations') throw new UsageError(`--values takes destinations, keys or sessions, not ${kind}`);
  const known = [...destinationsIn(store ?? noDocuments), ...configuredHere(words, io, foldersOf(words, io))];
  return [...namesOf([...new Map(known.map(each => [each.id, each])).values()]).values()];
}

/** All keys, and those of the named destinations of the configuration. */
const keysWith = (named: readonly NamedDestination[]): string[] => [
  ...keys,
  ...named.flatMap(({ name, provider }) =>
    [...membersOf(provider), ...Object.keys(commonMembers), ...Object.keys(contentClasses).map(of => `content.${of}`)]
      .filter(member => member !== 'content')
      .map(member => `destinations.${name}.${member}`),
  ),
];

const noDocuments = { read: () => undefined, idsOf: () => [] };

/** The newest first, limited to a readable number. */
const sessionsIn = (store: Store | undefined): string[] =>
  (store === undefined ? [] : recorded(store))
    .map(({ session }) => session)
    .filter(session => !isTrial(session))
    .reverse()
    .slice(0, 50);
