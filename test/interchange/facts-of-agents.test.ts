/** Facts of today's agents that the registries of the format do not have. */
import { describe, expect, it } from 'vitest';
import { providerNamed } from '../../src/agents/interchange.ts';
import { convertManifest, decode } from '../../src/interchange/conversion.ts';
import type { Hook } from '../../src/interchange/manifest.ts';
import { type Choice, targetOf } from '../../src/interchange/provider.ts';
import { guard, lossLines, manifestOf, targetNamed } from './targets.ts';

function written(slug: string, hooks: Hook[], choice: Choice = {}) {
  const encoded = convertManifest(manifestOf(...hooks), targetNamed(slug, choice));
  const files = encoded.ok ? encoded.files : [];
  return { ...encoded, files, text: files.map(({ text }) => text).join(''), losses: lossLines(encoded.losses) };
}

const hooksIn = (text: string): Record<string, unknown> => JSON.parse(text).hooks;
const read = (slug: string, native: unknown, choice: Choice = {}) => {
  const there = targetNamed(slug, choice);
  const decoded = decode(JSON.stringify(native), there.layout.file, there);
  if (!decoded.ok) throw new Error(decoded.why);
  return decoded.manifest.hooks;
};
const event = (name: string, more: Partial<Hook> = {}): Hook => ({
  event: name,
  handler: { type: 'command', command: 'x' },
  ...more,
});

describe('Kiro', () => {
  const agentFile = { layout: 'native' };

  it('gets one entry for tools that share a native name', () => {
    const both = [guard('x', { matcher: ['file_write', 'file_edit'] })];
    for (const choice of [agentFile, { layout: 'native', registry: '2026.04' as const }])
      expect(hooksIn(written('kiro', both, choice).text)).toEqual({
        preToolUse: [{ command: 'x', matcher: 'fs_write' }],
      });
  });

  it('reads names of MCP tools as @server/tool', () => {
    const mcp = [guard('x', { matcher: { mcp: { server: 'github', tool: 'push' } } })];
    expect(written('kiro', mcp, agentFile).text).toContain('"@github/push"');
    expect(written('kiro', mcp).text).toContain('"@github/push"');
  });

  it('has no events of files in the file of an agent', () => {
    const { ok, losses } = written('kiro', [event('file_changed')], agentFile);
    expect([ok, losses]).toEqual([false, ['1 warning event_unsupported: Kiro has no event file_changed: left out']]);
    expect(written('kiro', [event('file_changed')]).text).toContain('"PostFileSave"');
  });

  it('gets its hooks file by default, and the names that it reads', () => {
    const { files } = written('kiro', [event('agent_stop')]);
    expect(files[0]?.path).toBe('.kiro/hooks/hooks.json');
    expect(files[0]?.text).toContain('"trigger": "Stop"');
    expect(hooksIn(written('kiro', [event('agent_stop')], agentFile).text)).toEqual({ stop: [{ command: 'x' }] });
  });

  it('gets a glob where it reads globs, and an expression where it reads expressions', () => {
    const saved = (matcher: Hook['matcher']): Hook[] => [event('file_changed', { matcher })];
    const ide = { layout: 'ide' };
    const patterns = (matcher: Hook['matcher']) => JSON.parse(written('kiro', saved(matcher), ide).text).when.patterns;
    expect(patterns({ pattern: '\\.ts$' })).toEqual(['**/*.ts']);
    expect(patterns({ pattern: '^src/.*\\.(ts|tsx)$' })).toEqual(['src/**/*.{ts,tsx}']);
    expect(patterns('**/*.ts')).toEqual(['**/*.ts']);
    const odd = written('kiro', saved({ pattern: '^[ab]+$' }), ide);
    expect(JSON.parse(odd.text).when.patterns).toBeUndefined();
    expect(odd.losses.join()).toContain('warning matcher_not_honoured');
    expect(written('kiro', saved('**/*.ts')).text).toContain(JSON.stringify('^(?:.*/)?[^/]*\\.ts$'));
    expect(written('kiro', saved({ pattern: '\\.ts$' })).text).toContain(JSON.stringify('\\.ts$'));
  });
});

describe('Droid', () => {
  it('gets the names of its own tools', () => {
    const { text } = written('factory-droid', [guard('x', { matcher: ['shell', 'file_write'] })]);
    expect(text).toContain('"Execute|Create"');
  });

  it('has Notification and no SubagentStart', () => {
    expect(hooksIn(written('factory-droid', [event('notification')]).text)).toHaveProperty('Notification');
    expect(written('factory-droid', [event('subagent_start')]).ok).toBe(false);
  });

  it('has a file with events at the top level', () => {
    const there = targetNamed('factory-droid', { layout: 'hooks' });
    const native = { PreToolUse: [{ matcher: 'Execute', hooks: [{ type: 'command', command: 'x' }] }] };
    const decoded = decode(JSON.stringify(native), '.factory/hooks.json', there);
    expect(decoded).toMatchObject({ ok: true, manifest: { hooks: [{ matcher: 'shell' }] } });
    expect(there.layout.isFile.test('/home/ada/.factory/hooks.json')).toBe(true);
    const encoded = convertManifest(decoded.ok ? decoded.manifest : manifestOf(), there);
    expect(encoded.ok && JSON.parse(encoded.files[0]?.text ?? '')).toEqual(native);
  });
});

