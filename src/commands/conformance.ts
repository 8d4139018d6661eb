import { readdirSync, readFileSync, statSync } from 'node:fs';
import { basename, join } from 'node:path';
import { agentNamed, agents } from '../agents/index.ts';
import { eventTypes, type Fields } from '../event/event.ts';
import { besideUs } from '../lib/beside.ts';
import { nearest } from '../lib/nearest.ts';
import { isFields } from '../lib/read.ts';
import {
  type Conformance,
  conformanceOf,
  type HookSample,
  type Samples,
  type TranscriptSample,
} from '../pipeline/replay-samples.ts';
import { flagText, type Io, UsageError, type Words } from './command.ts';
import { table } from './text.ts';

/** The path of the project's own samples, which the build inserts. */
declare const __SAMPLES__: readonly string[] | undefined;

export function run(words: Words, io: Io): number {
  const name = flagText(words, '--agent');
  const chosen = name === undefined ? agents : [agentCalled(name)];
  if (name === undefined && words.rest.length > 0)
    throw new UsageError('samples need --agent: name the agent that wrote them');
  const level = flagText(words, '--level');
  if (level !== undefined && !/^[1-3]$/.test(level)) throw new UsageError(`--level is 1, 2 or 3, not ${level}`);
  const shipped = words.rest.length === 0 ? shippedSamples() : {};
  if (shipped === undefined) {
    io.err("otel-hooks: the project's samples are not beside this program; nothing was replayed.\n");
    io.err('  next: name a file or folder of samples: otel-hooks conformance --agent AGENT PATH\n');
    return 1;
  }
  let results: Conformance[];
  try {
    results = chosen.map(agent =>
      conformanceOf(
        agent,
        words.rest.length > 0 ? samplesFrom(textsIn(words.rest)) : samplesFrom(Object.entries(shipped[agent.id] ?? {})),
      ),
    );
  } catch (error) {
    if (!(error instanceof UnreadSamples)) throw error;
    io.err(
      `otel-hooks: ${error.message}; nothing was replayed.\n  next: a sample is a payload as JSON, or one on each line\n`,
    );
    return 1;
  }
  io.out(
    words.flags['--json'] ? `${JSON.stringify({ v: 1, agents: results }, null, 2)}\n` : results.map(textOf).join('\n'),
  );
  const isShort = results.some(each => each.openhook.level < Number(level ?? 0));
  return isShort ||
    results.some(each => each.refused.length > 0 || each.findings.some(({ level: of }) => of === 'error'))
    ? 1
    : 0;
}

function agentCalled(name: string): (typeof agents)[number] {
  const agent = agentNamed(name);
  if (agent !== undefined) return agent;
  const ids = agents.map(({ id }) => id);
  const meant = nearest(name, ids);
  throw new UsageError(
    `unknown agent ${name}${meant === undefined ? `; known: ${ids.join(', ')}` : `; did you mean ${meant}?`}`,
  );
}

/** By agent, then by file. */
export function shippedSamples(): Readonly<Record<string, Readonly<Record<string, string>>>> | undefined {
  return besideUs(typeof __SAMPLES__ === 'undefined' ? [] : __SAMPLES__);
}

class UnreadSamples extends Error {}

/** Returns the given files, and the files of the given folders whose names mark them as samples. */
const textsIn = (paths: readonly string[]): [path: string, text: string][] =>
  paths.flatMap(filesIn).map(path => [path, read(() => readFileSync(path, 'utf8'), path)]);

export function samplesFrom(texts: readonly (readonly [path: string, text: string])[]): Samples {
  const hooks: HookSample[] = [];
  const transcripts: TranscriptSample[] = [];
  for (const [path, text] of texts) {
    if (path.endsWith('.transcript')) transcripts.push(transcriptIn(path, text));
    else hooks.push({ name: basename(path), payloads: payloadsIn(path, text) });
  }
  return { hooks, transcripts };
}

