/**
 * The server of `otel-hooks view`. It listens on 127.0.0.1 only.
 *
 * Web pages of other origins can send requests to it, so it answers only requests whose Host header is its own address
 * and whose Origin header, if there is one, is its own origin. The link that the command prints has a token; the server
 * exchanges it for a cookie (SameSite=Strict, HttpOnly), and the data is sent only to requests with this cookie. The
 * policy of the page permits scripts and styles of this server alone, so that a text of a session cannot run as code.
 */
import { randomBytes, timingSafeEqual } from 'node:crypto';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import type { ImportState, SessionList, SessionPart, SpanDetails } from '../page/data.ts';
import type { Store } from '../store/store.ts';
import type { PageFiles } from './html-file.ts';
import type { JoinedSession } from './joined-sessions.ts';
import { rowOf } from './packed-sessions.ts';
import { type Had, SessionFeed, SessionLister } from './page-data.ts';

/** Finds transcripts that no hook reported, and imports them. */
export interface Importer {
  state(): ImportState;
  start(): void;
}

export interface PageOptions {
  /** Opens the state folder for reading; undefined as long as there is none. */
  open: () => Store | undefined;
  stateFolder: string;
  files: PageFiles;
  importer: Importer;
  port?: number | undefined;
}

export interface PageServer {
  /** The link with the token. */
  readonly link: string;
  readonly port: number;
  close(): Promise<void>;
}

/** While a page is open, the disk is checked twice a second; otherwise it is not checked. */
const LOOK_MS = 500;
/** A browser or a proxy may close a connection that is silent for longer. */
const ALIVE_MS = 15_000;
/** The parts of a resumed session are journals of their own. */
const MOST_FEEDS = 8;
const MOST_LISTENERS = 64;

const POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "connect-src 'self'",
  "img-src 'self' data:",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ');

const HEADERS = {
  'cache-control': 'no-store',
  'content-security-policy': POLICY,
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'no-referrer',
  'cross-origin-resource-policy': 'same-origin',
  'cross-origin-opener-policy': 'same-origin',
};

export async function servePage(options: PageOptions): Promise<PageServer> {
  const page = new Page(options);
  const server = createServer({ requestTimeout: 10_000 }, (request, response) => page.answer(request, response));
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(options.port ?? 0, '127.0.0.1', resolve);
  });
  const { port } = server.address() as { port: number };
  page.port = port;
  return { link: `http://127.0.0.1:${port}/?token=${page.token}`, port, close: () => closed(server, page) };
}

async function closed(server: Server, page: Page): Promise<void> {
  page.end();
  await new Promise<void>(resolve => {
    server.close(() => resolve());
    server.closeAllConnections();
  });
}

interface Listener {
  response: ServerResponse;
  /** The journals of the session that the page shows; undefined: the list. */
  keys: readonly string[] | undefined;
  seen: string;
}

/** A text that changes when one of these journals changes; for the list of all sessions, with each round. */
const signOf = (store: Store | undefined, keys: readonly string[] | undefined): string =>
  (keys === undefined ? [store?.ledger().n] : keys.map(key => store?.journalSize(key))).join(' ');

class Page {
  readonly token = randomBytes(24).toString('hex');
  port = 0;
  private readonly cookie = randomBytes(24).toString('hex');
  private readonly options: PageOptions;
  private readonly lister = new SessionLister();
  private readonly feeds = new Map<string, SessionFeed>();
  private readonly listeners = new Set<Listener>();
  private timer: NodeJS.Timeout | undefined;
  private aliveMs = 0;
  /** The number of the last round that a look has seen. */
  private round: number | undefined;

  constructor(options: PageOptions) {
    this.options = options;
  }

  answer(request: IncomingMessage, response: ServerResponse): void {
    try {
      this.route(request, response);
    } catch (error) {
      if (response.headersSent) response.destroy();
      else if (error instanceof Refusal) failed(response, error.status, error.message);
      else failed(response, 500, `The server could not read the state folder: ${String(error)}`);
    }
  }

  private route(request: IncomingMessage, response: ServerResponse): void {
    const { method, headers } = request;
    const origins = [`http://127.0.0.1:${this.port}`, `http://localhost:${this.port}`];
    const own = origins.find(each => each === `http://${headers.host}`);
    if (own === undefined) throw new Refusal(403, 'The Host header is not the address of this server.');
    const site = headers['sec-fetch-site'];
    const isForeign = site !== undefined && site !== 'none' && site !== 'same-origin';
    if ((headers.origin !== undefined && headers.origin !== own) || isForeign)
      throw new Refusal(403, 'The request comes from another site.');
    const url = new URL(request.url ?? '/', own);
    const isImport = url.pathname === '/api/import' && method === 'POST';
    // A page of another site cannot send a POST without an Origin header.
    if (isImport && headers.origin === undefined) throw new Refusal(403, 'The request has no Origin header.');
    if (method !== 'GET' && !isImport) throw new Refusal(405, 'The server answers GET requests.');
    const { files } = this.options;
    if (url.pathname === '/page.js') sent(response, 'text/javascript', files.script);
    else if (url.pathname === '/page.css') sent(response, 'text/css', files.style);
    else if (url.pathname === '/') this.sendPage(url, headers.cookie, response);
    else {
      if (!this.isKnown(headers.cookie)) throw new Refusal(401, EXPIRED);
      if (isImport) this.options.importer.start();
      this.sendData(url, response);
    }
  }

