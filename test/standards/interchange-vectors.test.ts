/**
 * The conformance vectors of the Hook Interchange Format, published ones and others, if they are beside the repository.
 */
import { spawnSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { providers } from '../../src/agents/interchange.ts';
import { convertManifest, decode, verify } from '../../src/interchange/conversion.ts';
import { fittedTo } from '../../src/interchange/fit.ts';
import { capabilitiesOf } from '../../src/interchange/hook-capabilities.ts';
import type { Loss } from '../../src/interchange/losses.ts';
import { elementsOf, type Hook, type Manifest, normalized } from '../../src/interchange/manifest.ts';
import { hookInterchange } from '../../src/interchange/manifest-validator.ts';
import { decodeEvent, decodeMatcher, decodeSplit, encodeEvent, encodeMatcher } from '../../src/interchange/matchers.ts';
import { effectOf } from '../../src/interchange/native-places.ts';
import { outcomeOf } from '../../src/interchange/outcome.ts';
import { permissionOf } from '../../src/interchange/policy.ts';
import { type Choice, type Target, targetOf } from '../../src/interchange/provider.ts';
import { readSource } from '../../src/interchange/source.ts';
import {
  capabilities,
  coreEvents,
  extendedEvents,
  type RegistryVersion,
  registryVersions,
  tools,
} from '../../src/interchange/vocabulary.ts';
import { re2 } from '../../src/session/re2.ts';
import { overShared, sharedPath } from '../shared.ts';

type Values = Record<string, unknown>;
interface Case {
  id: string;
  operation: string;
  title: string;
  input: Record<string, never>;
  expect: Record<string, never>;
}

const vectors = 'vectors/interchange';
const vectorPath = (path: string): string => sharedPath(`${vectors}/${path}`);
const json = (path: string): Values => JSON.parse(readFileSync(vectorPath(path), 'utf8'));

/** Vectors that do not apply to this program, by id, with the reason. */
const otherwise: Readonly<Record<string, string>> = {};

overShared(vectors, 'the vectors of the Hook Interchange Format', () => {
  for (const file of readdirSync(vectorPath('authored'))) {
    const { cases } = json(`authored/${file}`) as unknown as { cases: Case[] };
    describe(file, () => {
      it.each(
        cases.filter(({ id }) => otherwise[id] === undefined).map(each => [`${each.id}: ${each.title}`, each] as const),
      )('%s', (_, { operation, input, expect: wanted }) => {
        const check = checks[operation];
        if (check === undefined) throw new Error(`nothing is known of ${operation}`);
        check(input, wanted);
      });
    });
  }
  describe('published', published);
  describe('registries', registries);
});

function target(slug: string, choice: Choice = {}): Target {
  const provider = providers.find(each => each.slug === slug);
  const found = provider && targetOf(provider, choice);
  if (found === undefined || 'why' in found) throw new Error(`no target ${slug}`);
  return found;
}

function judged(text: string, name: string) {
  const validation = hookInterchange.validation(name, {
    interchange: { events: new Set(), providers: new Set(providers.map(({ slug }) => slug)), patternError },
  });
  validation.write(text);
  return validation.end();
}

function patternError(pattern: string): string | undefined {
  try {
    re2(pattern);
    return undefined;
  } catch (error) {
    return String(error);
  }
}

/** Without remarks, and with every tool in one spelling. */
function bare(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(bare);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value)
      .filter(([key, each]) => !key.startsWith('_') && !(key === 'matcher' && each === ''))
      .map(([key, each]) => [key, bare(each)]),
  );
}

function nativeOf(encoded: ReturnType<typeof convertManifest>): unknown {
  if (!encoded.ok) throw new Error(encoded.why);
  return JSON.parse(encoded.files[0]?.text ?? '');
}

const kinds = (losses: readonly Loss[]): string[] => losses.map(({ kind }) => kind);

type Check = (input: Values, wanted: Values) => void;