describe('OpenCode', () => {
  it('asks no hook for a permission', () => {
    const { losses, text } = written('opencode', [event('permission_request', { blocking: true })]);
    expect(losses.join()).toContain('error blocking_not_honoured');
    expect(text).not.toContain("'permission.ask'");
  });

  it('has its plugins in a hidden folder', () => {
    const layout = providerNamed('opencode')?.layouts.native;
    expect(
      ['.opencode/plugins/hooks.js', '/home/ada/.config/opencode/plugins/a.ts'].map(each => layout?.isFile.test(each)),
    ).toEqual([true, true]);
  });
});

it('Cline has no event of notifications', () => {
  expect(written('cline', [event('notification')]).ok).toBe(false);
});

describe('Cursor', () => {
  it('asks before every tool', () => {
    const { text, losses } = written('cursor', [guard('x', { matcher: ['file_edit', 'shell'] })]);
    expect(hooksIn(text)).toEqual({
      preToolUse: [{ command: 'x', matcher: 'Write' }],
      beforeShellExecution: [{ command: 'x' }],
    });
    expect(losses.join()).not.toContain('timing_shift');
    expect(hooksIn(written('cursor', [guard('x')]).text)).toEqual({ preToolUse: [{ command: 'x' }] });
  });

  it('changes arguments only at its general event', () => {
    const rewrites = { capabilities: ['input_rewrite'] };
    const { text } = written('cursor', [guard('x', { ...rewrites, matcher: 'shell' })]);
    expect(hooksIn(text)).toEqual({ preToolUse: [{ command: 'x', matcher: 'Shell' }] });
    const mcp = written('cursor', [guard('x', { ...rewrites, matcher: { mcp: { server: 'a' } } })]);
    expect([mcp.ok, mcp.losses.some(each => each.startsWith('1 error tool_unsupported'))]).toEqual([false, true]);
  });

  it.each([
    { preToolUse: [{ command: 'x', matcher: 'Shell' }] },
    { preToolUse: [{ command: 'x', matcher: 'Shell|Write' }] },
    { preToolUse: [{ command: 'x' }], postToolUse: [{ command: 'x', matcher: 'Write' }] },
    { beforeShellExecution: [{ command: 'x', matcher: 'rm' }], beforeReadFile: [{ command: 'x' }] },
  ])('%j is restored', hooks => {
    const native = { version: 1, hooks };
    const again = convertManifest(manifestOf(...read('cursor', native)), targetNamed('cursor'));
    expect(again.ok && JSON.parse(again.files[0]?.text ?? '')).toEqual(native);
  });
});

it('Codex reads Write and Edit as names of apply_patch', () => {
  expect(written('codex', [guard('x', { matcher: ['file_write', 'file_edit'] })]).text).toContain('"Write|Edit"');
  const matched = (matcher: string) =>
    read('codex', { hooks: { PreToolUse: [{ matcher, hooks: [{ type: 'command', command: 'x' }] }] } })[0]?.matcher;
  expect(['Write', 'Edit', 'apply_patch'].map(matched)).toEqual([
    'file_write',
    'file_edit',
    ['file_write', 'file_edit'],
  ]);
  expect(written('codex', [guard('x', { matcher: 'file_write' })]).losses.join()).toContain(
    'Codex has one name for file_write and file_edit: the hook runs for file_edit, too',
  );
});

describe('hooks of native files that can block', () => {
  const events = { Stop: 'agent_stop', PermissionRequest: 'permission_request', SubagentStop: 'subagent_stop' };
  it.each(Object.entries(events))('%s blocks', (native, name) => {
    const hooks = { [native]: [{ hooks: [{ type: 'command', command: 'x' }] }] };
    for (const slug of ['claude-code', 'codex']) {
      expect(read(slug, { hooks })).toMatchObject([{ event: name, blocking: true }]);
      const quiet = { [native]: [{ hooks: [{ type: 'command', command: 'x', async: true }] }] };
      expect(read(slug, { hooks: quiet })).toMatchObject([{ blocking: false }]);
    }
  });

  it.each([
    ['an event without a decision', 'kiro', event('agent_stop', { blocking: true }), { layout: 'native' }],
    ['an event after the action', 'cursor', guard('x', { matcher: 'file_write' }), { registry: '2026.04' }],
    [
      'an agent that waits for no answer',
      'claude-code',
      guard('x', { handler: { type: 'command', command: 'x', async: true } }),
      {},
    ],
  ] as const)('lose their decision with an error: %s', (_, slug, hook, choice) => {
    expect(written(slug, [hook], choice).losses.filter(each => each.startsWith('1 error '))).toHaveLength(1);
  });
});

it('without a choice, a target follows the newest registry', () => {
  const provider = providerNamed('kiro');
  expect(provider && targetOf(provider)).toMatchObject({ layout: { file: '.kiro/agents/hooks.json' } });
});
