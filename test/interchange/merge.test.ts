/** `convert --out` with --merge, --remove, --force, --dry-run, --scripts and --to all, on files of a real project. */
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterAll, beforeEach, describe, expect, it } from 'vitest';
import { providers } from '../../src/agents/interchange.ts';
import { type Ran, ranIn } from '../commands/ran.ts';

const root = mkdtempSync(join(tmpdir(), 'otel-hooks-merge-'));
afterAll(() => rmSync(root, { recursive: true, force: true }));

let home = '';
let count = 0;
beforeEach(() => {
  count += 1;
  home = join(root, String(count));
  mkdirSync(home);
});

function put(name: string, text: string, mode = 0o644): string {
  const path = join(home, name);
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, text, { mode });
  return path;
}

const shop = (): string => join(home, 'shop');
const inShop = (name: string): string => readFileSync(join(shop(), name), 'utf8');
const ran = (...words: string[]): Promise<Ran> => ranIn(home, ['convert', ...words]);

const manifest = {
  spec: 'hooks/0.1',
  hooks: [
    {
      event: 'before_tool_execute',
      matcher: 'shell',
      handler: { type: 'command', command: './guard.sh' },
      blocking: true,
    },
    { event: 'session_start', handler: { type: 'command', command: 'date' } },
  ],
};

/** Every file of a folder with its mode. */
function tree(folder: string): Record<string, string> {
  const names = existsSync(folder) ? readdirSync(folder, { recursive: true, encoding: 'utf8' }) : [];
  return Object.fromEntries(
    names.sort().map(name => {
      const path = join(folder, name);
      return [name, statSync(path).isDirectory() ? 'folder' : readFileSync(path, 'latin1')];
    }),
  );
}

const settings = [
  undefined,
  '',
  '{}',
  '{ }\n',
  '\ufeff{\r\n\t"permissions": { "allow": ["Bash(git *)"] }, // mine\r\n\t"hooks": {},\r\n}\r\n',
  '{"hooks":{"PreToolUse":[]}}',
  '{\n  "hooks": {\n    "PreToolUse": [\n      { "matcher": "Bash", "hooks": [{ "type": "command", "command": "mine" }] }, // first\n    ],\n    "Stop": [{ "hooks": [{ "type": "prompt", "prompt": "Done?" }] }]\n  },\n  "model": "opus"\n}',
];

