/** A model that answers by script, in the dialects of the agents, and records its responses. */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Reply, Scenario, Served, Tokens } from './contract.ts';
import { anthropic } from './dialects/anthropic.ts';
import { chat } from './dialects/chat.ts';
import { gemini } from './dialects/gemini.ts';
import { responses } from './dialects/responses.ts';

/** A request of an agent, as far as the script needs it. */
export interface Asked {
  /** The texts of the user's messages, the oldest first, each with the number of model turns after it. */
  prompts: { text: string; turnsAfter: number }[];
  /** The text of the instructions. */
  system: string;
  /** The request offers tools. */
  hasTools: boolean;
  /** A side request, such as a title or a summary, by signs that do not depend on its prompts. */
  side?: string | undefined;
  model: string;
  stream: boolean;
}

export interface Call {
  id: string;
  name: string;
  input: Record<string, unknown> | string;
  namespace?: string | undefined;
  kind?: 'custom' | undefined;
}

/** A response, ready to be written in a dialect. */
export interface Answer {
  id: string;
  requestId: string;
  model: string;
  thinking?: string | undefined;
  text?: string | undefined;
  calls: Call[];
  tokens: Tokens;
  stream: boolean;
}

export interface Dialect {
  name: string;
  matches(path: string): boolean;
  read(body: Record<string, unknown>, path: string, headers: IncomingMessage['headers']): Asked;
  /** The parts of the answer, in the order in which they are sent. */
  write(answer: Answer): { headers: Record<string, string>; parts: string[] };
  error(status: number, type: string | undefined): string;
  /** An error in the middle of a stream. */
  errorEvent(): string;
  /** Prefixes of ids in this dialect. */
  ids: { response: string; call: string };
}

const dialects: Dialect[] = [anthropic, responses, chat, gemini];

export interface ModelServer {
  port: number;
  served: Served[];
  unknownPaths: string[];
  bodies: { label: string; path: string; body: string }[];
  /** Resolves when the response is complete. */
  whenServed(label: string): Promise<void>;
  reset(): void;
  close(): Promise<void>;
}

