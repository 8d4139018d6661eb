/**
 * Files in every state that can occur on a machine: the commands never damage one, and always explain a refusal. Also
 * the commands as shells run them.
 */
import { execFileSync, spawnSync } from 'node:child_process';
import fs from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { isAbsent } from '../../src/agents/contract/contract.ts';
import { agentNamed, agents } from '../../src/agents/index.ts';
import { explain } from '../../src/problems/problem.ts';
import { startedAs } from '../../src/setup/commands.ts';
import { applySetup, entriesOf, type Plan, planSetup, programAt, type Setup } from '../../src/setup/setup.ts';
import { needsOtherThanRoot } from '../needs.ts';

let home: string;
beforeEach(() => {
  home = fs.mkdtempSync(join(tmpdir(), "otel-hooks it's "));
});
afterEach(() => fs.rmSync(home, { recursive: true, force: true }));

/** One agent for each kind of file and each way of running hooks: the other agents have the same code. */
const ways = ['codex', 'cursor', 'kiro', 'opencode', 'cline', 'antigravity'];
const ids = agents.map(({ id }) => id);

function setup(id: string, change: Partial<Setup> = {}): Setup {
  const agent = agentNamed(id);
  if (!agent) throw new Error(id);
  return {
    agent,
    scope: 'global',
    action: 'enable',
    places: { home, project: join(home, 'project'), env: {} },
    platform: 'linux',
    program: programAt(join(home, 'dist'), process.execPath, []),
    folders: { state: join(home, 'state'), data: join(home, 'data/otel-hooks') },
    ...change,
  };
}
function planned(made: Setup): Plan {
  const result = planSetup(made);
  if (!result.ok) throw new Error(JSON.stringify(result.problem));
  return result.plan;
}
function mainFile(id: string): string {
  const { file } = planned(setup(id));
  fs.mkdirSync(dirname(file), { recursive: true });
  return file;
}

const encoded = (encoding: BufferEncoding, bom: number[]) => (file: string) =>
  fs.writeFileSync(file, Buffer.concat([Buffer.from(bom), Buffer.from('{"a": "é"}', encoding)]));
const states: [name: string, make: (file: string) => void, why: RegExp][] = [
  ['UTF-16', encoded('utf16le', [0xff, 0xfe]), /UTF-8/],
  ['UTF-16 without a mark', encoded('utf16le', []), /UTF-8|not valid|another program/],
  ['Latin-1', encoded('latin1', []), /UTF-8/],
  ['a folder', file => fs.mkdirSync(file), /not a regular file/],
  ['a pipe', file => void execFileSync('mkfifo', [file]), /not a regular file/],
  ['a link to itself', file => fs.symlinkSync(file, file), /circle/],
  [
    'links in a circle',
    file => {
      fs.symlinkSync(`${file}.2`, file);
      fs.symlinkSync(file, `${file}.2`);
    },
    /circle/,
  ],
  [
    '50 MB',
    file => {
      fs.writeFileSync(file, '{');
      fs.truncateSync(file, 50 * 1024 * 1024);
    },
    /larger than/,
  ],
  [
    'binary',
    file => fs.writeFileSync(file, Buffer.from([0x7f, 0x45, 0x4c, 0x46, 1, 2, 0])),
    /not valid|another program/,
  ],
];

describe.each(ids)('%s', id => {
  it.each(states)('%s is not changed, and the reason is printed', (name, make, why) => {
    const file = mainFile(id);
    make(file);
    const before = fs.lstatSync(file);
    const result = planSetup(setup(id));
    // If a hook of the person is in the way, the hook goes into another folder.
    if (id === 'cline' && result.ok) {
      expect(['UTF-16 without a mark', 'binary']).toContain(name);
      expect(result.plan.changes.map(change => change.file)).not.toContain(file);
      return;
    }
    if (result.ok) throw new Error('not refused');
    const { what, next } = explain(result.problem);
    expect(what).toContain(file);
    expect(what).toMatch(why);
    expect(what).toContain('nothing was changed');
    expect(next).not.toBe('');
    const after = fs.lstatSync(file);
    expect([after.ino, after.size, after.mtimeMs]).toEqual([before.ino, before.size, before.mtimeMs]);
  });
});

const MB = 1024 * 1024;
/** A file of a project comes with a clone: each text tries to make a parser or an editor slow. */
const hostile: [what: string, text: string][] = [
  ['nested 200,000 levels deep', '{"a":'.repeat(MB / 5)],
  ['of 90,000 members', `{${Array.from({ length: 90_000 }, (_, i) => `"k${i}":1`).join(',')}}`],
  [
    'of 5,000 entries of ours',
    `{"version":1,"hooks":{"PreToolUse":[${Array(5_000).fill('{"hooks":[{"type":"command","command":"otel-hooks hook --tool x"}]}').join(',')}]}}`,
  ],
  ['of arrays of TOML in each other', `a = ${'['.repeat(MB - 10)}`],
  ['of 100,000 tables', '[[a]]\n'.repeat(100_000)],
  ['of a key with 400,000 parts', `a${'.a'.repeat(400_000)} = 1`],
];

describe.each(ids)('%s of a project', id => {
  it.each(hostile)('a file %s is read or refused in little time', (_, text) => {
    const made = setup(id, { scope: 'project' });
    const first = planSetup(made);
    if (!first.ok) return expect(first.problem.code).toBe('settings-absent');
    fs.mkdirSync(dirname(first.plan.file), { recursive: true });
    fs.writeFileSync(first.plan.file, text);
    const startMs = performance.now();
    planSetup(made);
    entriesOf(made);
    expect(performance.now() - startMs).toBeLessThan(5_000);
  });
});