const checks: Readonly<Record<string, Check>> = {
  parse({ format, value, text: yaml }, { accept, error_mentions: mentions, normalised }) {
    const text = value === undefined ? String(yaml) : JSON.stringify(value);
    const report = judged(text, `x.${format}`);
    expect(report.ok, JSON.stringify(report.findings)).toBe(accept);
    const errors = report.findings.filter(({ level }) => level === 'error').map(({ why, field }) => `${why} ${field}`);
    for (const word of (mentions ?? []) as string[])
      expect(
        errors.some(each => each.includes(word)),
        errors.join(),
      ).toBe(true);
    const source = readSource(text, `x.${format}`);
    if (normalised && source.ok) expect(normalized(source.value as Values)).toEqual(normalised);
  },
  resolve({ blocking, exit_code, stdout, interactive, timed_out, timeout_action }, wanted) {
    const outcome = outcomeOf({
      blocking: blocking === true,
      exitCode: exit_code as number,
      stdout: stdout as string,
      interactive: interactive as boolean,
      timedOut: timed_out as boolean,
      timeoutAction: timeout_action as 'warn',
    });
    expect(outcome).toMatchObject(wanted);
  },
  encode_matcher({ matcher, provider }, wanted) {
    const { matchers, losses } = encodeMatcher(matcher as never, target(String(provider)));
    const text = matchers[0]?.text ?? null;
    if ('native' in wanted) expect(text).toBe(wanted.native);
    if (wanted.warning) expect(losses.map(({ kind }) => kind)).toContain(wanted.warning);
    for (const name of (wanted.native_regex_matches ?? []) as string[]) expect(name).toMatch(new RegExp(String(text)));
    for (const name of (wanted.native_regex_rejects ?? []) as string[])
      expect(name).not.toMatch(new RegExp(String(text)));
  },
  decode_matcher({ native, provider }, wanted) {
    const matcher = decodeMatcher(String(native), target(String(provider)));
    if (wanted.matcher_absent) expect(matcher).toBeUndefined();
    if ('matcher' in wanted) expect(matcher).toEqual(wanted.matcher);
    if ('matcher_one_of' in wanted) expect(wanted.matcher_one_of).toContainEqual(matcher);
    if ('matcher_set' in wanted) expect(new Set(matcher as string[])).toEqual(new Set(wanted.matcher_set as string[]));
  },
  encode_event({ event, provider }, wanted) {
    const [native = null] = encodeEvent(String(event), target(String(provider)));
    if ('native' in wanted) expect(native).toBe(wanted.native);
    else expect(wanted.native_one_of).toContain(native);
  },
  decode_event({ native, provider }, wanted) {
    const there = target(String(provider));
    const split = decodeSplit(String(native), undefined, there);
    const event = split?.event ?? decodeEvent(String(native), there);
    if ('event' in wanted) expect(event).toBe(wanted.event);
    else expect(wanted.event_one_of).toContain(event);
    if ('matcher_one_of' in wanted) {
      const { elements = [] } = split ?? {};
      expect(wanted.matcher_one_of).toContainEqual(elements.length === 1 ? elements[0] : elements);
    }
  },
  infer_capabilities({ hook }, { includes, excludes }) {
    const found: string[] = capabilitiesOf(hook as Hook);
    expect(found).toEqual(expect.arrayContaining(includes as string[]));
    expect((excludes as string[]).filter(each => found.includes(each))).toEqual([]);
  },
  degrade({ hook, target: slug }, wanted) {
    const { hooks, losses } = fittedTo({ spec: 'hooks/0.1', hooks: [hook as Hook] }, target(String(slug)));
    expect(hooks[0]?.outcome ?? 'exclude').toBe(wanted.outcome);
    const wantedOnes = (wanted.warning_capabilities ??
      (wanted.warning_capability ? [wanted.warning_capability] : [])) as string[];
    for (const each of wantedOnes) expect(kinds(losses)).toContain(`capability:${each}`);
  },
  block_stub({ hook, target: slug }, { stub }) {
    const { hooks } = fittedTo({ spec: 'hooks/0.1', hooks: [hook as Hook] }, target(String(slug)));
    const command = hooks[0]?.hook.handler.command ?? '';
    const ran = spawnSync('sh', ['-c', command], { encoding: 'utf8' });
    expect(ran.status === 2 || ran.stdout.includes('"deny"') || ran.stdout.includes('"cancel":true')).toBe(true);
    expect(ran.stderr + ran.stdout).toContain((stub as Values).names_capability);
  },
  validate_for_target({ manifest, target: slug }, wanted) {
    const { isConvertible, losses, hooks } = fittedTo(manifest as Manifest, target(String(slug)));
    expect(isConvertible).toBe(wanted.convertible);
    expect(kinds(losses)).toEqual(expect.arrayContaining((wanted.warning_kinds ?? []) as string[]));
    for (const kind of (wanted.no_warning_kinds ?? []) as string[]) expect(kinds(losses)).not.toContain(kind);
    if (wanted.kept_hooks) expect(hooks.map(({ index }) => index + 1)).toEqual(wanted.kept_hooks);
  },
  convert({ manifest, target: slug, layout }, wanted) {
    const encoded = convertManifest(normalized(manifest as Values), target(String(slug), { layout: layout as string }));
    expect(nativeOf(encoded)).toEqual(wanted.native);
    expect(kinds(encoded.losses)).toEqual(expect.arrayContaining((wanted.warning_kinds ?? []) as string[]));
  },
  roundtrip({ provider, native }, wanted) {
    const there = target(String(provider));
    const decoded = decode(JSON.stringify(native), there.layout.file, there);
    if (!decoded.ok) throw new Error(decoded.why);
    const { hooks } = decoded.manifest;
    expect(bare(nativeOf(convertManifest(decoded.manifest, there)))).toEqual(bare(native));
    if (wanted.canonical_events) expect(hooks.map(({ event }) => event)).toEqual(wanted.canonical_events);
    if (wanted.canonical_matchers) expect(hooks.map(({ matcher }) => matcher)).toEqual(wanted.canonical_matchers);
    if (wanted.canonical_timeouts)
      expect(hooks.map(({ handler }) => handler.timeout)).toEqual(wanted.canonical_timeouts);
    if (wanted.canonical_platform)
      expect(hooks.map(({ handler }) => handler.platform)).toEqual(wanted.canonical_platform);
    const kept = hooks.flatMap(({ provider_data: data }) => Object.entries(data ?? {}));
    for (const [slug, keys] of Object.entries((wanted.provider_data_has ?? {}) as Record<string, string[]>))
      for (const key of keys)
        expect(
          kept.some(([name, data]) => name === slug && key in data),
          key,
        ).toBe(true);
  },
  verify({ manifest, target: slug, encoded }, { ok }) {
    const there = target(String(slug));
    const files = [{ path: there.layout.file, text: JSON.stringify(encoded) }];
    expect(verify(fittedTo(normalized(manifest as Values), there), files, there) === undefined).toBe(ok);
  },
  policy({ policy, hook, managed }, { result }) {
    expect(permissionOf(hook as Hook, policy as never, managed === true).isAllowed).toBe(result === 'allow');
  },
};

