/** What the commands about the Hook Interchange Format share: manifests from files, and what lies outside of the format. */
import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { agentNamed } from '../agents/index.ts';
import { providerNamed, providers } from '../agents/interchange.ts';
import { nearest } from '../lib/nearest.ts';
import { re2 } from '../re2.ts';
import type { Loss } from '../standards/interchange/losses.ts';
import { type Manifest, normalized } from '../standards/interchange/manifest.ts';
import type { Choice, Provider, Target } from '../standards/interchange/provider.ts';
import { targetOf } from '../standards/interchange/provider.ts';
import { type Known, type RegistryVersion, registryVersions } from '../standards/interchange/registry.ts';
import { readSource } from '../standards/interchange/source.ts';
import { hookInterchange } from '../standards/interchange/validate.ts';
import { isObject } from '../standards/wording.ts';
import { flagText, type Io, UsageError, type Words } from './command.ts';
import { table } from './text.ts';

export const known: Known = {
  events: new Set(
    providers.flatMap(({ registry }) => Object.values(registry).flatMap(facts => Object.keys(facts?.events ?? {}))),
  ),
  providers: new Set(providers.map(({ slug }) => slug)),
  patternError(pattern) {
    try {
      re2(pattern);
      return undefined;
    } catch (error) {
      return error instanceof Error ? error.message : String(error);
    }
  },
};

/** A manifest or a native file is small; what is larger is something else. */
const LARGEST_BYTES = 32 * 1024 * 1024;

export async function textOf(file: string, io: Io): Promise<string> {
  if (file !== '-') return readFileSync(resolve(io.cwd, file), 'utf8');
  let text = '';
  for await (const piece of process.stdin.setEncoding('utf8')) {
    text += String(piece);
    if (text.length > LARGEST_BYTES) break;
  }
  return text;
}

/** Says what keeps a text from being a manifest. */
export function manifestIn(text: string, name: string, io: Io): Manifest | undefined {
  const validation = hookInterchange.validation(name, { interchange: known });
  validation.write(text);
  const { findings, ok } = validation.end();
  const source = ok ? readSource(text, name) : undefined;
  if (source?.ok && isObject(source.value)) return normalized(source.value);
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
    products: words.flags['--products'] === true,
    softens: words.flags['--soften'] === true,
  };
}

export function targetFor(provider: Provider, choice: Choice): Target {
  const target = targetOf(provider, choice);
  if ('why' in target) throw new UsageError(target.why);
  return target;
}

export function lossesText(losses: readonly Loss[]): string {
  return table(
    losses.map(({ hook, name, severity, kind, message, suggestion }) => [
      hook === undefined ? 'file' : name === `Hook ${hook}` ? name : `Hook ${hook} (${name})`,
      severity,
      kind,
      suggestion === undefined ? message : `${message}. ${suggestion}`,
    ]),
  );
}
