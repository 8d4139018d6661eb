import { execFileSync, spawnSync } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import fc from 'fast-check';
import { afterAll, describe, expect, it } from 'vitest';
import { isAbsent } from '../../src/agents/contract/contract.ts';
import { agents } from '../../src/agents/index.ts';
import { interchanges, providers } from '../../src/agents/interchange.ts';
import { known } from '../../src/commands/interchange.ts';
import { convertManifest, decode, type Encoded } from '../../src/interchange/conversion.ts';
import type { Loss } from '../../src/interchange/losses.ts';
import { type Hook, type Manifest, normalized, SPEC } from '../../src/interchange/manifest.ts';
import { hookInterchange } from '../../src/interchange/manifest-validator.ts';
import { outcomeOf } from '../../src/interchange/outcome.ts';
import { type Policy, permissionOf } from '../../src/interchange/policy.ts';
import { type Target, targetOf } from '../../src/interchange/provider.ts';
import { rules } from '../../src/interchange/rules.ts';
import { jsonText, readSource, yamlText } from '../../src/interchange/source.ts';
import { coreEvents, extendedEvents, registryVersions, tools } from '../../src/interchange/vocabulary.ts';
import type { Report } from '../../src/standards/validation.ts';

const targets = new Map<string, Target>(
  providers.flatMap(provider =>
    registryVersions.flatMap(registry =>
      Object.keys(provider.layouts).flatMap(layout =>
        [false, true].flatMap(products => {
          const found = targetOf(provider, { registry, layout, products });
          return 'why' in found
            ? []
            : [[`${provider.slug} ${registry} ${layout}${products ? ' products' : ''}`, found] as const];
        }),
      ),
    ),
  ),
);
const someTarget = fc.constantFrom(...targets.keys());
const target = (name: string): Target => {
  const found = targets.get(name);
  if (found === undefined) throw new Error(`no target ${name}`);
  return found;
};

const oddText = fc.oneof(
  fc.string(),
  fc.constantFrom("it's", '$(x)', '`x`', 'a\nb', '"', '\\', './a.sh', '*/', '\u2028'),
);
const element = fc.oneof(
  fc.constantFrom(...tools),
  fc.constantFrom('mcp', 'browser_open', 'a.b-c', '', 'x|y', 'a(b', '^a$', '\\', '*', '@a/b', 'mcp__a__b', 'Bash'),
  fc.record({
    pattern: fc.constantFrom(
      'Web.*',
      '(?i)bash|zsh',
      '^a(b|c)$',
      'x|y',
      '',
      '.*',
      'Bash',
      '^Bash$',
      '\\|',
      'mcp__a__.*',
      '[|]',
    ),
  }),
  fc.record({
    mcp: fc.record({
      server: fc.constantFrom('github', 'my-db', 'a_b', 'a b', 'é.(x)|y'),
      tool: fc.option(fc.constantFrom('x', 'y__z', '$1 *'), { nil: undefined }),
    }),
  }),
);
const events = [
  ...new Set([...Object.keys(coreEvents), ...Object.keys(extendedEvents), ...known.events, 'nobody_knows']),
];
const texts = fc.dictionary(fc.constantFrom('windows', 'linux', 'darwin', 'A'), oddText);
const handler = fc.oneof(
  fc.record(
    {
      type: fc.constant('command'),
      command: oddText.map(text => text || 'x'),
      platform: texts,
      cwd: oddText,
      env: texts,
      timeout: fc.oneof(fc.integer({ min: 0, max: 600 }), fc.constantFrom(0.25, 1.5, 1e-9, 2.0004)),
      timeout_action: fc.constantFrom('warn', 'block'),
      async: fc.boolean(),
      status_message: oddText,
      x_more: fc.jsonValue(),
    },
    { requiredKeys: ['type', 'command'] },
  ),
  fc.record(
    {
      type: fc.constant('http'),
      url: fc.constantFrom('https://h.example.test/x', 'http://h.example.test', "https://h/'"),
      headers: texts,
    },
    { requiredKeys: ['type', 'url'] },
  ),
  fc.record({ type: fc.constantFrom('prompt', 'agent', 'strange'), prompt: oddText }),
);
const hook = fc.record(
  {
    name: oddText,
    event: fc.constantFrom(...events),
    matcher: fc.oneof(element, fc.array(element, { maxLength: 4 })),
    handler,
    blocking: fc.boolean(),
    degradation: fc.dictionary(
      fc.constantFrom('input_rewrite', 'custom_env', 'http_handler', 'other'),
      fc.constantFrom('block', 'warn', 'exclude'),
    ),
    capabilities: fc.subarray(['input_rewrite', 'structured_output']),
    provider_data: fc.dictionary(
      fc.constantFrom(...providers.map(({ slug }) => slug)),
      fc.dictionary(
        fc.constantFrom(
          'event',
          'matcher',
          'type',
          'only',
          'group',
          'file',
          'show_output',
          'command',
          'constructor',
          '__proto__',
        ),
        fc.jsonValue({ maxDepth: 1 }),
      ),
    ),
  },
  { requiredKeys: ['event', 'handler'] },
) as unknown as fc.Arbitrary<Hook>;
const manifests: fc.Arbitrary<Manifest> = fc
  .array(hook, { minLength: 1, maxLength: 4 })
  // The value as a file contains it: without -0 and without undefined.
  .map(hooks => JSON.parse(JSON.stringify({ spec: SPEC, hooks })));

