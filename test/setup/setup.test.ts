import { execFileSync, spawnSync } from 'node:child_process';
import fs from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { claudeCode } from '../../src/agents/claude-code/claude-code.ts';
import { absent } from '../../src/agents/contract/contract.ts';
import { isOurCommand } from '../../src/agents/files/our-command.ts';
import { applySetup, type Plan, planSetup, programAt, type Setup } from '../../src/setup/setup.ts';
import { needsOtherThanRoot } from '../needs.ts';

let home: string;
let file: string;
beforeEach(() => {
  home = fs.mkdtempSync(join(tmpdir(), 'otel-hooks-setup-'));
  file = join(home, '.claude/settings.json');
});
afterEach(() => {
  fs.chmodSync(home, 0o700);
  fs.rmSync(home, { recursive: true, force: true });
});

function setup(action: Setup['action'], change: Partial<Setup> = {}): Setup {
  return {
    agent: claudeCode,
    scope: 'global',
    action,
    places: { home, project: join(home, 'project'), env: {} },
    platform: 'linux',
    program: programAt(join(home, 'dist'), process.execPath, []),
    folders: { state: join(home, 'state/otel-hooks'), data: join(home, 'data/otel-hooks') },
    ...change,
  };
}

function plan(action: Setup['action'], change: Partial<Setup> = {}): Plan {
  const planned = planSetup(setup(action, change));
  if (!planned.ok) throw new Error(JSON.stringify(planned.problem));
  return planned.plan;
}

function apply(action: Setup['action'], change: Partial<Setup> = {}): Plan {
  const made = plan(action, change);
  expect(applySetup(made)).toEqual({ ok: true });
  return made;
}

function write(text: string, mode = 0o644): void {
  fs.mkdirSync(join(home, '.claude'), { recursive: true });
  fs.writeFileSync(file, text);
  fs.chmodSync(file, mode);
}

const read = () => fs.readFileSync(file, 'utf8');
const listing = () =>
  fs.readdirSync(home, { recursive: true }).map(path => [path, fs.statSync(join(home, String(path))).mode]);
const commandsIn = (text: string): [event: string, command: string][] =>
  Object.entries<{ hooks: { command: string }[] }[]>(JSON.parse(text).hooks).map(([event, groups]) => [
    event,
    groups[0]?.hooks[0]?.command ?? '',
  ]);

describe('a plan', () => {
  it('writes nothing', () => {
    write('{}');
    const before = listing();
    plan('enable');
    plan('disable');
    expect(listing()).toEqual(before);
  });

  it('shows the change', () => {
    write('{\n  "model": "x"\n}\n');
    const { diff } = plan('enable', { agent: { ...claudeCode, events: { Stop: { read: () => [] } } } });
    expect(diff.replaceAll(home, '~')).toMatchInlineSnapshot(`
      "--- ~/.claude/settings.json
      +++ ~/.claude/settings.json
      @@ -1,3 +1,16 @@
       {
      -  "model": "x"
      +  "model": "x",
      +  "hooks": {
      +    "Stop": [
      +      {
      +        "hooks": [
      +          {
      +            "type": "command",
      +            "command": "trap 'exit 0' 0; otel_hooks='claude-code Stop'; [ ! -r '~/data/otel-hooks/hook.sh' ] || . '~/data/otel-hooks/hook.sh' 2>/dev/null",
      +            "timeout": 10
      +          }
      +        ]
      +      }
      +    ]
      +  }
       }
      "
    `);
  });

  it('registers only events that the agent allows', () => {
    const { events } = plan('enable');
    expect(events).toEqual(
      Object.entries(claudeCode.events)
        .filter(([, event]) => event.register === undefined)
        .map(([name]) => name),
    );
    expect(events).toContain('SessionStart');
    for (const never of ['WorktreeCreate', 'FileChanged', 'MessageDisplay']) expect(events).not.toContain(never);
  });

  it('refuses an ambiguous file, and names the place', () => {
    write('{\n  "hooks": []\n}');
    expect(planSetup(setup('enable'))).toEqual({
      ok: false,
      problem: { code: 'settings-refused', file, line: 2, column: 12, why: '"hooks" is an array, not an object' },
    });
  });

  it('refuses a file that is not text', () => {
    const refused = (why: RegExp) =>
      expect(planSetup(setup('enable'))).toEqual({
        ok: false,
        problem: { code: 'settings-file', file, why: expect.stringMatching(why) },
      });
    write('');
    fs.writeFileSync(file, Buffer.from('{"a":"\xff"}', 'latin1'));
    refused(/not UTF-8/);
    fs.rmSync(file);
    fs.mkdirSync(file);
    refused(/not a regular file/);
    fs.rmdirSync(file);
    execFileSync('mkfifo', [file]);
    refused(/not a regular file/);
    fs.rmSync(file);
    fs.symlinkSync(file, file);
    refused(/circle/);
  });

  it('reports an agent without settings, or without that scope', () => {
    const other = { ...claudeCode, settings: absent('it has none') };
    expect(planSetup(setup('enable', { agent: other }))).toMatchObject({
      ok: false,
      problem: { code: 'settings-absent' },
    });
  });
});

