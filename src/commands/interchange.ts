/**
 * Shared functions of the commands about the Hook Interchange Format: reading manifests from files, and data outside of
 * the format.
 */
import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { isOurHandler } from '../agents/files/our-command.ts';
import { agentNamed } from '../agents/index.ts';
import { providerNamed, providers } from '../agents/interchange.ts';
import { decode, ONLY_LEFT_OUT } from '../interchange/conversion.ts';
import type { Loss } from '../interchange/losses.ts';
import { type Manifest, nameOf, normalized } from '../interchange/manifest.ts';
import { hookInterchange } from '../interchange/manifest-validator.ts';
import { decodeEvent } from '../interchange/matchers.ts';
import type { Choice, Provider, Target } from '../interchange/provider.ts';
import { targetOf } from '../interchange/provider.ts';
import { readSource } from '../interchange/source.ts';
import { type Known, type RegistryVersion, registryVersions } from '../interchange/vocabulary.ts';
import { nearest } from '../lib/nearest.ts';
import { re2 } from '../session/re2.ts';
import { isObject, plain } from '../standards/wording.ts';
import { flagText, type Io, UsageError, type Words } from './command.ts';
import { cannotRead, table } from './text.ts';

export const known: Known = {
  events: new Set(
    providers.flatMap(({ registry }) => Object.values(registry).flatMap(facts => Object.keys(facts?.events ?? {}))),
  ),
  providers: new Set(providers.map(({ slug }) => slug)),
  eventOf(native) {
    for (const provider of providers) {
      const target = targetOf(provider, { products: true });
      const event = 'why' in target ? undefined : decodeEvent(native, target);
      if (event !== undefined) return event;
    }
    return undefined;
  },
  patternError(pattern) {
    try {
      re2(pattern);
      return undefined;
    } catch (error) {
      return error instanceof Error ? error.message : String(error);
    }
  },
};

/** A manifest or a native file is small. A larger file is something else. */
const LARGEST_BYTES = 32 * 1024 * 1024;

/** The format itself among the formats. */
export const CANONICAL = 'hook-interchange';

export const formats = (): string => [CANONICAL, ...providers.map(({ slug }) => slug)].join(', ');

export interface Hooks {
  manifest: Manifest;
  losses: readonly Loss[];
  from: string;
  /**
   * The number of entries that call otel-hooks. They are left out, because they name this agent, and `enable` writes
   * entries for the other agent.
   */
  leftOut: number;
}

/** Returns the hooks of a file in any format. On an error, it prints the reason and returns undefined. */
export async function hooksIn(
  file: string,
  from: string | undefined,
  choice: Choice,
  io: Io,
): Promise<Hooks | undefined> {
  const text = await read(file, io);
  if (text === undefined) return undefined;
  const name = file === '-' ? 'standard input' : file;
  const source = sourceOf(from, text, name);
  const found = source === CANONICAL ? ofManifest(text, name, io) : decoded(source, text, name, choice, io);
  if (found !== undefined && found.leftOut > 0) io.err(leftOutText(found.leftOut));
  return found;
}

function ofManifest(text: string, name: string, io: Io): Hooks | undefined {
  const read = manifestIn(text, name, io);
  if (read === undefined) return undefined;
  const { manifest, losses } = read;
  const hooks = manifest.hooks.filter(({ handler }) => !isOurHandler(handler));
  const leftOut = manifest.hooks.length - hooks.length;
  if (hooks.length > 0) return { manifest: { ...manifest, hooks }, losses, from: CANONICAL, leftOut };
  io.err(onlyOursText(name));
  return undefined;
}

const leftOutText = (leftOut: number): string =>
  `otel-hooks: left out ${leftOut === 1 ? '1 hook that calls' : `${leftOut} hooks that call`} otel-hooks itself.\n${ENABLE}`;

const onlyOursText = (name: string): string =>
  `otel-hooks: ${name} holds only hooks that call otel-hooks itself; nothing was converted.\n${ENABLE}`;

const ENABLE = '  next: otel-hooks enable --tool AGENT writes those of another agent.\n';

/** On an error, it prints the reason and returns undefined. */
export async function read(file: string, io: Io): Promise<string | undefined> {
  try {
    return await textOf(file, io);
  } catch (error) {
    io.err(`otel-hooks: ${cannotRead(file, error)}\n`);
    return undefined;
  }
}

/** The format of a file without --from: a manifest is recognized by its content, a native file by its path. */
function sourceOf(named: string | undefined, text: string, name: string): Provider | typeof CANONICAL {
  if (named === CANONICAL) return CANONICAL;
  if (named !== undefined) return providerOf(named, '--from');
  const source = readSource(text, name);
  const value = source.ok ? source.value : undefined;
  if (isObject(value) && 'spec' in value) return CANONICAL;
  const native = providers.find(({ layouts }) => Object.values(layouts).some(({ isFile }) => isFile.test(name)));
  if (native !== undefined) return native;
  // A text that names no provider can only be a manifest.
  if (!isObject(value) || !('hooks' in value)) return CANONICAL;
  throw new UsageError(`it has no spec, so it is a native file; name its provider with --from: ${formats()}`);
}

