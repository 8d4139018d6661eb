import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { hookInterchangeOutcome } from '../../src/index.ts';
import { type Ran, ranIn } from './ran.ts';

const root = join(import.meta.dirname, '..', '..');
const page = join(root, 'docs', 'hook-interchange.md');
const docs = readFileSync(page, 'utf8');
const home = mkdtempSync(join(tmpdir(), 'otel-hooks-interchange-'));
afterAll(() => rmSync(home, { recursive: true }));

for (const [, name = '', text = ''] of docs.matchAll(/`([\w./-]+)`:\n\n```\w+\n([\s\S]*?)```/g)) put(name, text);

function put(name: string, text: string): string {
  const file = join(home, name);
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, text);
  return file;
}

const ran = (...words: string[]): Promise<Ran> => ranIn(home, words);
const shown = /```\n\$ otel-hooks (.*)\n([\s\S]*?)```/g;

/** The output as on a terminal; `UPDATE=1` rewrites it. */
it('docs/hook-interchange.md shows the printed output', async () => {
  const printed = new Map<string, string>();
  for (const [, command = ''] of docs.matchAll(shown)) {
    // Only this command opens its arguments relative to the working folder of the process.
    const words = command
      .split(' ')
      .map(word => (/^validate/.test(command) && /\.json$/.test(word) ? join(home, word) : word));
    const { out, err } = await ran(...words);
    printed.set(command, `${out}${err}`.replaceAll('~/', ''));
  }
  const anew = docs.replace(
    shown,
    (_, command: string) => `\`\`\`\n$ otel-hooks ${command}\n${printed.get(command)}\`\`\``,
  );
  if (process.env.UPDATE) writeFileSync(page, anew);
  expect(printed.size).toBeGreaterThan(6);
  expect(anew).toBe(readFileSync(page, 'utf8'));
});

it('docs/library.md shows the returned outcome', () => {
  const run = { blocking: true, exitCode: 0, stdout: '{"decision":"ask","reason":"It pushes."}', interactive: false };
  expect(hookInterchangeOutcome(run)).toEqual({ result: 'block', continue: true, reason: 'It pushes.' });
});