describe('the command', () => {
  const first = (change: Partial<Setup>) => commandsIn(plan('enable', change).changes[0]?.after ?? '')[0]?.[1];

  it('sources the script with its paths', () => {
    const path = join(home, 'data/otel-hooks/hook.sh');
    const say = (scope: Setup['scope']) => first({ scope });
    expect(say('global')).toBe(
      `trap 'exit 0' 0; otel_hooks='claude-code SessionStart edge'; [ ! -r '${path}' ] || . '${path}' 2>/dev/null`,
    );
    expect(say('local')).toBe(say('global'));
  });
  it('names no path of this machine in a file that is shared', () => {
    expect(first({ scope: 'project', provider: 'otlp' })).toBe(
      '! command -v otel-hooks >/dev/null 2>&1 || NODE_OPTIONS= otel-hooks hook --tool claude-code --event SessionStart --edge --provider otlp',
    );
  });
  it('starts Node on Windows', () => {
    const program = {
      node: 'C:\\Program Files\\nodejs\\node.exe',
      bin: 'C:\\x\\otel-hooks.cjs',
      deliver: 'd',
      cat: 'c',
    };
    expect(first({ platform: 'win32', program })).toBe(
      `[Environment]::SetEnvironmentVariable('NODE_OPTIONS',''); & 'C:\\Program Files\\nodejs\\node.exe' 'C:\\x\\otel-hooks.cjs' hook --tool claude-code --event SessionStart --edge; exit 0`,
    );
  });
  it('is recognized as ours in every form', () => {
    for (const change of [{}, { provider: 'otlp' }, { scope: 'project' as const }, { platform: 'win32' }]) {
      for (const [, command] of commandsIn(plan('enable', change).changes[0]?.after ?? ''))
        expect(isOurCommand(command)).toBe(true);
    }
  });
  it('does nothing and prints nothing if otel-hooks is not installed', () => {
    for (const change of [{}, { scope: 'project' as const }]) {
      const run = spawnSync('/bin/sh', ['-c', first(change) ?? ''], {
        input: '{}',
        env: { PATH: '/nowhere' },
        cwd: home,
      });
      expect([run.status, run.stdout.length, run.stderr.length]).toEqual([0, 0, 0]);
    }
  });
  it('leaves one fragment in the inbox', () => {
    apply('enable');
    fs.mkdirSync(join(home, 'dist'));
    fs.writeFileSync(join(home, 'dist/deliver.js'), '');
    const [, command] = commandsIn(read()).find(([event]) => event === 'PreToolUse') ?? [];
    const run = spawnSync('/bin/sh', ['-c', command ?? ''], { input: '{"hook_event_name":"PreToolUse"}', cwd: home });
    expect([run.status, run.stdout.length, run.stderr.length]).toEqual([0, 0, 0]);
    const inbox = join(home, 'state/otel-hooks/inbox');
    const fragments = fs.readdirSync(inbox);
    expect(fragments).toHaveLength(1);
    expect(fs.readFileSync(join(inbox, fragments[0] ?? ''), 'utf8')).toMatch(
      /^otel-hooks\/1 tool=11:claude-code event=10:PreToolUse .*\n\{"hook_event_name":"PreToolUse"\}\n/,
    );
  });
});