/** These vectors follow the older registry, with layouts that the products do not read. */
function published(): void {
  const all = readdirSync(vectorPath('upstream/hooks-0.1/'), { recursive: true, encoding: 'utf8' });
  const pairs = all.filter(
    path => /^[\w-]+\/[\w-]+\.json$/.test(path) && !/^(canonical|invalid)\/|roundtrip/.test(path),
  );

  it.each(pairs)('the manifest converts to %s', path => {
    const [slug = '', file = ''] = path.split('/');
    const there = target(slug, {
      registry: '2026.03',
      layout: ['gemini-cli', 'cursor'].includes(slug) ? 'published' : 'native',
    });
    const wanted = json(`upstream/hooks-0.1/${path}`) as { _warnings?: string[] };
    const encoded = convertManifest(normalized(json(`upstream/hooks-0.1/canonical/${file}`)), there);
    const isStub = file === 'degradation-input-rewrite.json';
    const shown = (value: unknown): unknown =>
      JSON.parse(JSON.stringify(bare(value)), (key, each) => (isStub && key === 'command' ? 'stub' : each));
    expect(shown(nativeOf(encoded))).toEqual(shown(wanted));
    for (const warning of wanted._warnings ?? []) expect(losesToo(encoded.losses, warning), warning).toBe(true);
  });

  it('the round trip ends where it began', () => {
    const there = target('claude-code', { registry: '2026.03' });
    const source = json('upstream/hooks-0.1/claude-code/roundtrip-source.json');
    const decoded = decode(JSON.stringify(source), 'settings.json', there);
    expect(decoded.ok && decoded.manifest).toEqual(
      bare(json('upstream/hooks-0.1/claude-code/roundtrip-canonical.json')),
    );
    expect(bare(nativeOf(convertManifest((decoded as { manifest: Manifest }).manifest, there)))).toEqual(bare(source));
  });

  it.each(all.filter(path => path.startsWith('invalid/') && path.endsWith('.json')))('%s is refused', path => {
    const report = judged(readFileSync(vectorPath(`upstream/hooks-0.1/${path}`), 'utf8'), path);
    expect(report.ok).toBe(false);
    const missing = /missing-(\w+)/.exec(path)?.[1];
    expect(report.findings.map(({ why }) => why).join()).toContain(missing);
  });

  it.each(['0.1', '1.0'])('manifests of %s are valid', version => {
    const folder = vectorPath(`upstream/hooks-${version}/canonical`);
    const reports = readdirSync(folder).map(name => judged(readFileSync(join(folder, name), 'utf8'), name));
    expect(reports.map(({ name, ok }) => [name, ok])).toEqual(reports.map(({ name }) => [name, true]));
  });

  it('files of other tools are read', () => {
    const read = (slug: string, file: string): readonly Hook[] => {
      const decoded = decode(
        readFileSync(vectorPath(`upstream/tool-fixtures/${slug}/${file}`), 'utf8'),
        file,
        target(slug),
      );
      if (!decoded.ok) throw new Error(decoded.why);
      return decoded.manifest.hooks;
    };
    const whole = read('windsurf', 'wildcard-expanded.json');
    expect(whole.map(({ event, matcher }) => [event, matcher])).toEqual([['before_tool_execute', undefined]]);
    expect(read('windsurf', 'simple.json').map(({ event, matcher }) => [event, matcher])).toEqual([
      ['before_tool_execute', 'shell'],
      ['after_tool_execute', 'shell'],
    ]);
    expect(read('factory-droid', 'all-events.json').map(({ event }) => event)).toHaveLength(9);
    expect(read('vs-code-copilot', 'custom-env.json')[0]?.handler.env).toEqual({ AUDIT_LOG: '/tmp/audit.log' });
  });
}

