/** What the levels Core, Extended and Full of the format ask for, each shown with every provider that has it. */
import { describe, expect, it } from 'vitest';
import { providers } from '../../src/agents/interchange.ts';
import { known } from '../../src/commands/interchange.ts';
import { convertManifest, decode } from '../../src/interchange/conversion.ts';
import { capabilitiesOf } from '../../src/interchange/hook-capabilities.ts';
import { elementsOf, type Hook, type Matcher, normalized } from '../../src/interchange/manifest.ts';
import { hookInterchange } from '../../src/interchange/manifest-validator.ts';
import { type Target, targetOf } from '../../src/interchange/provider.ts';
import { jsonText, readSource, yamlText } from '../../src/interchange/source.ts';
import {
  capabilityNames,
  coreEvents,
  extendedEvents,
  type RegistryVersion,
  registryVersions,
  tools,
} from '../../src/interchange/vocabulary.ts';
import { guard, manifestOf } from './targets.ts';

/** Every provider in its own layout, by each registry that has it and as today's product. */
const targets = [...registryVersions, undefined].flatMap(registry =>
  providers.flatMap((provider): [string, Target][] => {
    const found = targetOf(provider, { registry, products: registry === undefined });
    return 'why' in found ? [] : [[`${provider.slug} ${registry ?? 'product'}`, found]];
  }),
);

/** The hook after it was written for a target and read again; `undefined` if the target cannot hold it. */
function again(hook: Hook, target: Target): Hook | undefined {
  const encoded = convertManifest(manifestOf(hook), target);
  if (!encoded.ok) return undefined;
  const [file] = encoded.files;
  const read = decode(file?.text ?? '', file?.path ?? '', target);
  return read.ok ? read.manifest.hooks[0] : undefined;
}

const set = (matcher: Matcher | undefined): Set<string> =>
  new Set(elementsOf(matcher)?.map(each => JSON.stringify(each)));
const hasMatchers = ({ layout, provider }: Target): boolean =>
  layout.matching.how === 'expression' && provider.split === undefined;

describe('Core', () => {
  it.each(targets)('the core events of %s come back', (_, target) => {
    for (const event of Object.keys(coreEvents)) {
      const natives = target.facts.events[event] ?? [];
      const read = again({ event, handler: { type: 'command', command: 'x' } }, target);
      if (natives.length === 0) expect(read).toBeUndefined();
      else expect(natives).toEqual(expect.arrayContaining([...(target.facts.events[read?.event ?? ''] ?? [])]));
    }
  });

  it.each(targets.filter(([, target]) => hasMatchers(target)))('the tools of %s come back', (_, target) => {
    for (const tool of tools) {
      const read = again(guard('x', { matcher: tool }), target);
      if (target.facts.tools[tool] === undefined) expect(read).toBeUndefined();
      else expect(set(read?.matcher)).toContain(JSON.stringify(tool));
    }
  });

  it('unknown fields are ignored, in JSON and in YAML', () => {
    const odd = {
      spec: 'hooks/0.1',
      new: 1,
      hooks: [{ ...guard('x'), new: 2, handler: { type: 'command', command: 'x', new: 3 } }],
    };
    for (const [text, name] of [
      [jsonText(odd), 'x.json'],
      [yamlText(odd), 'x.yaml'],
    ] as const) {
      const validation = hookInterchange.validation(name, { interchange: known });
      validation.write(text);
      expect(validation.end().ok).toBe(true);
      const source = readSource(text, name);
      expect(source.ok && normalized(source.value as Record<string, unknown>)).toEqual(odd);
    }
  });
});

describe('Extended', () => {
  const mcp = { mcp: { server: 'github', tool: 'push' } };
  const matchers: Matcher[] = [mcp, { mcp: { server: 'github' } }, ['shell', mcp], { pattern: '^(Web|web).*$' }];

  it.each(targets.filter(([, target]) => hasMatchers(target) && target.facts.mcp !== undefined))(
    'patterns, MCP tools and arrays of %s come back',
    (_, target) => {
      for (const matcher of matchers)
        expect(set(again(guard('x', { matcher }), target)?.matcher)).toEqual(set(matcher));
    },
  );

  it.each(targets)('the extended events of %s come back', (_, target) => {
    for (const event of Object.keys(extendedEvents).filter(each => (target.facts.events[each] ?? []).length > 0)) {
      const read = again({ event, handler: { type: 'command', command: 'x' } }, target);
      expect(target.facts.events[read?.event ?? '']).toEqual(expect.arrayContaining([target.facts.events[event]?.[0]]));
    }
  });
});

describe('Full', () => {
  it('infers all eight capabilities', () => {
    const handler = { type: 'command', command: 'x', async: true, platform: {}, env: {}, cwd: 'a' };
    const found = [
      ...capabilitiesOf(guard('x', { handler, capabilities: ['input_rewrite'] })),
      ...capabilitiesOf(guard('x', { handler: { type: 'http', url: 'https://h.example' } })),
      ...capabilitiesOf(guard('x', { handler: { type: 'prompt', prompt: 'p' } })),
    ];
    expect(new Set(found)).toEqual(new Set(capabilityNames));
  });

  it.each(targets)('every event of %s is restored, those of one provider too', (name, target) => {
    const registry = name.split(' ')[1] as RegistryVersion | 'product';
    const { fields } = target.layout;
    for (const native of Object.values(target.facts.events).flat()) {
      const handler = { ...(fields.type ? { type: 'command' } : {}), [fields.command]: 'x', x_more: 1 };
      const [file] = target.layout.write([{ event: native, handler, blocking: false }], {});
      const read = decode(file?.text ?? '', file?.path ?? '', target);
      const written = read.ok ? convertManifest(read.manifest, target) : undefined;
      expect([registry, native, written?.ok && written.files.map(({ text }) => text)]).toEqual([
        registry,
        native,
        [file?.text],
      ]);
    }
  });
});
