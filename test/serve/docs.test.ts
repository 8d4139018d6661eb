/** docs/serve.md, followed line by line: each of its lines runs, and the events that they send arrive. */
import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { request } from 'node:http';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { type Collector, startCollector } from '../collector.ts';
import { isInstalled, needs } from '../needs.ts';
import { root } from '../walls/sources.ts';
import { furnish, type House, until, vacate } from '../wire/house.ts';

const page = readFileSync(join(root, 'docs/serve.md'), 'utf8');
const blocks = (language: string): string[] =>
  [...page.matchAll(new RegExp(`^\`\`\`${language}\\n([\\s\\S]*?)^\`\`\``, 'gm'))].map(([, code = '']) => code);

let house: House;
let collector: Collector;
let server: ChildProcess;
let port: number;

/** Unchanged except for the port, which no other process uses. */
const here = (code: string): string => code.replaceAll('127.0.0.1:4319', `127.0.0.1:${port}`);

function sh(code: string): string {
  const options = { cwd: house.project, env: { ...house.env, PATH: `${house.folder}:${house.env.PATH}` } };
  return execFileSync('/bin/sh', ['-e', '-c', here(code)], {
    ...options,
    encoding: 'utf8',
    stdio: 'pipe',
    timeout: 20_000,
  });
}

async function freePort(): Promise<number> {
  const probe = createServer();
  await new Promise<void>(resolve => probe.listen(0, '127.0.0.1', resolve));
  const address = probe.address();
  await new Promise(resolve => probe.close(resolve));
  return address !== null && typeof address === 'object' ? address.port : 0;
}

