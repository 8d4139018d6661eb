/**
 * `hook-test`: runs the hooks of a manifest as each agent would, with sample events of that agent, and shows what the
 * agent would do with the answer.
 */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, dirname, join, resolve } from 'node:path';
import { isAbsent } from '../agents/contract/contract.ts';
import type { Call, Dialect, Heard, HookDocument } from '../agents/contract/dialect.ts';
import { dialectNamed } from '../agents/dialects.ts';
import { interchanges, providers } from '../agents/interchange.ts';
import { heardAsFormat } from '../agents/shared/format-answers.ts';
import type { Fields } from '../event/event.ts';
import { convertManifest } from '../interchange/conversion.ts';
import { elementsOf, nameOf } from '../interchange/manifest.ts';
import { decodeMatcher } from '../interchange/matchers.ts';
import { type Entry, type NativeFile, type Target, targetOf } from '../interchange/provider.ts';
import { ANY_MCP } from '../interchange/vocabulary.ts';
import { isFields, own, word } from '../lib/read.ts';
import { type Ran, runCommand } from '../run-hook/command.ts';
import { effectsAt } from '../run-hook/verdict.ts';
import { flagText, type Io, UsageError, type Words } from './command.ts';
import { samplesFrom, shippedSamples } from './conformance.ts';
import { asShown, hooksIn, providerOf, targetFor } from './interchange.ts';
import { table } from './text.ts';

const choice = { products: true };
const DEFAULT_TIMEOUT_S = 30;

interface Trial {
  agent: string;
  event: string;
  tool: string | undefined;
  hook: string;
  exit_code: number | undefined;
  /** What the agent does with the action. */
  result: 'stopped' | 'asks' | 'goes on' | 'goes on: failed' | 'goes on: cannot be stopped' | 'not run';
  reason: string | undefined;
}

export async function run(words: Words, io: Io): Promise<number> {
  const [file] = words.rest;
  if (file === undefined) throw new UsageError('a MANIFEST is needed (- for standard input)');
  const to = flagText(words, '--to');
  const targets = to === undefined ? everyTarget() : [targetFor(providerOf(to, '--to'), choice)];
  const read = await hooksIn(file, flagText(words, '--from'), choice, io);
  const shipped = shippedSamples();
  if (read === undefined) return 1;
  if (shipped === undefined) {
    io.err("otel-hooks: the project's samples are not beside this program; nothing was run.\n");
    return 1;
  }
  const place: Place = { base: file === '-' ? io.cwd : dirname(resolve(io.cwd, file)), env: io.env };
  const trials: Trial[] = [];
  for (const target of targets) {
    const dialect = dialectNamed(target.provider.slug);
    if (dialect === undefined) continue;
    const encoded = convertManifest(read.manifest, target);
    const samples = samplesOf(dialect, shipped, flagText(words, '--shell'));
    for (const [index, hook] of read.manifest.hooks.entries()) {
      const name = nameOf(hook, index);
      const one = convertManifest({ ...read.manifest, hooks: [hook] }, target);
      if (!encoded.ok || !one.ok)
        trials.push(notRun(target, hook.event, name, 'it has no such event, or cannot run the hook'));
      else trials.push(...(await tried(one.files, target, dialect, samples, name, place)));
    }
  }
  if (words.flags['--json']) io.out(`${JSON.stringify({ v: 1, from: read.from, trials }, null, 2)}\n`);
  else io.out(tableOf(trials));
  return trials.some(({ result }) => result === 'goes on: failed') ? 1 : 0;
}

function everyTarget(): Target[] {
  return providers.flatMap(provider => {
    const target = targetOf(provider, choice);
    return 'why' in target ? [] : [target];
  });
}

interface Place {
  /** The folder of the manifest, which stands for the project. */
  base: string;
  env: Io['env'];
}

interface Sample {
  event: string;
  canonical: string;
  payload: Fields;
  call: Call | undefined;
}