const folder = new URL('interchange/', import.meta.url);
const golden = new URL('findings.txt', folder);
const files = readdirSync(folder);
const text = (name: string): string => readFileSync(new URL(name, folder), 'utf8');
const manifestOf = (name: string): Manifest => {
  const source = readSource(text(name), name);
  if (!source.ok) throw new Error(source.errors[0]?.why);
  return normalized(source.value as Record<string, unknown>);
};

const judged = (manifest: string, name: string): Report => {
  const validation = hookInterchange.validation(name, { interchange: known });
  validation.write(manifest);
  return validation.end();
};

// Each sample has its findings in `findings.txt`, for readers. `UPDATE=1` rewrites them.
describe('samples', () => {
  // A formatter would change these files.
  const broken = [
    judged('{ "spec": "hooks/0.1",\n', 'cut.json'),
    judged('{ "spec": "hooks/0.1", "spec": "hooks/1.0", "hooks": [] }', 'twice.json'),
  ];
  const whole = files.filter(name => /\.(json|yaml)$/.test(name)).map(name => judged(text(name), name));
  const reports = [...whole, ...broken];

  it('have the expected findings', () => {
    const found = reports.map(printed).join('\n');
    if (process.env.UPDATE) writeFileSync(golden, found);
    expect(found).toBe(readFileSync(golden, 'utf8'));
  });

  it('cover every rule except the common rules for texts', () => {
    const named = new Set(reports.flatMap(({ findings }) => findings.map(({ rule }) => rule)));
    expect(Object.keys(rules).filter(rule => !named.has(rule))).toEqual([
      'json/bom',
      'limit/depth',
      'limit/size',
      'stream/empty',
    ]);
  });

  it('are the same in JSON and in YAML', () => {
    const manifest = manifestOf('every-field.yaml');
    expect(manifest.hooks[0]?.handler.env).toEqual({ MODE: 'on', COUNTRY: 'no' });
    for (const [message, name] of [
      [jsonText(manifest), 'x.json'],
      [yamlText(manifest), 'x.yaml'],
      [yamlText(manifest), 'standard input'],
    ] as const) {
      const source = readSource(message, name);
      expect(source.ok && normalized(source.value as Record<string, unknown>)).toEqual(manifest);
      expect(judged(message, name).ok).toBe(true);
    }
  });
});

