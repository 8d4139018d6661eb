/** `doctor` against receivers and simulated back ends, in a home of its own. */
import fs from 'node:fs';
import { createServer, type Server } from 'node:http';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Io } from '../../src/commands/command.ts';
import { encodeFragment, fragmentName } from '../../src/hook/fragment.ts';
import { type Collector, type Reply, startCollector } from '../collector.ts';
import { type Ran, ranIn } from '../commands/ran.ts';

let home: string;
const closing: (() => unknown)[] = [];
beforeEach(() => {
  home = fs.mkdtempSync(join(tmpdir(), 'otel-hooks-doctor-'));
});
afterEach(async () => {
  await Promise.all(closing.splice(0).map(close => close()));
  fs.rmSync(home, { recursive: true, force: true });
});

interface Row {
  check: string;
  of?: string;
  state: string;
  says: string;
  next?: string;
  code?: string;
}
interface Checked extends Ran {
  problems: number;
  rows: Row[];
}

async function doctor(words: string[] = [], change: Partial<Io> = {}): Promise<Checked> {
  const all = words[0] === 'enable' ? words : ['doctor', ...words];
  const around = { cwd: join(home, 'project'), ask: async () => 'y', now: Date.now, ...change };
  const ran: Checked = { ...(await ranIn(home, all, around)), problems: 0, rows: [] };
  if (words.includes('--json')) {
    const { problems, findings } = JSON.parse(ran.out) as { problems: number; findings: Row[] };
    Object.assign(ran, { problems, rows: findings });
  }
  return ran;
}
const codes = ({ rows }: Checked): string[] => rows.flatMap(({ code }) => code ?? []);

function configured(config: object): void {
  const folder = join(home, '.config/otel-hooks');
  fs.mkdirSync(folder, { recursive: true, mode: 0o700 });
  fs.writeFileSync(join(folder, 'config.json'), JSON.stringify(config), { mode: 0o600 });
}

async function collector(answer?: () => Reply): Promise<Collector> {
  const started = await startCollector({ answer });
  closing.push(() => started.close());
  return started;
}