/** The samples of an agent: one for each event and tool. `shell` replaces the command of a shell tool. */
function samplesOf(
  dialect: Dialect,
  shipped: NonNullable<ReturnType<typeof shippedSamples>>,
  shell: string | undefined,
): Sample[] {
  const [id = ''] =
    Object.entries(interchanges).find(
      ([, known]) => !isAbsent(known) && known.some(({ slug }) => slug === dialect.slug),
    ) ?? [];
  const texts = Object.entries(shipped[id] ?? {}).filter(([name]) => name.endsWith('.sample'));
  const found = new Map<string, Sample>();
  for (const { name, payloads } of samplesFrom(texts).hooks)
    for (const payload of payloads) {
      const sample = sampleOf(dialect, name, payload, shell);
      if (sample === undefined) continue;
      const tool = sample.call?.mcp === undefined ? sample.call?.tool : 'mcp';
      const key = `${sample.event} ${tool}`;
      if (!found.has(key)) found.set(key, sample);
    }
  const samples = [...found.values()];
  const isBefore = ({ canonical, call }: Sample): boolean => canonical === BEFORE && call !== undefined;
  if (samples.some(isBefore)) return samples;
  return [...samples.filter(({ canonical }) => canonical !== BEFORE), shellSample(dialect, shell ?? 'git status')];
}

const BEFORE = 'before_tool_execute';

/** For an agent whose hooks are a plugin: the payload that the plugin writes. */
function shellSample(dialect: Dialect, command: string): Sample {
  const event = Object.keys(dialect.events).find(each => dialect.events[each] === BEFORE) ?? BEFORE;
  const payload = dialect.payload({
    ...{ spec: 'hooks/0.1', version: 1, agent: dialect.slug, native_event: event, event: BEFORE },
    ...{ session_id: 'sample', tool: 'shell', tool_input: { command } },
  });
  return { event, canonical: BEFORE, payload, call: dialect.calls(payload, event)[0] };
}

/** Some payloads do not name their event; the name of their file does. */
function sampleOf(dialect: Dialect, name: string, payload: Fields, shell: string | undefined): Sample | undefined {
  const stated = dialect.eventFields.map(field => word(payload[field])).find(each => each !== undefined);
  const names = Object.keys(dialect.events).sort((a, b) => b.length - a.length);
  const event = stated ?? names.find(each => letters(basename(name)).includes(letters(each)));
  const canonical = event === undefined ? undefined : own(dialect.events, event);
  if (event === undefined || canonical === undefined) return undefined;
  const [call] = dialect.calls(payload, event);
  const { command } = call?.input ?? {};
  if (shell === undefined || call?.tool !== 'shell' || typeof command !== 'string')
    return { event, canonical, payload, call };
  // Some agents have the input as JSON in a text.
  const inText = (value: string): string => JSON.stringify(JSON.stringify(value)).slice(1, -1);
  const text = JSON.stringify(payload)
    .replaceAll(JSON.stringify(command), () => JSON.stringify(shell))
    .replaceAll(inText(command), () => inText(shell));
  const other = JSON.parse(text) as Fields;
  return { event, canonical, payload: other, call: dialect.calls(other, event)[0] };
}

const letters = (text: string): string => text.replace(/[^a-z]/gi, '').toLowerCase();

async function tried(
  files: readonly NativeFile[],
  target: Target,
  dialect: Dialect,
  samples: readonly Sample[],
  name: string,
  place: Place,
): Promise<Trial[]> {
  const trials: Trial[] = [];
  for (const file of files) {
    const read = target.layout.read(file.text, file.path);
    for (const entry of read.ok ? read.entries : []) {
      const fitting = samples.filter(sample => fires(entry, sample, samples, dialect, target));
      for (const sample of fitting) trials.push(await trial(entry, file, sample, target, dialect, name, place));
      if (fitting.length === 0) trials.push(notRun(target, entry.event, name, 'no sample of this event or tool'));
    }
  }
  return trials;
}

/** Whether an entry runs for a sample. Some agents have several names for an event. */
function fires(entry: Entry, sample: Sample, samples: readonly Sample[], dialect: Dialect, target: Target): boolean {
  const isExact = samples.some(({ event }) => event === entry.event);
  const isEvent = isExact ? sample.event === entry.event : sample.canonical === own(dialect.events, entry.event);
  if (!isEvent) return false;
  const { call } = sample;
  const { matcher } = entry;
  if (matcher === undefined || call === undefined || target.provider.otherMatchers?.includes(entry.event)) return true;
  return (
    elementsOf(decodeMatcher(matcher, target))?.some(element => {
      if (typeof element === 'string')
        return element === call.tool || element === call.nativeTool || (element === ANY_MCP && call.mcp !== undefined);
      if ('pattern' in element) return new RegExp(element.pattern).test(call.nativeTool);
      const { server, tool } = element.mcp;
      return call.mcp?.server === server && (tool === undefined || call.mcp?.tool === tool);
    }) ?? true
  );
}