function filesIn(path: string): string[] {
  const isFolder = read(() => statSync(path).isDirectory(), path);
  if (!isFolder) return [path];
  const names = readdirSync(path).filter(name => /\.(sample|json|jsonl|ndjson|transcript)$/.test(name));
  return names.sort().map(name => join(path, name));
}

function read<T>(look: () => T, path: string): T {
  try {
    return look();
  } catch (error) {
    throw new UnreadSamples(`${path} cannot be read (${error instanceof Error ? error.message : String(error)})`);
  }
}

/**
 * One payload, an array of them, or one on each line. `#` begins a comment, and below `---- events` are the expected
 * events.
 */
function payloadsIn(path: string, text: string): Fields[] {
  const [head = ''] = text.replace(/^\uFEFF/, '').split(/^---- events$/m);
  const json = head.replace(/^#.*$/gm, '').trim();
  const whole = parsed(json);
  const values =
    whole === undefined
      ? json
          .split('\n')
          .filter(line => line.trim() !== '')
          .map(parsed)
      : Array.isArray(whole)
        ? whole
        : [whole];
  const payloads = values.map(payloadOf);
  if (payloads.length === 0 || !payloads.every(isFields))
    throw new UnreadSamples(`${path} holds something else than payloads`);
  return payloads;
}

/** A recording may state the time of arrival beside each payload. */
const payloadOf = (value: unknown): unknown =>
  isFields(value) && 'payload' in value && Object.keys(value).every(key => key === 'payload' || key === 'received_at')
    ? value.payload
    : value;

/** Reads rows that follow comments with the session and the file's path. */
function transcriptIn(path: string, text: string): TranscriptSample {
  const [head = ''] = text.split(/^---- expected$/m);
  const field = (name: string): string => new RegExp(`^# ${name}: (.*)$`, 'm').exec(head)?.[1] ?? '';
  const rows = head
    .split('\n')
    .filter(line => line.startsWith('{'))
    .map(parsed)
    .filter(isFields);
  return { name: basename(path), session: field('root'), path: field('path'), rows };
}

function parsed(json: string): unknown {
  try {
    return JSON.parse(json);
  } catch {
    // Not one JSON value. The text may be JSON lines; otherwise the caller reports it.
    return undefined;
  }
}

function textOf({
  title,
  agent,
  version,
  samples,
  refused,
  openhook,
  agentHooks,
  isUnplayed,
  findings,
}: Conformance): string {
  const missing = openhook.requirements.find(({ level, state }) => level > 0 && state === 'missing');
  const lines = [
    `${title} (${agent}), as of ${version}, ${samples} samples\n`,
    `OpenHook ${openhook.version}: level ${openhook.level}${missing === undefined ? '' : `; level ${missing.level} lacks ${missing.asks}`}\n`,
    indented(
      table(
        openhook.requirements.map(({ level, asks, state, how }) => [
          level === 0 ? '' : String(level),
          asks,
          state,
          how.replaceAll('`', ''),
        ]),
      ),
    ),
    `Agent Hooks ${agentHooks.version}: ${agentHooks.reported.length} of ${eventTypes.length} types reported\n`,
    indented(
      table(
        agentHooks.reported.map(({ type, hooks, transcript }) => [
          type,
          [...hooks, ...(transcript ? ['transcript'] : [])].join(', '),
        ]),
      ),
    ),
    ...listed('concluded by otel-hooks', agentHooks.concluded),
    ...listed('not reported', agentHooks.unreported),
    ...(isUnplayed ? ['  its transcripts are read too; none is among the samples\n'] : []),
    ...refused.map(({ name, why }) => `not taken: ${name}: ${why}\n`),
    ...findings
      .filter(({ level }) => level === 'error')
      .map(({ standard, rule, field, why }) => `${standard} error ${rule} ${field}: ${why}\n`),
  ];
  return lines.join('');
}

const listed = (what: string, types: readonly string[]): string[] =>
  types.length === 0 ? [] : [`  ${what}: ${types.join(', ')}\n`];

const indented = (text: string): string => text.replace(/^(?=.)/gm, '  ');
