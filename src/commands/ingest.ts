/**
 * `ingest`: records events of the standards from files and streams of any length. It reads a batch, records it in one
 * round together with the mark of its file, and delivers the resulting data before it reads further.
 */
import { resolve } from 'node:path';
import { deliver } from '../deliver/deliver.ts';
import { keepOf } from '../deliver/state-limits.ts';
import { waitingIn } from '../deliver/status-books.ts';
import { documents } from '../documents/documents.ts';
import { installationOf } from '../documents/installation.ts';
import { noted } from '../documents/problem-notes.ts';
import { isDiskError } from '../lib/disk-error.ts';
import { durationMs } from '../lib/duration.ts';
import type { Piece } from '../lib/json-pieces.ts';
import { asShown } from '../lib/shown.ts';
import { LINE_CLEARED, LINE_START } from '../lib/terminal.ts';
import { VERSION } from '../lib/version.ts';
import { type Fate, type GivenEvent, ingestRound } from '../pipeline/ingest-round.ts';
import type { Problem } from '../problems/problem.ts';
import { type FileMark, noMarks } from '../receive/ingested.ts';
import { type Fault, intakeOf } from '../serve/intake.ts';
import { configuredIn } from '../session/pin.ts';
import { StateRefused } from '../store/folder.ts';
import { takeLock } from '../store/lock.ts';
import { openStore, type Store } from '../store/store.ts';
import { diskEyes } from '../transcripts/eyes.ts';
import { impatient } from '../transcripts/settlement.ts';
import { agentOf } from './agent-word.ts';
import { flagText, type Interruptible, type Io, interruptible, UsageError, type Words } from './command.ts';
import { mistakesIn } from './import.ts';
import { fileSource, type Source, streamSource } from './ingest-source.ts';
import { foldersOf, surroundingsOf } from './place.ts';
import { problemText, table } from './text.ts';

/** The largest number of events in one round. */
const ROUND = { events: 2_000, bytes: 4 * 1024 * 1024 };
/** The number of rounds between two deliveries, so that data is sent before more is produced. */
const ROUNDS = 8;
/** Items that wait for a destination. Above this number, reading pauses, because the outbox has a limit. */
const MOST_WAITING = 100_000;
const MOST_FAULTS = 100;
const SHOWN_FAULTS = 20;
const PAUSE_MS = 500;

export async function run(words: Words, io: Io): Promise<number> {
  const ingest = new Ingest(words, io);
  const { config } = ingest.folders;
  const mistakes = mistakesIn(config);
  if (mistakes.length > 0) {
    for (const problem of mistakes) io.err(problemText(problem));
    io.err('otel-hooks: no destination could be read off the configuration; nothing was ingested.\n');
    return 1;
  }
  const stop = interruptible();
  try {
    if (ingest.open()) await ingest.work(stop);
    return ingest.report(stop.isAsked());
  } finally {
    stop.end();
    ingest.close();
  }
}

/** The counts of one input. `read` is the sum of the other counts. */
interface Counts {
  read: number;
  recorded: number;
  duplicate: number;
  erased: number;
  refused: Record<string, number>;
}

interface Input {
  source: Source;
  counts: Counts;
  offset: number;
  isOver: boolean;
}

interface BadEvent extends Fault {
  file: string;
}

/** A value of an input that is not recorded yet. */
interface Given {
  input: Input;
  piece: Piece;
  event: GivenEvent;
  fault?: Fault | undefined;
}

class Ingest {
  readonly folders: ReturnType<typeof foldersOf>;
  private readonly words: Words;
  private readonly io: Io;
  private readonly isJson: boolean;
  private readonly follows: boolean;
  private readonly waitMs: number;
  private readonly header: Readonly<Record<string, string>>;
  private readonly eyes = diskEyes();
  private readonly inputs: Input[] = [];
  private readonly unread: { file: string; why: string }[] = [];
  private readonly faults: BadEvent[] = [];
  private readonly problems: Problem[] = [];
  /** Values that were read and are not in a round yet. */
  private given: Given[] = [];
  private givenBytes = 0;
  private sent = 0;
  private waiting = 0;
  private failure: string | undefined;

