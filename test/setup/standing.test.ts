/**
 * Changes after the set-up: Node moved, the package was upgraded, an older version or the Python package wrote the
 * entries.
 */
import fs from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { isAbsent } from '../../src/agents/contract/contract.ts';
import { agentNamed, agents } from '../../src/agents/index.ts';
import { applySetup, entriesOf, planSetup, programAt, type Setup } from '../../src/setup/setup.ts';
import { isInstalled, standingOf } from '../../src/setup/standing.ts';

let home: string;
beforeEach(() => {
  home = fs.mkdtempSync(join(tmpdir(), 'otel-hooks-standing-'));
});
afterEach(() => fs.rmSync(home, { recursive: true, force: true }));

function setup(id: string, change: Partial<Setup> = {}): Setup {
  const agent = agentNamed(id);
  if (!agent) throw new Error(id);
  return {
    agent,
    scope: 'global',
    action: 'enable',
    places: { home, project: join(home, 'project'), env: {} },
    platform: 'linux',
    program: programAt(join(home, 'dist'), '/usr/bin/node', ['/usr/bin']),
    folders: { state: join(home, 'state'), data: join(home, 'data/otel-hooks') },
    ...change,
  };
}
function enable(made: Setup): void {
  const planned = planSetup(made);
  if (!planned.ok) throw new Error(JSON.stringify(planned.problem));
  expect(applySetup(planned.plan)).toEqual({ ok: true });
}
const write = (path: string, text: string): void => {
  fs.mkdirSync(join(home, path, '..'), { recursive: true });
  fs.writeFileSync(join(home, path), text);
};
const read = (path: string): string => fs.readFileSync(join(home, path), 'utf8');

describe.each(agents.map(({ id }) => id))('%s', id => {
  it('equals the written entries, for every scope, and is empty before and after', () => {
    const { settings } = setup(id).agent;
    for (const scope of isAbsent(settings) ? [] : settings.scopes) {
      const made = setup(id, { scope, provider: 'otlp' });
      expect(standingOf(made)).toBe(undefined);
      enable(made);
      expect(standingOf(made)).toMatchObject({ stale: [], provider: 'otlp' });
      enable(setup(id, { scope, action: 'disable' }));
      expect(standingOf(made)).toBe(undefined);
    }
  });
});

/** One agent for each way of running hooks. */
describe.each(['codex', 'cursor', 'opencode', 'cline', 'antigravity'])('%s', id => {
  it('is stale when Node or the package moved, and enabling again repairs it', () => {
    enable(setup(id));
    const moved = setup(id, { program: programAt(join(home, 'elsewhere'), '/opt/node', []) });
    expect(standingOf(moved)).toMatchObject({ stale: ['script'] });
    enable(moved);
    expect(standingOf(moved)).toMatchObject({ stale: [] });
    fs.rmSync(join(home, 'data'), { recursive: true });
    expect(standingOf(moved)).toMatchObject({ stale: ['script'] });
    const away = setup(id, { folders: { state: join(home, 'state'), data: join(home, 'new/otel-hooks') } });
    expect(standingOf(away)).toMatchObject({ stale: ['entries', 'script'] });
    enable(away);
    expect(standingOf(away)).toMatchObject({ stale: [] });
    expect(entriesOf(away).every(({ command }) => command.posix?.includes(join(home, 'new')))).toBe(true);
  });
});

