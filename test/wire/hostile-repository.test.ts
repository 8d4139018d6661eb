/** A session in a repository with hostile files: real hooks, the real delivery, a collector. */
import { execFileSync, spawn } from 'node:child_process';
import fs from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type Collector, startCollector } from '../collector.ts';
import { needsRoot } from '../needs.ts';
import { bySize } from '../obligations/size.ts';
import { AGENT, furnish, type House, otelHooks, payloadOf, type Ran, status, vacate } from './house.ts';

let house: House;
let collector: Collector;
beforeEach(async () => {
  collector = await startCollector();
  house = furnish('built', 'otel-hooks-hostile-');
});
afterEach(async () => {
  await vacate(house);
  await collector.close();
});

const at = (path: string): string => join(house.project, path);
function write(path: string, text: string): void {
  fs.mkdirSync(join(at(path), '..'), { recursive: true });
  fs.writeFileSync(at(path), text);
}

/** A session of two events; waits until all is sent. `shell`: run before the hook, in its shell. */
async function session(shell = '', cwd = house.project): Promise<void> {
  const base = { session_id: `in ${cwd}`, cwd };
  const payloads = [
    { hook_event_name: 'UserPromptSubmit', prompt: 'hello' },
    { hook_event_name: 'SessionEnd', reason: 'other' },
  ];
  for (const [index, payload] of payloads.entries()) {
    const flush = index === 1 ? ['--flush', '30s'] : [];
    const ran = await hook(payloadOf({ ...base, ...payload }), flush, shell, cwd);
    expect(ran).toEqual({ status: 0, stdout: '', stderr: '' });
  }
}

function hook(payload: string, words: string[], shell = '', cwd = house.project): Promise<Ran> {
  const all = [process.execPath, house.bin, 'hook', '--tool', AGENT, ...words];
  const child = spawn('/bin/sh', ['-c', `${shell}\nexec "$@"`, 'sh', ...all], {
    cwd,
    env: { ...house.env, OTEL_EXPORTER_OTLP_ENDPOINT: collector.url },
    timeout: 60_000,
  });
  const ran: Ran = { status: null, stdout: '', stderr: '' };
  child.stdout.on('data', part => {
    ran.stdout += part;
  });
  child.stderr.on('data', part => {
    ran.stderr += part;
  });
  child.stdin.end(payload);
  return new Promise(resolve => child.on('close', code => resolve({ ...ran, status: code })));
}

const sent = (): string => JSON.stringify([collector.spans(), collector.records(), collector.metrics()]);
const roots = () => collector.spans().filter(({ parentSpanId }) => !parentSpanId);
const root = () => roots()[0];

describe('a .git folder', () => {
  const marker = (): string => join(house.folder, 'ran');

  it('runs none of its commands, and names no credential', async () => {
    const run = `touch ${marker()}`;
    write('.git/HEAD', 'ref: refs/heads/main\n');
    write(
      '.git/config',
      `[core]\n\tfsmonitor = ${run}\n\thooksPath = ./hooks\n\tsshCommand = ${run}\n\tpager = ${run}\n\teditor = ${run}\n` +
        `[alias]\n\tstatus = !${run}\n[diff]\n\texternal = ${run}\n[include]\n\tpath = /dev/zero\n` +
        `[remote "origin"]\n\turl = https://somebody:ghp_hidden-word@git.example/shop/app.git?token=hidden-word\n`,
    );
    for (const name of ['post-checkout', 'fsmonitor-watchman', 'post-index-change']) {
      write(`hooks/${name}`, `#!/bin/sh\n${run}\n`);
      fs.chmodSync(at(`hooks/${name}`), 0o755);
    }
    await session();
    expect(root()).toBeDefined();
    expect(sent()).toContain('git.example/shop/app');
    expect(sent()).not.toMatch(/hidden-word|somebody/);
    expect(fs.existsSync(marker())).toBe(false);
  });

  it('names no branch with a terminal sequence, a line end, steps to another folder or a secret', async () => {
    const branches = {
      sequence: 'feat\u001b]0;owned\u0007',
      line: 'feat\rowned',
      steps: '../../../../../etc/passwd',
      secret: `ghp_${'a1B2'.repeat(9)}`,
    };
    for (const [folder, branch] of Object.entries(branches)) {
      write(`${folder}/.git/HEAD`, `ref: refs/heads/${branch}\n`);
      write(`${folder}/.git/config`, `[remote "origin"]\n\turl = https://git.example/shop/${folder}.git\n`);
      await session('', at(folder));
      expect(sent()).toContain(`git.example/shop/${folder}`);
    }
    expect(roots()).toHaveLength(4);
    expect(sent()).not.toMatch(/owned|etc.passwd|a1B2/);
  });

  // With an unreadable HEAD, no other file of the folder is read.
  it
    .skipIf(process.platform === 'win32')
    .each([[['HEAD']], [['config', 'packed-refs', 'logs/HEAD', 'refs/heads/main']]])(
    'is not waited for where %j are FIFOs, or endless devices',
    async names => {
      for (const [folder, make] of [
        ['fifo', (path: string) => void execFileSync('mkfifo', [path])],
        ['endless', (path: string) => fs.symlinkSync('/dev/zero', path)],
      ] as const) {
        write(`${folder}/.git/HEAD`, 'ref: refs/heads/main\n');
        for (const name of names) {
          const path = at(`${folder}/.git/${name}`);
          fs.mkdirSync(join(path, '..'), { recursive: true });
          fs.rmSync(path, { force: true });
          make(path);
        }
        await session('', at(folder));
      }
      expect(roots()).toHaveLength(2);
      expect(otelHooks(house, ['status', '--json']).stdout).toContain('"balanced": true');
    },
  );
});

