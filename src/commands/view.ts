import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { recorded } from '../journal/journal-events.ts';
import type { ImportState } from '../page/data.ts';
import { openStore, type Store } from '../store/store.ts';
import { named, unnamed } from '../view/named.ts';
import { type Importer, type PageServer, servePage } from '../view/page-server.ts';
import { flagText, type Io, interruptible, UsageError, type Words } from './command.ts';
import { importOfAll } from './import.ts';
import { pageFiles } from './page-files.ts';
import { foldersOf } from './place.ts';

const LOOK_MS = 1_000;

export async function run(words: Words, io: Io): Promise<number> {
  const port = portOf(words);
  const { state } = foldersOf(words, io);
  const open = (): Store | undefined => (existsSync(state) ? openStore({ folder: state, access: 'read' }) : undefined);
  const wanted = wantedIn(open, words.rest[0]);
  if (wanted.missed !== undefined) {
    io.err(`otel-hooks: ${wanted.missed}.\n  next: otel-hooks show\n`);
    return 1;
  }
  const files = pageFiles();
  if (files === undefined) {
    io.err('otel-hooks: the file of the page is missing beside this program.\n  next: otel-hooks doctor\n');
    return 1;
  }
  let server: PageServer;
  try {
    server = await servePage({ open, stateFolder: state, files, importer: importerFor(words, io), port });
  } catch (error) {
    const { code = String(error) } = error as NodeJS.ErrnoException;
    io.err(`otel-hooks: port ${port ?? 0} of 127.0.0.1 cannot be used (${code}).\n  next: otel-hooks view --port 0\n`);
    return 1;
  }
  const address = `${server.link}${wanted.key === undefined ? '' : `#/session/${wanted.key}`}`;
  if (words.flags['--json']) io.out(`${JSON.stringify({ v: 1, address, port: server.port })}\n`);
  else io.out(`The sessions of this machine: ${address}\nThe link is valid until this command ends. Ctrl-C ends it.\n`);
  if (words.flags['--no-open'] === undefined && io.isTerminal) openBrowser(address, io.platform);
  const stop = interruptible();
  try {
    while (!stop.isAsked()) await stop.pause(LOOK_MS);
    return 0;
  } finally {
    stop.end();
    await server.close();
  }
}

function portOf(words: Words): number | undefined {
  const port = flagText(words, '--port');
  if (port === undefined) return undefined;
  if (!/^\d{1,5}$/.test(port) || Number(port) > 65_535) throw new UsageError(`--port takes a port, not ${port}`);
  return Number(port);
}

function wantedIn(open: () => Store | undefined, word: string | undefined): { key?: string; missed?: string } {
  if (word === undefined) return {};
  const store = open();
  try {
    const found = named(store === undefined ? [] : recorded(store), word);
    const missed = unnamed(found, word);
    return missed === undefined ? { key: found[0]?.key ?? '' } : { missed };
  } finally {
    store?.close();
  }
}

/** Opens the address with the program that the desktop uses for links. Without a desktop, the printed link remains. */
function openBrowser(address: string, platform: NodeJS.Platform): void {
  const [program, ...args] =
    platform === 'darwin'
      ? ['open', address]
      : platform === 'win32'
        ? ['rundll32', 'url.dll,FileProtocolHandler', address]
        : ['xdg-open', address];
  const child = spawn(program ?? '', args, { stdio: 'ignore', detached: true });
  child.on('error', () => undefined);
  child.unref();
}

/** The transcripts are searched when the page asks for the first time. */
function importerFor(words: Words, io: Io): Importer {
  let errors = '';
  const note = (text: string): void => {
    errors += text;
  };
  const quiet: Io = { ...io, out: () => undefined, err: note };
  let found: ReturnType<typeof importOfAll> | undefined;
  const state: ImportState = { v: 1, state: 'none', transcripts: 0, bytes: 0, doneTranscripts: 0, doneBytes: 0 };
  const find = (): ReturnType<typeof importOfAll> => {
    if (found !== undefined) return found;
    found = importOfAll(words, quiet);
    state.transcripts = found.transcripts;
    state.bytes = found.bytes;
    state.state = found.transcripts === 0 ? 'none' : 'possible';
    return found;
  };
  const add = (bytes: number, transcripts: number): void => {
    state.doneBytes += bytes;
    state.doneTranscripts += transcripts;
  };
  const end = (isDone: boolean, message: string): void => {
    state.state = isDone ? 'done' : 'failed';
    state.message = message;
  };
  return {
    state() {
      find();
      return state;
    },
    start() {
      const { start } = find();
      if (state.state !== 'possible') return;
      state.state = 'running';
      start({ add, end: () => undefined }).then(
        () => end(errors === '', errors === '' ? 'The import is done.' : errors.trim()),
        error => end(false, `The import failed: ${String(error)}. Next: otel-hooks import --all`),
      );
    },
  };
}
