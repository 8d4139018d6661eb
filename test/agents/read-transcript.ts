/**
 * Reads a transcript as the host does, without faults of a disk: row by row with the file's own memory, then the
 * waiting rows.
 */
import { readFileSync } from 'node:fs';
import {
  type Document,
  type ReadFile,
  readerFor,
  type Transcript,
  type TranscriptEntry,
  type TranscriptReading,
} from '../../src/agents/contract/contract.ts';
import { memoryOver, type Remembered } from '../../src/agents/shared/memory.ts';
import { isFields } from '../../src/lib/read.ts';

export interface Read {
  entries: TranscriptEntry[];
  readings: TranscriptReading[];
}

export interface Of {
  path?: string;
  subagent?: string;
  session?: string;
  companions?: (Buffer | undefined)[];
}

/** `stored`: the memory goes through JSON between any two rows, as between two rounds. */
export function readRows(
  transcript: Transcript,
  text: string,
  root: string,
  { path = '', companions = [], ...of }: Of = {},
  stored = false,
): Read {
  const reader = readerFor(transcript, path);
  if (reader.format !== 'lines') throw new Error('not read by lines');
  const { row, rest } = reader;
  const file: ReadFile = { path, root, companions, ...of };
  let remembered: Remembered = {};
  const memory = () => memoryOver(remembered, content => content.slice(0, 8));
  const entries: TranscriptEntry[] = [];
  for (const line of text.split('\n')) {
    if (line.trim() === '') continue;
    let value: unknown;
    try {
      value = JSON.parse(line);
    } catch {
      continue;
    }
    if (isFields(value)) entries.push(...row(value, memory(), file));
    if (stored) remembered = JSON.parse(JSON.stringify(remembered)) as Remembered;
  }
  if (rest) entries.push(...rest(memory(), file));
  return { entries, readings: once(entries) };
}

export function readDocument(transcript: Transcript, bytes: Buffer, root: string, of: Of = {}): Read {
  const { path = '', companions = [], ...rest } = of;
  const reader = readerFor(transcript, path);
  if (reader.format !== 'document') throw new Error('not read as a document');
  const entries = reader.document(documentOf(bytes), { path, root, companions, ...rest });
  return { entries, readings: once(entries) };
}

/** Ids, times, closed sets, names of models, tools, servers and agents. Everything else is content. */
const closed =
  /(^|[a-z_])(id|Id|ID)$|^(type|role|name|status|timestamp|startTime|resumeTime|kind|trigger|source|producer|code|namespace)$|([mM]odel|[pP]rovider|[sS]erver|[nN]ame|[tT]ype|Version)$/;

/** The rows, with a canary behind each text; `canary` gets the name of the field. */
export function planted(lines: readonly string[], canary: (key: string) => string): string {
  const visit = (value: unknown, key: string): unknown => {
    if (Array.isArray(value)) return value.map(item => visit(item, key));
    if (typeof value === 'object' && value !== null) {
      return Object.fromEntries(Object.entries(value).map(([name, item]) => [name, visit(item, name)]));
    }
    return typeof value !== 'string' || closed.test(key) ? value : `${value} ${canary(key)}`;
  };
  return lines.map(line => JSON.stringify(visit(JSON.parse(line), ''))).join('\n');
}

export const documentOf = (bytes: Buffer): Document => ({
  sizeBytes: bytes.length,
  slice: (at, length) => bytes.subarray(at, at + length),
  json() {
    try {
      return JSON.parse(bytes.toString('utf8')) as unknown;
    } catch {
      return undefined;
    }
  },
});

/** One event for each type and key, as the session accepts them. */
function once(entries: readonly TranscriptEntry[]): TranscriptReading[] {
  const seen = new Set<string>();
  return entries.filter((each): each is TranscriptReading => {
    if ('over' in each) return false;
    const id = [each.subagent ?? '', each.event_type, each.key].join('\0');
    return !seen.has(id) && seen.add(id) !== undefined;
  });
}

export interface Sum {
  responses: number;
  input: number;
  output: number;
  cacheRead: number;
  cacheWrite: number;
  reasoning: number;
}

/** A reading as a line, for comparison. */
export function lineOf({ event_type, key, data, facts, atMs, unless, subagent }: TranscriptReading): string {
  const known = Object.fromEntries(Object.entries(facts ?? {}).filter(([, value]) => value !== undefined));
  const who = [
    key,
    subagent && `of ${subagent}`,
    unless && 'unless hooked',
    atMs && new Date(atMs).toISOString().slice(11, 23),
  ];
  return `${event_type} [${who.filter(Boolean).join(', ')}] ${JSON.stringify(data)} ${JSON.stringify(known)}`;
}

/** The sums of the responses, by model. A class that no response states is 0 here. */
export function sums(readings: readonly TranscriptReading[]): Map<string, Sum> {
  const byModel = new Map<string, Sum>();
  for (const reading of readings) {
    if (reading.event_type !== 'Model.Responded') continue;
    const model = reading.data.model_id ?? 'unknown';
    const sum = byModel.get(model) ?? { responses: 0, input: 0, output: 0, cacheRead: 0, cacheWrite: 0, reasoning: 0 };
    sum.responses += 1;
    sum.input += reading.data.input_tokens ?? 0;
    sum.output += reading.data.output_tokens ?? 0;
    sum.cacheRead += reading.facts?.usage?.cache_read_tokens ?? 0;
    sum.cacheWrite += reading.facts?.usage?.cache_write_tokens ?? 0;
    sum.reasoning += reading.facts?.usage?.reasoning_tokens ?? 0;
    byModel.set(model, sum);
  }
  return byModel;
}

export const total = (readings: readonly TranscriptReading[]): Sum =>
  [...sums(readings).values()].reduce(
    (all, sum) => ({
      responses: all.responses + sum.responses,
      input: all.input + sum.input,
      output: all.output + sum.output,
      cacheRead: all.cacheRead + sum.cacheRead,
      cacheWrite: all.cacheWrite + sum.cacheWrite,
      reasoning: all.reasoning + sum.reasoning,
    }),
    { responses: 0, input: 0, output: 0, cacheRead: 0, cacheWrite: 0, reasoning: 0 },
  );

export const textOf = (path: string): string => readFileSync(path, 'utf8');