async function trial(
  entry: Entry,
  file: NativeFile,
  sample: Sample,
  target: Target,
  dialect: Dialect,
  hook: string,
  place: Place,
): Promise<Trial> {
  const { handler } = entry;
  const { fields } = target.layout;
  const { event, call } = sample;
  const about = { agent: target.provider.title, event, tool: call?.nativeTool, hook };
  const command = handler[fields.command] ?? handler.command;
  if (typeof command !== 'string')
    return { ...about, exit_code: undefined, result: 'not run', reason: 'it is no command' };
  const unit = fields.timeout?.unit === 'ms' ? 1 : 1000;
  const given = fields.timeout === undefined ? undefined : handler[fields.timeout.name];
  const timeoutMs = typeof given === 'number' && given > 0 ? given * unit : DEFAULT_TIMEOUT_S * 1000;
  const variables = Object.fromEntries((target.provider.projectVariables ?? []).map(name => [name, place.base]));
  const own = handler[fields.env ?? 'env'];
  const env = { ...place.env, ...variables, ...(isFields(own) ? (own as Record<string, string>) : {}) };
  const ran = await started(file, command, { input: JSON.stringify(sample.payload), cwd: place.base, env, timeoutMs });
  const document: HookDocument = {
    ...{ spec: 'hooks/0.1', version: 1, agent: dialect.slug, native_event: event, event: sample.canonical },
    ...(call === undefined ? {} : { tool: call.tool, native_tool: call.nativeTool, tool_input: call.input }),
  };
  const heard = heardOf(ran, file, dialect, document);
  const exit = ran.kind === 'ended' ? ran.ended.code : undefined;
  const takes = effectsAt(dialect, { native: event, event: sample.canonical });
  return { ...about, exit_code: exit, ...resultOf(heard, takes.includes('deny'), entry.blocking) };
}

type Order = Omit<Parameters<typeof runCommand>[0], 'command'>;

/** A hook that is a program of the agent runs as this program. */
async function started(file: NativeFile, command: string, order: Order): Promise<Ran> {
  if (!file.isExecutable) return await runCommand({ ...order, command: [command] });
  const folder = mkdtempSync(join(tmpdir(), 'otel-hooks-test-'));
  try {
    const path = join(folder, basename(file.path));
    writeFileSync(path, file.text, { mode: 0o700 });
    return await runCommand({ ...order, command: [path, ''] });
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

function heardOf(ran: Ran, file: NativeFile, dialect: Dialect, document: HookDocument): Heard {
  if (ran.kind === 'timed out') return { kind: 'fault', why: 'it took longer than its timeout' };
  if (ran.kind === 'failed') return { kind: 'fault', why: ran.why };
  // A plugin that the converter wrote reads the answers of the format.
  const isPlugin = /\.[jt]s$/.test(file.path);
  return isPlugin ? heardAsFormat(ran.ended) : dialect.heard(ran.ended, document);
}

function resultOf(heard: Heard, canStop: boolean, blocking: boolean | undefined): Pick<Trial, 'result' | 'reason'> {
  if (heard.kind === 'fault') return { result: 'goes on: failed', reason: heard.why };
  const isDenial = heard.kind === 'denial' && blocking !== false;
  const decision = heard.kind === 'answer' ? heard.answer.decision : undefined;
  const reason = heard.kind === 'answer' ? (heard.answer.reason ?? heard.answer.context) : heard.reason;
  if (isDenial || decision === 'deny') return { result: canStop ? 'stopped' : 'goes on: cannot be stopped', reason };
  if (decision === 'ask') return { result: canStop ? 'asks' : 'goes on: cannot be stopped', reason };
  return { result: 'goes on', reason };
}

const notRun = ({ provider }: Target, event: string, hook: string, reason: string): Trial => ({
  ...{ agent: provider.title, event, tool: undefined, hook },
  ...{ exit_code: undefined, result: 'not run', reason },
});

const tableOf = (trials: readonly Trial[]): string =>
  table([
    ['agent', 'event', 'tool', 'hook', 'exit code', 'the action', 'reason'],
    ...trials.map(({ agent, event, tool, hook, exit_code: code, result, reason }) =>
      [
        agent,
        event,
        tool ?? '',
        hook,
        code === undefined ? '' : String(code),
        result,
        (reason ?? '').split('\n')[0] ?? '',
      ].map(asShown),
    ),
  ]);