beforeAll(async () => {
  collector = await startCollector();
  house = furnish('built', 'otel-hooks-serve-docs-');
  symlinkSync(house.bin, join(house.folder, 'otel-hooks'));
  if (!isInstalled('curl')) {
    const script = join(root, 'test/serve/curl.mjs');
    writeFileSync(join(house.folder, 'curl'), `#!/bin/sh\nexec '${process.execPath}' '${script}' "$@"\n`, {
      mode: 0o755,
    });
  }
  const config = join(house.home, '.config', 'otel-hooks');
  mkdirSync(config, { recursive: true });
  writeFileSync(join(config, 'config.json'), JSON.stringify({ provider: 'otlp', otlp: { endpoint: collector.url } }));
  port = await freePort();
  server = spawn(process.execPath, [house.bin, 'serve', '--listen', `127.0.0.1:${port}`], {
    cwd: house.project,
    env: house.env,
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  await new Promise<void>(resolve => server.stdout?.once('data', () => resolve()));
});
afterAll(async () => {
  if (server.exitCode === null) {
    const ended = new Promise(resolve => server.once('exit', resolve));
    server.kill('SIGTERM');
    await ended;
  }
  await vacate(house);
  await collector.close();
});

const arrived = (): string[] => collector.records().map(({ plain }) => String(plain['agent_hooks.event.type']));

it('the lines for a shell run and give the documented answers', () => {
  const [one = '', lines = '', partly = '', watch = '', , ...more] = blocks('sh');
  expect(more).toEqual([]);
  expect(sh(one)).toBe('{"accepted":1,"rejected":0}');
  expect(page).toContain('answers `{"accepted":1,"rejected":0}`');
  expect(sh(lines)).toBe('{"accepted":2,"rejected":0}');
  const [, answer = ''] = blocks('json');
  expect(JSON.parse(sh(partly))).toEqual(JSON.parse(answer));
  const metrics = sh(watch);
  expect(metrics).toContain('ok\n');
  const named = [...page.matchAll(/`(otel_hooks_serve_\w+)`/g)].map(([, name]) => name);
  const printed = [...metrics.matchAll(/^# TYPE (\w+)/gm)].map(([, name]) => name);
  expect([...named].sort()).toEqual([...printed].sort());
});

it('the lines that create a certificate create one that serve accepts', context => {
  needs(context, 'openssl');
  const [, , , , tls = ''] = blocks('sh');
  // The server in this text would listen to all machines.
  sh(
    tls.replace(/^otel-hooks serve.*$/m, 'otel-hooks serve --print-unit systemd --listen 0.0.0.0:4319 --cert cert.pem'),
  );
});

it('the program with a CloudEvents SDK sends in both modes, and its event counts once', () => {
  const [program = ''] = blocks('js');
  // The folder with the SDK: the packages of this repository.
  symlinkSync(join(root, 'node_modules'), join(house.project, 'node_modules'));
  writeFileSync(join(house.project, 'send.mjs'), here(program));
  expect(execFileSync(process.execPath, ['send.mjs'], { cwd: house.project, env: house.env, encoding: 'utf8' })).toBe(
    '',
  );
});

interface Post {
  url: string;
  headers: { [name: string]: string };
  body: string;
}

function post({ url, headers, body }: Post): Promise<{ status: number | undefined; text: string }> {
  return new Promise((resolve, reject) => {
    const asked = request(
      url,
      { method: 'POST', headers: { 'content-type': 'application/json', ...headers } },
      answer => {
        let text = '';
        answer.on('data', part => {
          text += String(part);
        });
        answer.on('end', () => resolve({ status: answer.statusCode, text }));
      },
    );
    asked.on('error', reject);
    asked.end(body);
  });
}

/**
 * The agent's treatment of its settings: values of headers name variables, and variables that are not allowed are
 * empty.
 */
function posted(): Post {
  const [settings = ''] = blocks('json');
  const { hooks } = JSON.parse(here(settings)) as {
    hooks: {
      [event: string]: {
        hooks: { type: string; url: string; headers: { [name: string]: string }; allowedEnvVars: string[] }[];
      }[];
    };
  };
  const hook = hooks.PreToolUse?.[0]?.hooks[0];
  if (hook?.type !== 'http') throw new Error('no hook of type http stands there');
  const env: { [name: string]: string } = {
    OTEL_HOOKS_TOKEN: readFileSync(join(house.home, '.config/otel-hooks/token'), 'utf8').trim(),
  };
  const allowed = (name: string): string => (hook.allowedEnvVars.includes(name) ? (env[name] ?? '') : '');
  const headers = Object.entries(hook.headers).map(([name, value]) => [
    name,
    value.replace(/\$\{(\w+)\}|\$(\w+)/g, (_, braced, bare) => allowed(braced ?? bare)),
  ]);
  const payload = {
    session_id: 'posted',
    transcript_path: join(house.home, 'nowhere.jsonl'),
    cwd: house.project,
    permission_mode: 'default',
    hook_event_name: 'PreToolUse',
    tool_name: 'Read',
    tool_input: { file_path: 'notes.txt' },
    tool_use_id: 'c2',
  };
  return { url: hook.url, headers: Object.fromEntries(headers), body: JSON.stringify(payload) };
}

it('the settings for hooks of type http are sent as the agent sends them', async () => {
  expect(await post(posted())).toEqual({ status: 200, text: '' });
});

it('a page in a browser gets no answer, even with the token and under its own name for the server', async () => {
  const hook = posted();
  const body = hook.body.replace('"c2"', '"of a page"');
  const page = { origin: 'http://evil.example', 'sec-fetch-site': 'cross-site' };
  expect((await post({ ...hook, body, headers: { ...hook.headers, ...page } })).status).toBe(403);
  expect((await post({ ...hook, body, headers: { ...hook.headers, host: `evil.example:${port}` } })).status).toBe(421);
  const simple = { origin: 'null', 'content-type': 'text/plain' };
  expect((await post({ ...hook, body, headers: simple })).status).toBe(403);
});

it('every event reaches the collector once', async () => {
  const all = ['Action.After', 'Action.Before', 'Action.Before', 'Prompt.Submitted', 'Session.End', 'Session.Start'];
  await until(() => arrived().length >= all.length, 20_000);
  expect(arrived().sort()).toEqual(all);
});