  private sendPage(url: URL, cookie: string | undefined, response: ServerResponse): void {
    if (isEqual(url.searchParams.get('token') ?? '', this.token)) {
      // The address without the token stays in the history of the browser. The fragment of the link is kept.
      const value = `${this.cookieName()}=${this.cookie}; HttpOnly; SameSite=Strict; Path=/`;
      response.writeHead(303, { ...HEADERS, location: '/', 'set-cookie': value }).end();
      return;
    }
    if (this.isKnown(cookie)) sent(response, 'text/html', this.options.files.html);
    else response.writeHead(401, { ...HEADERS, 'content-type': 'text/html; charset=utf-8' }).end(refusal(EXPIRED));
  }

  private sendData({ pathname, searchParams: words }: URL, response: ServerResponse): void {
    const key = words.get('key') ?? undefined;
    if (pathname === '/api/sessions') json(response, this.list(words.get('had') ?? ''));
    else if (pathname === '/api/import') json(response, this.options.importer.state());
    else if (pathname === '/api/live') this.listen(response, key);
    else if (pathname === '/api/session' || pathname === '/api/span') {
      const value = this.ofSession(key, words, pathname === '/api/span');
      if ('journals' in value) jsonInPieces(response, value);
      else json(response, value);
    } else throw new Refusal(404, 'The server has no such address.');
  }

  private ofSession(key: string | undefined, words: URLSearchParams, isSpan: boolean): SessionPart | SpanDetails {
    const store = this.options.open();
    try {
      const listed = store && key !== undefined ? this.listed(store, key) : undefined;
      const feeds = store && listed?.flatMap(part => this.feed(store, part.key) ?? []);
      if (store === undefined || listed === undefined || feeds === undefined || feeds.length === 0)
        throw new Refusal(404, 'No session has this id on this machine; it may have been erased.');
      const most = Math.max(MOST_FEEDS, feeds.length);
      for (const key of [...this.feeds.keys()].slice(0, -most)) this.feeds.delete(key);
      if (isSpan) return detailsIn(feeds, store, words.get('id') ?? '');
      const had = hadIn(words.get('had') ?? '');
      return { v: 1, row: rowOf(listed), journals: feeds.map(feed => feed.part(had.get(feed.key))) };
    } finally {
      store?.close();
    }
  }

  /** The session of this journal, or with this id. */
  private listed(store: Store, word: string): JoinedSession | undefined {
    const all = this.lister.list(store);
    const isMeant = (parts: JoinedSession): boolean =>
      parts.some(({ key, entry }) => key === word || entry.session === word);
    return all.get(word) ?? [...all.values()].find(isMeant);
  }

  private list(had: string): SessionList {
    const list = this.reading(store => this.lister.listSince(had, store));
    return { ...list, stateFolder: this.options.stateFolder };
  }

  /** The feeds of the journals that were shown last stay in memory. */
  private feed(store: Store, key: string): SessionFeed | undefined {
    const feed = this.feeds.get(key) ?? new SessionFeed(key);
    this.feeds.delete(key);
    if (!feed.update(store)) return undefined;
    this.feeds.set(key, feed);
    return feed;
  }

  // ------------------------------------------------------------ live

  private listen(response: ServerResponse, key: string | undefined): void {
    if (this.listeners.size >= MOST_LISTENERS) throw new Refusal(503, 'Too many pages are open.');
    response.writeHead(200, { ...HEADERS, 'content-type': 'text/event-stream' });
    const keys = key === undefined ? undefined : this.keysOf(key);
    const listener = { response, keys, seen: this.reading(store => signOf(store, keys)) };
    response.write('event: open\ndata: {}\n\n');
    this.listeners.add(listener);
    response.on('close', () => {
      this.listeners.delete(listener);
      if (this.listeners.size === 0) this.end();
    });
    this.timer ??= setInterval(() => this.look(), LOOK_MS);
  }