function decoded(provider: Provider, text: string, name: string, choice: Choice, io: Io): Hooks | undefined {
  const names = Object.keys(provider.layouts);
  const [lies] = Object.entries(provider.layouts).find(([, { isFile }]) => isFile.test(name)) ?? [];
  const first = choice.layout ?? lies;
  const tried = (first === undefined ? names : [first, ...names.filter(each => each !== first)]).map(layout =>
    decode(text, name, targetFor(provider, { ...choice, layout }), isOurHandler),
  );
  const found = tried.find(each => each.ok);
  if (found?.ok) return { ...found, from: provider.slug };
  const [refused] = tried;
  if (tried.some(each => !each.ok && each.why === ONLY_LEFT_OUT)) {
    io.err(onlyOursText(name));
    return undefined;
  }
  const why = refused?.ok === false ? refused.why : 'it cannot be read';
  io.err(`otel-hooks: ${name} holds no hooks of ${provider.title}: ${why}; nothing was converted.\n`);
  return undefined;
}

async function textOf(file: string, io: Io): Promise<string> {
  if (file !== '-') return readFileSync(resolve(io.cwd, file), 'utf8');
  let text = '';
  for await (const piece of process.stdin.setEncoding('utf8')) {
    text += String(piece);
    if (text.length > LARGEST_BYTES) break;
  }
  return text;
}

/** Warnings of the validator that change what a conversion writes. */
const odd = ['handler/folder', 'hook/event', 'handler/async', 'matcher/null', 'matcher/empty'];

/** Returns the manifest with the losses of odd values. Prints the reason why a text is not a manifest. */
function manifestIn(text: string, name: string, io: Io): { manifest: Manifest; losses: Loss[] } | undefined {
  const validation = hookInterchange.validation(name, { interchange: known });
  validation.write(text);
  const { findings, ok } = validation.end();
  const source = ok ? readSource(text, name) : undefined;
  if (source?.ok && isObject(source.value)) {
    const manifest = normalized(source.value);
    const losses = findings
      .filter(({ rule }) => odd.includes(rule))
      .map(({ field, why }): Loss => {
        const index = Number(/^\/hooks\/(\d+)/.exec(field)?.[1] ?? 0);
        const hook = manifest.hooks[index];
        const place = { hook: index + 1, name: hook && nameOf(hook, index) };
        return {
          ...place,
          kind: 'odd_input',
          severity: 'warning',
          field: field.replace(/^\/hooks\/\d+\//, ''),
          message: why,
        };
      });
    return { manifest, losses };
  }
  for (const { level, line, column, rule, field, why } of findings)
    if (level === 'error') io.err(`${name}:${line}:${column} ${rule}${field && ` ${field}`}: ${why}\n`);
  io.err(`otel-hooks: ${name} is no manifest of the Hook Interchange Format; nothing was converted.\n`);
  io.err(`  next: otel-hooks validate --standard hook-interchange ${name === 'standard input' ? '-' : name}\n`);
  return undefined;
}

export function providerOf(name: string, flag: string): Provider {
  const provider = providerNamed(name) ?? providerNamed(agentNamed(name)?.id ?? '');
  if (provider !== undefined) return provider;
  const names = providers.map(({ slug }) => slug);
  const meant = nearest(name, names);
  throw new UsageError(
    `${flag} ${name} is no provider; ${meant === undefined ? `known: ${names.join(', ')}` : `did you mean ${meant}?`}`,
  );
}

export function choiceOf(words: Words): Choice {
  const registry = flagText(words, '--registry');
  if (registry !== undefined && !(registryVersions as readonly string[]).includes(registry))
    throw new UsageError(`--registry is ${registryVersions.join(' or ')}, not ${registry}`);
  return {
    registry: registry as RegistryVersion | undefined,
    layout: flagText(words, '--layout'),
    // Without a registry, the conversion is for today's products.
    products: registry === undefined || words.flags['--products'] === true,
    softens: words.flags['--soften'] === true,
  };
}

export function targetFor(provider: Provider, choice: Choice): Target {
  const target = targetOf(provider, choice);
  if ('why' in target) throw new UsageError(target.why);
  return target;
}

/** Names and commands come from unknown authors: they are escaped for the terminal. */
export const asShown = (text: string): string => plain(text, 400);

export function lossesText(losses: readonly Loss[]): string {
  return table(
    losses.map(({ hook, name, severity, kind, message, suggestion }) => [
      hook === undefined ? 'file' : name === `Hook ${hook}` ? name : `Hook ${hook} (${asShown(name ?? '')})`,
      severity,
      kind,
      asShown(suggestion === undefined ? message : `${message}. ${suggestion}`),
    ]),
  );
}
