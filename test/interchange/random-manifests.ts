/** Random manifests, and an independent reading of what a hook of a manifest does. */
import fc from 'fast-check';
import { providers } from '../../src/agents/interchange.ts';
import { convertManifest, decode } from '../../src/interchange/conversion.ts';
import type { Loss } from '../../src/interchange/losses.ts';
import { type Element, elementsOf, type Hook, type Manifest, SPEC } from '../../src/interchange/manifest.ts';
import { type Target, targetOf } from '../../src/interchange/provider.ts';
import { coreEvents, extendedEvents, isToolEvent, registryVersions, tools } from '../../src/interchange/vocabulary.ts';

/** Every provider in every layout, as today's product and by each registry. */
export const everyTarget: readonly (readonly [string, Target])[] = providers.flatMap(provider =>
  Object.keys(provider.layouts).flatMap(layout =>
    [undefined, ...registryVersions].flatMap(registry => {
      const target = targetOf(provider, { layout, registry, products: registry === undefined });
      return 'why' in target ? [] : [[`${provider.slug} ${layout} ${registry ?? 'product'}`, target] as const];
    }),
  ),
);

const servers = ['github', 'my-db'];
const element: fc.Arbitrary<Element> = fc.oneof(
  { weight: 5, arbitrary: fc.constantFrom(...tools) },
  {
    weight: 2,
    arbitrary: fc.record({
      mcp: fc.record({ server: fc.constantFrom(...servers), tool: fc.constantFrom('push', 'read') }),
    }),
  },
  { weight: 1, arbitrary: fc.record({ mcp: fc.record({ server: fc.constantFrom(...servers) }) }) },
  { weight: 1, arbitrary: fc.constant('browser_open') },
  { weight: 1, arbitrary: fc.constantFrom({ pattern: 'Web.*' }, { pattern: '^(a|b)$' }) },
);

const option = <T>(arbitrary: fc.Arbitrary<T>): fc.Arbitrary<T | undefined> => fc.option(arbitrary, { nil: undefined });
const names = [
  ...Object.keys(coreEvents),
  'before_tool_execute',
  'before_tool_execute',
  'after_tool_execute',
  ...Object.keys(extendedEvents),
];

const hook = fc.record({
  event: fc.constantFrom(...names, 'file_created', 'cwd_changed'),
  matcher: option(
    fc.oneof(element, fc.uniqueArray(element, { minLength: 1, maxLength: 4, selector: each => JSON.stringify(each) })),
  ),
  blocking: fc.boolean(),
  timeout: option(fc.constantFrom(1, 30, 1.5, 0.25)),
  timeout_action: option(fc.constantFrom('warn', 'block')),
  cwd: option(fc.constant('ops')),
  env: option(fc.constant({ A: '1' })),
  async: option(fc.boolean()),
  status_message: option(fc.constant('Looking')),
  platform: option(fc.constantFrom({ windows: 'w.ps1' }, { linux: 'l.sh', darwin: 'l.sh' }, { darwin: 'm.sh' })),
  variable: fc.boolean(),
  degradation: option(
    fc.dictionary(
      fc.constantFrom('input_rewrite', 'custom_env', 'async_execution'),
      fc.constantFrom('block', 'warn', 'exclude'),
      { minKeys: 1 },
    ),
  ),
  capabilities: option(fc.constantFrom(['input_rewrite'], ['structured_output'])),
  data: option(
    fc.constantFrom(
      { cursor: { failClosed: true } },
      { 'claude-code': { once: true, shell: 'bash' } },
      { 'gemini-cli': { sequential: true } },
    ),
  ),
});

/** A manifest whose hooks have commands of their own, so that each one is found again. */
export const manifests: fc.Arbitrary<Manifest> = fc.array(hook, { minLength: 1, maxLength: 6 }).map(hooks => ({
  spec: SPEC,
  hooks: hooks.map((each, i): Hook => {
    const { event, matcher, blocking, variable, degradation, capabilities, data, platform, ...more } = each;
    const named =
      platform && Object.fromEntries(Object.entries(platform).map(([key, text]) => [key, `hook${i}-${text}`]));
    const command = `hook${i}-end${variable ? ' "$CLAUDE_PROJECT_DIR"' : ''}`;
    const handler = { type: 'command', command, ...more, platform: named };
    return JSON.parse(
      JSON.stringify({ event, matcher, blocking, handler, degradation, capabilities, provider_data: data }),
    );
  }),
}));

/** What a hook can run for. Native names that only a pattern reaches are not among them. */
const probes: readonly Element[] = [
  ...tools,
  'browser_open',
  ...servers.flatMap(server => ['push', 'read'].map(tool => ({ mcp: { server, tool } }))),
];

function runsFor(hook: Hook, probe: Element): boolean {
  const elements = isToolEvent(hook.event) ? elementsOf(hook.matcher) : undefined;
  return (
    elements?.some(each => {
      if (each === 'mcp') return typeof probe === 'object';
      if (typeof each === 'string' || typeof probe === 'string' || 'pattern' in each || 'pattern' in probe)
        return each === probe;
      return each.mcp.server === probe.mcp.server && (each.mcp.tool === undefined || each.mcp.tool === probe.mcp.tool);
    }) ?? true
  );
}