/** Answers queries like the four back ends, from the data of a collector. */
async function backEnd(from: Collector, answers: boolean): Promise<string> {
  const server: Server = createServer((request, response) => {
    const { pathname, searchParams } = new URL(request.url ?? '', 'http://local');
    const query = searchParams.get('query') ?? '';
    const json = (status: number, value: unknown): void => {
      response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(value));
    };
    const trace = pathname.split('/').at(-1);
    const span = answers && from.spans().some(each => each.traceId === trace);
    if (pathname.startsWith('/api/v2/traces/'))
      return json(200, span ? { trace: { resourceSpans: [{}] } } : { trace: {}, metrics: {} });
    if (pathname.startsWith('/api/traces/'))
      return span ? json(200, { data: [{ traceID: trace }] }) : json(404, { data: null, errors: [{ code: 404 }] });
    if (pathname === '/loki/api/v1/query_range') {
      const wanted = /trace_id="([0-9a-f]{32})"/.exec(query)?.[1];
      const found = answers && from.records().some(each => each.traceId === wanted);
      return json(200, { status: 'success', data: { resultType: 'streams', result: found ? [{ stream: {} }] : [] } });
    }
    if (pathname === '/api/v1/query') {
      const values = from.metrics().flatMap(each => JSON.stringify(each).match(/"asInt":"?(\d+)/)?.[1] ?? []);
      const result = answers ? values.map(value => ({ metric: {}, value: [0, value] })) : [];
      return json(200, { status: 'success', data: { resultType: 'vector', result } });
    }
    return json(404, {});
  });
  await new Promise<void>(listening => server.listen(0, '127.0.0.1', listening));
  closing.push(() => new Promise(closed => server.close(closed)));
  const address = server.address();
  return `http://127.0.0.1:${typeof address === 'object' && address ? address.port : 0}`;
}

describe('from end to end', () => {
  it('sends a trace, a record and a metric marked as synthetic, and reads them back from all four', async () => {
    const took = await collector();
    const url = await backEnd(took, true);
    const read_back = { tempo: url, jaeger: url, loki: url, prometheus: url };
    configured({ provider: 'otlp', otlp: { endpoint: took.url, headers: 'x-key=abc' }, read_back });
    const ran = await doctor(['--json']);
    expect(
      ran.rows.filter(({ check }) => check === 'read back').map(({ of, state }) => [of?.split(' ')[0], state]),
    ).toEqual([
      ['Tempo', 'fine'],
      ['Jaeger', 'fine'],
      ['Loki', 'fine'],
      ['Prometheus', 'fine'],
    ]);
    expect([ran.code, ran.problems, codes(ran)]).toEqual([0, 0, []]);
    expect(took.requests.filter(({ method }) => method === 'POST').map(({ headers }) => headers['x-key'])).toEqual([
      'abc',
      'abc',
      'abc',
    ]);
    for (const item of [...took.spans(), ...took.records()]) {
      expect(item.plain['otel_hooks.doctor.synthetic']).toBe(true);
      expect(item.resource['service.name']).toBe('otel-hooks-doctor');
    }
  });

  it('names the back end that does not answer queries, without its credentials', async () => {
    const took = await collector();
    configured({ provider: 'otlp', otlp: { endpoint: took.url }, read_back: { tempo: 'http://me:word@127.0.0.1:1' } });
    const ran = await doctor(['--json']);
    expect(codes(ran)).toContain('read-back-unreachable');
    expect(ran.out).not.toContain('word');
  });
});

describe('an endpoint', () => {
  type Start = () => Promise<string>;
  const answering = (reply: Reply): Start => {
    return async () => {
      const { url } = await collector(() => reply);
      return url;
    };
  };
  const cases: [name: string, start: Start, code: string, says: RegExp][] = [
    ['no server listens', async () => 'http://127.0.0.1:1', 'endpoint-unreachable', /ECONNREFUSED/],
    ['no credentials', answering({ status: 401 }), 'delivery-refused', /401/],
    ['forbidden', answering({ status: 403 }), 'delivery-refused', /403/],
    ['a wrong path', answering({ status: 404 }), 'delivery-endpoint', /404/],
    ['a refusal', answering({ status: 400 }), 'endpoint-refuses', /400/],
    ['gRPC', answering({ raw: '\0\0\x12\x04\0\0\0\0\0' }), 'endpoint-protocol', /HPE_/],
    [
      'no TLS where https is said',
      async () => (await answering({ status: 200 })()).replace('http:', 'https:'),
      'endpoint-tls',
      /./,
    ],
  ];

  it.each(cases)('%s', async (_, start, code, says) => {
    configured({ provider: 'otlp', otlp: { endpoint: await start() } });
    const ran = await doctor(['--json']);
    const found = ran.rows.find(each => each.code === code);
    expect([ran.code, codes(ran)]).toEqual([1, expect.arrayContaining([code])]);
    expect(found?.says).toMatch(says);
    expect(found?.next).toBeTruthy();
  });

  it('that does not answer is one row, although deliveries of each signal failed there', async () => {
    configured({ provider: 'otlp', otlp: { endpoint: 'http://127.0.0.1:1' } });
    const inbox = join(home, '.local/state/otel-hooks/inbox');
    fs.mkdirSync(inbox, { recursive: true, mode: 0o700 });
    const unique = '00000000-0000-4000-8000-000000000001';
    const payload = { session_id: 's', hook_event_name: 'SessionEnd', reason: 'other', cwd: home };
    const bytes = encodeFragment(unique, { tool: 'claude-code', cwd: home }, Buffer.from(JSON.stringify(payload)));
    fs.writeFileSync(join(inbox, fragmentName('0', '0', 1, unique)), bytes, { mode: 0o600 });
    await ranIn(home, ['deliver', '--wait', '1s'], { now: Date.now });
    const ofEndpoint = ({ rows }: Checked) => rows.filter(({ says }) => says.includes('ECONNREFUSED'));
    expect(ofEndpoint(await doctor(['--json']))).toMatchObject([{ code: 'endpoint-unreachable' }]);
    expect(ofEndpoint(await doctor(['--json', '--offline']))).toMatchObject([
      { code: 'delivery-failing', says: expect.stringMatching(/has not accepted \w+(, \w+)* and \w+ in/) },
    ]);
  });

  it('with another clock is reported', async () => {
    const took = await collector();
    configured({ provider: 'otlp', otlp: { endpoint: took.url } });
    const ran = await doctor(['--json'], { now: () => Date.now() + 600_000 });
    expect(codes(ran)).toContain('clock-skew');
  });

  it('gets no request with --offline', async () => {
    const took = await collector();
    configured({ provider: 'otlp', otlp: { endpoint: took.url } });
    expect((await doctor(['--offline', '--no-proof'])).code).toBe(0);
    expect(took.requests).toEqual([]);
  });
});

describe('on this machine', () => {
  const enable = (...words: string[]) => doctor(['enable', '--tool', 'claude', '--yes', '--no-proof', ...words]);
  const script = () => join(home, '.local/share/otel-hooks/hook.sh');
  const settings = () => join(home, '.claude/settings.json');

  it.skipIf(process.platform === 'win32')('finds and repairs credentials that other users could read', async () => {
    const key = join(home, 'client.key');
    fs.writeFileSync(key, 'x', { mode: 0o600 });
    const file = join(home, '.config/otel-hooks/config.json');
    const client = { client_certificate: key, client_key: key };
    configured({
      provider: 'otlp',
      otlp: { endpoint: 'http://127.0.0.1:9', headers: 'authorization=Bearer x', ...client },
    });
    for (const mode of [0o644, 0o640, 0o604]) {
      fs.chmodSync(file, mode);
      fs.chmodSync(key, mode);
      const before = await doctor(['--offline', '--no-proof', '--json']);
      // A group may have a key, as in /etc/ssl/private.
      expect(codes(before)).toEqual(mode === 0o640 ? ['mode-open'] : ['mode-open', 'mode-open']);
      await doctor(['--offline', '--no-proof', '--fix', '--yes']);
      expect(fs.statSync(file).mode & 0o777).toBe(0o600);
      expect(fs.statSync(key).mode & 0o777).toBe(mode === 0o640 ? 0o640 : 0o600);
    }
  });

  it('finds and repairs stale hooks and readable files, after showing them', async () => {
    await enable();
    fs.writeFileSync(script(), '# of a Node that has moved\n');
    fs.chmodSync(join(home, '.local/state/otel-hooks'), 0o755);
    const before = await doctor(['--offline', '--no-proof', '--json']);
    expect([before.code, codes(before).sort()]).toEqual([1, ['hooks-stale', 'mode-open']]);
    const asked: string[] = [];
    const ask = async (question: string) => {
      asked.push(question);
      return 'n';
    };
    const refused = await doctor(['--offline', '--no-proof', '--fix'], { isTerminal: true, ask });
    expect([refused.code, asked.length]).toEqual([1, 1]);
    expect(refused.out).toContain('~/.local/state/otel-hooks: mode 0755 -> 0700');
    expect(fs.readFileSync(script(), 'utf8')).toContain('has moved');

    const mended = await doctor(['--offline', '--no-proof', '--fix', '--yes']);
    expect(mended.out).toContain('Fixed.');
    expect(fs.statSync(join(home, '.local/state/otel-hooks')).mode & 0o777).toBe(0o700);
    expect(fs.readFileSync(script(), 'utf8')).not.toContain('has moved');
    expect(mended.out).not.toContain('hooks-stale');
  });

  it('needs --yes without a terminal', async () => {
    const ran = await doctor(['--fix']);
    expect([ran.code, ran.err]).toEqual([2, expect.stringContaining('No TTY detected. Use --yes')]);
  });

  it.each([['a switch for all hooks', { disableAllHooks: true }, /disableAllHooks/]])('%s', async (_, more, says) => {
    await enable();
    fs.writeFileSync(settings(), JSON.stringify({ ...JSON.parse(fs.readFileSync(settings(), 'utf8')), ...more }));
    const ran = await doctor(['--offline', '--no-proof', '--json']);
    expect(ran.rows.find(each => each.code === 'hooks-silent')?.says).toMatch(says);
  });

  describe('hooks that never fire', () => {
    const transcript = (age: string): void => {
      const path = join(home, `.claude/projects/-w/${age}.jsonl`);
      fs.mkdirSync(dirname(path), { recursive: true });
      fs.writeFileSync(path, '{}\n');
    };
    const silent = async (command: 'doctor' | 'status', laterMs: number) => {
      const more = { now: () => Date.now() + laterMs };
      if (command === 'doctor') {
        const { rows } = await doctor(['--offline', '--no-proof', '--json'], more);
        return rows.find(each => each.code === 'hooks-silent')?.says;
      }
      const { out } = await ranIn(home, ['status', '--json'], { cwd: home, ...more });
      return JSON.stringify(
        (JSON.parse(out) as { problems: { code: string }[] }).problems.find(({ code }) => code === 'hooks-silent'),
      );
    };
    const LATER_MS = 3_600_000;

    it.each(['doctor', 'status'] as const)('%s notices sessions that began after the registration', async command => {
      await enable();
      expect(await silent(command, LATER_MS)).toBeUndefined();
      transcript('young');
      expect(await silent(command, 0)).toBeUndefined();
      transcript('second');
      expect(await silent(command, LATER_MS)).toContain('none has arrived, although the agent has begun 2 sessions');
    });

    it('not if a hook has arrived, and not for sessions before the registration', async () => {
      await enable();
      transcript('one');
      const later = new Date(Date.now() + 60_000);
      fs.utimesSync(settings(), later, later);
      expect(await silent('doctor', LATER_MS)).toBeUndefined();
      fs.utimesSync(settings(), new Date(0), new Date(0));
      expect(await silent('doctor', LATER_MS)).toContain('1 session since');
      const inbox = join(home, '.local/state/otel-hooks/inbox');
      fs.mkdirSync(inbox, { recursive: true, mode: 0o700 });
      const payload = Buffer.from('{"hook_event_name":"SessionStart","session_id":"s"}');
      const bytes = encodeFragment('1', { tool: 'claude-code', cwd: home }, payload);
      fs.writeFileSync(join(inbox, fragmentName('0', '0', 1, '1')), bytes, { mode: 0o600 });
      expect(await silent('doctor', LATER_MS)).toBeUndefined();
    });
  });

  describe('agents that are newer than the checked version', () => {
    const installed = (version: string): string => {
      const bin = join(home, 'bin');
      fs.mkdirSync(bin, { recursive: true });
      fs.writeFileSync(join(bin, 'claude'), '');
      fs.writeFileSync(join(bin, 'package.json'), JSON.stringify({ version }));
      return bin;
    };
    const noteOf = async (command: 'doctor' | 'status', PATH: string) => {
      if (command === 'doctor') {
        const ran = await doctor(['--offline', '--no-proof', '--json'], { env: { PATH } });
        return [ran.code, ran.rows.find(({ says }) => says.includes('checked with') || says.includes('know:'))?.says];
      }
      const { code, err } = await ranIn(home, ['status'], { cwd: home, env: { PATH } });
      return [code, /^otel-hooks: (.*(?:checked with|know:).*)/m.exec(err)?.[1]];
    };

    it.each(['doctor', 'status'] as const)('%s names the version', async command => {
      await enable();
      expect((await noteOf(command, installed('2.1.0')))[1]).toBeUndefined();
      expect(await noteOf(command, installed('99.0.1'))).toEqual([
        0,
        expect.stringMatching(
          /^Claude Code 99\.0\.1 is newer than [\d.]+, the version that otel-hooks was checked with\.$/,
        ),
      ]);
    });

    it.each(['doctor', 'status'] as const)('%s lists the unknown hooks', async command => {
      await enable();
      const env = { PATH: '', OTEL_HOOKS_LINGER: '0s' };
      const inbox = join(home, '.local/state/otel-hooks/inbox');
      fs.mkdirSync(inbox, { recursive: true, mode: 0o700 });
      for (const [i, name] of ['SessionStart', 'BrandNew', 'BrandNew'].entries()) {
        const payload = Buffer.from(JSON.stringify({ hook_event_name: name, session_id: 's' }));
        const bytes = encodeFragment(String(i + 1), { tool: 'claude-code', cwd: home }, payload);
        fs.writeFileSync(join(inbox, fragmentName('0', '0', i + 1, String(i + 1))), bytes, { mode: 0o600 });
      }
      await ranIn(home, ['deliver'], { cwd: home, env, now: Date.now });
      expect((await noteOf(command, ''))[1]).toBe(
        'Claude Code sent hooks that otel-hooks does not know: BrandNew (2).',
      );
    });
  });

  it('two scopes of one agent are one too many', async () => {
    await enable();
    await enable('--project');
    const ran = await doctor(['--offline', '--no-proof', '--json']);
    expect(codes(ran)).toContain('hooks-twice');
  });

  describe('one agent that runs the hooks twice', () => {
    const twice = async (more: Partial<Io> = {}) => {
      const ran = await doctor(['--offline', '--no-proof', '--json'], more);
      return ran.rows.find(each => each.code === 'hooks-twice')?.says;
    };
    const write = (path: string, value: object): void => {
      fs.mkdirSync(dirname(join(home, path)), { recursive: true });
      fs.writeFileSync(join(home, path), JSON.stringify(value));
    };
    const ours = (command: string) => ({ hooks: { Stop: [{ hooks: [{ type: 'command', command }] }] } });
    const hook = 'otel-hooks hook --tool claude-code --event Stop';

    it('from a plugin with any name that is switched on', async () => {
      await enable();
      write('.claude/plugins/installed_plugins.json', {
        plugins: { 'watch@team': [{ installPath: join(home, 'cache/watch') }] },
      });
      write('cache/watch/hooks/hooks.json', ours(`"\${CLAUDE_PLUGIN_ROOT}/bin/otel-hooks" hook --event Stop`));
      expect(await twice()).toBeUndefined();
      const now = JSON.parse(fs.readFileSync(settings(), 'utf8')) as object;
      fs.writeFileSync(settings(), JSON.stringify({ ...now, enabledPlugins: { 'watch@team': true } }));
      expect(await twice()).toContain('cache/watch/hooks/hooks.json');
      write('cache/watch/hooks/hooks.json', ours('echo otel-hooks hook'));
      expect(await twice()).toBeUndefined();
    });

    it.each([
      ['gemini-cli', '.gemini/extensions/watch/hooks/hooks.json'],
      ['antigravity', '.gemini/config/plugins/watch/hooks.json'],
      ['copilot', '.copilot/installed-plugins/team/watch/hooks.json'],
      ['copilot', '.copilot/hooks/mine.json'],
      ['copilot', '.copilot/settings.json'],
    ])('of %s from %s', async (tool, file) => {
      await doctor(['enable', '--tool', tool, '--yes', '--no-proof']);
      expect(await twice()).toBeUndefined();
      write(file, ours(hook));
      expect(await twice()).toContain(file);
    });

    it('from the settings of the repository above the folder', async () => {
      await enable();
      fs.mkdirSync(join(home, 'shop/.git'), { recursive: true });
      fs.mkdirSync(join(home, 'shop/web'));
      write('shop/.claude/settings.json', ours(hook));
      expect(await twice({ cwd: join(home, 'shop/web') })).toContain('shop/.claude/settings.json');
      expect(await twice({ cwd: join(home, 'shop') })).toContain('shop/.claude/settings.json');
      expect(await twice()).toBeUndefined();
    });

    it('not if two scopes have different events', async () => {
      write('.claude/settings.json', ours(hook));
      const other = { SessionEnd: [{ hooks: [{ type: 'command', command: hook.replace('Stop', 'SessionEnd') }] }] };
      write('shop/.claude/settings.json', { hooks: other });
      expect(await twice({ cwd: join(home, 'shop') })).toBeUndefined();
    });
  });

  it('the Python package of the same name is distinguished from another copy', async () => {
    const folder = join(home, 'bin');
    fs.mkdirSync(folder);
    fs.writeFileSync(join(folder, 'otel-hooks'), '#!/usr/bin/env python3\n', { mode: 0o755 });
    const ran = await doctor(['--offline', '--no-proof', '--json'], { env: { PATH: folder } });
    expect(ran.rows.find(each => each.code === 'program-twice')?.says).toContain('Python package');
  });

  it('a hook of Codex that the user has not approved', async () => {
    await doctor(['enable', '--tool', 'codex', '--yes', '--no-proof']);
    const waiting = await doctor(['--offline', '--no-proof', '--json']);
    expect(waiting.rows.find(each => each.code === 'hooks-silent')?.next).toContain('/hooks');
    const file = join(home, '.codex/hooks.json');
    const { hooks } = JSON.parse(fs.readFileSync(file, 'utf8')) as { hooks: object };
    const names = Object.keys(hooks).map(event => event.replace(/(?<=[a-z])(?=[A-Z])/g, '_').toLowerCase());
    const approved = names.map(name => `[hooks.state."${file}:${name}:0:0"]\ntrusted_hash = "x"\n`);
    fs.writeFileSync(join(home, '.codex/config.toml'), approved.join(''));
    expect(codes(await doctor(['--offline', '--no-proof', '--json']))).not.toContain('hooks-silent');
  });
});

it('docs/doctor.md shows the printed output', async () => {
  const page = fs.readFileSync(new URL('../../docs/doctor.md', import.meta.url), 'utf8');
  const [, shown = ''] = /```\n(ok {7}program[\s\S]*?)```/.exec(page) ?? [];
  configured({ provider: 'otlp', otlp: { endpoint: 'http://127.0.0.1:1' } });
  await doctor(['enable', '--tool', 'claude-code', '--yes', '--no-proof']);
  const { out } = await doctor(['--no-proof']);
  // Replaces the program and folders of this machine, and the port, which is a free one here.
  const plain = (text: string): string[] =>
    text
      .replaceAll('/home/you', '~')
      .replaceAll('127.0.0.1:4318', '127.0.0.1:1')
      .replace(/^(ok +program +).*$/m, '$1')
      .split('\n')
      .filter(line => !/^\S+ +(hook|delivery) /.test(line));
  expect(plain(out)).toEqual(plain(shown));
});

it('lists installed agents, with versions that are stored beside them', async () => {
  const program = (path: string) => {
    const file = join(home, path);
    fs.mkdirSync(join(file, '..'), { recursive: true });
    fs.writeFileSync(file, '');
    return file;
  };
  const bin = join(home, 'bin');
  fs.mkdirSync(bin);
  fs.symlinkSync(program('lib/node_modules/@a/codex/bin/codex.js'), join(bin, 'codex'));
  fs.writeFileSync(join(home, 'lib/node_modules/@a/codex/package.json'), '{"version":"0.159.0"}');
  fs.symlinkSync(program('share/claude/versions/2.1.300'), join(bin, 'claude'));
  program('bin/opencode');
  const { rows } = await doctor(['--offline', '--no-proof', '--json'], { env: { PATH: bin } });
  const values = rows.filter(({ check, of }) => check === 'program' && of !== undefined).map(({ says }) => says);
  expect(values).toEqual([
    'Claude Code 2.1.300, ~/bin/claude',
    'Codex 0.159.0, ~/bin/codex',
    'OpenCode of an unknown version, ~/bin/opencode',
  ]);
});

it('a changed script is shown as one change for all agents that run it', async () => {
  await doctor(['enable', '--tool', 'claude,cursor', '--yes', '--no-proof']);
  const script = join(home, '.local/share/otel-hooks/hook.sh');
  fs.appendFileSync(script, '# theirs\n');
  const { out } = await doctor(['--fix', '--yes', '--offline', '--no-proof']);
  expect(out.split('-# theirs\n')).toHaveLength(2);
  expect(fs.readFileSync(script, 'utf8')).not.toContain('theirs');
});