describe('--merge and --remove', () => {
  it.each(settings)('restore %j byte for byte', async before => {
    const file = put('hook.json', JSON.stringify(manifest));
    mkdirSync(shop());
    if (before !== undefined) put('shop/.claude/settings.json', before);
    const former = tree(shop());
    const merged = await ran('--to', 'claude-code', '--out', shop(), '--merge', file);
    expect(merged.code).toBe(0);
    const text = inShop('.claude/settings.json');
    expect(text).toContain('./guard.sh');
    for (const line of (before ?? '').match(/"mine"|Done\?|\/\/ mine|opus|Bash\(git \*\)/g) ?? [])
      expect(text).toContain(line);
    const again = await ran('--to', 'claude-code', '--out', shop(), '--merge', file);
    expect([again.code, again.out]).toEqual([0, expect.stringContaining('(no change)')]);
    expect((await ran('--to', 'claude-code', '--out', shop(), '--remove', file)).code).toBe(0);
    expect(tree(shop())).toEqual(former);
  });

  it.each(providers.map(({ slug }) => slug))('leave the folder of %s as it was', async slug => {
    const file = put('hook.json', JSON.stringify({ ...manifest, hooks: manifest.hooks.slice(0, 1) }));
    mkdirSync(shop());
    await ran('--to', slug, '--out', shop(), '--merge', file);
    expect(Object.keys(tree(shop())).length).toBeGreaterThan(0);
    const same = tree(shop());
    await ran('--to', slug, '--out', shop(), '--merge', file);
    expect(tree(shop())).toEqual(same);
    await ran('--to', slug, '--out', shop(), '--remove', file);
    expect(tree(shop())).toEqual({});
  });

  it.each(['cursor', 'cline', 'opencode', 'kiro', 'droid'])(
    'keep the hooks of an earlier conversion for %s',
    async slug => {
      const first = put(
        'first.json',
        JSON.stringify({ ...manifest, hooks: [{ ...manifest.hooks[0], name: 'first' }] }),
      );
      const other = { ...manifest.hooks[0], name: 'other', handler: { type: 'command', command: './other.sh' } };
      const second = put('second.json', JSON.stringify({ ...manifest, hooks: [other] }));
      await ran('--to', slug, '--out', shop(), '--merge', first);
      const former = tree(shop());
      await ran('--to', slug, '--out', shop(), '--merge', second);
      const both = Object.values(tree(shop())).join();
      expect([both.includes('./guard.sh'), both.includes('./other.sh')]).toEqual([true, true]);
      await ran('--to', slug, '--out', shop(), '--remove', second);
      expect(tree(shop())).toEqual(former);
    },
  );

  it('keep hooks that were added later', async () => {
    const file = put('hook.json', JSON.stringify(manifest));
    await ran('--to', 'cursor', '--out', shop(), '--merge', file);
    const text = inShop('.cursor/hooks.json');
    put(
      'shop/.cursor/hooks.json',
      text.replace('"sessionStart"', '"stop": [{ "command": "mine" }],\n    "sessionStart"'),
    );
    await ran('--to', 'cursor', '--out', shop(), '--remove', file);
    expect(JSON.parse(inShop('.cursor/hooks.json')).hooks).toEqual({ stop: [{ command: 'mine' }] });
  });

  it.each([
    ['.claude/settings.json', 'claude-code', '{"hooks":[]}', 'hooks is an array, not an object'],
    [
      '.claude/settings.json',
      'claude-code',
      '{"hooks":{"PreToolUse":{}}}',
      'hooks.PreToolUse is an object, not an array',
    ],
    ['.claude/settings.json', 'claude-code', '{"hooks":{},"hooks":{}}', '"hooks" occurs twice'],
    ['.claude/settings.json', 'claude-code', '{"hooks":', 'line 1'],
    ['.clinerules/hooks/PreToolUse', 'cline', '#!/bin/sh\nexit 0\n', 'did not write'],
  ])('change nothing in %s of %s that holds %s', async (name, slug, text, why) => {
    const file = put('hook.json', JSON.stringify(manifest));
    put(`shop/${name}`, text);
    const former = tree(shop());
    const { code, err } = await ran('--to', slug, '--out', shop(), '--merge', file);
    expect(code).toBe(1);
    expect(err).toContain(why);
    expect(tree(shop())).toEqual(former);
  });
});

describe('a file that is changed', () => {
  const mine = '{"hooks":{"Stop":[{"hooks":[{"type":"command","command":"mine"}]}]}}\n';

  it('has a backup beside it, and its diff is shown', async () => {
    const file = put('hook.json', JSON.stringify(manifest));
    put('shop/.claude/settings.json', mine);
    const { err } = await ran('--to', 'claude-code', '--out', shop(), '--merge', file);
    expect(err).toContain('--- ');
    expect(err).toContain('guard.sh');
    expect(err).toContain('settings.json.otel-hooks-backup');
    expect(inShop('.claude/settings.json.otel-hooks-backup')).toBe(mine);
  });

  it('is only shown with --dry-run', async () => {
    const file = put('hook.json', JSON.stringify(manifest));
    put('shop/.claude/settings.json', mine);
    const former = tree(shop());
    const { code, out, err } = await ran('--to', 'claude-code', '--out', shop(), '--merge', '--dry-run', file);
    expect([code, out]).toEqual([0, expect.stringContaining('would write ')]);
    expect(err).toContain('+++ ');
    expect(tree(shop())).toEqual(former);
  });

  it('names the hooks that --force deletes', async () => {
    const file = put('hook.json', JSON.stringify(manifest));
    put('shop/.claude/settings.json', mine);
    const { err, code } = await ran('--to', 'claude-code', '--out', shop(), '--force', file);
    expect(code).toBe(0);
    expect(err).toContain('the replacement deletes Stop: mine');
    put('shop/.claude/settings.json', mine);
    const json = JSON.parse((await ran('--json', '--to', 'claude-code', '--out', shop(), '--force', file)).out);
    expect(json.replaced).toEqual([{ file: '~/shop/.claude/settings.json', hooks: ['Stop: mine'] }]);
  });
});