// A file of a provider, its manifest, and its form for other providers. `UPDATE=1` rewrites the rest.
describe('native files', () => {
  it.each(files.filter(name => name.endsWith('.case')))('%s', name => {
    const [sample = ''] = text(name).split(/^---- /m);
    const [, slug = '', path = '', native = ''] = /^#.*\n(\S+) (\S+)\n([\s\S]*)$/.exec(sample) ?? [];
    const layouts = Object.keys(providers.find(each => each.slug === slug)?.layouts ?? {});
    const read = layouts
      .map(layout => ({ layout, decoded: decode(native, path, target(`${slug} 2026.04 ${layout}`)) }))
      .find(({ decoded }) => decoded.ok);
    if (!read?.decoded.ok) throw new Error(JSON.stringify(read));
    const { manifest, losses } = read.decoded;
    const parts = [sample, `hook-interchange\n${jsonText(manifest)}`, `losses\n${losses.map(line).join('')}`];
    const again = convertManifest(manifest, target(`${slug} 2026.04 ${read.layout}`));
    parts.push(`${slug} again\n${shownFiles(again)}`);
    for (const other of ['claude-code', 'cursor'].filter(each => each !== slug)) {
      const encoded = convertManifest(manifest, target(`${other} 2026.04 native`));
      parts.push(`${other}\n${shownFiles(encoded)}`, `losses\n${encoded.losses.map(line).join('')}`);
    }
    const whole = parts.join('---- ');
    if (process.env.UPDATE) writeFileSync(new URL(name, folder), whole);
    expect(whole).toBe(text(name));
  });
});

const asItWas = text('as-it-was.jsonl')
  .trim()
  .split('\n')
  .flatMap(each => Object.entries(JSON.parse(each) as Record<string, unknown>));

it.each(asItWas)('a file of %s is restored unchanged', (slug, native) => {
  for (const name of [`${slug} 2026.04 native`, `${slug} 2026.04 native products`]) {
    const there = target(name);
    const read = decode(JSON.stringify(native), there.layout.file, there);
    const again = read.ok ? convertManifest(read.manifest, there) : undefined;
    expect(again?.ok && JSON.parse(again.files[0]?.text ?? '')).toEqual(native);
  }
});

// One manifest for every provider.
it('every-field.txt shows the conversion of every field', () => {
  const manifest = manifestOf('every-field.yaml');
  const parts = [...targets]
    .filter(([name]) => name.includes('2026.04') && !name.includes('products'))
    .map(([name, there]) => {
      const encoded = convertManifest(manifest, there);
      return `==== ${name}\n${shownFiles(encoded)}${encoded.losses.map(line).join('')}`;
    });
  const file = new URL('every-field.txt', folder);
  if (process.env.UPDATE) writeFileSync(file, parts.join('\n'));
  expect(parts.join('\n')).toBe(readFileSync(file, 'utf8'));
});

const line = ({ hook: at = 0, severity, kind, message }: Loss): string => `${at} ${severity} ${kind}: ${message}\n`;

function shownFiles(encoded: Encoded): string {
  if (!encoded.ok) return `${encoded.why}\n`;
  // The plugin's own program is tested below; this test uses its source.
  return encoded.files
    .map(({ path, text: written }) => `${path}\n${written.replace(/^const DEFAULT_TIMEOUT_S[\s\S]*/m, '')}`)
    .join('');
}

function printed({ name, ok, errors, warnings, notes, findings }: Report): string {
  const head = `${name}: ${ok ? 'ok' : 'not ok'}, ${errors} errors, ${warnings} warnings, ${notes} notes`;
  const lines = findings.map(
    ({ level, line: at, column, rule, field, why }) => `  ${level} ${at}:${column} ${rule} ${field || '(all)'} ${why}`,
  );
  return `${[head, ...lines].join('\n')}\n`;
}

describe('patterns', () => {
  const rulesOf = (pattern: string) =>
    judged(
      JSON.stringify({
        spec: SPEC,
        hooks: [{ event: 'before_tool_execute', matcher: { pattern }, handler: { type: 'command', command: 'x' } }],
      }),
      'x.json',
    ).findings.map(({ rule }) => rule);

  it.each(['(?=x)', '(?!x)', '(?<=x)', '(?<!x)', '(a)\\1', '\\k<n>', '(?>a)', 'a++', 'a{1001}', '('])(
    '%s is not a pattern of RE2',
    pattern => {
      expect(rulesOf(pattern)).toEqual(['matcher/pattern']);
    },
  );

  it.each(['a{1000}', '(?P<n>x)', '(?i)x', '(?s).', '\\Ax\\z', '\\Qa.b\\E', '\\pL', '[[:alpha:]]', 'a*?'])(
    '%s is one',
    pattern => {
      expect(rulesOf(pattern)).toEqual([]);
    },
  );
});