describe.each(ways)('%s', id => {
  it('is restored with its mode, its link, its line ends and its mark', () => {
    const file = mainFile(id);
    if (!file.endsWith('.json')) return;
    const real = join(home, 'dotfiles.json');
    const bytes = Buffer.from('\ufeff{\r\n\t"mine": [1,\t2], // why\r\n}\r\n');
    fs.writeFileSync(real, bytes);
    fs.chmodSync(real, 0o640);
    fs.symlinkSync(real, file);
    expect(applySetup(planned(setup(id)))).toEqual({ ok: true });
    const enabled = fs.readFileSync(real, 'utf8');
    expect(enabled.startsWith('\ufeff{\r\n\t"mine": [1,\t2], // why\r\n')).toBe(true);
    expect(enabled.replaceAll('\r\n', '')).not.toContain('\n');
    expect(applySetup(planned(setup(id, { action: 'disable' })))).toEqual({ ok: true });
    expect([fs.readFileSync(real), fs.statSync(real).mode & 0o777, fs.readlinkSync(file)]).toEqual([
      bytes,
      0o640,
      real,
    ]);
    expect(fs.readdirSync(home).filter(name => name.includes('backup') || name.startsWith('.dotfiles'))).toEqual([]);
  });
});

/** Hooks record nothing without the program that delivers. */
function programIsThere(): void {
  fs.mkdirSync(join(home, 'dist'), { recursive: true });
  fs.writeFileSync(join(home, 'dist/deliver.js'), '');
}

describe.each(ids)('%s', id => {
  it('runs from a home with blanks and apostrophes, with any settings for Node, and prints only its neutral answer', () => {
    const made = setup(id);
    const { settings, reply } = made.agent;
    if (isAbsent(settings)) throw new Error('absent');
    expect(applySetup(planned(made))).toEqual({ ok: true });
    programIsThere();
    const [entry] = entriesOf(made);
    if (!entry) throw new Error('no entry');
    const [program, args] =
      settings.runs.posix === 'itself' ? [entry.file, []] : startedAs(entry.command, settings.runs, 'linux');
    const env = { PATH: '/usr/bin:/bin', HOME: home, NODE_OPTIONS: '--require /gone.js' };
    const run = () => spawnSync(program, args, { input: '{"a":1}', env, cwd: home, encoding: 'utf8' });
    const silent = { status: 0, stdout: reply.stdout && `${reply.stdout}\n`, stderr: '' };
    expect(run()).toMatchObject(silent);
    expect(fs.readdirSync(join(home, 'state/inbox'))).toHaveLength(1);
    // The script is missing: the agent gets no output and no error. A hook that is a program itself is missing too, so
    // the agent does not call it.
    if (settings.runs.posix === 'program') return;
    fs.rmSync(join(home, 'data'), { recursive: true });
    expect(run()).toMatchObject(silent);
  });
});

describe.each(ways)('%s', id => {
  it('prints nothing if a project’s file is used without otel-hooks', () => {
    const made = setup(id, { scope: 'project' });
    const { settings, reply } = made.agent;
    if (isAbsent(settings)) throw new Error('absent');
    expect(applySetup(planned(made))).toEqual({ ok: true });
    for (const { changes } of [planned(setup(id, { scope: 'project', action: 'disable' }))])
      for (const { before } of changes) expect(before).not.toContain(home);
    const [entry] = entriesOf(made);
    if (!entry) throw new Error('no entry');
    const [program, args] =
      settings.runs.posix === 'itself' ? [entry.file, []] : startedAs(entry.command, settings.runs, 'linux');
    const ran = spawnSync(program, args, { input: '{}', env: { PATH: '/usr/bin:/bin' }, encoding: 'utf8' });
    expect(ran).toMatchObject({ status: 0, stdout: reply.stdout && `${reply.stdout}\n`, stderr: '' });
  });
});

it('a failed write restores the files that were written before it', () => {
  fs.mkdirSync(join(home, '.kiro/agents'), { recursive: true });
  fs.writeFileSync(join(home, '.kiro/agents/a.json'), '{}');
  // No user can make a file here.
  fs.symlinkSync('/proc/otel-hooks.json', join(home, '.kiro/agents/b.json'));
  const plan = planned(setup('kiro'));
  expect(plan.changes.map(({ file }) => file.replace(home, '~'))).toEqual([
    '~/.kiro/hooks/otel-hooks.json',
    '~/.kiro/agents/a.json',
    '~/.kiro/agents/b.json',
  ]);
  expect(applySetup(plan)).toMatchObject({ ok: false, problem: { file: join(home, '.kiro/agents/b.json') } });
  expect(fs.readFileSync(join(home, '.kiro/agents/a.json'), 'utf8')).toBe('{}');
  expect(fs.existsSync(join(home, '.kiro/hooks'))).toBe(false);
});

it('a file or folder without write permission is not changed', context => {
  needsOtherThanRoot(context);
  const file = mainFile('cursor');
  fs.writeFileSync(file, '{}', { mode: 0o444 });
  expect(applySetup(planned(setup('cursor')))).toMatchObject({ ok: false, problem: { why: 'permission denied' } });
  fs.chmodSync(file, 0o644);
  fs.chmodSync(dirname(file), 0o555);
  expect(applySetup(planned(setup('cursor')))).toMatchObject({ ok: false, problem: { why: 'permission denied' } });
  expect(fs.readFileSync(file, 'utf8')).toBe('{}');
  fs.chmodSync(dirname(file), 0o755);
});
