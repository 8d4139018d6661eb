/** The HTTP server in this process, with a state folder of its own; the test runs delivery. */
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { decodeFragment, type Fragment } from '../../src/hook/fragment.ts';
import { type EventServer, type EventServerOptions, openEventServer } from '../../src/serve/server.ts';
import { openToken, type Token } from '../../src/serve/token.ts';
import { eventsFrom, playerOf } from '../play.ts';

export interface Standing {
  server: EventServer;
  folder: string;
  state: string;
  tokenFile: string;
  token: Token;
  /** The headers of a sender with access. */
  welcome: Record<string, string>;
  /** The fragments in the inbox, in order; throws if a fragment is incomplete. */
  fragments(): Fragment[];
  leave(): Promise<void>;
}

export async function stand(options: Partial<EventServerOptions> = {}): Promise<Standing> {
  const folder = mkdtempSync(join(tmpdir(), 'otel-hooks-serve-'));
  const state = join(folder, 'state');
  mkdirSync(join(state, 'inbox'), { recursive: true, mode: 0o700 });
  const tokenFile = join(folder, 'config', 'token');
  const token = openToken(tokenFile);
  const server = await openEventServer({
    host: '127.0.0.1',
    port: 0,
    stateFolder: state,
    token,
    env: {},
    fsync: false,
    requestsPerSecond: 0,
    isDelivering: () => false,
    ...options,
  });
  return {
    server,
    folder,
    state,
    tokenFile,
    token,
    welcome: {
      authorization: `Bearer ${readFileSync(tokenFile, 'utf8').trim()}`,
      'content-type': 'application/json',
    },
    fragments: () =>
      readdirSync(join(state, 'inbox'))
        .sort()
        .map(name => {
          const decoded = decodeFragment(name, readFileSync(join(state, 'inbox', name)), 0);
          if (!decoded.ok) throw new Error(`${name}: ${decoded.why}`);
          return decoded.fragment;
        }),
    async leave() {
      await server.close();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

/** The result of the drain over the whole inbox: types of events, and the items that it set aside. */
export function drained(at: Standing): { types: string[]; bad: string[] } {
  const found = { types: [] as string[], bad: [] as string[] };
  const player = playerOf();
  for (const fragment of at.fragments()) {
    const taken = player.take(fragment);
    if (taken.fate === 'rejected') found.bad.push(taken.reason);
    else found.types.push(...eventsFrom(taken).map(event => event.event_type));
    if (taken.fate === 'journaled') found.bad.push(...taken.bad.map(({ reason }) => reason));
  }
  return found;
}

export const agentHooks = (n: number, more: object = {}): Record<string, unknown> => ({
  spec_version: '0.1.0',
  event_id: `00000000-0000-4000-8000-${String(n).padStart(12, '0')}`,
  event_type: 'Action.Before',
  timestamp: '2026-03-02T09:00:00.000Z',
  source: { tool: 'my-agent' },
  session_id: 'posted',
  data: { action: { name: 'shell', input: { command: 'ls' } } },
  ...more,
});

export const openHook = (n: number, more: object = {}): Record<string, unknown> => ({
  openhook: '0.1',
  id: `open-${n}`,
  source: 'my-agent',
  type: 'session.start',
  time: '2026-03-02T09:00:00.000Z',
  session_id: 'posted',
  ...more,
});

export const baseCoat = (more: object = {}): Record<string, unknown> => ({
  hook: 'PreToolUse',
  timestamp: '2026-03-02T09:00:00Z',
  sessionId: 'posted',
  tool: { name: 'shell' },
  ...more,
});

export const cloudEvent = (data: unknown, more: object = {}): Record<string, unknown> => ({
  specversion: '1.0',
  id: 'cloud-1',
  source: '/my-agent',
  type: 'dev.example.event',
  datacontenttype: 'application/json',
  data,
  ...more,
});

/**
 * Sends bytes over a bare connection; returns everything that came back until the server closed it or the time was
 * over.
 */
export function raw(url: string, bytes: string | Uint8Array, withinMs = 15_000): Promise<string> {
  const { hostname, port } = new URL(url);
  return new Promise(resolve => {
    let answer = '';
    const socket = connect(Number(port), hostname);
    const late = setTimeout(() => socket.destroy(), withinMs);
    socket.on('data', part => {
      answer += part.toString('latin1');
    });
    // A server that closes our connection has sent its answer.
    socket.on('error', () => undefined);
    socket.on('close', () => {
      clearTimeout(late);
      resolve(answer);
    });
    socket.write(bytes);
  });
}