export async function startModelServer(scenario: Scenario): Promise<ModelServer> {
  const state = {
    served: [] as Served[],
    unknownPaths: [] as string[],
    bodies: [] as ModelServer['bodies'],
    numbered: 0,
    sides: 0,
    failures: new Map<string, number>(),
    repeats: new Map<string, number>(),
    listeners: new Map<string, (() => void)[]>(),
  };

  const announce = (label: string): void => {
    for (const listener of state.listeners.get(label) ?? []) listener();
    state.listeners.delete(label);
  };

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const chunks: Buffer[] = [];
    for await (const chunk of request as AsyncIterable<Buffer>) chunks.push(chunk);
    const path = request.url ?? '';
    const dialect = dialects.find(each => each.matches(path));
    if (dialect === undefined || request.method !== 'POST') {
      state.unknownPaths.push(`${request.method} ${path}`);
      response.writeHead(404, { 'content-type': 'application/json' }).end('{"error":{"message":"not found"}}');
      return;
    }
    const fromMs = Date.now();
    const text = Buffer.concat(chunks).toString('utf8');
    const asked = dialect.read(JSON.parse(text) as Record<string, unknown>, path, request.headers);
    const { label, reply } = scriptFor(asked);
    state.bodies.push({ label, path, body: text });
    const entry = (kind: Served['kind'], status: number): Served => ({
      label,
      id: '',
      kind,
      status,
      model: asked.model,
      tokens: undefined,
      calls: [],
      fromMs,
      toMs: Date.now(),
    });

    const failed = state.failures.get(label) ?? 0;
    if (reply.error !== undefined && failed < (reply.error.times ?? Number.POSITIVE_INFINITY)) {
      state.failures.set(label, failed + 1);
      state.served.push(entry('error', reply.error.status));
      response.writeHead(reply.error.status, { 'content-type': 'application/json', 'retry-after': '0' });
      response.end(dialect.error(reply.error.status, reply.error.type));
      announce(`${label} error`);
      return;
    }
    // Counted before any pause: two parallel responses must not share numbers.
    const n = state.numbered;
    state.numbered += 1;
    const repeat = state.repeats.get(label) ?? 0;
    state.repeats.set(label, repeat + 1);
    const name = repeat === 0 ? label : `${label}+${repeat}`;
    const plain = name.replaceAll(/[^A-Za-z0-9]/g, '_');
    const calls = (reply.calls ?? []).map((call, i) => ({
      ...call,
      id: `${dialect.ids.call}${plain}_${i + 1}_${n}`,
    }));
    const prepared: Answer = {
      id: `${dialect.ids.response}${plain}_${n}`,
      requestId: `req_${plain}_${n}`,
      model: asked.model,
      thinking: reply.thinking,
      text: reply.text,
      calls: calls.map(call => ({ ...call, input: filledIn(call.input, text) as Call['input'] })),
      tokens: tokensOf(n, reply),
      stream: asked.stream,
    };
    const { headers, parts } = dialect.write(prepared);
    if (reply.stallMs !== undefined) await sleep(reply.stallMs);
    const isCut = reply.cut !== undefined && !state.failures.has(`${label} cut`);
    if (isCut) state.failures.set(`${label} cut`, 1);
    if (response.destroyed) {
      state.served.push(entry('cut', 0));
      return;
    }
    response.writeHead(200, { ...headers, 'request-id': prepared.requestId, 'x-request-id': prepared.requestId });
    const sent = isCut ? parts.slice(0, Math.ceil(parts.length / 2)) : parts;
    for (const part of sent) {
      response.write(part);
      if (reply.paceMs !== undefined) await sleep(reply.paceMs);
    }
    if (isCut) {
      if (reply.cut === 'event') response.end(dialect.errorEvent());
      else setTimeout(() => response.destroy(), 20);
      state.served.push(entry('cut', 200));
      return;
    }
    const isLost = response.destroyed;
    state.served.push({
      ...entry(isLost ? 'cut' : label.startsWith('side.') ? 'side' : 'response', 200),
      label: name,
      id: prepared.id,
      tokens: isLost ? undefined : prepared.tokens,
      calls: calls.map((call, i) => ({ id: call.id, label: `${name}.${i + 1}`, name: call.name })),
      toMs: Date.now(),
    });
    response.end();
    announce(name);
  }

  function scriptFor(asked: Asked): { label: string; reply: Reply } {
    const side = (why: string): { label: string; reply: Reply } => {
      const scripted = scenario.model[why]?.[0];
      if (scripted !== undefined) return { label: `${why}.1`, reply: scripted };
      state.sides += 1;
      return { label: `side.${state.sides}`, reply: { text: 'A short answer.' } };
    };
    if (asked.side !== undefined) return side(asked.side);
    for (const { text, turnsAfter } of asked.prompts.toReversed()) {
      const tag = [...text.matchAll(/\[\[([a-z0-9-]+)\]\]/g)].at(-1)?.[1];
      const script = tag === undefined ? undefined : scenario.model[tag];
      if (tag === undefined || script === undefined) continue;
      const reply = script[turnsAfter];
      return { label: `${tag}.${turnsAfter + 1}`, reply: reply ?? { text: 'Nothing is left to do.' } };
    }
    return side('untagged');
  }

  const server = createServer((request, response) => {
    answer(request, response).catch(error => {
      state.unknownPaths.push(`error: ${error instanceof Error ? error.stack : String(error)}`);
      response.destroy();
    });
  });
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve));
  return {
    port: (server.address() as AddressInfo).port,
    get served() {
      return state.served;
    },
    get unknownPaths() {
      return state.unknownPaths;
    },
    get bodies() {
      return state.bodies;
    },
    whenServed: label =>
      new Promise(resolve => {
        if (state.served.some(each => each.label === label)) resolve();
        else state.listeners.set(label, [...(state.listeners.get(label) ?? []), resolve]);
      }),
    reset() {
      state.served = [];
      state.bodies = [];
      state.unknownPaths = [];
      state.numbered = 0;
      state.sides = 0;
      state.failures.clear();
      state.repeats.clear();
      state.listeners.clear();
    },
    close: async () => {
      server.closeAllConnections();
      await new Promise<void>(resolve => server.close(() => resolve()));
    },
  };
}

/**
 * Numbers that no other response of the run has, in any class. The outputs are powers of two, so a wrong sum, read in
 * binary, names the responses that are missing or counted twice.
 */
function tokensOf(n: number, { thinking, tokens }: Reply): Tokens {
  const output = n < 14 ? 16 * 2 ** n : 16 * 2 ** 13 + 100 * (n - 13);
  return {
    input: 301 + 11 * n,
    cacheRead: 1007 + 7 * n,
    cacheWrite: 203 + 3 * n,
    cacheWrite1h: 2 + n,
    output,
    reasoning: thinking === undefined ? 0 : Math.min(output, 5 + n),
    ...tokens,
  };
}

/**
 * A text `$match:<pattern>` in a call becomes the last match of the pattern's group in the request: an id from a result.
 * `$number:<pattern>` becomes it as a number.
 */
function filledIn(input: unknown, request: string): unknown {
  if (typeof input === 'string') {
    const [, kind, pattern] = /^\$(match|number):(.*)$/s.exec(input) ?? [];
    if (pattern === undefined) return input;
    const found = [...request.matchAll(new RegExp(pattern, 'g'))].at(-1)?.[1] ?? input;
    return kind === 'number' ? Number(found) : found;
  }
  if (Array.isArray(input)) return input.map(each => filledIn(each, request));
  if (typeof input !== 'object' || input === null) return input;
  return Object.fromEntries(Object.entries(input).map(([key, value]) => [key, filledIn(value, request)]));
}

const sleep = (ms: number): Promise<void> => new Promise(resolve => setTimeout(resolve, ms));
