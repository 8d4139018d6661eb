/** Messages about receivers and back ends that `doctor` asks, about `serve`, and about packed transcripts. */
import { chmodSync, mkdirSync, renameSync, rmdirSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import zlib from 'node:zlib';
import { expect, vi } from 'vitest';
import { selfSigned } from '../certificates.ts';
import type { Reply } from '../collector.ts';
import type { House } from './house.ts';
import { type Case, type Cases, type Message, messagesIn, messagesOn } from './message-case.ts';

const otlp = (endpoint: string, more: object = {}) => ({ provider: 'otlp', otlp: { endpoint }, ...more });

/** `doctor` at this time, which sends to the endpoint and reads back. */
const doctor = async (house: House, nowMs: () => number = Date.now): Promise<Message[]> =>
  messagesIn(await house.runWith({ now: nowMs }, 'doctor', '--no-proof', '--json'));

/** A server with this answer is at the configured address, and one that accepts is at another address. */
function answering(house: House, advice: RegExp, reply: Reply, address: (url: string) => string = url => url): Case {
  return {
    advice,
    async provoke() {
      const { url } = await house.collector(() => reply);
      house.configure(otlp(address(url)));
    },
    async follow() {
      const { url } = await house.collector();
      expect(await house.run('config', 'set', 'otlp.endpoint', url)).toMatchObject({ code: 0 });
    },
    shown: () => doctor(house),
  };
}

/** A back end that never has a trace. */
async function backEnd(house: House, reply: () => Reply): Promise<void> {
  const { url } = await house.collector();
  const traces = await house.collector(reply);
  // Doctor also asks the usual ports of this machine, where another stack may run.
  const exporters = { logs: 'none', metrics: 'none' };
  house.configure(otlp(url, { exporters, read_back: { tempo: traces.url } }));
}

/** `serve` with these arguments. It does not listen, because the address is in use. */
async function serve(house: House, ...words: string[]): Promise<Message[]> {
  const other = createServer();
  await new Promise<void>(listening => other.listen(0, '127.0.0.1', listening));
  const address = other.address();
  const port = typeof address === 'object' && address ? address.port : 0;
  try {
    return messagesOn(await house.run('serve', '--listen', `127.0.0.1:${port}`, ...words));
  } finally {
    other.close();
  }
}

/** `serve` at a free address, until it listens. */
async function served(house: House, ...words: string[]): Promise<Message[]> {
  const before = process.listeners('SIGHUP');
  let out = '';
  const running = house.runWith(
    {
      out: text => {
        out += text;
        // Behaves like a signal of the system.
        for (const stop of process.listeners('SIGHUP')) if (!before.includes(stop)) stop('SIGHUP');
      },
    },
    ...['serve', '--listen', '127.0.0.1:0', ...words],
  );
  const messages = messagesOn(await running);
  expect(out).toContain('Listening at');
  return messages;
}

const token = (house: House): string => join(house.configFile, '..', 'token');

const thread = '0199aaaa-bbbb-7ccc-8ddd-eeeeeeeeeeee';
const rolloutOf = (house: House): string =>
  join(house.home, '.codex', 'sessions', '2026', '11', '02', `rollout-2026-11-02T09-00-00-${thread}.jsonl`);
const rollout = [
  { type: 'session_meta', payload: { id: thread, timestamp: '2026-11-02T09:00:00.000Z', source: 'cli' } },
  { type: 'event_msg', payload: { type: 'task_started', turn_id: 't1' } },
  { type: 'event_msg', payload: { type: 'user_message', message: 'hello' } },
];

/** The data of a session waits for this address, and is sent when the address is corrected. */
function failing(house: House, advice: RegExp, wrong: () => Promise<string>, right: () => Promise<object>): Case {
  return {
    advice,
    async provoke() {
      house.configure(otlp(await wrong()));
      house.hooked('m-1', 'SessionStart', 'SessionEnd');
      await house.deliver();
    },
    async follow() {
      house.configure(await right());
      await house.deliver();
      expect(await house.deliver()).toMatchObject({ code: 0 });
    },
  };
}

/** A receiver with TLS, and the file of its authority. */
async function secured(house: House): Promise<{ url: string; certificate: string }> {
  const { cert, key } = await selfSigned('127.0.0.1');
  const certificate = join(house.home, 'authority.pem');
  writeFileSync(certificate, cert);
  const { url } = await house.collector(undefined, { cert, key });
  return { url, certificate };
}

export const ofServers: Cases = {
  'delivery-failing (a port without a server)': house =>
    failing(
      house,
      /correct the port.*Then `otel-hooks deliver`/,
      async () => 'http://127.0.0.1:1',
      async () => otlp((await house.collector()).url),
    ),
  'delivery-failing (a port of gRPC)': house =>
    failing(
      house,
      /use the HTTP port/,
      async () => (await house.collector(() => ({ raw: '\0\0\x12\x04\0\0\0\0\0' }))).url,
      async () => otlp((await house.collector()).url),
    ),
  'delivery-failing (a server without TLS)': house => {
    let url = '';
    return failing(
      house,
      /write http:\/\/ instead of https:\/\//,
      async () => {
        ({ url } = await house.collector());
        return url.replace('http:', 'https:');
      },
      async () => otlp(url),
    );
  },
  'delivery-failing (a server with TLS)': house => {
    let made = { url: '', certificate: '' };
    return failing(
      house,
      /write https:\/\/ instead of http:\/\//,
      async () => {
        made = await secured(house);
        return made.url.replace('https:', 'http:');
      },
      async () => ({ provider: 'otlp', otlp: { endpoint: made.url, certificate: made.certificate } }),
    );
  },
  'delivery-failing (an unknown authority)': house => {
    let made = { url: '', certificate: '' };
    return failing(
      house,
      /name the authority that signed it with otlp\.certificate/,
      async () => {
        made = await secured(house);
        return made.url;
      },
      async () => ({ provider: 'otlp', otlp: { endpoint: made.url, certificate: made.certificate } }),
    );
  },
  'delivery-failing (a missing certificate)': house => {
    let made = { url: '', certificate: '' };
    return {
      advice: /check that it exists, that it can be read/,
      async provoke() {
        made = await secured(house);
        renameSync(made.certificate, `${made.certificate}.away`);
        house.configure({ provider: 'otlp', otlp: { endpoint: made.url, certificate: made.certificate } });
        house.hooked('m-1', 'SessionStart', 'SessionEnd');
        await house.deliver();
      },
      async follow() {
        renameSync(`${made.certificate}.away`, made.certificate);
        await house.deliver();
      },
    };
  },
  'delivery-failing (a folder in place of the file)': house => {
    const path = join(house.home, 'events.jsonl');
    return {
      advice: /check that a plain file can be written there\. Then `otel-hooks deliver`/,
      async provoke() {
        mkdirSync(path);
        house.configure({ provider: 'file', file: { path } });
        house.hooked('m-1', 'SessionStart', 'SessionEnd');
        await house.deliver();
      },
      async follow() {
        rmdirSync(path);
        await house.deliver();
      },
    };
  },
  'endpoint-unreachable': house => ({
    advice: /correct the port/,
    provoke: () => house.configure(otlp('http://127.0.0.1:1')),
    async follow() {
      const { url } = await house.collector();
      await house.run('config', 'set', 'otlp.endpoint', url);
    },
    shown: () => doctor(house),
  }),
  'endpoint-tls (a server without TLS)': house =>
    answering(house, /write http:\/\/ instead of https:\/\//, { status: 200 }, url => url.replace('http:', 'https:')),
  'endpoint-tls (an unknown authority)': house => {
    let file = '';
    return {
      advice: /name the authority that signed it with otlp\.certificate/,
      async provoke() {
        const { url, certificate } = await secured(house);
        file = certificate;
        house.configure(otlp(url));
      },
      follow: () => house.run('config', 'set', 'otlp.certificate', file),
      shown: () => doctor(house),
    };
  },
  'endpoint-protocol': house => answering(house, /use the HTTP port/, { raw: '\0\0\x12\x04\0\0\0\0\0' }),
  'endpoint-refuses': house => answering(house, /OTLP receivers answer 200/, { status: 400 }),
  'clock-skew': house => {
    let aheadMs = 600_000;
    return {
      advice: /set the clock of the machine that is wrong/,
      async provoke() {
        const { url } = await house.collector();
        house.configure(otlp(url));
      },
      follow: () => {
        aheadMs = 0;
      },
      shown: () => doctor(house, () => Date.now() + aheadMs),
    };
  },
  'read-back-unreachable': house => ({
    advice: /correct read_back\.tempo, or remove it/,
    async provoke() {
      const { url } = await house.collector();
      house.configure(otlp(url, { read_back: { tempo: 'http://127.0.0.1:1' } }));
    },
    follow: () => house.run('config', 'unset', 'read_back.tempo'),
    shown: () => doctor(house),
  }),
  'not-read-back': house => {
    let body = '{}';
    return {
      advice: /check the collector's log/,
      provoke: () => backEnd(house, () => ({ status: 200, body })),
      follow: () => {
        body = '{ "trace": { "resourceSpans": [{}] } }';
      },
      async shown() {
        // The wait of 15 s is over at once.
        const startMs = performance.now();
        const clock = vi
          .spyOn(performance, 'now')
          .mockImplementation(() => startMs + (clock.mock.calls.length - 1) * 5_000);
        return await doctor(house).finally(() => clock.mockRestore());
      },
    };
  },
  'serve-address': house => {
    let isFree = false;
    return {
      advice: /choose another address with --listen/,
      provoke: () => undefined,
      follow: () => {
        isFree = true;
      },
      shown: () => (isFree ? served(house) : serve(house)),
    };
  },
  'serve-open': house => {
    let listen = ['--listen', '0.0.0.0:1'];
    return {
      advice: /or listen at 127\.0\.0\.1/,
      provoke: () => undefined,
      follow: () => {
        listen = [];
      },
      shown: async () => (listen.length > 0 ? messagesOn(await house.run('serve', ...listen)) : await serve(house)),
    };
  },
  'serve-tls': house => {
    const [cert, key] = [join(house.home, 'cert.pem'), join(house.home, 'key.pem')];
    return {
      advice: /chmod 600 \S+key\.pem/,
      async provoke() {
        const made = await selfSigned('127.0.0.1');
        writeFileSync(cert, made.cert);
        writeFileSync(key, made.key);
        chmodSync(key, 0o644);
      },
      follow: () => chmodSync(key, 0o600),
      shown: () => serve(house, '--cert', cert, '--key', key),
    };
  },
  'serve-tls (a missing file)': house => {
    const key = join(house.home, 'key.pem');
    let cert = join(house.home, 'none.pem');
    return {
      advice: /correct --cert/,
      async provoke() {
        const made = await selfSigned('127.0.0.1');
        writeFileSync(join(house.home, 'cert.pem'), made.cert);
        writeFileSync(key, made.key, { mode: 0o600 });
      },
      follow: () => {
        cert = join(house.home, 'cert.pem');
      },
      shown: () => serve(house, '--cert', cert, '--key', key),
    };
  },
  'token-unsafe': house => ({
    advice: /`otel-hooks serve --rotate-token`/,
    async provoke() {
      await house.run('serve', '--rotate-token');
      chmodSync(token(house), 0o644);
    },
    follow: () => house.run('serve', '--rotate-token'),
    shown: () => serve(house),
  }),
  'token-unsafe (a given file)': house => {
    const file = join(house.home, 'given');
    return {
      advice: /mode 0400 or 0440/,
      provoke: () => [writeFileSync(file, 't'.repeat(43)), chmodSync(file, 0o644)],
      follow: () => chmodSync(file, 0o400),
      shown: () => serve(house, '--token-file', file),
    };
  },
  'transcripts-packed': house => {
    const path = rolloutOf(house);
    const isNamed = 'zstdDecompressSync' in zlib;
    return {
      advice: /in its folder.*`otel-hooks import \S+`/,
      async provoke() {
        mkdirSync(join(path, '..'), { recursive: true });
        // Versions of Node with zstd find it damaged; older versions cannot unpack it.
        writeFileSync(`${path}.zst`, Buffer.from('28b52ffd00', 'hex'));
        await house.run('import', '--all');
      },
      async follow() {
        const rows = rollout.map((row, i) => JSON.stringify({ timestamp: `2026-11-02T09:00:0${i}.000Z`, ...row }));
        writeFileSync(path, `${rows.join('\n')}\n`);
        expect(await house.run('import', isNamed ? path : '--all', '--json')).toMatchObject({ code: 0 });
        // The message of an older Node names no file, and says how to remove it.
        if (!isNamed) await house.run('prune', '--problems');
      },
    };
  },
};