/** Our warnings have the substance of each published warning. */
function losesToo(losses: readonly Loss[], warning: string): boolean {
  const hook = Number(/^Hook (\d+)/.exec(warning)?.[1]);
  const ofHook = losses.filter(each => each.hook === hook);
  const about: readonly [RegExp, (loss: Loss) => boolean][] = [
    [
      /provider_data\.(\w+) ignored/,
      ({ field }) => field === `provider_data.${/provider_data\.(\w+)/.exec(warning)?.[1]}`,
    ],
    [/platform/, ({ kind }) => kind === 'capability:platform_commands'],
    [/'cwd'/, ({ kind }) => kind === 'capability:configurable_cwd'],
    // Both are converted there.
    [/working_directory/, ({ field }) => field === 'provider_data.windsurf.working_directory'],
    [/env field|'env'/, ({ kind }) => kind === 'capability:custom_env'],
    [/input_rewrite/, ({ kind, strategy }) => kind === 'capability:input_rewrite' && strategy === 'block'],
    [/structured_output|blocking field/, ({ kind }) => kind === 'capability:structured_output'],
    [/MCP matcher/, ({ kind }) => kind === 'matcher_not_honoured'],
    [/timeout/, ({ field }) => field === 'handler.timeout'],
    [/not supported by/, ({ kind }) => kind === 'event_unsupported'],
  ];
  const [, tells] = about.find(([pattern]) => pattern.test(warning)) ?? [];
  return tells !== undefined && ofHook.some(tells);
}