it.each(agents.map(({ id }) => id))('%s has at least one provider, or the reason why it has none', id => {
  const known = interchanges[id];
  if (isAbsent(known)) expect(known.absent.length).toBeGreaterThan(10);
  else expect(known?.length).toBeGreaterThan(0);
});

describe('commands that replace a hook', () => {
  const place = mkdtempSync(join(tmpdir(), 'otel-hooks-interchange-'));
  afterAll(() => rmSync(place, { recursive: true, force: true }));
  const ran = (file: string): boolean => readdirSync(place).includes(file);
  const torture = `touch ran; echo 'it'"'"'s' "$(touch ran)" \`touch ran\`\ntouch ran # \\ "`;

  it.each([...targets].filter(([name]) => /2026\.04 (native|v1)$/.test(name)))(
    'blocks at %s with any output',
    (_, there) => {
      const rewriter: Hook = {
        event: 'before_tool_execute',
        matcher: 'shell',
        blocking: true,
        handler: { type: 'command', command: torture, timeout: 5 },
        degradation: { input_rewrite: 'block', structured_output: 'block', custom_env: 'block', http_handler: 'block' },
        capabilities: ['input_rewrite'],
      };
      // A platform that can rewrite cannot do this.
      const hooks = [rewriter, { ...rewriter, handler: { ...rewriter.handler, env: { A: '1' } } }];
      const encoded = convertManifest({ spec: SPEC, hooks }, there);
      const stub = encoded.fit.hooks.find(({ outcome }) => outcome === 'block')?.hook.handler;
      if (there.facts.supports.custom_env === 'yes' && there.facts.supports.input_rewrite === 'yes')
        return expect(stub).toBeUndefined();
      const [file] = encoded.ok ? encoded.files : [];
      if (file?.isExecutable) {
        const answer = JSON.parse(execFileSync('sh', ['-c', file.text], { cwd: place, input: '{}', encoding: 'utf8' }));
        expect(answer.cancel).toBe(true);
        expect(answer.errorMessage).toContain('input_rewrite');
      } else {
        const { status, stdout, stderr } = spawnSync('sh', ['-c', stub?.command ?? ''], {
          cwd: place,
          encoding: 'utf8',
        });
        if (status === 0) expect(JSON.parse(stdout)).toMatchObject({ permissionDecision: 'deny' });
        else expect(status).toBe(2);
        expect(stdout + stderr).toMatch(/BLOCKED.*(input_rewrite|custom_env)/);
        expect(stdout + stderr).toContain('touch ran');
      }
      expect(ran('ran')).toBe(false);
    },
  );

  it('makes the request that a handler would have made, with the variables that it names', () => {
    const http: Hook = {
      event: 'session_start',
      handler: {
        type: 'http',
        url: "https://h.example/it's?a=$HOME",
        headers: { Authorization: 'Bearer $TOKEN $OTHER `x`' },
        allowed_env_vars: ['TOKEN'],
        timeout: 1.2,
      },
    };
    const encoded = convertManifest({ spec: SPEC, hooks: [http] }, target('codex 2026.04 native'));
    writeFileSync(join(place, 'curl'), '#!/bin/sh\nprintf "%s\\n" "$@"\n', { mode: 0o755 });
    const command = encoded.fit.hooks[0]?.hook.handler.command ?? '';
    const env = { PATH: `${place}:${process.env.PATH}`, TOKEN: 'a b', OTHER: 'secret' };
    expect(execFileSync('sh', ['-c', command], { env, encoding: 'utf8' }).split('\n')).toEqual([
      ...['-fsS', '--max-time', '2', '-H', 'Content-Type: application/json'],
      ...['-H', 'Authorization: Bearer a b $OTHER `x`', '--data-binary', '@-', "https://h.example/it's?a=$HOME", ''],
    ]);
  });

  it('turns exit code 2 into an error on request', () => {
    const provider = target('claude-code 2026.04 native').provider;
    const soft = targetOf(provider, { softens: true }) as Target;
    const hooks: Hook[] = ['exit 2', 'exit 3', "echo 'a b'"].map(command => ({
      event: 'before_tool_execute',
      handler: { type: 'command', command },
    }));
    const encoded = convertManifest({ spec: SPEC, hooks }, soft);
    const codes = encoded.fit.hooks.map(
      ({
        hook: {
          handler: { command = '' },
        },
      }) => spawnSync('sh', ['-c', command], { encoding: 'utf8' }),
    );
    expect(codes.map(({ status, stdout }) => [status, stdout])).toEqual([
      [1, ''],
      [3, ''],
      [0, 'a b\n'],
    ]);
  });

  it('runs the hooks of a plugin and applies their denials and rewritten inputs', async () => {
    const say = (answer: object): string => `printf '%s' '${JSON.stringify(answer)}'`;
    const of = (tool: string, command: string, blocking = false): Hook => ({
      event: 'before_tool_execute',
      matcher: tool,
      handler: { type: 'command', command },
      blocking,
    });
    const hooks = [
      of('shell', 'echo no >&2; exit 2', true),
      of('file_read', 'exit 2'),
      of('file_write', say({ updated_input: { path: 'b' } })),
      of('file_edit', say({ decision: 'deny', reason: 'never' })),
      of('search', 'cat > seen', true),
    ];
    const encoded = convertManifest({ spec: SPEC, hooks }, target('opencode 2026.04 native'));
    const file = join(place, 'hooks.mjs');
    writeFileSync(file, encoded.ok ? (encoded.files[0]?.text ?? '') : '');
    const { default: plugin } = await import(pathToFileURL(file).href);
    const { 'tool.execute.before': ask } = await plugin({ directory: place });
    const output = { args: { path: 'a', keep: 1 } };
    await expect(ask({ tool: 'bash' }, output)).rejects.toThrow('no');
    await expect(ask({ tool: 'edit' }, output)).rejects.toThrow('never');
    await ask({ tool: 'read' }, output);
    expect(output.args).toEqual({ path: 'a', keep: 1 });
    await ask({ tool: 'write' }, output);
    expect(output.args).toEqual({ path: 'b', keep: 1 });
    await ask({ tool: 'grep', sessionID: 's' }, output);
    expect(JSON.parse(readFileSync(join(place, 'seen'), 'utf8'))).toMatchObject({
      tool: 'grep',
      sessionID: 's',
      tool_input: { path: 'b' },
    });
  });
});