  constructor(words: Words, io: Io) {
    this.words = words;
    this.io = io;
    this.isJson = words.flags['--json'] !== undefined;
    this.follows = words.flags['--follow'] !== undefined;
    const wait = flagText(words, '--wait') ?? '30s';
    const waitMs = durationMs(wait);
    if (waitMs === undefined) throw new UsageError(`--wait takes a time such as 10s or 500ms, not ${wait}`);
    this.waitMs = waitMs;
    const tool = flagText(words, '--tool');
    this.header = tool === undefined ? {} : { tool: agentOf(tool).id };
    this.folders = foldersOf(words, io);
  }

  /** Opens the inputs. Returns false if there is no input. */
  open(): boolean {
    const names = this.words.rest.length === 0 ? ['-'] : [...new Set(this.words.rest)];
    if (names.includes('-') && this.io.isTerminal && this.words.rest.length === 0)
      throw new UsageError('name files, or - for standard input');
    const known = this.marks();
    for (const name of names) {
      try {
        const source =
          name === '-'
            ? streamSource('standard input', process.stdin, PAUSE_MS)
            : fileSource(name, resolve(this.io.cwd, name), known, this.follows);
        const counts = { read: 0, recorded: 0, duplicate: 0, erased: 0, refused: {} };
        this.inputs.push({ source, counts, offset: 0, isOver: false });
      } catch (error) {
        this.unread.push({ file: name, why: error instanceof Error ? error.message : String(error) });
      }
    }
    return this.inputs.length > 0;
  }

  private marks() {
    try {
      const store = openStore({ folder: this.folders.state, access: 'read' });
      try {
        return store.read(documents.ingested) ?? noMarks;
      } finally {
        store.close();
      }
    } catch (error) {
      if (error instanceof StateRefused && error.problem.code === 'state-missing') return noMarks;
      throw error;
    }
  }

  close(): void {
    for (const { source } of this.inputs) source.close();
    if (this.io.isErrTerminal && !this.isJson) this.io.err(LINE_CLEARED);
  }

  // ---------------------------------------------------------------- the loop

  async work(stop: Interruptible): Promise<void> {
    let isFirst = true;
    while (!stop.isAsked() && this.failure === undefined) {
      await this.gather(stop);
      const isOver = this.inputs.every(input => input.isOver);
      if (this.given.length > 0) await this.record(stop);
      else if (!isOver && !isFirst) continue;
      if (this.failure === undefined) await this.deliver(isOver ? this.waitMs : 1_000, stop);
      isFirst = false;
      if (isOver && this.given.length === 0) return;
    }
  }

  /** Reads until a round is full, or until no input has more at the moment. */
  private async gather(stop: Interruptible): Promise<void> {
    for (;;) {
      let hasRead = false;
      for (const input of this.inputs) {
        if (this.isFull() || stop.isAsked()) return;
        if (input.isOver) continue;
        hasRead = (await this.readFrom(input)) || hasRead;
      }
      if (hasRead) continue;
      if (this.given.length === 0 && this.inputs.some(({ isOver }) => !isOver)) await stop.pause(PAUSE_MS);
      return;
    }
  }

  private isFull(): boolean {
    return this.given.length >= ROUND.events || this.givenBytes >= ROUND.bytes;
  }

  private async readFrom(input: Input): Promise<boolean> {
    try {
      const read = await input.source.read();
      if (read === 'idle') return false;
      input.isOver = read === 'end';
      for (const piece of read === 'end' ? input.source.rest() : read.pieces) this.give(input, piece);
      return true;
    } catch (error) {
      input.isOver = true;
      const why = error instanceof Error ? error.message : String(error);
      this.unread.push({ file: input.source.name, why });
      return false;
    }
  }

  /** Checks a value as the HTTP server does. Lines of a damaged list are checked one by one. */
  private give(input: Input, piece: Piece): void {
    const { bytes } = piece;
    const intake = bytes && intakeOf(bytes, { form: this.header.tool ? 'hook' : 'any', header: this.header });
    const fault = bytes === undefined ? tooLong : intake?.verdicts.find(verdict => verdict !== undefined);
    if (bytes !== undefined && fault?.rule === 'json/syntax' && bytes.includes('\n')) {
      const lines = linesOf(piece, bytes);
      if (lines.length > 1) {
        for (const line of lines) this.give(input, line);
        return;
      }
    }
    input.offset = piece.end.offset;
    const refused = fault && { ...fault, line: piece.line + fault.line - 1, ...columnOf(piece, fault) };
    const event = { bytes, header: this.header, refused: refused?.rule };
    this.given.push({ input, piece, event, fault: refused });
    this.givenBytes += bytes?.length ?? 0;
  }