describe('--to all', () => {
  it('writes the files of every agent, and removes them', async () => {
    const file = put('hook.json', JSON.stringify(manifest));
    mkdirSync(shop());
    const { out, err } = await ran('--to', 'all', '--out', shop(), '--merge', file);
    for (const name of [
      '.claude/settings.json',
      '.cursor/hooks.json',
      '.github/hooks/hooks.json',
      '.gemini/settings.json',
    ])
      expect(out).toContain(name);
    expect(err).toContain('Windsurf:\n');
    await ran('--to', 'all', '--out', shop(), '--remove', file);
    expect(tree(shop())).toEqual({});
  });

  it('prints them with their names, and lists each agent in JSON', async () => {
    const file = put('hook.json', JSON.stringify(manifest));
    expect((await ran('--to', 'all', file)).out).toContain('==> .cursor/hooks.json <==');
    const json = JSON.parse((await ran('--json', '--to', 'all', file)).out);
    expect(json.targets.map(({ to }: { to: string }) => to)).toEqual(
      providers.filter(({ slug }) => slug !== 'vs-code-copilot').map(({ slug }) => slug),
    );
  });
});

describe('--scripts', () => {
  const project = (): string => {
    put('shop/.claude/guard.sh', '#!/bin/sh\nexit 2\n', 0o755);
    const handler = { type: 'command', command: '"$CLAUDE_PROJECT_DIR"/.claude/guard.sh --all' };
    return put('shop/.claude/settings.json', JSON.stringify({ hooks: { PreToolUse: [{ hooks: [handler] }] } }));
  };

  it('absolute: names the script by its whole path', async () => {
    const { code, out } = await ran('--to', 'codex', '--scripts', 'absolute', project());
    expect(code).toBe(0);
    expect(out).toContain('~/shop/.claude/guard.sh --all');
  });

  it('copy: puts the script into the project of the target, and takes it away again', async () => {
    const file = project();
    const target = join(home, 'other');
    mkdirSync(target);
    await ran('--plain', '--to', 'gemini-cli', '--scripts', 'copy', '--out', target, '--merge', file);
    expect(statSync(join(target, '.hook-scripts/guard.sh')).mode & 0o111).not.toBe(0);
    expect(readFileSync(join(target, '.gemini/settings.json'), 'utf8')).toContain(
      JSON.stringify('"$GEMINI_PROJECT_DIR"/.hook-scripts/guard.sh --all'),
    );
    await ran('--plain', '--to', 'gemini-cli', '--scripts', 'copy', '--out', target, '--remove', file);
    expect(tree(target)).toEqual({});
  });

  it('copy: a script stays as long as another agent names it', async () => {
    const file = project();
    const target = join(home, 'other');
    const words = ['--scripts', 'copy', '--out', target];
    await ran('--to', 'gemini-cli', ...words, '--merge', file);
    await ran('--to', 'cline', ...words, '--merge', file);
    await ran('--to', 'gemini-cli', ...words, '--remove', file);
    expect(Object.keys(tree(target))).toContain('.hook-scripts/guard.sh');
    await ran('--to', 'cline', ...words, '--remove', file);
    expect(tree(target)).toEqual({});
  });

  it('names a script that is not there', async () => {
    const file = put('hook.json', JSON.stringify(manifest));
    expect((await ran('--to', 'codex', '--scripts', 'absolute', file)).err).toContain('there is no script ~/guard.sh');
  });
});

it('a hook that two agents read runs twice', async () => {
  const native = { hooks: { PreToolUse: [{ hooks: [{ type: 'command', command: 'guard.sh' }] }] } };
  const file = put('shop/.claude/settings.json', JSON.stringify(native));
  const twice = 'runs_twice';
  expect((await ran('--to', 'cursor', file)).err).toContain(twice);
  expect((await ran('--to', 'codex', file)).err).not.toContain(twice);
  const own = put(
    'hook.json',
    JSON.stringify({
      ...manifest,
      hooks: [{ ...manifest.hooks[0], matcher: undefined, handler: { type: 'command', command: './guard.sh' } }],
    }),
  );
  expect((await ran('--to', 'cursor', own)).err).not.toContain(twice);
  expect((await ran('--to', 'cursor', '--out', shop(), '--dry-run', own)).err).toContain(twice);
  cpSync(own, join(home, 'copy.json'));
  expect((await ran('--to', 'all', join(home, 'copy.json'))).err).toContain(
    'Cursor reads the hooks of Claude Code, too',
  );
});

it.each([
  ['--merge'],
  ['--remove'],
  ['--dry-run'],
  ['--scripts', 'copy'],
  ['--scripts', 'link'],
  ['--out', 'x', '--merge', '--force'],
])('%s is wrong usage', async (...words) => {
  const file = put('hook.json', JSON.stringify(manifest));
  expect((await ran('--to', 'cursor', ...words, file)).code).toBe(2);
});