describe('entries of the Python package', () => {
  const command = 'otel-hooks hook --provider langfuse';
  const cases: [id: string, path: string, text: string, without: string | undefined][] = [
    [
      'claude-code',
      '.claude/settings.json',
      `{\n  "hooks": {\n    "Stop": [\n      {\n        "hooks": [\n          { "type": "command", "command": "${command}", "async": true }\n        ]\n      }\n    ]\n  },\n  "model": "x"\n}\n`,
      '{\n  "model": "x"\n}\n',
    ],
    [
      'cursor',
      '.cursor/hooks.json',
      `{\n  "version": 1,\n  "hooks": {\n    "stop": [{ "command": "${command} --tool cursor" }],\n    "sessionStart": [{ "command": "mine" }]\n  }\n}\n`,
      `{\n  "version": 1,\n  "hooks": {\n    "sessionStart": [{ "command": "mine" }]\n  }\n}\n`,
    ],
    [
      'gemini-cli',
      '.gemini/settings.json',
      `{"hooks":{"SessionEnd":[{"hooks":[{"type":"command","command":"OTEL_HOOKS_SOURCE_TOOL=gemini ${command}"}]}],"AfterTool":[]}}`,
      '{"hooks":{"AfterTool":[]}}',
    ],
    [
      'copilot',
      '.copilot/hooks/otel-hooks.json',
      `{\n  "version": 1,\n  "hooks": {\n    "preToolUse": [{ "type": "command", "bash": "uvx ${command} --tool copilot", "comment": "otel-hooks: emit observability data" }]\n  }\n}\n`,
      undefined,
    ],
    [
      'kiro',
      '.kiro/agents/default.json',
      `{\n  "name": "default",\n  "hooks": {\n    "stop": [{ "command": "${command} --tool kiro" }]\n  }\n}\n`,
      '{\n  "name": "default"\n}\n',
    ],
    ['cline', '.clinerules/hooks/TaskComplete', `#!/usr/bin/env bash\n${command}\n`, undefined],
    [
      'opencode',
      '.config/opencode/plugins/otel-hooks.js',
      '// otel-hooks-opencode-plugin-v1\nexport const OtelHooks = async () => ({});\n',
      undefined,
    ],
    [
      'codex',
      '.codex/config.toml',
      'model = "x"\n\n[otel]\nexporter = { otlp-http = { endpoint = "https://h/v1/traces", protocol = "json" } }\n',
      'model = "x"\n',
    ],
  ];
  it.each(cases)('%s: is recognised, replaced and removed', (id, path, text, without) => {
    const change: Partial<Setup> = id === 'cline' ? { scope: 'project', places: { home, project: home, env: {} } } : {};
    write(path, text);
    const made = setup(id, change);
    expect(standingOf(made)).toMatchObject({ stale: expect.arrayContaining(['entries']) });
    enable(made);
    expect(standingOf(made)).toMatchObject({ stale: [] });
    if (id !== 'cline') expect(fs.existsSync(join(home, path)) ? read(path) : '').not.toContain('langfuse');
    enable({ ...made, action: 'disable' });
    // A file that the package made for its own entries is empty afterwards, but it looks like an empty file of a
    // person.
    if (without === undefined && id === 'copilot') expect(JSON.parse(read(path))).toEqual({ version: 1 });
    else expect(fs.existsSync(join(home, path)) ? read(path) : undefined).toBe(without);
  });
});

describe('which agents are installed', () => {
  const installed = (platform = 'linux', env: Record<string, string> = {}) =>
    agents.filter(agent => isInstalled(agent, { home, project: home, env }, platform)).map(({ id }) => id);

  it('none in an empty home', () => expect(installed()).toEqual([]));
  it('by a folder that they make', () => {
    for (const folder of ['.claude', '.cursor', '.codeium/windsurf', '.kiro', '.gemini/tmp']) {
      fs.mkdirSync(join(home, folder), { recursive: true });
    }
    fs.writeFileSync(join(home, '.factory'), 'no folder');
    expect(installed()).toEqual(['claude-code', 'gemini-cli', 'cursor', 'windsurf', 'kiro']);
  });
  it('by a program in PATH, also under its name on Windows', () => {
    const bin = join(home, 'bin');
    fs.mkdirSync(join(bin, 'opencode'), { recursive: true });
    for (const name of ['codex', 'copilot.cmd', 'agy']) fs.writeFileSync(join(bin, name), '');
    expect(installed('linux', { PATH: `relative:${bin}` })).toEqual(['codex', 'antigravity']);
    expect(installed('win32', { PATH: bin })).toEqual(['copilot']);
  });
  it('there are none in a folder without access', () => {
    const loop = join(home, 'loop');
    fs.symlinkSync(loop, loop);
    expect(installed('linux', { PATH: `${loop}:/${'x'.repeat(5_000)}` })).toEqual([]);
  });
});
