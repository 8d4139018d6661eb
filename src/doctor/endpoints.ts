/** Sends one item of each signal to every destination, with the transport of delivery, and reports the results. */
import { type Destination, openingKeys } from '../config/destinations.ts';
import type { Proxies } from '../config/proxies.ts';
import { type OtlpSignal, signals } from '../config/schema.ts';
import { isOfGrpc, isOfTls, type Problem } from '../problems/problem.ts';
import type { Answer } from '../ship/answer.ts';
import { createHttpTransport } from '../ship/transport.ts';
import { statusOf, verdictOf } from '../ship/verdict.ts';
import { ask } from './ask.ts';
import { type Finding, fine, problem, unknown } from './finding.ts';
import type { Synthetic } from './synthetic.ts';

const PATIENCE_MS = 5_000;
/** Back ends tolerate smaller differences. Spans two minutes in the future are not found by time. */
const SKEW_MS = 60_000;

export interface Sent {
  findings: Finding[];
  /** Signals that the destination accepted. */
  taken: OtlpSignal[];
}

export interface SendOptions {
  synthetic: Synthetic;
  proxies: () => Proxies;
  now(): number;
}

export async function sendTo(destination: Destination, { synthetic, proxies, now }: SendOptions): Promise<Sent> {
  const { endpoint } = destination;
  const of = `${destination.provider} ${endpoint}`;
  const wanted = signals.filter(signal => destination.signals[signal]?.url !== undefined);
  if (wanted.length === 0) {
    const why = destination.signals.events?.url === undefined ? 'is on this machine' : 'takes events alone';
    return {
      findings: [unknown('endpoint', of, `${endpoint} ${why}; nothing was sent there.`)],
      taken: [],
    };
  }
  const patient = { ...destination, signals: shortened(destination.signals) };
  const transport = createHttpTransport(proxies);
  try {
    const answers = await Promise.all(
      wanted.map(async signal => [signal, await transport.send(patient, signal, synthetic.bodies[signal])] as const),
    );
    const taken: OtlpSignal[] = [];
    const problems: Problem[] = [];
    for (const [signal, answer] of answers) {
      const { url = endpoint } = destination.signals[signal] ?? {};
      const found = problemOf(answer, { endpoint, url, signal, destination }, now());
      if (found === undefined) taken.push(signal);
      else if (!problems.some(each => JSON.stringify(each) === JSON.stringify(found))) problems.push(found);
    }
    const findings = problems.map(each => problem('endpoint', of, each));
    if (taken.length > 0) findings.unshift(fine('endpoint', of, `${endpoint} took ${listed(taken)}.`));
    if (answers.some(([signal, answer]) => 'status' in answer && destination.signals[signal]?.protocol !== 'grpc'))
      findings.push(...(await skew(destination, of, { proxies, now })));
    return { findings, taken };
  } finally {
    transport.close();
  }
}

/**
 * Sends one empty request to the first signal that uses the network. Returns the problem, or `not asked` if the
 * destination is on this machine.
 */
export async function tryEndpoint(
  destination: Destination,
  { patienceMs, nowMs, proxies }: { patienceMs: number; nowMs: number; proxies: () => Proxies },
): Promise<Problem | 'not asked' | undefined> {
  const { endpoint } = destination;
  const signal = signals.find(each => destination.signals[each]?.url !== undefined);
  const url = signal && destination.signals[signal]?.url;
  if (signal === undefined || url === undefined) return 'not asked';
  const transport = createHttpTransport(proxies);
  try {
    const patient = { ...destination, signals: shortened(destination.signals, patienceMs) };
    const answer = await transport.send(patient, signal, new Uint8Array());
    return problemOf(answer, { endpoint, url, signal, destination }, nowMs);
  } finally {
    transport.close();
  }
}

function shortened(targets: Destination['signals'], patienceMs = PATIENCE_MS): Destination['signals'] {
  return Object.fromEntries(
    Object.entries(targets).map(([signal, target]) => [
      signal,
      { ...target, timeoutMs: Math.min(target.timeoutMs, patienceMs) },
    ]),
  );
}

const listed = (words: readonly string[]): string =>
  words.length < 2 ? words.join('') : `${words.slice(0, -1).join(', ')} and ${words.at(-1)}`;

interface Where {
  endpoint: string;
  url: string;
  signal: OtlpSignal;
  destination: Destination;
}

function problemOf(answer: Answer, { endpoint, url, signal, destination }: Where, nowMs: number): Problem | undefined {
  const verdict = verdictOf(answer, nowMs);
  if (verdict.kind === 'taken') {
    if (verdict.rejected === 0) return undefined;
    return { code: 'delivery-partial', endpoint, signal, items: verdict.rejected, message: verdict.message };
  }
  if (verdict.kind === 'pause') {
    return verdict.scope === 'destination'
      ? { code: 'delivery-refused', endpoint, status: verdict.status, keys: openingKeys(destination) }
      : { code: 'delivery-endpoint', endpoint, signal, status: verdict.status };
  }
  if (verdict.kind === 'refused')
    return { code: 'endpoint-refuses', endpoint, signal, status: statusOf(verdict.reason) };
  return unreachable(verdict.why, endpoint, new URL(url));
}

/** Returns the most likely cause of a failed connection. */
function unreachable(why: string, endpoint: string, url: URL): Problem {
  if (isOfGrpc(why)) return { code: 'endpoint-protocol', endpoint, why };
  if (isOfTls(why)) return { code: 'endpoint-tls', endpoint, why };
  // A gRPC server answers with HTTP/2 frames or closes the connection.
  if (why.startsWith('HPE_') || ((why === 'ECONNRESET' || why === 'EPIPE') && url.port === '4317')) {
    return { code: 'endpoint-protocol', endpoint, why };
  }
  return { code: 'endpoint-unreachable', endpoint, why };
}

/** Compares the clock of the server, from the `Date` header, with ours. */
async function skew(
  destination: Destination,
  of: string,
  { proxies, now }: Pick<SendOptions, 'proxies' | 'now'>,
): Promise<Finding[]> {
  const target = signals.flatMap(signal => destination.signals[signal] ?? []).find(({ url }) => url !== undefined);
  if (target?.url === undefined) return [];
  const asked = await ask(new URL(target.url), { timeoutMs: PATIENCE_MS, ca: target.tls.ca, proxies });
  const theirs = 'date' in asked && asked.date !== undefined ? Date.parse(asked.date) : Number.NaN;
  if (Number.isNaN(theirs)) return [];
  const seconds = Math.round((now() - theirs) / 1_000);
  if (Math.abs(seconds) * 1_000 < SKEW_MS) return [];
  return [problem('endpoint', of, { code: 'clock-skew', endpoint: destination.endpoint, seconds })];
}
