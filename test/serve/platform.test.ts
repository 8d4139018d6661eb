/** `serve` behind a proxy, in a container and before a collector: names, probes, tokens from a mount, gzip, and OTLP by mistake. */
import { chmodSync, mkdirSync, mkdtempSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { request } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-http';
import { afterEach, describe, expect, it } from 'vitest';
import { openGivenToken } from '../../src/serve/token.ts';
import { agentHooks, drained, type Standing, stand } from './standing.ts';

let standing: Standing | undefined;
afterEach(async () => {
  await standing?.leave();
  standing = undefined;
});

interface Sent {
  path: string;
  host?: string;
  headers?: Record<string, string>;
  /** Without a body the request is a GET. */
  body?: Uint8Array | string;
}

/** `fetch` would set its own Host header. */
function send(at: Standing, { path, host, headers = {}, body }: Sent): Promise<{ status: number; text: string }> {
  const { port } = new URL(at.server.url);
  return new Promise((resolve, reject) => {
    const asked = request(
      {
        port,
        host: '127.0.0.1',
        path,
        method: body === undefined ? 'GET' : 'POST',
        headers: { ...(host === undefined ? {} : { host }), ...headers },
      },
      answer => {
        let text = '';
        answer.on('data', part => {
          text += part;
        });
        answer.on('end', () => resolve({ status: answer.statusCode ?? 0, text }));
      },
    );
    asked.on('error', reject);
    asked.end(body);
  });
}

const event = JSON.stringify(agentHooks(1));

describe('the Host header', () => {
  it('may have an allowed name, with any port and in any case, and no other name', async () => {
    standing = await stand({ allowedHosts: ['Hooks.Observability.svc'] });
    const { welcome } = standing;
    const statusFor = async (host: string): Promise<number> =>
      (await send(standing as Standing, { path: '/v1/events', host, headers: welcome, body: event })).status;
    expect(await statusFor('hooks.observability.SVC:4319')).toBe(200);
    expect(await statusFor('hooks.observability.svc')).toBe(200);
    expect(await statusFor('127.0.0.1')).toBe(200);
    expect(await statusFor('hooks.observability.svc.evil.example')).toBe(421);
    expect(await statusFor('evil.example')).toBe(421);
  });

  it('may have an address or an allowed name when the server listens without TLS for a proxy', async () => {
    standing = await stand({ host: '0.0.0.0', allowedHosts: ['hooks'] });
    const { welcome } = standing;
    for (const [host, status] of [
      ['hooks', 200],
      ['10.0.0.7:4319', 200],
      ['evil.example', 421],
    ] as const)
      expect([
        host,
        (await send(standing, { path: '/v1/events', host, headers: welcome, body: event })).status,
      ]).toEqual([host, status]);
  });

  it('is not checked for probes, which a browser still cannot send', async () => {
    standing = await stand();
    for (const path of ['/healthz', '/readyz']) {
      expect((await send(standing, { path, host: 'pool-7.balancer.example' })).status).toBe(200);
      const fromPage = { origin: 'http://pool-7.balancer.example' };
      expect((await send(standing, { path, host: 'pool-7.balancer.example', headers: fromPage })).status).toBe(403);
    }
    expect((await send(standing, { path: '/metrics', host: 'pool-7.balancer.example' })).status).toBe(421);
  });
});

describe.skipIf(process.platform === 'win32')('a given token file', () => {
  it('may be a link into a mount, and is read again when the mount changes', () => {
    const folder = mkdtempSync(join(tmpdir(), 'otel-hooks-token-'));
    try {
      // A secret is mounted as a link into a folder that is replaced as a whole.
      const mount = (name: string, token: string): void => {
        mkdirSync(join(folder, name));
        writeFileSync(join(folder, name, 'token'), `${token}\n`, { mode: 0o440 });
        symlinkSync(name, join(folder, '..data.new'));
        renameSync(join(folder, '..data.new'), join(folder, '..data'));
      };
      const [first, second] = ['a'.repeat(43), 'b'.repeat(43)];
      mount('..1', first);
      symlinkSync('..data/token', join(folder, 'token'));
      const token = openGivenToken(join(folder, 'token'));
      expect(token.isShownIn(`Bearer ${first}`)).toBe(true);
      mount('..2', second);
      token.refresh();
      expect([token.isShownIn(`Bearer ${first}`), token.isShownIn(`Bearer ${second}`)]).toEqual([false, true]);
      chmodSync(join(folder, '..2', 'token'), 0o444);
      token.refresh();
      expect(token.isShownIn(`Bearer ${second}`)).toBe(false);
      expect(token.problem()).toMatchObject({ code: 'token-unsafe', why: 'others can read or change it' });
    } finally {
      rmSync(folder, { recursive: true });
    }
  });

  it('is not made when it is missing', () => {
    expect(openGivenToken('/nowhere/token').problem()).toMatchObject({ why: 'it is not there' });
  });
});

describe('gzip bodies', () => {
  const packed = { 'content-encoding': 'gzip' };
  const sent = (
    body: Uint8Array,
    headers: Record<string, string> = packed,
  ): Promise<{ status: number; text: string }> =>
    send(standing as Standing, {
      path: '/v1/events',
      headers: { ...(standing as Standing).welcome, ...headers },
      body,
    });

  it('are unpacked, and the event is kept as it was before packing', async () => {
    standing = await stand();
    expect((await sent(gzipSync(event))).status).toBe(200);
    expect((await sent(gzipSync(event), { 'content-encoding': 'GZIP' })).status).toBe(200);
    expect(standing.fragments().map(({ payload }) => payload.toString().trim())).toEqual([event, event]);
    expect(drained(standing).bad).toEqual([]);
  });

  it('are accepted in a posted hook', async () => {
    standing = await stand();
    const hook = { session_id: 's', hook_event_name: 'UserPromptSubmit', prompt: 'x', cwd: '/' };
    const headers = { ...standing.welcome, ...packed };
    const body = gzipSync(JSON.stringify(hook));
    expect((await send(standing, { path: '/hooks/claude-code', headers, body })).status).toBe(200);
    expect(drained(standing).types).toEqual(['Prompt.Submitted']);
  });

  it('that unpack to more than the limit are refused, and leave memory', async () => {
    standing = await stand();
    const bomb = gzipSync(Buffer.alloc(64 * 1024 * 1024, ' '));
    expect(bomb.length).toBeLessThan(128 * 1024);
    const answers = await Promise.all(Array.from({ length: 8 }, () => sent(bomb)));
    expect(answers.map(({ status }) => status)).toEqual(Array.from({ length: 8 }, () => 413));
    expect(JSON.parse(answers[0]?.text ?? '')).toMatchObject({ rule: 'limit/body' });
    const { text } = await send(standing, { path: '/metrics', headers: standing.welcome });
    expect(text).toContain('otel_hooks_serve_held_bytes 0\n');
    expect(standing.fragments()).toEqual([]);
    expect((await sent(gzipSync(event))).status).toBe(200);
  });

  it('that unpack to nothing for ever end at the limit of the packed bytes', async () => {
    standing = await stand();
    const empty = gzipSync('');
    const many = Buffer.concat(Array.from({ length: Math.ceil((5 * 1024 * 1024) / empty.length) }, () => empty));
    expect((await sent(many, { ...packed, 'transfer-encoding': 'chunked' })).status).toBe(413);
  });

  it.each([
    ['end too early', gzipSync(event).subarray(0, -9)],
    ['are no gzip', Buffer.from(event)],
    ['are empty', Buffer.alloc(0)],
  ])('that %s are refused as a whole', async (_, body) => {
    standing = await stand();
    const { status } = await sent(body);
    expect(status).toBe(400);
    expect(standing.fragments()).toEqual([]);
  });

  it.each(['br', 'deflate', 'gzip, gzip'])('in the encoding %s are not read', async encoding => {
    standing = await stand();
    const { status, text } = await sent(gzipSync(event), { 'content-encoding': encoding });
    expect([status, JSON.parse(text).rule]).toEqual([415, 'type/encoding']);
  });
});

describe('OTLP that is sent here by mistake', () => {
  it.each(['/v1/traces', '/v1/logs', '/v1/metrics'])('%s describes this server without a token', async path => {
    standing = await stand();
    const { status, text } = await send(standing, {
      path,
      headers: { 'content-type': 'application/json' },
      body: '{}',
    });
    expect([status, JSON.parse(text)]).toEqual([
      404,
      { accepted: 0, rule: 'path/otlp', why: expect.stringContaining('this is `otel-hooks serve`') },
    ]);
    expect(JSON.parse(text).why).toContain('send traces, logs and metrics to a collector');
    expect((await send(standing, { path })).status).toBe(404);
  });

  it('reaches the log of an exporter of the official SDK', async () => {
    standing = await stand();
    const exporter = new OTLPTraceExporter({ url: `${standing.server.url}/v1/traces` });
    const result = await new Promise<{ error?: Error }>(resolve => exporter.export([], resolve));
    await exporter.shutdown();
    expect(String((result.error as { data?: string } | undefined)?.data)).toContain('this is `otel-hooks serve`');
  });
});