  private look(): void {
    try {
      this.reading(store => this.tellChanges(store));
    } catch {
      // The folder cannot be read at the moment. The requests of the page say so.
      return;
    }
    this.aliveMs += LOOK_MS;
    if (this.aliveMs < ALIVE_MS) return;
    this.aliveMs = 0;
    for (const { response } of this.listeners) response.write(': alive\n\n');
  }

  /** Only rounds write journals, and the ledger numbers them. */
  private tellChanges(store: Store | undefined): void {
    const round = store?.ledger().n;
    if (round === this.round) return;
    this.round = round;
    for (const listener of this.listeners) {
      const sign = signOf(store, listener.keys);
      if (sign !== listener.seen) listener.response.write('event: changed\ndata: {}\n\n');
      listener.seen = sign;
    }
  }

  private keysOf(word: string): string[] {
    return this.reading(store => (store && this.listed(store, word)?.map(({ key }) => key)) ?? []);
  }

  private reading<T>(read: (store: Store | undefined) => T): T {
    const store = this.options.open();
    try {
      return read(store);
    } finally {
      store?.close();
    }
  }

  end(): void {
    clearInterval(this.timer);
    this.timer = undefined;
  }

  // ------------------------------------------------------------ access

  /** Cookies belong to a host with all its ports. */
  private cookieName(): string {
    return `otel_hooks_view_${this.port}`;
  }

  private isKnown(cookies = ''): boolean {
    const start = `${this.cookieName()}=`;
    return cookies.split('; ').some(each => each.startsWith(start) && isEqual(each.slice(start.length), this.cookie));
  }
}

/** The counts that a page sends: `key.made.spans.events.context`, one for each journal. */
function hadIn(text: string): Map<string, Had> {
  const had = new Map<string, Had>();
  for (const each of text.split(',')) {
    const [key = '', made = '', ...counts] = each.split('.');
    const [spans = 0, events = 0, context = 0] = counts.map(count => Number(count) || 0);
    had.set(key, { made, spans, events, context });
  }
  return had;
}

function detailsIn(feeds: readonly SessionFeed[], store: Store, id: string): SpanDetails {
  for (const feed of feeds) {
    const details = feed.details(store, id);
    if (details !== undefined) return details;
  }
  throw new Refusal(404, 'The session has no such span.');
}

/** A refused request, with the status and the reason. */
class Refusal extends Error {
  readonly status: number;

  constructor(status: number, message: string) {
    super(message);
    this.status = status;
  }
}

const EXPIRED = 'This link is not valid, or no longer valid: each start of the server makes a new one.';

function isEqual(text: string, secret: string): boolean {
  const [given, known] = [Buffer.from(text), Buffer.from(secret)];
  return given.length === known.length && timingSafeEqual(given, known);
}

function sent(response: ServerResponse, type: string, text: string): void {
  response.writeHead(200, { ...HEADERS, 'content-type': `${type}; charset=utf-8` }).end(text);
}

function json(response: ServerResponse, value: object): void {
  response.writeHead(200, { ...HEADERS, 'content-type': 'application/json' }).end(JSON.stringify(value));
}

/** Sends the JSON of a session without holding all of it, because a long session has tens of megabytes. */
function jsonInPieces(response: ServerResponse, value: SessionPart): void {
  response.writeHead(200, { ...HEADERS, 'content-type': 'application/json' });
  // The page may leave before the end.
  pipeline(Readable.from(piecesOf(value)), response).catch(() => response.destroy());
}

const ITEMS_PER_PIECE = 500;

function* piecesOf({ v, row, journals }: SessionPart): Generator<string, undefined> {
  yield `{"v":${v},"row":${JSON.stringify(row)},"journals":[`;
  for (const [i, { spans, events, ...others }] of journals.entries()) {
    yield `${i === 0 ? '' : ','}${JSON.stringify(others).slice(0, -1)},"spans":[`;
    yield* itemsOf(spans);
    yield '],"events":[';
    yield* itemsOf(events);
    yield ']}';
  }
  yield ']}';
}

function* itemsOf(items: readonly object[]): Generator<string, undefined> {
  for (let from = 0; from < items.length; from += ITEMS_PER_PIECE) {
    const list = JSON.stringify(items.slice(from, from + ITEMS_PER_PIECE));
    yield `${from === 0 ? '' : ','}${list.slice(1, -1)}`;
  }
}

function failed(response: ServerResponse, status: number, what: string): void {
  response.writeHead(status, { ...HEADERS, 'content-type': 'application/json' });
  response.end(JSON.stringify({ v: 1, error: what, next: NEXT }));
}

const NEXT = 'otel-hooks view';

const refusal = (what: string): string => `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>otel-hooks</title><link rel="stylesheet" href="/page.css"></head>
<body><main class="refusal"><h1>No access</h1><p>${what}</p><p>Next: run <code>${NEXT}</code> and open the new link.</p></main></body></html>
`;