describe('convert', () => {
  const small = put(
    'small.json',
    '{"spec":"hooks/0.1","hooks":[{"event":"session_start","handler":{"type":"command","command":"x"}}]}',
  );
  const guard = put(
    'guard.json',
    '{"spec":"hooks/0.1","hooks":[{"event":"before_model","blocking":true,"handler":{"type":"command","command":"x"}},{"event":"session_start","handler":{"type":"command","command":"x"}}]}',
  );

  it('shows its result in the exit code', async () => {
    expect((await ran('convert', '--to', 'claude-code', small)).code).toBe(0);
    expect((await ran('convert', '--to', 'claude-code', guard)).code).toBe(1);
    const none = await ran('convert', '--to', 'windsurf', small);
    expect(none).toMatchObject({ code: 1, out: '' });
    expect(none.err).toContain('Windsurf supports none of its hooks; nothing was written.');
    expect((await ran('convert', '--to', 'gemini-cli', small)).code).toBe(0);
    expect((await ran('convert', '--to', 'gemini-cli', '--strict', small)).code).toBe(0);
    expect((await ran('convert', '--plain', '--to', 'cursor', '--strict', 'hook.yaml')).code).toBe(1);
    expect((await ran('convert', '--to', 'cursor', 'nothing.json')).code).toBe(1);
    expect((await ran('convert', '--to', 'cursor', 'broken.json')).err).toContain('broken.json:6:31 matcher/pattern');
  });

  describe('hooks that call otel-hooks itself', () => {
    const ours = { type: 'command', command: 'otel-hooks hook --tool claude-code --event Stop --edge', timeout: 10 };
    const theirs = { type: 'command', command: 'make lint' };
    const settings = (...handlers: object[]): string => JSON.stringify({ hooks: { Stop: [{ hooks: handlers }] } });

    it('are left out, and the output counts them', async () => {
      const file = put('both/.claude/settings.json', settings(ours, theirs));
      const { code, out, err } = await ran('convert', '--plain', '--to', 'codex', file);
      expect(code).toBe(0);
      expect(out).toContain('make lint');
      expect(out).not.toContain('otel-hooks');
      expect(err).toContain('left out 1 hook that calls otel-hooks itself');
      expect(err).toContain('otel-hooks enable --tool');
      const json = JSON.parse((await ran('convert', '--json', '--to', 'cursor', file)).out);
      expect(json).toMatchObject({ left_out: 1, hooks: [{ name: 'Hook 1' }] });
    });

    it('are left out of a manifest, too', async () => {
      const hooks = [ours, theirs].map(({ type, command }) => ({ event: 'agent_stop', handler: { type, command } }));
      const file = put('both.json', JSON.stringify({ spec: 'hooks/0.1', hooks }));
      const { out, err } = await ran('convert', '--plain', '--to', 'claude-code', file);
      expect(out).not.toContain('otel-hooks');
      expect(err).toContain('left out 1 hook');
    });

    it.each([
      ['a native file', 'ours/.claude/settings.json', settings(ours)],
      [
        'a manifest',
        'ours.json',
        JSON.stringify({ spec: 'hooks/0.1', hooks: [{ event: 'agent_stop', handler: ours }] }),
      ],
    ])('remove the whole file of %s if it has no other hooks', async (_, name, text) => {
      const { code, out, err } = await ran('convert', '--to', 'cursor', put(name, text));
      expect({ code, out }).toEqual({ code: 1, out: '' });
      expect(err).toContain('holds only hooks that call otel-hooks itself; nothing was converted');
    });
  });

  it.each([
    ['no file', ['--to', 'cursor']],
    ['no target', [small]],
    ['an unknown target', ['--to', 'cursr', small]],
    ['an unknown registry', ['--to', 'cursor', '--registry', '2025.01', small]],
    ['a target that the registry has not', ['--to', 'codex', '--registry', '2026.03', small]],
    ['an unknown layout', ['--to', 'cursor', '--layout', 'round', small]],
    ['YAML for an agent', ['--to', 'cursor', '--format', 'yaml', small]],
    ['a native file of an unknown provider', ['--to', 'cursor', put('mine.json', '{"hooks":{"Stop":[]}}')]],
  ])('%s is wrong usage', async (_, words) => {
    const result = await ran('convert', ...words);
    expect([result.code, result.out]).toEqual([2, '']);
    expect(result.err).toContain('next: otel-hooks help convert');
  });

  it('replaces a file only with --force, and writes all files of a project', async () => {
    const file = put('shop/.cursor/hooks.json', '{"version":1,"hooks":{"stop":[{"command":"mine"}]}}\n');
    const before = readFileSync(file, 'utf8');
    const refused = await ran('convert', '--plain', '--to', 'cursor', '--out', join(home, 'shop'), small);
    expect(refused.code).toBe(1);
    expect(refused.err).toContain('is there already; nothing was written');
    expect(readFileSync(file, 'utf8')).toBe(before);
    expect(
      (await ran('convert', '--plain', '--to', 'cursor', '--out', join(home, 'shop'), '--force', small)).code,
    ).toBe(0);
    expect(JSON.parse(readFileSync(file, 'utf8')).hooks).toEqual({ sessionStart: [{ command: 'x' }] });
    const settings = put(
      'shop/.claude/settings.json',
      '{\n  // mine\n  "permissions": { "allow": [] },\n  "hooks": {}\n}\n',
    );
    expect(
      (await ran('convert', '--plain', '--to', 'claude-code', '--out', join(home, 'shop'), '--force', small)).code,
    ).toBe(0);
    expect(readFileSync(settings, 'utf8')).toMatch(
      /^\{\n {2}\/\/ mine\n {2}"permissions": \{ "allow": \[\] \},\n {2}"hooks": \{\n {4}"SessionStart"/,
    );
    const odd = put('odd/.claude/settings.json', '{ "hooks": ');
    const unread = await ran('convert', '--plain', '--to', 'claude-code', '--out', join(home, 'odd'), '--force', small);
    expect([unread.code, readFileSync(odd, 'utf8')]).toEqual([1, '{ "hooks": ']);
    // The same conversion again changes nothing.
    expect((await ran('convert', '--plain', '--to', 'cursor', '--out', join(home, 'shop'), small)).code).toBe(0);
    await ran('convert', '--plain', '--to', 'cline', '--out', join(home, 'shop'), 'hook.yaml');
    const program = join(home, 'shop', '.clinerules', 'hooks', 'PreToolUse');
    expect(statSync(program).mode & 0o111).not.toBe(0);
    expect(existsSync(join(home, 'shop', '.clinerules', 'hooks', 'TaskStart'))).toBe(true);
  });

  it('accepts our names of agents too, and prints JSON for programs', async () => {
    const { out, code } = await ran('convert', '--plain', '--json', '--to', 'droid', 'hook.yaml');
    const result = JSON.parse(out);
    expect(code).toBe(0);
    expect(result).toMatchObject({
      v: 1,
      ok: true,
      from: 'hook-interchange',
      to: 'factory-droid',
      registry: '2026.04',
    });
    expect(result.hooks.map(({ outcome }: { outcome: string }) => outcome)).toEqual(['keep', 'keep', 'keep']);
    expect(result.files[0].path).toBe('.factory/settings.json');
    expect(result.losses[0]).toMatchObject({
      hook: 1,
      name: 'no force push',
      kind: 'capability:custom_env',
      severity: 'warning',
      strategy: 'warn',
    });
    const lost = JSON.parse((await ran('convert', '--json', '--to', 'windsurf', small)).out);
    expect(lost).toMatchObject({ ok: false, files: [], why: 'Windsurf supports none of its hooks' });
  });

  it('shows names and commands without control characters', async () => {
    const odd = {
      name: '\u001b[2J\n',
      event: 'session_start',
      handler: { type: 'command', command: '\u001b[1m', cwd: 'x', x: 1 },
    };
    put('escape.json', JSON.stringify({ spec: 'hooks/0.1', hooks: [odd, { ...odd, event: 'before_model\u001b[3m' }] }));
    const result = await ran('convert', '--to', 'claude-code', 'escape.json');
    const table = await ran('capabilities', '--to', 'claude-code', 'escape.json');
    expect(`${result.out}${result.err}${table.out}`).not.toContain('\u001b');
    expect(result.err).toContain('\\u001b[2J');
  });

  it('recognizes a manifest in any folder', async () => {
    put('.github/hooks/hook.json', readFileSync(small, 'utf8'));
    expect(JSON.parse((await ran('convert', '--json', '--to', 'cursor', '.github/hooks/hook.json')).out).from).toBe(
      'hook-interchange',
    );
    put('.github/hooks/other.json', '{"version":1,"hooks":{"sessionStart":[{"type":"command","bash":"x"}]}}');
    expect(JSON.parse((await ran('convert', '--json', '--to', 'cursor', '.github/hooks/other.json')).out).from).toBe(
      'copilot-cli',
    );
  });

  it('converts by the present behaviour of products, and by a registry on request', async () => {
    const result = (...words: string[]) => ran('convert', ...words, 'hook.yaml');
    const native = async (...words: string[]) => JSON.parse((await result(...words)).out).hooks;
    expect((await native('--to', 'kiro')).map(({ trigger }: { trigger: string }) => trigger)).toEqual([
      'PreToolUse',
      'PreToolUse',
      'SessionStart',
    ]);
    expect(Object.keys(await native('--to', 'kiro', '--registry', '2026.04'))).toEqual(['preToolUse']);
    expect(Object.keys(await native('--to', 'kiro', '--registry', '2026.03'))).toEqual(['preToolUse', 'agentSpawn']);
    expect((await native('--to', 'droid')).PreToolUse[0].matcher).toBe('Execute');
    expect((await native('--to', 'droid', '--registry', '2026.04')).PreToolUse[0].matcher).toBe('Bash');
    expect((await native('--to', 'droid', '--registry', '2026.04', '--products')).PreToolUse[0].matcher).toBe(
      'Execute',
    );
    expect((await result('--to', 'droid')).err).toContain(
      `the registry 2026.04 has PreToolUse "Bash" (can be stopped) of Factory Droid; today's product has PreToolUse "Execute"`,
    );
    expect((await result('--to', 'droid', '--registry', '2026.04')).err).not.toContain('registry_differs');
    expect(await native('--to', 'gemini-cli', '--layout', 'published')).toHaveLength(3);
  });

  it('reads standard input from another program', () => {
    const program = join(root, 'dist', 'otel-hooks.cjs');
    const out = execFileSync(process.execPath, [program, 'convert', '--from', 'windsurf', '--to', 'claude-code', '-'], {
      input: '{"hooks":{"pre_run_command":[{"command":"x"}]}}',
      env: { HOME: home, PATH: process.env.PATH },
      encoding: 'utf8',
    });
    expect(JSON.parse(out).hooks.PreToolUse[0].matcher).toBe('Bash');
  });
});

describe('capabilities', () => {
  it('has tables for people and for programs', async () => {
    expect((await ran('capabilities')).out).toContain('input_rewrite: changing a tool');
    const all = JSON.parse((await ran('capabilities', '--json')).out);
    expect(all.targets).toHaveLength(11);
    expect(JSON.parse((await ran('capabilities', '--json', '--registry', '2026.03')).out).targets).toHaveLength(8);
    const one = JSON.parse((await ran('capabilities', '--json', '--to', 'kiro')).out);
    expect(one).toMatchObject({
      target: 'kiro',
      mcp: 'mcp__<server>__<tool>',
      capabilities: { llm_evaluated: 'partly' },
    });
    // The file of this provider has no field for it.
    expect(one.carried.llm_evaluated).toBe('no');
    expect((await ran('capabilities', '--to', 'kiro')).out).toContain('file_created         File Create');
  });

  it('tries a manifest with every target, or with one', async () => {
    const all = JSON.parse((await ran('capabilities', '--json', 'hook.yaml')).out);
    expect(all.hooks[1]).toEqual({
      hook: 2,
      name: 'hide secrets',
      event: 'before_tool_execute',
      level: 'extended',
      needs: ['structured_output', 'input_rewrite'],
    });
    expect(all.targets.find(({ target }: { target: string }) => target === 'windsurf')).toMatchObject({
      kept: 1,
      blocked: 1,
      excluded: 1,
    });
    const one = JSON.parse((await ran('capabilities', '--json', '--to', 'windsurf', 'hook.yaml')).out);
    expect(one.hooks.map(({ outcome, native }: { outcome: string; native: string[] }) => [outcome, native])).toEqual([
      ['keep', ['pre_run_command']],
      ['block', ['pre_run_command']],
      ['exclude', []],
    ]);
    expect((await ran('capabilities', '--to', 'windsurf', 'guard.json')).code).toBe(1);
    expect((await ran('capabilities', 'broken.json')).code).toBe(1);
    expect((await ran('capabilities', '.claude/settings.json')).out).toContain('llm_evaluated');
  });

  it('applies a policy, and fails for a policy that it cannot read', async () => {
    expect((await ran('capabilities', '--policy', 'policy.json', 'hook.yaml')).code).toBe(1);
    expect((await ran('capabilities', '--policy', 'policy.json', '--managed', 'hook.yaml')).code).toBe(0);
    const odd = put('odd.json', '{"event_restrictions":{"before_model":"sometimes"}}');
    const result = await ran('capabilities', '--policy', odd, 'hook.yaml');
    expect(result).toMatchObject({ code: 1, out: '' });
    expect(result.err).toContain('is no policy: event_restrictions.before_model');
    expect((await ran('capabilities', '--policy', 'policy.json')).code).toBe(2);
    expect((await ran('capabilities', '--policy', 'nothing.json', 'hook.yaml')).code).toBe(1);
  });
});

it('validate reads JSON and YAML', async () => {
  const validate = (...words: string[]) =>
    ran(
      'validate',
      '--standard',
      'hook-interchange',
      ...words.map(word => (word.includes('.') ? join(home, word) : word)),
    );
  expect((await validate('hook.yaml', 'small.json')).code).toBe(0);
  expect((await validate('hook.yaml')).out).toContain('hook.yaml: valid (hook-interchange 0.1, file), 0 errors');
  const sarif = JSON.parse((await validate('--format', 'sarif', 'broken.json')).out);
  expect(sarif.runs[0].results.map(({ ruleId }: { ruleId: string }) => ruleId)).toEqual([
    'matcher/pattern',
    'handler/type',
  ]);
});