describe.skipIf(process.platform === 'win32')('a settings file of the project', () => {
  const traps: [name: string, make: (path: string) => void][] = [
    ['a FIFO', path => void execFileSync('mkfifo', [path])],
    ['a link to /dev/zero', path => fs.symlinkSync('/dev/zero', path)],
    ['a link to itself', path => fs.symlinkSync('.', path)],
    ['a folder', path => fs.mkdirSync(path)],
    [
      'a terabyte',
      path => {
        fs.writeFileSync(path, '{');
        fs.truncateSync(path, 1e12);
      },
    ],
    ['nested without end', path => fs.writeFileSync(path, '['.repeat(500_000))],
  ];

  it.each(traps)('that is %s loses no session and blocks no command', async (_, make) => {
    for (const name of ['.otel-hooks.json', '.openhook.json']) make(at(name));
    await session();
    expect(root()).toBeDefined();
    const shown = status(house, { OTEL_EXPORTER_OTLP_ENDPOINT: collector.url });
    expect(shown).toMatchObject({ balanced: true });
    for (const words of [['config', '--json'], ['openhook'], ['doctor', '--offline', '--no-proof', '--json']])
      expect(otelHooks(house, words).status, words.join(' ')).not.toBe(null);
  });
});

describe.skipIf(process.platform === 'win32')('files and folders of otel-hooks', () => {
  it.each([
    ['settings', ['.config/otel-hooks/config.json', '.claude/settings.json']],
    ['notes', ['trusted.json', 'token'].map(name => `.config/otel-hooks/${name}`)],
    ['scripts', ['hook.sh', 'places.json', 'folders.json'].map(name => `.local/share/otel-hooks/${name}`)],
  ])('block no command if pipes are at the paths of %s', (_, paths) => {
    for (const path of paths) {
      const pipe = join(house.home, path);
      fs.mkdirSync(join(pipe, '..'), { recursive: true, mode: 0o700 });
      execFileSync('mkfifo', [pipe]);
    }
    for (const words of [
      ['enable', '--tool', AGENT, '--global', '--yes', '--no-proof'],
      ['doctor', '--offline', '--no-proof'],
      ['config', '--trust', '--yes'],
      ['status'],
      ['uninstall', '--yes'],
    ])
      expect(otelHooks(house, words).status, words.join(' ')).not.toBe(null);
  });

  it.each(['000', '077', '777'])('belong to the user alone under umask %s', async mask => {
    await session(`umask ${mask}`);
    const found = fs.readdirSync(house.state, { recursive: true, withFileTypes: true });
    expect(found.length).toBeGreaterThan(5);
    const open = found.filter(each => fs.lstatSync(join(each.parentPath, each.name)).mode & 0o077);
    expect(open.map(({ name }) => name)).toEqual([]);
    expect(fs.statSync(house.state).mode & 0o777).toBe(0o700);
    expect(status(house)).toMatchObject({ balanced: true });
  });

  it('are not redirected if another user swaps links into a shared temporary folder', async context => {
    needsRoot(context);
    const shared = join(house.folder, 'tmp');
    const victim = join(house.folder, 'victim');
    fs.mkdirSync(shared);
    fs.chmodSync(shared, 0o1777);
    fs.mkdirSync(victim);
    const state = join(shared, 'state');
    // In turn a link to the victim, a folder, and a folder whose inbox is such a link.
    const swapping = `
      const fs = require('node:fs');
      const [state, victim] = ${JSON.stringify([state, victim])};
      process.stdout.write('.');
      for (let n = 0; ; n++) {
        try { fs.rmSync(state, { recursive: true, force: true }); } catch {}
        try {
          if (n % 3 === 0) fs.symlinkSync(victim, state);
          else { fs.mkdirSync(state, { mode: 0o700 }); if (n % 3 === 1) fs.symlinkSync(victim, state + '/inbox'); }
        } catch {}
      }`;
    const stdio: ['ignore', 'pipe', 'inherit'] = ['ignore', 'pipe', 'inherit'];
    const swapper = spawn(process.execPath, ['-e', swapping], { stdio, uid: 4321, gid: 4321 });
    const ended = new Promise(resolve => swapper.once('exit', resolve));
    await new Promise(resolve => swapper.stdout.once('data', resolve));
    try {
      for (let n = 0; n < bySize({ quick: 10, ci: 25, full: 100 }); n++) {
        const payload = payloadOf({ session_id: 's', cwd: house.project, hook_event_name: 'Stop' });
        const ran = await hook(payload, ['--state-dir', state]);
        expect(ran).toEqual({ status: 0, stdout: '', stderr: '' });
      }
    } finally {
      swapper.kill('SIGKILL');
      await ended;
    }
    expect(fs.readdirSync(victim)).toEqual([]);
  });
});