  // ---------------------------------------------------------------- rounds

  private async record(stop: Interruptible): Promise<void> {
    const { state, config } = this.folders;
    const lock = await takeLock({ folder: state, version: VERSION, byHand: true, waitMs: 10_000 });
    if (lock === undefined) {
      this.failure = 'another delivery is at work and did not hand over in time';
      return;
    }
    const store = openStore({ folder: state, access: 'own', fsync: config.values.fsync ?? false });
    try {
      for (let round = 0; round < ROUNDS && this.given.length > 0; round += 1) {
        this.recordGiven(store);
        this.showProgress();
        // The event loop runs, so that Ctrl-C is noticed.
        await new Promise(done => setImmediate(done));
        if (stop.isAsked() || lock.wanted() || !lock.touch() || this.inputs.every(({ isOver }) => isOver)) return;
        await this.gather(stop);
      }
    } finally {
      store.close();
      lock.release();
    }
  }

  private recordGiven(store: Store): void {
    const parts = [this.given];
    this.given = [];
    this.givenBytes = 0;
    for (let part = parts.shift(); part !== undefined; part = parts.shift()) {
      try {
        while (!this.isCommitted(store, part));
      } catch (error) {
        if (isDiskError(error)) throw error;
        const [only] = part;
        // A part that fails is divided down to the event at fault, which is refused.
        if (part.length > 1 || only === undefined)
          parts.unshift(part.slice(0, part.length >> 1), part.slice(part.length >> 1));
        else if (only.fault === undefined) parts.unshift([{ ...only, event: { ...only.event, refused: 'failed' } }]);
        else throw error;
      }
    }
  }

  private isCommitted(store: Store, part: readonly Given[]): boolean {
    const { installation, changes } = installationOf(store);
    const nowMs = this.io.now();
    const world = {
      ...surroundingsOf(this.words, this.io, this.folders.config),
      ...{ installation: installation.id, hashKey: installation.key, nowMs, eyes: this.eyes, waits: impatient },
    };
    const marks = new Map<string, FileMark>();
    for (const { input, piece, fault } of part) {
      // The writer may not have completed the last line yet.
      const marked = piece.isOpen && fault !== undefined ? undefined : input.source.mark(piece);
      if (marked !== undefined) marks.set(marked.id, marked.mark);
    }
    const events = part.map(({ event }) => event);
    const { round, fates, problems, pinnings } = ingestRound(store, events, marks, world);
    const noteds = noted(store, problems, nowMs, pinnings);
    const documentChanges = [...(round.documents ?? []), ...changes, ...noteds];
    if (store.commit({ ...round, documents: documentChanges }) !== 'committed') return false;
    this.problems.push(...problems);
    for (const [i, each] of part.entries()) this.count(each, fates[i] ?? 'recorded');
    return true;
  }

  private count({ input, piece, fault }: Given, fate: Fate): void {
    const { counts, source } = input;
    counts.read += 1;
    if (typeof fate !== 'object') {
      counts[fate] += 1;
      return;
    }
    const { refused: rule } = fate;
    counts.refused[rule] = (counts.refused[rule] ?? 0) + 1;
    if (this.faults.length >= MOST_FAULTS) return;
    const found = fault ?? { rule, line: piece.line, column: piece.column, why: 'the event could not be processed' };
    this.faults.push({ file: source.name, ...found });
  }

  private async deliver(waitMs: number, stop: Interruptible): Promise<void> {
    const { folders, io } = this;
    const { config, state } = folders;
    do {
      const delivered = await deliver({
        stateFolder: state,
        byHand: true,
        waitMs: stop.isAsked() ? 1_000 : waitMs,
        surroundings: surroundingsOf(this.words, io, config),
        fsync: config.values.fsync,
        keep: keepOf(config.values),
        configured: configuredIn(config, io.cwd).destinations,
        print: this.isJson ? undefined : io.out,
        now: io.now,
      });
      this.sent += delivered.sent;
      if (delivered.books !== undefined) this.waiting = waitingIn(delivered.books);
      this.problems.push(...delivered.problems);
      if (this.waiting <= MOST_WAITING) return;
      if (!this.follows) this.failure = `${this.waiting} items wait for a destination that does not take them`;
      else await stop.pause(10 * PAUSE_MS);
    } while (this.follows && !stop.isAsked());
  }

  // ---------------------------------------------------------------- the output