describe('outcome', () => {
  const of = (exitCode: number, stdout: object | string, more: object = {}) =>
    outcomeOf({
      blocking: true,
      exitCode,
      stdout: typeof stdout === 'string' ? stdout : JSON.stringify(stdout),
      interactive: true,
      ...more,
    }).result;

  it('follows from exit code and answer, in this order', () => {
    expect([of(0, ''), of(0, ' \n'), of(0, {}), of(0, { decision: 'allow' })]).toEqual(Array(4).fill('allow'));
    expect([
      of(2, { decision: 'allow' }),
      of(0, { decision: 'deny' }),
      of(0, { decision: 'deny' }, { blocking: false }),
    ]).toEqual(Array(3).fill('block'));
    expect([
      of(1, { decision: 'deny' }),
      of(137, ''),
      of(2, '', { blocking: false }),
      of(0, 'fine'),
      of(0, '[]'),
      of(0, { decision: 'perhaps' }),
    ]).toEqual(Array(6).fill('warn_allow'));
    expect([of(0, { decision: 'ask' }), of(0, { decision: 'ask' }, { interactive: false })]).toEqual(['ask', 'block']);
    expect([of(0, '', { timedOut: true }), of(0, '', { timedOut: true, timeoutAction: 'block' })]).toEqual([
      'warn_allow',
      'block',
    ]);
  });

  it('returns the rest of the answer', () => {
    const answer = {
      continue: false,
      reason: 'r',
      context: 'c',
      updated_input: { a: 1 },
      suppress_output: true,
      system_message: 's',
    };
    expect(outcomeOf({ blocking: false, exitCode: 0, stdout: JSON.stringify(answer) })).toEqual({
      ...{ result: 'allow', continue: false, reason: 'r', context: 'c' },
      ...{ updatedInput: { a: 1 }, suppressOutput: true, systemMessage: 's' },
    });
  });
});