/** Returns the refusals without a reason, and the differences between manifest and files that no loss tells. */
export function faultsOf(manifest: Manifest, target: Target): string[] {
  const encoded = convertManifest(manifest, target);
  const lossesOf = (index: number): Loss[] => encoded.losses.filter(({ hook }) => hook === index + 1);
  if (!encoded.ok && encoded.fit.hooks.length > 0) return [`refused: ${encoded.why}`];
  const read: { hook: Hook; native: string[] }[] = [];
  const order = new Map<string, number[]>();
  for (const file of encoded.ok ? encoded.files : []) {
    const decoded = decode(file.text, file.path, target);
    if (!decoded.ok) return [`unreadable: ${decoded.why}`];
    read.push(...decoded.manifest.hooks.map(hook => ({ hook, native: [] })));
    const entries = target.layout.read(file.text, file.path);
    for (const { event, handler } of entries.ok ? entries.entries : []) {
      const index = Number(/hook(\d)-/.exec(JSON.stringify(handler))?.[1] ?? -1);
      order.set(event, [...(order.get(event) ?? []), index]);
    }
  }
  const faults = [...order].flatMap(([event, indexes]) =>
    indexes.every((index, i) => i === 0 || (indexes[i - 1] ?? 0) <= index)
      ? []
      : [`the hooks of ${event} are in another order`],
  );
  for (const [index, given] of manifest.hooks.entries()) {
    const found = read
      .filter(({ hook }) => JSON.stringify(hook.handler).includes(`hook${index}-`))
      .map(({ hook }) => hook);
    faults.push(
      ...hookFaults(
        given,
        found,
        lossesOf(index),
        target,
        encoded.fit.hooks.find(each => each.index === index)?.outcome,
      ).map(each => `hook ${index + 1}: ${each}`),
    );
  }
  return faults;
}

function hookFaults(
  given: Hook,
  found: readonly Hook[],
  losses: readonly Loss[],
  target: Target,
  outcome: string | undefined,
): string[] {
  const faults: string[] = [];
  const isTold = (severity: 'error' | 'warning' | 'info', ...about: string[]): boolean =>
    losses.some(
      loss =>
        ranks.indexOf(loss.severity) >= ranks.indexOf(severity) &&
        (about.length === 0 ||
          about.some(each => [loss.kind, loss.field, loss.capability].some(text => text?.startsWith(each)))),
    );
  const guards = given.blocking === true ? 'error' : 'warning';
  if (found.length === 0) return isTold(guards) ? [] : ['it is left out'];
  if (outcome === 'block') return isTold('warning', 'capability') ? [] : ['it is replaced'];
  if (found.some(({ event }) => event !== given.event) && !isTold('warning', 'timing_shift')) {
    // Two registries have different names for one event.
    const isAlias = found.every(({ event }) => [given.event, event].every(each => /^file_(saved|changed)$/.test(each)));
    const isSameNative =
      isAlias ||
      target.facts.events[given.event]?.some(native =>
        found.every(({ event }) => target.facts.events[event]?.includes(native)),
      );
    if (!isSameNative) faults.push(`its event is ${found.map(({ event }) => event).join()}`);
  }
  if (!(elementsOf(given.matcher) ?? []).some(each => typeof each === 'object' && 'pattern' in each)) {
    for (const probe of isToolEvent(given.event) ? probes : []) {
      const [wanted, got] = [runsFor(given, probe), found.some(each => runsFor(each, probe))];
      if (wanted && !got && !isTold(guards, ...matcherKinds))
        faults.push(`it does not run for ${JSON.stringify(probe)}`);
      if (!wanted && got && !isTold('warning', ...matcherKinds))
        faults.push(`it runs for ${JSON.stringify(probe)}, too`);
    }
  }
  const [first] = found;
  faults.push(...fieldFaults(given, first, isTold));
  if (given.blocking === true && !isTold('error', 'blocking_not_honoured', 'timing_shift')) {
    const effect = target.facts.blocks[given.event] ?? 'observe';
    if (effect === 'observe') faults.push('it can only observe');
    if (first?.handler.async === true) faults.push('it is not waited for');
  }
  return faults;
}

const ranks = ['info', 'warning', 'error'];
const matcherKinds = [
  'matcher_not_honoured',
  'tool_unsupported',
  'unknown_matcher_name',
  'semantic_approximation',
  'timing_shift',
];

/** The fields of a handler, each with the words of the losses that may tell of it. */
const fields: Readonly<Record<string, string[]>> = {
  timeout: ['handler.timeout'],
  cwd: ['capability:configurable_cwd'],
  env: ['capability:custom_env'],
  async: ['capability:async_execution'],
  status_message: ['handler.status_message'],
  platform: ['capability:platform_commands', 'handler.platform'],
};

function fieldFaults(
  given: Hook,
  found: Hook | undefined,
  isTold: (severity: 'info' | 'warning', ...about: string[]) => boolean,
): string[] {
  const faults: string[] = [];
  const { handler } = given;
  const kept = found?.handler;
  for (const [field, about] of Object.entries(fields)) {
    const isFalse = field === 'async' && handler.async !== true;
    if (handler[field] === undefined || isFalse || JSON.stringify(handler[field]) === JSON.stringify(kept?.[field]))
      continue;
    // One command for all systems but Windows is the general command.
    const { platform = {} } = handler;
    if (field === 'platform' && platform.linux !== undefined && kept?.command === platform.linux) continue;
    if (!isTold(field === 'status_message' ? 'info' : 'warning', ...about))
      faults.push(`${field} is ${JSON.stringify(kept?.[field])}`);
  }
  if (handler.timeout_action === 'block' && !isTold('warning', 'handler.timeout_action'))
    faults.push('timeout_action is gone');
  if (handler.command?.includes('$CLAUDE') && !kept?.command?.includes('$CLAUDE') && !isTold('info', 'handler.command'))
    faults.push('its variable is another one');
  for (const [slug, data] of Object.entries(given.provider_data ?? {}))
    if (!found?.provider_data?.[slug])
      for (const key of Object.keys(data))
        if (!isTold('warning', `provider_data.${slug}.${key}`)) faults.push(`provider_data.${slug}.${key} is gone`);
  return faults;
}