interface Registry {
  providers: string[];
  events: Record<string, { class: string; native: Record<string, string[]> }>;
  tools: Record<string, Record<string, string | { before_event: string; after_event: string }>>;
  mcp_name_formats: Record<string, string | null>;
  default_degradation: Record<string, string>;
  capabilities: Record<string, Record<string, { support: string }>>;
  blocking: Record<string, Record<string, string | null>>;
}

function registries(): void {
  it.each(registryVersions)('%s: every cell equals our table', (version: RegistryVersion) => {
    const registry = json(`registry/registry-${version}.json`) as unknown as Registry;
    expect(
      providers
        .filter(each => each.registry[version])
        .map(({ slug }) => slug)
        .sort(),
    ).toEqual([...registry.providers].sort());
    for (const [event, { class: kind }] of Object.entries(registry.events)) {
      expect(Object.hasOwn(coreEvents, event), event).toBe(kind === 'core');
      if (version === '2026.04') expect(Object.hasOwn(extendedEvents, event), event).toBe(kind === 'extended');
    }
    expect([...tools].sort()).toEqual(Object.keys(registry.tools).sort());
    for (const [capability, strategy] of Object.entries(registry.default_degradation))
      expect(capabilities[capability as keyof typeof capabilities].strategy).toBe(strategy);
    for (const slug of registry.providers) {
      const { facts, provider } = target(slug, { registry: version });
      const events = Object.entries(registry.events).flatMap(([event, { native }]) =>
        native[slug] ? [[event, native[slug]]] : [],
      );
      expect(facts.events, slug).toEqual(Object.fromEntries(events));
      for (const [tool, names] of Object.entries(registry.tools)) {
        const name = names[slug];
        if (typeof name === 'object') {
          expect(provider.split?.before_tool_execute?.tools[tool as 'shell']).toBe(name.before_event);
          expect(provider.split?.after_tool_execute?.tools[tool as 'shell']).toBe(name.after_event);
        } else expect(facts.tools[tool as 'shell'], `${slug} ${tool}`).toBe(name);
      }
      const form = registry.mcp_name_formats[slug] ?? undefined;
      expect(facts.mcp && `${facts.mcp.before}<server>${facts.mcp.between}<tool>`).toBe(form);
      for (const [capability, cells] of Object.entries(registry.capabilities))
        expect(words[facts.supports[capability as 'custom_env']], `${slug} ${capability}`).toBe(cells[slug]?.support);
      for (const [event, cells] of Object.entries(registry.blocking))
        expect(effectOf(event, facts.blocks), `${slug} ${event}`).toBe(cells[slug] ?? 'observe');
    }
  });

  it('every element that a provider names exists', () => {
    for (const provider of providers)
      for (const split of Object.values(provider.split ?? {}))
        expect(
          Object.keys(split.tools).filter(tool => elementsOf(tool)?.some(each => !tools.includes(each as 'shell'))),
        ).toEqual([]);
  });
}

const words = {
  yes: 'supported',
  partly: 'partial',
  no: 'unsupported',
  unsaid: 'undocumented',
  plugin: 'programmatic',
};