it('a policy ends at the first denial', () => {
  const one: Hook = { event: 'before_prompt', handler: { type: 'command', command: 'x', env: {} } };
  const why = (policy: Policy, isManaged = false) => permissionOf(one, policy, isManaged).why;
  expect(why({})).toBeUndefined();
  expect(why({ disable_all_hooks: true }, true)).toBe('disable_all_hooks');
  expect([why({ allow_managed_only: true }), why({ allow_managed_only: true }, true)]).toEqual([
    'allow_managed_only',
    undefined,
  ]);
  expect(why({ event_restrictions: { before_prompt: 'managed_only' } })).toBe('event_restrictions.before_prompt');
  expect(why({ capability_restrictions: { custom_env: 'deny', async_execution: 'deny' } }, true)).toBe(
    'capability_restrictions.custom_env',
  );
});

describe('every manifest gives a report', () => {
  it('a native file is read as the intended hooks, and written again without a change', () => {
    fc.assert(
      fc.property(manifests, someTarget, (manifest, name) => {
        const there = target(name);
        const encoded = convertManifest(manifest, there);
        if (!encoded.ok) {
          expect(encoded.why).toContain('supports none of its hooks');
          return;
        }
        for (const file of encoded.files) {
          const read = decode(file.text, file.path, there);
          expect(read.ok).toBe(true);
          if (!read.ok) continue;
          const again = convertManifest(read.manifest, there);
          expect(again.ok && again.files.map(each => canonicalText(each.text))).toEqual([canonicalText(file.text)]);
        }
      }),
      runs(300),
    );
  });

  it('each hook or field that is not carried over is a loss', () => {
    fc.assert(
      fc.property(manifests, someTarget, (manifest, name) => {
        const { fit, losses } = convertManifest(manifest, target(name));
        for (const [index, given] of manifest.hooks.entries()) {
          const ofHook = losses.filter(loss => loss.hook === index + 1);
          const carried = fit.hooks.find(each => each.index === index);
          const is = (about: string) =>
            ofHook.some(
              ({ kind, field, capability }) => kind === about || field?.startsWith(about) || capability === about,
            );
          if (carried === undefined) expect(ofHook.some(({ severity }) => severity !== 'info')).toBe(true);
          if (carried?.outcome !== 'keep' || given.handler.type !== 'command') continue;
          const { handler: kept } = carried.hook;
          const { command, platform = {} } = given.handler;
          const isOne = platform.linux !== undefined && platform.linux === platform.darwin;
          const isKept = isOne || Object.values(platform).every(each => each === command);
          for (const [field, about] of Object.entries(abilities))
            if (given.handler[field] && kept[field] === undefined && !(field === 'platform' && isKept))
              expect(is(about), `${field} of ${name}`).toBe(true);
          if (given.handler.timeout && kept.timeout !== given.handler.timeout) expect(is('handler.timeout')).toBe(true);
          if (given.handler.timeout_action === 'block') expect(is('handler.timeout_action')).toBe(true);
          if ('x_more' in given.handler) expect(is('handler.x_more')).toBe(true);
        }
      }),
      runs(200),
    );
  });

  it('a valid manifest stays valid after it was read and written', () => {
    fc.assert(
      fc.property(manifests, manifest => {
        for (const written of [jsonText(manifest), yamlText(manifest)]) {
          const source = readSource(written, 'standard input');
          expect(source.ok && normalized(source.value as Record<string, unknown>)).toEqual(normalized(manifest));
        }
      }),
      runs(100),
    );
  });
});

