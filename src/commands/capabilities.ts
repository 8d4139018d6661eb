/** Lists the capabilities that a manifest needs and the targets that have them, or the capabilities of targets. */
import { providers } from '../agents/interchange.ts';
import { convertManifest } from '../interchange/conversion.ts';
import { capabilitiesOf, levelOf, supportOf } from '../interchange/hook-capabilities.ts';
import { type Hook, type Manifest, nameOf } from '../interchange/manifest.ts';
import { effectOf } from '../interchange/native-places.ts';
import { permissionOf, policyIn } from '../interchange/policy.ts';
import { type Choice, type Support, type Target, targetOf } from '../interchange/provider.ts';
import { capabilities, capabilityNames, coreEvents, extendedEvents, LATEST, tools } from '../interchange/vocabulary.ts';
import { flagText, type Io, UsageError, type Words } from './command.ts';
import { asShown, choiceOf, hooksIn, lossesText, providerOf, read, targetFor } from './interchange.ts';
import { table } from './text.ts';

export async function run(words: Words, io: Io): Promise<number> {
  const [file] = words.rest;
  const to = flagText(words, '--to');
  const asked = choiceOf(words);
  // Without a file, the tables are those of a registry.
  const choice = file === undefined ? { ...asked, products: words.flags['--products'] === true } : asked;
  const target = to === undefined ? undefined : targetFor(providerOf(to, '--to'), choice);
  if (file === undefined) {
    if (words.flags['--policy'] !== undefined) throw new UsageError('--policy is for the hooks of a FILE');
    io.out(target === undefined ? all(choice, words) : one(target, choice, words));
    return 0;
  }
  const hooks = await hooksIn(file, flagText(words, '--from'), { ...choice, layout: undefined }, io);
  const manifest = hooks?.manifest;
  const permissions = manifest && (await permissionsOf(manifest, words, io));
  if (manifest === undefined || permissions === undefined) return 1;
  const needs = manifest.hooks.map((hook, index) => ({ ...needOf(hook, index), ...permissions[index] }));
  const isRefused = permissions.some(each => each?.allowed === false);
  if (target !== undefined) return carriedBy(manifest, needs, target, words, io) || isRefused ? 1 : 0;
  const rows = targetsOf(choice).map(each => carried(manifest, each));
  if (words.flags['--json']) io.out(`${JSON.stringify({ v: 1, hooks: needs, targets: rows }, null, 2)}\n`);
  else {
    const head = ['target', 'kept', 'blocked', 'left out', 'errors', 'warnings'];
    const cells = rows.map(row =>
      [row.target, row.kept, row.blocked, row.excluded, row.errors, row.warnings].map(String),
    );
    io.out(`${needsText(needs)}\n${table([head, ...cells])}`);
  }
  return isRefused ? 1 : 0;
}

interface Allowed {
  allowed?: boolean;
  refusedBy?: string | undefined;
}

/** The decision of a policy for each hook; undefined if the policy cannot be read, which ends the command. */
async function permissionsOf(manifest: Manifest, words: Words, io: Io): Promise<Allowed[] | undefined> {
  const file = flagText(words, '--policy');
  if (file === undefined) return manifest.hooks.map(() => ({}));
  const text = await read(file, io);
  const policy = text === undefined ? undefined : policyIn(text, file);
  if (policy === undefined) return undefined;
  if ('why' in policy) {
    io.err(`otel-hooks: ${file} is no policy: ${policy.why}\n`);
    return undefined;
  }
  return manifest.hooks.map(hook => {
    const { isAllowed, why } = permissionOf(hook, policy.policy, words.flags['--managed'] === true);
    return { allowed: isAllowed, ...(why === undefined ? {} : { refusedBy: why }) };
  });
}

interface Need extends Allowed {
  hook: number;
  name: string;
  event: string;
  level: 'core' | 'extended' | 'full';
  needs: readonly string[];
}

function needOf(hook: Hook, index: number): Need {
  const isCore = Object.hasOwn(coreEvents, hook.event);
  const isExclusive = !isCore && !Object.hasOwn(extendedEvents, hook.event);
  const level = levelOf(hook, isCore, isExclusive);
  return { hook: index + 1, name: nameOf(hook, index), event: hook.event, level, needs: capabilitiesOf(hook) };
}

function needsText(needs: readonly Need[]): string {
  const rows = needs.map(({ name, event, level, needs: uses, allowed, refusedBy }) => [
    ...[asShown(name), asShown(event), level, uses.join(', ') || 'nothing'],
    ...(allowed === undefined ? [] : [allowed ? 'allowed' : `refused by ${refusedBy}`]),
  ]);
  const isJudged = needs.some(({ allowed }) => allowed !== undefined);
  return table([['hook', 'event', 'level', 'needs', ...(isJudged ? ['policy'] : [])], ...rows]);
}

function targetsOf(choice: Choice): Target[] {
  return providers.flatMap(provider => {
    const target = targetOf(provider, { ...choice, layout: undefined });
    return 'why' in target ? [] : [target];
  });
}