describe('its execution', () => {
  it.each(['{\n  "model": "x"\n}\n', '{}', '', '{\r\n\t"hooks": {}\r\n}', undefined])(
    'enable and disable restore the former text: %j',
    text => {
      if (text !== undefined) write(text, 0o640);
      const before = fs.existsSync(file) ? fs.readFileSync(file) : undefined;
      apply('enable');
      expect(fs.readFileSync(file)).not.toEqual(before);
      apply('disable');
      if (before === undefined) expect(fs.existsSync(join(home, '.claude'))).toBe(false);
      else expect([fs.readFileSync(file), fs.statSync(file).mode & 0o777]).toEqual([before, 0o640]);
    },
  );

  it('a second execution changes nothing', () => {
    apply('enable');
    const [once, stat] = [read(), fs.statSync(file)];
    const again = apply('enable');
    expect([again.changed, again.diff, read(), fs.statSync(file).mtimeMs]).toEqual([false, '', once, stat.mtimeMs]);
    apply('disable');
    expect(apply('disable')).toMatchObject({ changed: false, events: [] });
  });

  it('keeps the folders and the script for this user alone', () => {
    apply('enable');
    const modes = ['state/otel-hooks', 'state/otel-hooks/inbox', 'data/otel-hooks', 'data/otel-hooks/hook.sh'].map(
      path => [path, (fs.statSync(join(home, path)).mode & 0o777).toString(8)],
    );
    expect(modes).toEqual([
      ['state/otel-hooks', '700'],
      ['state/otel-hooks/inbox', '700'],
      ['data/otel-hooks', '700'],
      ['data/otel-hooks/hook.sh', '600'],
    ]);
  });

  it('leaves no other file behind', () => {
    write('{}');
    apply('enable');
    expect(fs.readdirSync(join(home, '.claude'))).toEqual(['settings.json']);
    expect(fs.readdirSync(join(home, 'data/otel-hooks'))).toEqual(['hook.sh']);
  });

  it('follows a link, and the link stays', () => {
    fs.mkdirSync(join(home, '.claude'));
    fs.mkdirSync(join(home, 'dotfiles'));
    fs.writeFileSync(join(home, 'dotfiles/real.json'), '{}');
    fs.symlinkSync('../dotfiles/real.json', file);
    apply('enable');
    expect(fs.readlinkSync(file)).toBe('../dotfiles/real.json');
    expect(fs.readFileSync(join(home, 'dotfiles/real.json'), 'utf8')).toContain('hook.sh');
    apply('disable');
    expect(fs.readFileSync(join(home, 'dotfiles/real.json'), 'utf8')).toBe('{}');
  });

  it('follows a link to a missing file, and removes the file afterwards', () => {
    fs.mkdirSync(join(home, '.claude'));
    fs.mkdirSync(join(home, 'dotfiles'));
    fs.symlinkSync(join(home, 'dotfiles/real.json'), file);
    apply('enable');
    expect(fs.existsSync(join(home, 'dotfiles/real.json'))).toBe(true);
    apply('disable');
    expect([fs.readlinkSync(file), fs.readdirSync(join(home, 'dotfiles'))]).toEqual([
      join(home, 'dotfiles/real.json'),
      [],
    ]);
  });

  it('does not change a file that was modified after the plan', () => {
    write('{}');
    const made = plan('enable');
    write('{"a":1}');
    expect(applySetup(made)).toMatchObject({ ok: false, problem: { code: 'settings-file', file } });
    expect(read()).toBe('{"a":1}');
  });

  it('does not replace a file that its owner has locked', context => {
    needsOtherThanRoot(context);
    write('{}', 0o444);
    expect(applySetup(plan('enable'))).toMatchObject({ ok: false, problem: { why: 'permission denied' } });
    expect([read(), fs.readdirSync(join(home, '.claude'))]).toEqual(['{}', ['settings.json']]);
  });

  it('names the obstacle', () => {
    write('{}');
    fs.writeFileSync(join(home, 'state'), 'a file');
    expect(applySetup(plan('enable'))).toMatchObject({
      ok: false,
      problem: { why: expect.stringMatching(/path|way/) },
    });
    expect(read()).toBe('{}');
  });

  it('rewrites the script when an update changed it', () => {
    apply('enable');
    const script = join(home, 'data/otel-hooks/hook.sh');
    const text = fs.readFileSync(script, 'utf8');
    fs.writeFileSync(script, 'old');
    expect(apply('enable').changed).toBe(false);
    expect(fs.readFileSync(script, 'utf8')).toBe(text);
  });
});