  private showProgress(): void {
    const { io } = this;
    if (!io.isErrTerminal || this.isJson) return;
    const { read, refused } = this.total();
    const sizes = this.inputs.map(({ source }) => source.sizeBytes);
    const bytes = this.inputs.reduce((sum, { offset }) => sum + offset, 0);
    const size = sizes.every(each => each !== undefined) ? sizes.reduce((sum, each) => sum + each, 0) : 0;
    const share = size === 0 ? '' : `${Math.min(100, Math.floor((bytes / size) * 100))} %  `;
    io.err(`${LINE_START}${share}${read} events read, ${sumOf(refused)} refused   `);
  }

  private total(): Counts {
    const sum: Counts = { read: 0, recorded: 0, duplicate: 0, erased: 0, refused: {} };
    for (const { counts } of this.inputs) {
      for (const key of ['read', 'recorded', 'duplicate', 'erased'] as const) sum[key] += counts[key];
      for (const [rule, count] of Object.entries(counts.refused)) sum.refused[rule] = (sum.refused[rule] ?? 0) + count;
    }
    return sum;
  }

  report(isInterrupted: boolean): number {
    const { io, unread, faults, failure } = this;
    const total = this.total();
    const refused = sumOf(total.refused);
    if (this.isJson) {
      const files = this.inputs.map(({ source, counts }) => ({
        file: source.name,
        from_line: source.fromLine,
        ...counts,
      }));
      const { sent, waiting } = this;
      const facts = { files, ...total, faults, unread, sent, waiting, interrupted: isInterrupted, failure };
      io.out(`${JSON.stringify({ v: 1, ...facts }, null, 2)}\n`);
    } else {
      for (const { source } of this.inputs)
        if (source.fromLine > 1)
          io.out(`${source.name}: read from line ${source.fromLine}, where the last call ended.\n`);
      io.out(
        table([
          ['events read', String(total.read)],
          ['recorded', String(total.recorded)],
          ['known already', String(total.duplicate)],
          ...(total.erased > 0 ? [['of erased sessions', String(total.erased)]] : []),
          ['refused', String(refused)],
          ['items sent', String(this.sent)],
          ['waiting', String(this.waiting)],
        ]),
      );
    }
    for (const { file, why } of unread) io.err(`otel-hooks: ${asShown(file)} could not be read (${asShown(why)}).\n`);
    for (const fault of faults.slice(0, SHOWN_FAULTS)) io.err(faultText(fault));
    if (refused > SHOWN_FAULTS)
      io.err(`  and ${refused - SHOWN_FAULTS} more; --json lists the first ${MOST_FAULTS}.\n`);
    if (refused > 0)
      io.err(
        '  next: correct these events in a file of their own and ingest it. `otel-hooks validate --standard NAME FILE` shows\n        every rule; the refused events lie in the quarantine for 24 hours. All other events were recorded.\n',
      );
    for (const text of new Set(this.problems.map(problemText))) io.err(text);
    const isStopped = failure !== undefined || (isInterrupted && !this.follows);
    if (isStopped)
      io.err(
        `otel-hooks: stopped${failure === undefined ? '' : `: ${failure}`}; the events read so far are kept.\n  next: run the same command again to continue\n`,
      );
    return isStopped || unread.length > 0 || refused > 0 || this.waiting > 0 ? 1 : 0;
  }
}

const tooLong: Fault = { rule: 'limit/bytes', line: 1, column: 1, why: 'longer than 64 MB' };

const sumOf = (counts: Readonly<Record<string, number>>): number =>
  Object.values(counts).reduce((sum, each) => sum + each, 0);

const columnOf = (piece: Piece, { line, column }: Fault): { column: number } => ({
  column: line === 1 ? piece.column + column - 1 : column,
});

const faultText = ({ file, line, column, rule, field, why }: BadEvent): string =>
  `${file}:${line}:${column}: ${why}${field === undefined ? '' : ` (${field})`} [${rule}]\n`;

/** The lines of a value that is not JSON, each as a value. Brackets and commas of a list around them are left out. */
function linesOf({ line, end }: Piece, bytes: Buffer): Piece[] {
  return bytes
    .toString()
    .split('\n')
    .map((text, i) => ({ text: text.trim().replace(/^\[|,$/g, ''), line: line + i }))
    .filter(({ text }) => text.startsWith('{'))
    .map(each => ({ bytes: Buffer.from(each.text), line: each.line, column: 1, end }));
}
