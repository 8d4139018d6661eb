import { closeSync, existsSync, lstatSync, openSync, renameSync, rmSync, writeSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { isAbsent } from '../agents/contract/contract.ts';
import { agentNamed } from '../agents/index.ts';
import { eventsOf, lastMsOf, type Recorded, recorded } from '../journal/journal-events.ts';
import { LINE_CLEARED, LINE_START } from '../lib/terminal.ts';
import { otlpOf } from '../pipeline/otlp-json.ts';
import { recalled } from '../pipeline/rebuild.ts';
import { SHORTEST_NAME, transcriptOf } from '../session/session-state.ts';
import type { Beyond } from '../standards/openhook/to-openhook.ts';
import { openStore, type Store } from '../store/store.ts';
import { diskEyes } from '../transcripts/eyes.ts';
import { impatient } from '../transcripts/settlement.ts';
import { eventFormats, isEventFormat, writerOf } from '../view/formats.ts';
import { named, unnamed } from '../view/named.ts';
import { isTrial } from '../view/trial-sessions.ts';
import { agentOf } from './agent-word.ts';
import { flagText, type Io, interruptible, sinceOf, UsageError, type Words } from './command.ts';
import { foldersOf, surroundingsOf } from './place.ts';

const exportFormats = [...eventFormats, 'otlp-json'] as const;
type ExportFormat = (typeof exportFormats)[number];

export async function run(words: Words, io: Io): Promise<number> {
  const format = formatOf(words);
  const wanted = wantedOf(words, io);
  const { state } = foldersOf(words, io);
  const store = existsSync(state) ? openStore({ folder: state, access: 'read' }) : undefined;
  try {
    const found = store === undefined ? [] : chosen(store, wanted);
    const missed = wanted.sessions.flatMap(word => {
      return unnamed(named(found, word), word) ?? [];
    });
    if (missed.length > 0) {
      io.err(`otel-hooks: ${missed.join('; ')}. Nothing was exported.\n  next: otel-hooks show\n`);
      return 1;
    }
    const output = flagText(words, '--output');
    const parts = store === undefined ? [] : partsOf(store, found, format, words, io);
    return output === undefined
      ? await stream(parts, found, io)
      : await writeTo(output, format === 'otlp-json' ? 'requests' : 'events', parts, found, io);
  } finally {
    store?.close();
  }
}

function formatOf(words: Words): ExportFormat {
  const format = flagText(words, '--format') ?? 'agent-hooks';
  const known = exportFormats.find(each => each === format);
  if (known === undefined) throw new UsageError(`--format takes ${exportFormats.join(', ')}, not ${format}`);
  return known;
}

interface Wanted {
  sessions: readonly string[];
  agent: string | undefined;
  sinceMs: number;
  /** Also exports trials of the hooks. A session that is named is exported in any case. */
  trials: boolean;
}

function wantedOf(words: Words, io: Io): Wanted {
  const tool = flagText(words, '--tool');
  const agent = tool === undefined ? undefined : agentOf(tool);
  return {
    sessions: words.rest,
    agent: agent?.id,
    sinceMs: sinceOf(flagText(words, '--since'), io.now()),
    trials: words.flags['--all'] === true,
  };
}

function chosen(store: Store, { sessions, agent, sinceMs, trials }: Wanted): Recorded[] {
  const all = recorded(store);
  const meant = new Set(
    sessions.length === 0
      ? all.filter(({ session }) => trials || !isTrial(session))
      : sessions.flatMap(word => named(all, word)),
  );
  return all.filter(
    each =>
      meant.has(each) &&
      (agent === undefined || each.agent === agent) &&
      (sinceMs === Number.NEGATIVE_INFINITY || lastMsOf(store, each.key) >= sinceMs),
  );
}

/** The lines of the output, and their number. */
interface Part {
  count: number;
  lines: string;
}

const partOf = (objects: readonly object[]): Part => ({
  count: objects.length,
  lines: objects.map(each => `${JSON.stringify(each)}\n`).join(''),
});

function* partsOf(
  store: Store,
  found: readonly Recorded[],
  format: ExportFormat,
  words: Words,
  io: Io,
): Generator<Part> {
  if (isEventFormat(format)) {
    const beyondOf = format === 'openhook' ? transcripts(store, io) : () => ({});
    for (const each of found) {
      const writer = writerOf(format, beyondOf(each));
      for (const events of eventsOf(store, each.key)) yield partOf(events.flatMap(event => writer.of(event)));
      yield partOf(writer.rest?.() ?? []);
    }
    return;
  }
  const world = {
    ...surroundingsOf(words, io, foldersOf(words, io).config),
    ...{ nowMs: io.now(), eyes: diskEyes(), waits: impatient },
  };
  const keys = found.map(({ key }) => key);
  for (const { requests } of otlpOf(store, keys, world)) yield partOf(requests);
}

/**
 * The path of a session's transcript, which OpenHook requires at the end of a session. The session's state is kept for
 * a week. After that, the transcript is looked for in the agent's folder, under a name that contains the session's id.
 */
function transcripts(store: Store, { home, cwd, env }: Io): (session: Recorded) => Beyond {
  const eyes = diskEyes();
  const installed = new Map<string, readonly string[]>();
  const pathsOf = (id: string): readonly string[] => {
    const known = installed.get(id);
    if (known !== undefined) return known;
    const transcript = agentNamed(id)?.transcript;
    const files =
      transcript === undefined || isAbsent(transcript) ? [] : transcript.installed({ home, project: cwd, env }, eyes);
    const paths = files.map(({ path }) => path);
    installed.set(id, paths);
    return paths;
  };
  return ({ key, agent, session }) => {
    const state = recalled(store, key);
    const kept = state && transcriptOf(state);
    const found = kept ?? pathsOf(agent).find(path => session.length >= SHORTEST_NAME && path.includes(session));
    return found === undefined ? { hasNoTranscript: true } : { transcript: found };
  };
}

async function stream(parts: Iterable<Part>, found: readonly Recorded[], io: Io): Promise<number> {
  const { isWhole } = await passed(parts, io, !io.isTerminal, lines => io.out(lines));
  if (isWhole && found.length === 0 && io.isErrTerminal) io.err('No such sessions yet.\n  next: otel-hooks show\n');
  return isWhole ? 0 : 1;
}

/** The new file replaces the old one when it is complete. */
async function writeTo(
  output: string,
  unit: string,
  parts: Iterable<Part>,
  found: readonly Recorded[],
  io: Io,
): Promise<number> {
  const file = resolve(io.cwd, output);
  const facts = lstatSync(file, { throwIfNoEntry: false });
  if (facts !== undefined && !facts.isFile()) throw new UsageError(`${output} is no plain file; use > or a pipe`);
  if (!existsSync(dirname(file)))
    throw new UsageError(`${dirname(output)} does not exist, so ${output} was not written; make the folder first`);
  const beside = `${file}.${process.pid}`;
  try {
    const fd = openSync(beside, 'wx', 0o600);
    try {
      const { count, isWhole } = await passed(parts, io, true, lines => writeAll(fd, lines));
      if (!isWhole) return 1;
      renameSync(beside, file);
      io.out(`${output}: ${count} ${unit} of ${found.length} ${found.length === 1 ? 'session' : 'sessions'}\n`);
      return 0;
    } finally {
      closeSync(fd);
    }
  } finally {
    rmSync(beside, { force: true });
  }
}

function writeAll(fd: number, lines: string): void {
  const bytes = Buffer.from(lines);
  for (let at = 0; at < bytes.length; ) at += writeSync(fd, bytes, at);
}

async function passed(
  parts: Iterable<Part>,
  io: Io,
  isApart: boolean,
  write: (lines: string) => void,
): Promise<{ count: number; isWhole: boolean }> {
  const isShown = isApart && io.isErrTerminal === true;
  const stop = interruptible();
  let count = 0;
  let isWhole = true;
  try {
    for (const part of parts) {
      if (part.lines !== '') write(part.lines);
      count += part.count;
      if (isShown) io.err(`${LINE_START}${count} lines `);
      // Ctrl-C, and a reader that has left, are noticed between two parts.
      await stop.pause(0);
      await io.drained?.();
      if (!stop.isAsked()) continue;
      isWhole = false;
      break;
    }
  } finally {
    stop.end();
    if (isShown) io.err(LINE_CLEARED);
  }
  if (!isWhole) io.err('otel-hooks: stopped before the end.\n');
  return { count, isWhole };
}