function carried(manifest: Manifest, target: Target) {
  const { fit, losses } = convertManifest(manifest, target);
  const count = (outcome: string): number => fit.hooks.filter(each => each.outcome === outcome).length;
  return {
    target: target.provider.slug,
    kept: count('keep'),
    blocked: count('block'),
    excluded: manifest.hooks.length - fit.hooks.length,
    errors: losses.filter(({ severity }) => severity === 'error').length,
    warnings: losses.filter(({ severity }) => severity === 'warning').length,
  };
}

/** True if a guarded action would not be guarded any more. */
function carriedBy(manifest: Manifest, needs: readonly Need[], target: Target, words: Words, io: Io): boolean {
  const encoded = convertManifest(manifest, target);
  const { fit, losses } = encoded;
  const outcomes = needs.map(need => ({
    ...need,
    outcome: fit.hooks.find(each => each.index === need.hook - 1)?.outcome ?? ('exclude' as const),
    native: fit.hooks
      .filter(each => each.index === need.hook - 1)
      .flatMap(each => each.places.map(place => place.native)),
  }));
  const { slug, title } = target.provider;
  const isConvertible = encoded.ok;
  if (words.flags['--json'])
    io.out(`${JSON.stringify({ v: 1, target: slug, convertible: isConvertible, hooks: outcomes, losses }, null, 2)}\n`);
  else {
    const words = { keep: 'kept', block: 'replaced by one that blocks', exclude: 'left out' };
    const rows = outcomes.map(({ name, outcome, native }) => [
      asShown(name),
      words[outcome],
      asShown([...new Set(native)].join(', ')),
    ]);
    io.out(`${needsText(needs)}\n${table([['hook', `at ${title}`, 'events'], ...rows])}`);
    if (losses.length > 0) io.out(`\n${lossesText(losses)}`);
    if (!isConvertible) io.out(`\n${title} can carry no hook of it.\n`);
  }
  return !isConvertible || losses.some(({ severity }) => severity === 'error');
}

const supports: readonly Support[] = ['yes', 'partly', 'plugin', 'unsaid', 'no'];
const supportWords: Readonly<Record<Support, string>> = {
  yes: 'yes',
  partly: 'partly',
  plugin: 'by a plugin',
  unsaid: 'not documented',
  no: 'no',
};

function all(choice: Choice, words: Words): string {
  const targets = targetsOf(choice);
  const registry = choice.registry ?? LATEST;
  if (words.flags['--json']) {
    const rows = targets.map(target => factsOf(target));
    return `${JSON.stringify({ v: 1, registry, capabilities, targets: rows }, null, 2)}\n`;
  }
  const parts = capabilityNames.map(capability => {
    const { strategy, what } = capabilities[capability];
    const lines = supports.flatMap(support => {
      const names = targets
        .filter(({ facts }) => facts.supports[capability] === support)
        .map(({ provider }) => provider.slug);
      return names.length === 0 ? [] : [`  ${supportWords[support].padEnd(14)}  ${names.join(', ')}\n`];
    });
    return `${capability}: ${what}; without it, ${strategy}\n${lines.join('')}`;
  });
  return `${parts.join('\n')}\nRegistry ${registry}; of one target: otel-hooks capabilities --to ${targets[0]?.provider.slug}\n`;
}

function factsOf(target: Target) {
  const { provider, facts, layout } = target;
  const events = Object.entries(facts.events).map(([event, native]) => ({
    event,
    native,
    effect: effectOf(event, facts.blocks),
  }));
  return {
    target: provider.slug,
    title: provider.title,
    checked: provider.checked,
    file: layout.file,
    layouts: Object.entries(provider.layouts).map(([name, { title, file }]) => ({ name, title, file })),
    events,
    tools: facts.tools,
    mcp: facts.mcp && `${facts.mcp.before}<server>${facts.mcp.between}<tool>`,
    capabilities: facts.supports,
    /** The capabilities for which the layout has a place. */
    carried: Object.fromEntries(capabilityNames.map(capability => [capability, supportOf(capability, target)])),
  };
}

function one(target: Target, choice: Choice, words: Words): string {
  const facts = factsOf(target);
  const registry = choice.registry ?? LATEST;
  if (words.flags['--json']) return `${JSON.stringify({ v: 1, registry, ...facts }, null, 2)}\n`;
  const effects = { prevent: 'can be stopped', retry: 'goes on working', observe: 'can be watched' };
  const { split } = target.provider;
  const named = tools.map(tool => [tool, facts.tools[tool] ?? split?.before_tool_execute?.tools[tool] ?? 'none']);
  return [
    `${facts.title}, registry ${registry}\n\n`,
    table(facts.layouts.map(({ name, title, file }) => [name, file, title])),
    `\n${table([['event', 'there', 'by a hook'], ...facts.events.map(({ event, native, effect }) => [event, native.join(', '), effects[effect]])])}`,
    `\n${table([['tool', 'there'], ...named, ['MCP', facts.mcp ?? 'none']])}`,
    `\n${table([['capability', 'there'], ...capabilityNames.map(each => [each, supportWords[facts.capabilities[each]]])])}`,
  ].join('');
}