const abilities = {
  env: 'custom_env',
  cwd: 'configurable_cwd',
  async: 'async_execution',
  platform: 'platform_commands',
};

describe('random values', () => {
  const value = fc.jsonValue({ maxDepth: 4 });
  const words = fc.constantFrom(
    'spec',
    'hooks',
    'event',
    'matcher',
    'handler',
    'type',
    'command',
    'PreToolUse',
    'mcp',
    'pattern',
    'version',
    '__proto__',
  );
  const strange = fc.oneof(
    value,
    fc.dictionary(words, fc.oneof(value, fc.dictionary(words, value), fc.array(fc.dictionary(words, value)))),
  );
  const texts = fc.oneof(
    fc.string(),
    strange.map(each => JSON.stringify(each)),
  );

  it('as a manifest has a report, and as a native file is read or refused', () => {
    fc.assert(
      fc.property(
        texts,
        someTarget,
        fc.constantFrom('x.json', 'x.yaml', 'PreToolUse', 'config.toml'),
        (message, name, file) => {
          expect(judged(message, file).standard).toBe('hook-interchange');
          const there = target(name);
          const read = decode(message, file, there);
          if (read.ok) convertManifest(read.manifest, there);
          else expect(read.why).not.toBe('');
        },
      ),
      runs(400),
    );
  });

  it('of any size and depth is refused', () => {
    const deep = `{"spec":"hooks/0.1","hooks":${'['.repeat(20_000)}`;
    expect(judged(deep, 'x.json').findings[0]?.rule).toBe('limit/depth');
    expect(judged(deep, 'x.yaml').findings[0]?.rule).toBe('file/yaml');
    expect(judged(`{"a":"${'x'.repeat(1 << 20)}"}`, 'x.json').findings[0]?.rule).toBe('limit/size');
    expect(judged('a: &a [1,1]\nb: &b [*a,*a,*a,*a,*a,*a]\nc: [*b,*b,*b,*b,*b,*b]\n', 'x.yaml').ok).toBe(false);
    expect(judged('spec: hooks/0.1\n---\nhooks: []\n', 'x.yaml').findings[0]?.rule).toBe('file/yaml');
    expect(decode(deep, 'x.json', target('cursor 2026.04 native'))).toMatchObject({
      why: expect.stringContaining('(line 1, '),
    });
  });

  it('in a file of a provider are kept when it is read and written', () => {
    const scalar = fc.oneof(fc.boolean(), fc.integer(), fc.string());
    fc.assert(
      fc.property(
        someTarget.filter(name => !/cline|opencode/.test(name)),
        fc.dictionary(fc.constantFrom('x_one', 'x_two', 'if', 'once', 'show_output', 'constructor'), scalar),
        (name, more) => {
          const there = target(name);
          const { fields } = there.layout;
          const native = {
            event: there.facts.events.before_prompt?.[0] ?? '',
            handler: { ...(fields.type ? { type: 'command' } : {}), [fields.command]: 'x', ...more },
          };
          const [file] = there.layout.write([native], {});
          const read = decode(file?.text ?? '', file?.path ?? '', there);
          const again = read.ok ? convertManifest(read.manifest, there) : undefined;
          // A key of its own has a type of its own.
          const odd = Object.entries(more).some(
            ([key, each]) => there.provider.data?.[key] !== undefined && typeof each !== there.provider.data[key],
          );
          if (!odd)
            expect(again?.ok && canonicalText(again.files[0]?.text ?? '')).toEqual(canonicalText(file?.text ?? ''));
        },
      ),
      runs(100),
    );
  });
});

/** The same ones in every quick run; larger runs try more. */
function runs(some: number): fc.Parameters<unknown> {
  return process.env.OTEL_HOOKS_TEST_SIZE === undefined ? { numRuns: some, seed: 20 } : { numRuns: some * 20 };
}

/** JSON without the order of its keys. */
function canonicalText(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}
