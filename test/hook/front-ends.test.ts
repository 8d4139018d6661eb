import { spawn, spawnSync } from 'node:child_process';
import {
  chmodSync,
  closeSync,
  constants,
  existsSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { travelling } from '../../src/hook/environment.ts';
import { maxFragmentBytes } from '../../src/hook/fragment.ts';
import { shellCommand } from '../../src/hook/script.ts';
import { cannotRun, needs, needsRoot, skipFor } from '../needs.ts';
import { size } from '../obligations/size.ts';
import {
  alive,
  build,
  type Circumstances,
  decoded,
  demolish,
  fragments,
  frontEnds,
  type House,
  harmless,
  kicks,
  node,
  run,
  shells,
} from './front-ends.ts';

const isRoot = process.geteuid?.() === 0;
const nobody = 65_534;
const houses: House[] = [];
const mounts: string[] = [];

afterEach(async () => {
  for (const mount of mounts.splice(0)) spawnSync('umount', [mount]);
  for (const each of houses.splice(0)) await demolish(each);
});

function house(options?: Parameters<typeof build>[0]): House {
  const built = build(options);
  houses.push(built);
  return built;
}

const payload = '{"session_id":"s","text":"line\\nquote\' é"}\n';

const atAnySize = new Set(['sh', 'node']);
for (const { name, missing, command } of frontEnds) {
  describe(name, () => {
    beforeEach(context => {
      if (size === 'quick' && !atAnySize.has(name)) skipFor(context, 'not at size quick');
      if (missing !== undefined) needs(context, missing);
    });

    const bytesOf = async (content: string | Uint8Array, around?: Circumstances) => {
      const at = house();
      expect(await run(command(at, {}), content, around)).toEqual(harmless);
      const [found, ...others] = fragments(at);
      expect(others).toEqual([]);
      return found;
    };

    test('puts the payload into the inbox, byte for byte, and prints nothing', async () => {
      const found = await bytesOf(payload);
      expect(found?.payload.toString()).toBe(payload);
      expect(found?.header).toMatchObject({
        tool: 'some-agent',
        event: 'SomeEvent',
        cwd: '/tmp',
        ppid: String(process.pid),
      });
      expect(found?.upMs).toBeGreaterThan(0);
      expect(found?.boot).toMatch(/^[0-9a-f]{8}$/);
      expect(Math.abs((found?.atMs ?? 0) - Date.now())).toBeLessThan(10_000);
    });

    const binary = Buffer.from(Array.from({ length: 1_000_003 }, (_, index) => (index * 7919) % 256));
    test.each([
      ['an empty payload', Buffer.alloc(0)],
      ['a payload that is no JSON', Buffer.from('hello }')],
      ['an unfinished payload', Buffer.from('{"a":')],
      ['a payload that imitates a trailer', Buffer.from('{}\n00000000-0000-0000-0000-000000000000\n')],
      ['two payloads in one', Buffer.from('{"a":1}\n{"b":2}')],
      ['a million bytes of anything', binary],
      ['more than one buffer', Buffer.alloc(65_536, 'x')],
      ['more than one large buffer', Buffer.alloc(1_048_576, '}')],
      ['a million levels', Buffer.from('['.repeat(1_000_000) + ']'.repeat(1_000_000))],
    ])('keeps %s', async (_says, content) => {
      expect((await bytesOf(content))?.payload.equals(content)).toBe(true);
    });

    test('writes files that only their user can read, with any umask', async () => {
      for (const umask of ['000', '777']) {
        const at = house({ prepared: false });
        const words = ['/bin/sh', '-c', `umask ${umask}; exec "$@"`, 'sh', ...command(at, {})];
        expect(await run(words, payload)).toEqual(harmless);
        for (const path of [at.state, at.inbox]) expect(statSync(path).mode & 0o777).toBe(0o700);
        for (const file of readdirSync(at.inbox)) expect(statSync(join(at.inbox, file)).mode & 0o777).toBe(0o600);
        expect(fragments(at)).toHaveLength(1);
      }
    });

    test('carries the variables of its list with any value, and no others', async () => {
      const values = [
        'a=b,c=d e',
        `it's "quoted" $HOME \`id\` \\ *`,
        'two\nlines 7:x',
        'éü€😀',
        ' edges ',
        '-n',
        '%s%d',
        '\x01\x7f',
      ];
      const env = Object.fromEntries(
        travelling().map((variable, index) => [variable, values[index % values.length] ?? '']),
      );
      // This variable is a path, which travels as an absolute path.
      env.OTEL_HOOKS_CONFIG = `/${env.OTEL_HOOKS_CONFIG}`;
      const found = await bytesOf(payload, { env: { ...env, OTEL_SERVICE_NAME: '', OTEL_SECRET: 'x', HOME: '/x' } });
      const { tool, event, cwd, ppid, at, ...others } = found?.header ?? {};
      const { OTEL_SERVICE_NAME, ...expected } = env;
      expect(others).toEqual(expected);
    });

    test('works in and from folders with any characters in their names', async () => {
      const at = house({ name: `a 'b' "c"\n$(d) \`e\` é *` });
      const cwd = join(at.folder, `w 'x'\n"y" é`);
      mkdirSync(cwd);
      expect(await run(command(at, {}), payload, { cwd })).toEqual(harmless);
      expect(fragments(at).map(each => each.header.cwd)).toEqual([cwd]);
    });

    test.each(['<&-', '</dev/null', '>&-', '2>&-', '<&- >&- 2>&-', '>/dev/full'])('survives %s', async redirect => {
      const at = house();
      expect(await run(command(at, {}), payload, { redirect })).toEqual(harmless);
      const found = decoded(at);
      expect(found).toHaveLength(1);
      // Without standard input the hook can record only that the event happened.
      if (!redirect.startsWith('<&-')) expect(found[0]?.ok).toBe(true);
    });

    test('makes the state folder when there is none', async () => {
      const at = house({ prepared: false });
      expect(await run(command(at, { edge: true, provider: 'file' }), payload, { env: { NODE_OPTIONS: '' } })).toEqual(
        harmless,
      );
      expect(fragments(at).map(each => ({ ...each.header }))).toMatchObject([
        { tool: 'some-agent', event: 'SomeEvent', provider: 'file' },
      ]);
      expect(await kicks(at, 1)).toHaveLength(1);
    });

    test('prints the one answer that its agent requires', async () => {
      const at = house();
      const answer = `{"continue":"it's"}`;
      expect(await run(command(at, { reply: answer }), payload)).toEqual({ ...harmless, stdout: `${answer}\n` });
      expect(fragments(at)).toHaveLength(1);
    });

    test('refuses a state folder that is a link', async () => {
      for (const part of ['state', 'inbox'] as const) {
        const at = house({ prepared: false });
        const elsewhere = join(at.folder, 'elsewhere');
        mkdirSync(join(elsewhere, 'inbox'), { recursive: true });
        if (part === 'inbox') mkdirSync(at.state);
        symlinkSync(part === 'state' ? elsewhere : join(elsewhere, 'inbox'), at[part]);
        expect(await run(command(at, {}), payload)).toEqual(harmless);
        expect(readdirSync(join(elsewhere, 'inbox'))).toEqual([]);
      }
    });

    test('refuses a state folder that is a file', async () => {
      const at = house({ prepared: false });
      writeFileSync(at.state, 'mine');
      expect(await run(command(at, {}), payload)).toEqual(harmless);
      expect(statSync(at.state).size).toBe(4);
    });

    test('refuses another user’s state folder', async context => {
      needsRoot(context);
      const at = house();
      for (const path of [at.state, at.inbox]) chmodSync(path, 0o777);
      expect(await run(command(at, {}), payload, { uid: nobody })).toEqual(harmless);
      expect(readdirSync(at.inbox)).toEqual([]);
    });

    test('does not change a read-only state folder', async () => {
      const at = house();
      if (isRoot) spawnSync('chown', ['-R', String(nobody), join(at.state)]);
      for (const path of [at.inbox, at.state]) chmodSync(path, 0o500);
      const around = isRoot ? { uid: nobody } : {};
      expect(await run(command(at, {}), payload, around)).toEqual(harmless);
      expect(readdirSync(at.inbox)).toEqual([]);
      for (const path of [at.state, at.inbox]) chmodSync(path, 0o700);
    });

    test('on a full disk leaves at most a torn file, and works again when there is space', async context => {
      const at = house({ prepared: false });
      mkdirSync(at.state, { mode: 0o700 });
      const mounted = spawnSync('mount', ['-t', 'tmpfs', '-o', 'size=256k,mode=700', 'tmpfs', at.state]);
      if (mounted.status !== 0) cannotRun(context, 'a file system of 256 KB cannot be mounted here');
      mounts.push(at.state);
      mkdirSync(at.inbox, { mode: 0o700 });
      mkdirSync(join(at.state, 'problems'), { mode: 0o700 });
      alive(at);
      expect(await run(command(at, {}), 'x'.repeat(1_000_000))).toEqual(harmless);
      expect(decoded(at)).toEqual([{ ok: false, why: 'torn' }]);
      expect(readdirSync(join(at.state, 'problems')).join()).toMatch(/^hook-write-/);
      spawnSync('rm', ['-r', at.inbox]);
      mkdirSync(at.inbox, { mode: 0o700 });
      expect(await run(command(at, {}), payload)).toEqual(harmless);
      expect(fragments(at)).toHaveLength(1);
    });

    test('starts deliver at an edge, in a session of its own, without open files and variables of the agent', async () => {
      const at = house();
      const env = { NODE_OPTIONS: name === 'node' ? '--no-warnings' : '--require=/nonexistent' };
      expect(await run(command(at, { edge: true }), payload, { env })).toEqual(harmless);
      expect(await kicks(at, 1)).toEqual([
        { args: ['--kicked', '--from', '/tmp', '--state-dir', at.state], cwd: '/', options: null },
      ]);
    });

    test('starts deliver at other events only if no deliver runs', async () => {
      const gone = spawnSync('true').pid;
      const cases: [lock: string | undefined, kicked: number][] = [
        [`${process.pid} {"v":1}\n`, 0],
        [`${process.pid}\n{"v":1}\n`, 0],
        [undefined, 1],
        ['', 1],
        ['garbage\n', 1],
        ['0 {}\n', 1],
        ['-1 {}\n', 1],
        [`${gone} {}\n`, 1],
      ];
      const seen = cases.map(async ([lock, kicked]) => {
        const at = house();
        if (lock === undefined) rmSync(join(at.state, 'lock'));
        else writeFileSync(join(at.state, 'lock'), lock);
        expect(await run(command(at, {}), payload)).toEqual(harmless);
        return [lock, (await kicks(at, kicked)).length];
      });
      expect(await Promise.all(seen)).toEqual(cases);
    });

    test('records nothing while the program is missing, deletes nothing, and leaves one sign', async () => {
      const at = house();
      expect(await run(command(at, {}), payload)).toEqual(harmless);
      renameSync(join(at.state, '..', 'deliver.js'), join(at.folder, 'elsewhere.js'));
      rmSync(join(at.state, 'lock'));
      // More than a pipe holds: an agent must be able to write all of it.
      const long = JSON.stringify({ session_id: 's', text: 'x'.repeat(200_000) });
      for (const edge of [false, true, false])
        expect(await run(command(at, { edge }), name === 'node' ? payload : long)).toEqual(harmless);
      expect(fragments(at).map(each => each.payload.toString())).toEqual([payload]);
      expect(readdirSync(join(at.state, 'problems'))).toEqual(['hook-kick-missing']);
      expect(readdirSync(at.state).sort()).toEqual(['inbox', 'problems']);
      const sign = readFileSync(join(at.state, 'problems', 'hook-kick-missing'), 'utf8');
      expect(sign).toBe('3\n');

      // An upgrade puts the program back under the same path.
      renameSync(join(at.folder, 'elsewhere.js'), join(at.state, '..', 'deliver.js'));
      expect(await run(command(at, {}), payload)).toEqual(harmless);
      expect(fragments(at)).toHaveLength(2);
      expect(await kicks(at, 1)).toHaveLength(1);
    });

    test('makes no state folder while the program is missing', async () => {
      const at = house({ prepared: false, deliver: null });
      if (name === 'node') return;
      expect(await run(command(at, {}), payload)).toEqual(harmless);
      expect(existsSync(at.state)).toBe(false);
    });

    test('does not make its agent wait for deliver', async () => {
      const at = house({ deliver: 'setTimeout(() => {}, 20_000);' });
      const startedMs = Date.now();
      expect(await run(command(at, { edge: true }), payload)).toEqual(harmless);
      expect(Date.now() - startedMs).toBeLessThan(5_000);
    });
  });
}

describe('the front ends together', () => {
  test('keep 64 events that come at once', async () => {
    const at = house();
    const present = frontEnds.filter(each => each.missing === undefined);
    const runs = Array.from({ length: 64 }, (_, index) => {
      const each = present[index % present.length] ?? node;
      return run(each.command(at, {}), JSON.stringify({ index, text: 'x'.repeat(index * 1_000) }));
    });
    expect(new Set((await Promise.all(runs)).map(each => JSON.stringify(each)))).toEqual(
      new Set([JSON.stringify(harmless)]),
    );
    const seen = fragments(at).map(each => JSON.parse(each.payload.toString()).index);
    expect(seen.sort((a, b) => a - b)).toEqual(Array.from({ length: 64 }, (_, index) => index));
  });

  test('follow OTEL_HOOKS_STATE_DIR, also a relative one', async () => {
    for (const each of shells.filter(shell => shell.missing === undefined)) {
      const at = house();
      const env = { OTEL_HOOKS_STATE_DIR: 'home/state' };
      const words = each.command({ ...at, script: at.script }, { edge: true });
      expect(await run(words, payload, { env, cwd: at.folder })).toEqual(harmless);
      expect(fragments(at)).toHaveLength(1);
      expect(await kicks(at, 1)).toMatchObject([
        { args: ['--kicked', '--from', expect.any(String), '--state-dir', at.state] },
      ]);
    }
  });

  test('find the same folder and file by variables, and so does deliver', async () => {
    const seen = frontEnds
      .filter(each => each.missing === undefined)
      .map(async each => {
        const at = house();
        const env = { OTEL_HOOKS_STATE_DIR: 'home/state///', OTEL_HOOKS_CONFIG: 'some/ours.json' };
        // Without the flag that names the folder.
        const words = each.command(at, { edge: true }).filter(word => word !== '--state-dir' && word !== at.state);
        expect(await run(words, payload, { env, cwd: at.folder })).toEqual(harmless);
        // The configuration refuses a relative path, so the path stays as it is.
        const file = 'some/ours.json';
        expect(fragments(at)[0]?.header.OTEL_HOOKS_CONFIG, each.name).toBe(file);
        const args = ['--kicked', '--from', at.folder, '--state-dir', at.state];
        expect(await kicks(at, 1)).toMatchObject([{ args, config: file }]);
      });
    await Promise.all(seen);
  });

  test('read 100 MB and keep no more than the limit of one event', async () => {
    const at = house();
    const huge = Buffer.alloc(100 * 1024 * 1024, '{');
    expect(await run(node.command(at, {}), huge)).toEqual(harmless);
    expect(decoded(at)).toEqual([{ ok: false, why: 'torn' }]);
    const [file = ''] = readdirSync(at.inbox);
    const { size } = statSync(join(at.inbox, file));
    expect(size).toBeGreaterThan(maxFragmentBytes);
    expect(size).toBeLessThanOrEqual(maxFragmentBytes + 1024 * 1024);
  });
});

describe('a shell', () => {
  test('starts one process besides itself', async context => {
    needs(context, 'strace');
    for (const shell of shells.filter(each => each.missing === undefined)) {
      const at = house();
      const words = ['strace', '-f', '-qq', '-e', 'trace=process', ...shell.command(at, {})];
      const { stderr, status } = await run(words, payload);
      expect(status).toBe(0);
      const born = stderr.match(/\b(?:v?fork|clone3?)\((?!.*resumed)/g) ?? [];
      const begun = stderr.match(/execve\("[^"]*", .*/g) ?? [];
      expect([shell.name, born.length, begun.length]).toEqual([shell.name, 1, 2]);
    }
  });

  test.each(shells.filter(each => each.missing === undefined))(
    '$name does nothing if the script is missing',
    async shell => {
      const at = house();
      const words = shell.command({ ...at, script: join(at.folder, 'gone.sh') }, {});
      expect(await run(words, payload)).toEqual(harmless);
      expect(fragments(at)).toEqual([]);
    },
  );

  test.each(shells.filter(each => each.missing === undefined))(
    '$name runs no part of a script whose read was truncated',
    async shell => {
      const at = house();
      const text = readFileSync(at.script, 'utf8');
      // One variable is inside a word that reads standard input.
      const ends = [text.indexOf('\nread -r oh_boot') + '\nread -'.length];
      for (let end = 150; end < text.length - 2; end += 450) ends.push(end);
      for (const end of ends) {
        writeFileSync(at.script, text.slice(0, end));
        expect([end, await run(shell.command(at, {}), payload)]).toEqual([end, harmless]);
      }
      expect(decoded(at)).toEqual([]);
    },
  );

  test('finds Node and cat elsewhere when their known paths are missing', async () => {
    for (const shell of shells.filter(each => each.missing === undefined)) {
      const at = house();
      const text = readFileSync(at.script, 'utf8')
        .replaceAll(process.execPath, '/nonexistent/node')
        .replaceAll('/bin/cat', '/nonexistent/cat');
      writeFileSync(at.script, text);
      const env = { PATH: `${join(process.execPath, '..')}:${process.env.PATH}` };
      expect(await run(shell.command(at, { edge: true }), payload, { env })).toEqual(harmless);
      expect(fragments(at)).toHaveLength(1);
      expect(await kicks(at, 1)).toHaveLength(1);
    }
  });

  test.each(shells.filter(each => each.missing === undefined))(
    '$name runs no program of a project when Node and cat are missing',
    async shell => {
      const at = house();
      const text = readFileSync(at.script, 'utf8')
        .replaceAll(process.execPath, '/nonexistent/node')
        .replaceAll('/bin/cat', '/nonexistent/cat');
      writeFileSync(at.script, text);
      const clone = join(at.folder, 'clone');
      const sub = join(clone, 'sub');
      const bins = [clone, sub, join(clone, 'node_modules', '.bin')];
      for (const folder of [join(clone, '.git'), ...bins]) mkdirSync(folder, { recursive: true });
      const ran = join(at.folder, 'ran');
      for (const folder of bins)
        for (const name of ['node', 'cat'])
          writeFileSync(join(folder, name), `#!/bin/sh\n: >${ran}\n`, { mode: 0o755 });
      const link = join(at.folder, 'link');
      symlinkSync(clone, link);
      const cases: [cwd: string, path: string][] = [
        [sub, bins.join(':')],
        [sub, '.::..:../node_modules/.bin'],
        [clone, join(link, 'node_modules', '.bin')],
        [join(link, 'sub'), bins.join(':')],
        [join(link, 'sub'), `${clone}/sub/../node_modules/.bin`],
      ];
      for (const [done, [cwd, path]] of cases.entries()) {
        const env = { PATH: `${path}:${join(process.execPath, '..')}`, PWD: cwd };
        expect(await run(shell.command(at, { edge: true }), payload, { env, cwd })).toEqual(harmless);
        expect([cwd, path, existsSync(ran)]).toEqual([cwd, path, false]);
        expect(fragments(at)).toHaveLength(done + 1);
      }
      expect((await kicks(at, 1)).length).toBeGreaterThan(0);
    },
  );

  test('gets plain words only', () => {
    expect(shellCommand({ script: '/d/hook.sh', tool: 'a', event: 'B', edge: true, provider: 'otlp,file' })).toBe(
      `trap 'exit 0' 0; otel_hooks='a B edge otlp,file'; [ ! -r '/d/hook.sh' ] || . '/d/hook.sh' 2>/dev/null`,
    );
    expect(() => shellCommand({ script: '/d/hook.sh', tool: `a'; id #`, event: 'B' })).toThrow(RangeError);
    expect(() => shellCommand({ script: '/d/hook.sh', tool: '', event: 'B' })).toThrow(RangeError);
  });
});

describe('node', () => {
  test('ends with a whole object although the pipe stays open', async () => {
    const at = house();
    const [program = '', ...args] = node.command(at, {});
    const child = spawn(program, args, { env: { PATH: process.env.PATH } });
    child.stdin.write(payload);
    const status = await new Promise(resolve => child.on('exit', resolve));
    child.stdin.destroy();
    expect(status).toBe(0);
    expect(fragments(at).map(each => each.payload.toString())).toEqual([payload]);
  });

  const half = `${JSON.stringify({ n: 'x'.repeat(40_000) })}\n`;
  test.each([
    ['a slow writer', [payload, '\n', payload, '\n', payload], []],
    ['an unbuffered writer', [...`${payload}\n${payload}\n`], []],
    ['two objects in one write, and a third', [`${payload}\n${payload}\n`, payload], ['--tool', 'some-agent']],
    ['a slow writer of more than one buffer', [half, half, half], []],
  ])('reads all of %s', async (_name, writes, words) => {
    const at = house();
    const child = spawn(at.bin, ['hook', ...words, '--state-dir', at.state], { env: { PATH: process.env.PATH } });
    const left = new Promise(resolve => child.on('exit', resolve));
    await vi.waitFor(() => expect(readdirSync(at.inbox)).toHaveLength(1), { timeout: 30_000 });
    for (const text of writes) {
      await new Promise(resolve => child.stdin.write(text, resolve));
      if (text.length > 1) await new Promise(resolve => setTimeout(resolve, 60));
    }
    child.stdin.end();
    expect(await left).toBe(0);
    expect(fragments(at).map(each => each.payload.toString())).toEqual([writes.join('')]);
    expect(readdirSync(join(at.state, 'problems'))).toEqual([]);
  });

  // Numbers of seven digits: a block that is lost, repeated or moved changes the text.
  const counted = (bytes: number): string => {
    const numbers = Array.from({ length: Math.ceil(bytes / 8) }, (_, i) => String(1_000_000 + i));
    return `{"n":"${numbers.join(' ').slice(0, bytes - 8)}"}`;
  };
  const block = 65_536;
  test.each([
    ['a block', block, 0, 0],
    ['a block in uneven pieces', block + 1, 10_007, 0],
    ['the buffer for large payloads', 8 * block, 0, 0],
    ['the buffer for large payloads, and one byte', 8 * block + 1, 33_333, 0],
    ['3 MB at once', 3_000_000, 0, 0],
    ['3 MB in pieces, each after a pause', 3_000_000, 300_007, 5],
  ])('reads all of %s through a pipe', async (_name, bytes, pieceBytes, pauseMs) => {
    const at = house();
    const text = counted(bytes);
    const input = join(at.folder, 'input');
    writeFileSync(input, text);
    const writer = `const { readFileSync, writeSync } = require('node:fs');
const [, file, piece, pause] = process.argv;
const bytes = readFileSync(file);
for (let from = 0; from < bytes.length; ) {
  from += writeSync(1, bytes, from, Math.min(Number(piece) || bytes.length, bytes.length - from));
  if (Number(pause) > 0) Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, Number(pause));
}`;
    const line = `"$1" -e "$2" "$3" ${pieceBytes} ${pauseMs} | "$4" hook --tool some-agent --state-dir "$5"`;
    const words = ['-c', line, 'sh', process.execPath, writer, input, at.bin, at.state];
    const child = spawn('/bin/sh', words, { stdio: 'ignore' });
    expect(await new Promise(resolve => child.on('exit', resolve))).toBe(0);
    const found = fragments(at).map(each => each.payload.toString());
    expect(found.map(each => each.length)).toEqual([bytes]);
    expect(found[0] === text).toBe(true);
    expect(readdirSync(join(at.state, 'problems'))).toEqual([]);
  });

  test.each([100_000, 500_000])('ends with a whole object of %i bytes although the pipe stays open', async bytes => {
    const at = house();
    const text = counted(bytes);
    const input = join(at.folder, 'input');
    writeFileSync(input, text);
    // The writer ends when the hook has ended: `cat` waits for the end of the fifo.
    const hold = join(at.folder, 'hold');
    spawnSync('mkfifo', [hold]);
    const line = '{ cat "$1"; cat "$2"; } | { "$3" hook --tool some-agent --state-dir "$4"; : >"$2"; }';
    const startedMs = Date.now();
    const child = spawn('/bin/sh', ['-c', line, 'sh', input, hold, at.bin, at.state], { stdio: 'ignore' });
    expect(await new Promise(resolve => child.on('exit', resolve))).toBe(0);
    expect(fragments(at).map(each => each.payload.toString() === text)).toEqual([true]);
    expect(readdirSync(join(at.state, 'problems'))).toEqual([]);
    expect(Date.now() - startedMs).toBeLessThan(5_000);
  });

  test('reads all of two writers that share a pipe', async () => {
    const at = house();
    const line = '{ printf "%s\\n" "$0"; sleep 0.3; printf "%s\\n" "$0"; } | "$@"';
    const child = spawn('/bin/sh', ['-c', line, payload, at.bin, 'hook', '--state-dir', at.state]);
    expect(await new Promise(resolve => child.on('exit', resolve))).toBe(0);
    expect(fragments(at).map(each => each.payload.toString())).toEqual([`${payload}\n${payload}\n`]);
  });

  test('stops waiting for a writer that is silent for 5 s, if the pipe allows it, and counts this', async () => {
    const at = house();
    const pipe = join(at.folder, 'pipe');
    spawnSync('mkfifo', [pipe]);
    const fd = openSync(pipe, constants.O_RDWR | constants.O_NONBLOCK);
    writeSync(fd, '{"half":');
    const [program = '', ...args] = node.command(at, {});
    // A third descriptor: Node makes the first three blocking before it hands them on.
    const child = spawn('/bin/sh', ['-c', 'exec "$@" <&3', 'sh', program, ...args], {
      stdio: ['ignore', 'ignore', 'ignore', fd],
      env: { PATH: process.env.PATH },
    });
    const startedMs = Date.now();
    expect(await new Promise(resolve => child.on('exit', resolve))).toBe(0);
    closeSync(fd);
    expect(Date.now() - startedMs).toBeGreaterThan(4_000);
    expect(fragments(at).map(each => each.payload.toString())).toEqual(['{"half":']);
    expect(readFileSync(join(at.state, 'problems', 'hook-input-silent'), 'utf8')).toBe('1\n');
  });

  test('ends at once if its input is a terminal', async context => {
    needs(context, 'script');
    const at = house();
    const typed = `${node.command(at, {}).join(' ')}; printf '%s' "left $?"`;
    const child = spawn('script', ['-qec', typed, '/dev/null'], { stdio: ['pipe', 'pipe', 'inherit'] });
    let shown = '';
    child.stdout.on('data', chunk => {
      shown += chunk;
    });
    await new Promise(resolve => child.on('close', resolve));
    child.stdin.destroy();
    expect(shown.trim()).toBe('left 0');
    expect(readdirSync(at.inbox)).toEqual([]);
  });

  test('needs no flag, no HOME and no known command', async () => {
    const at = house();
    const env = { OTEL_HOOKS_STATE_DIR: at.state };
    for (const words of [[], ['--tool'], ['--unknown', 'x'], ['--flush'], ['--tool=', 'rest']]) {
      expect(await run([at.bin, 'hook', ...words], payload, { env })).toEqual(harmless);
    }
    expect(await run([at.bin, '--json', '--state-dir', at.state, 'hook'], payload)).toEqual(harmless);
    expect(fragments(at)).toHaveLength(6);
  });

  test('waits for deliver with --flush, and not longer than that', async () => {
    const ends = house({
      deliver: `setTimeout(() => require('node:fs').writeFileSync(process.argv.at(-1) + '/kicked-1', JSON.stringify({ args: process.argv.slice(2) })), 300);`,
    });
    expect(await run([...node.command(ends, {}), '--flush', '5s'], payload)).toEqual(harmless);
    expect(existsSync(join(ends.state, 'kicked-1'))).toBe(true);
    expect(await kicks(ends, 1)).toEqual([{ args: ['--wait', '5000ms', '--from', '/tmp', '--state-dir', ends.state] }]);

    const hangs = house({ deliver: 'setTimeout(() => {}, 20_000);' });
    const startedMs = Date.now();
    expect(await run([...node.command(hangs, {}), '--flush=700ms'], payload)).toEqual(harmless);
    const tookMs = Date.now() - startedMs;
    expect(tookMs).toBeGreaterThan(700);
    expect(tookMs).toBeLessThan(5_000);
  });
});
