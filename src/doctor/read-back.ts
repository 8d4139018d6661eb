/**
 * Reads the sent items back from their back end: the trace by its id, the record by its trace, the metric by its value.
 * A table row describes each back end.
 */

import type { Proxies } from '../config/proxies.ts';
import type { Key, OtlpSignal, Values } from '../config/schema.ts';
import { shownEndpoint } from '../config/shown.ts';
import { fieldsOf } from '../lib/read.ts';
import { type Asked, ask } from './ask.ts';
import { type Finding, fine, problem, unknown } from './finding.ts';
import { DOCTOR_SERVICE, type Synthetic } from './synthetic.ts';

interface BackEnd {
  name: string;
  signal: OtlpSignal;
  key: Extract<Key, `read_back.${string}`>;
  /** The address in the compose file. */
  port: number;
  query(synthetic: Synthetic): { path: string; parameters: { [name: string]: string } };
  holds(answer: unknown, synthetic: Synthetic): boolean;
}

const list = (value: unknown): unknown[] => (Array.isArray(value) ? value : []);
const resultOf = (answer: unknown): unknown[] => list(fieldsOf(fieldsOf(answer).data).result);

export const backEnds: readonly BackEnd[] = [
  {
    name: 'Tempo',
    signal: 'traces',
    key: 'read_back.tempo',
    port: 3200,
    query: ({ traceId }) => ({ path: `/api/v2/traces/${traceId}`, parameters: {} }),
    // An unknown trace is returned as an empty one.
    holds: answer => list(fieldsOf(fieldsOf(answer).trace).resourceSpans).length > 0,
  },
  {
    name: 'Jaeger',
    signal: 'traces',
    key: 'read_back.jaeger',
    port: 16_686,
    query: ({ traceId }) => ({ path: `/api/traces/${traceId}`, parameters: {} }),
    holds: answer => list(fieldsOf(answer).data).length > 0,
  },
  {
    name: 'Loki',
    signal: 'logs',
    key: 'read_back.loki',
    port: 3100,
    query: ({ traceId, seconds }) => ({
      path: '/loki/api/v1/query_range',
      parameters: {
        query: `{service_name="${DOCTOR_SERVICE}"} | trace_id="${traceId}"`,
        start: `${seconds - 600}000000000`,
        end: `${seconds + 600}000000000`,
        limit: '1',
      },
    }),
    holds: answer => resultOf(answer).length > 0,
  },
  {
    name: 'Prometheus',
    signal: 'metrics',
    key: 'read_back.prometheus',
    port: 9090,
    query: () => ({
      path: '/api/v1/query',
      parameters: { query: `max({__name__=~"otel_hooks_doctor_time(_seconds)?",job="${DOCTOR_SERVICE}"})` },
    }),
    holds: (answer, { seconds }) => resultOf(answer).some(each => Number(list(fieldsOf(each).value)[1]) >= seconds),
  },
];

export interface ReadingBack {
  values: Values;
  taken: readonly OtlpSignal[];
  /** All destinations are on this machine, so their back ends can be as well. */
  isLocal: boolean;
  synthetic: Synthetic;
  patienceMs: number;
  pause(ms: number): Promise<void>;
  /** A monotonic clock. */
  monotonicMs(): number;
  proxies?: (() => Proxies) | undefined;
}

const ASK_MS = 3_000;
const EVERY_MS = 300;

export async function readBack(reading: ReadingBack): Promise<Finding[]> {
  const { values, taken, isLocal } = reading;
  const asked = backEnds
    .filter(({ signal }) => taken.includes(signal))
    .flatMap(backEnd => {
      const named = values[backEnd.key];
      if (named !== undefined) return [{ backEnd, address: named, isNamed: true }];
      return isLocal ? [{ backEnd, address: `http://127.0.0.1:${backEnd.port}`, isNamed: false }] : [];
    });
  const looked = await Promise.all(asked.map(async each => ({ ...each, ...(await look(each, reading)) })));
  // A server at a usual port can belong to another project, unless it returned another of our signals.
  const isTheirs = looked.some(each => each.outcome === 'there');
  const findings = looked.flatMap(({ backEnd, address, isNamed, outcome, why }): Finding[] => {
    const { name, signal, key } = backEnd;
    const shown = shownEndpoint(address);
    const of = `${name} ${shown}`;
    if (outcome === 'there') return [fine('read back', of, `${name} at ${shown} has the ${single[signal]}.`)];
    if (outcome === 'silent') {
      return isNamed
        ? [problem('read back', of, { code: 'read-back-unreachable', key, address: shown, why: why ?? '' })]
        : [];
    }
    const isElsewhere = looked.some(each => each.outcome === 'there' && each.backEnd.signal === signal);
    if (isElsewhere && !isNamed) return [];
    const waitedS = Math.round(reading.patienceMs / 1_000);
    if (isNamed || isTheirs)
      return [problem('read back', of, { code: 'not-read-back', name, address: shown, signal, waitedS })];
    return [
      unknown(
        'read back',
        of,
        `${name} at ${shown} does not have the ${single[signal]}; it may be another stack's.`,
        `if it is yours, set ${key} to ${shown}.`,
      ),
    ];
  });
  const missed = taken.filter(
    signal => !looked.some(each => each.backEnd.signal === signal && each.outcome !== 'silent'),
  );
  if (missed.length > 0 && !findings.some(each => each.state === 'problem')) {
    const keys = backEnds.filter(each => missed.includes(each.signal)).map(each => each.key);
    findings.push(
      unknown(
        'read back',
        undefined,
        `${missed.map(signal => single[signal]).join(', ')}: taken, and not read back, since no back end is known.`,
        `set ${keys.join(' or ')} to where its queries are answered, or look for trace ${reading.synthetic.traceId}.`,
      ),
    );
  }
  return findings;
}

const single = { traces: 'trace', logs: 'log record', metrics: 'metric' } as const;

type Outcome = { outcome: 'there' | 'missing'; why?: undefined } | { outcome: 'silent'; why: string };

/**
 * Polls until the item is found or the time is over. A back end that does not answer the first request is not polled.
 */
async function look(
  { backEnd, address }: { backEnd: BackEnd; address: string },
  { synthetic, patienceMs, pause, monotonicMs, proxies }: ReadingBack,
): Promise<Outcome> {
  const url = new URL(address);
  const { path, parameters } = backEnd.query(synthetic);
  url.pathname = `${url.pathname.replace(/\/$/, '')}${path}`;
  for (const [name, value] of Object.entries(parameters)) url.searchParams.set(name, value);
  const startMs = monotonicMs();
  let heard = false;
  for (;;) {
    const asked = await ask(url, { timeoutMs: ASK_MS, proxies });
    const body = answerOf(asked);
    if (body !== undefined && backEnd.holds(body, synthetic)) return { outcome: 'there' };
    heard ||= body !== undefined || ('status' in asked && asked.status === 404);
    if (!heard) return { outcome: 'silent', why: 'failure' in asked ? asked.failure : String(asked.status) };
    if (monotonicMs() - startMs >= patienceMs) return { outcome: 'missing' };
    await pause(EVERY_MS);
  }
}

/** Returns the JSON of a response with status 200. A 404 means that the trace does not exist. */
function answerOf(asked: Asked): unknown {
  if (!('status' in asked) || asked.status !== 200) return undefined;
  try {
    return JSON.parse(asked.body) as unknown;
  } catch {
    // Another server uses this port.
    return undefined;
  }
}
