/**
 * The library: events through the bridge into a slow exporter, with the used memory; and the same spans through
 * `otel-hooks/sdk`, through the SDK alone, and through the writer of delivery, in CPU time.
 *
 *     node scripts/bench.mjs library [--events 1000000] [--gate]
 *
 * `--gate`: 100,000 events; exits 1 when a number does not balance or memory is not bounded.
 */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-http';
import { BatchSpanProcessor, InMemorySpanExporter, NodeTracerProvider } from '@opentelemetry/sdk-trace-node';
import { type Bridge, createBridge } from '../src/index.ts';
import { startAgentTelemetry } from '../src/sdk.ts';
import { OtlpWriter } from '../src/telemetry/otlp-writer.ts';
import { noteFigure } from './parts/figures.ts';

const words = process.argv.slice(2);
const isGate = words.includes('--gate');
const at = words.indexOf('--events');
const EVENTS = at >= 0 ? Number(words[at + 1]) : isGate ? 100_000 : 1_000_000;
const ALONE = 20_000;
const MOST_MB = 160;
/** A slow exporter: one batch of 512 spans in this time. */
const DELAY_MS = 5;
const EVENTS_OF_SESSION = 4;

setFlagsFromString('--expose-gc');
const collect = runInNewContext('gc') as () => void;
const heapMb = (): number => {
  collect();
  return process.memoryUsage().heapUsed / 1024 / 1024;
};

const bash = { tool_name: 'Bash', tool_use_id: 'c1', tool_input: { command: 'ls' } };
const eventsOf = (session: string) =>
  [
    { hook_event_name: 'SessionStart', source: 'startup' },
    { hook_event_name: 'PreToolUse', ...bash },
    { hook_event_name: 'PostToolUse', ...bash, tool_response: {}, duration_ms: 1 },
    { hook_event_name: 'SessionEnd', reason: 'other' },
  ].map(event => ({ session_id: session, cwd: '/x', ...event }));

/** Feeds events, and waits when the bridge asks for it. Returns the maximum of memory, in MB. */
async function feed(bridge: Bridge, events: number, sample = false): Promise<number> {
  let mostMb = 0;
  for (let i = 0; i < events / EVENTS_OF_SESSION; i += 1) {
    for (const event of eventsOf(`s${i}`)) {
      await bridge.ready;
      const { status } = bridge.ingest(event, { tool: 'claude-code' });
      if (status !== 'accepted') throw new Error(`an event was not accepted: ${status}`);
    }
    if (sample && i % 25_000 === 5_000) mostMb = Math.max(mostMb, heapMb());
  }
  return mostMb;
}

async function flood(): Promise<boolean> {
  let exported = 0;
  const slow = {
    export(spans: object[], done: (result: { code: number }) => void): void {
      setTimeout(() => {
        exported += spans.length;
        done({ code: 0 });
      }, DELAY_MS);
    },
  };
  const off = { loggerProvider: false, meterProvider: false } as const;
  const bridge = createBridge({
    ...off,
    spanExporters: [slow as never],
    limits: { endedMs: 200, openSessions: 5_000 },
  });
  const before = heapMb();
  const startMs = performance.now();
  const mostMb = (await feed(bridge, EVENTS, true)) - before;
  await bridge.forceFlush();
  const seconds = (performance.now() - startMs) / 1000;
  // The bridge is idle: its timer frees the rest.
  await new Promise(later => setTimeout(later, 1_000));
  const idleMb = heapMb() - before;
  const { spans, inputs, sessions } = bridge.stats();
  console.log(`${EVENTS} events in ${seconds.toFixed(1)} s: ${JSON.stringify({ ...inputs, ...sessions })}`);
  console.log(`spans ${JSON.stringify(spans)}, the exporter got ${exported}`);
  console.log(`memory: at most ${mostMb.toFixed(0)} MB more, ${idleMb.toFixed(0)} MB more when idle`);
  const isBalanced =
    exported === spans.exported &&
    spans.produced === spans.exported + spans.dropped + spans.failed &&
    spans.dropped === 0;
  const isBounded = mostMb < MOST_MB && idleMb < MOST_MB / 4 && sessions.open + sessions.ended === 0;
  console.log(`exact numbers         ${isBalanced ? 'met' : 'MISSED'}`);
  const work = 'library, more memory for its events';
  noteFigure({ work, value: mostMb, unit: 'MB', limits: [{ name: 'gate', most: MOST_MB }] });
  console.log(`bounded memory        ${isBounded ? 'met' : 'MISSED'}`);
  await bridge.shutdown();
  return isBalanced && isBounded;
}

/** CPU time of a span, in µs. */
async function costOf(run: () => Promise<unknown>, spans: number): Promise<number> {
  const before = process.cpuUsage();
  await run();
  const { user, system } = process.cpuUsage(before);
  return (user + system) / spans;
}

async function compare(): Promise<void> {
  const server = createServer((request, answer) => {
    request.resume().on('end', () => answer.writeHead(200, { 'content-type': 'application/json' }).end('{}'));
  });
  await new Promise<void>(listening => server.listen(0, '127.0.0.1', listening));
  const endpoint = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const memory = new InMemorySpanExporter();
  const off = { loggerProvider: false, meterProvider: false } as const;
  const source = createBridge({ ...off, spanExporters: [memory] });
  await feed(source, ALONE);
  await source.shutdown();
  const finished = memory.getFinishedSpans();
  const spans = finished.length;
  const sdkAlone = async (): Promise<void> => {
    const processor = new BatchSpanProcessor(new OTLPTraceExporter({ url: `${endpoint}/v1/traces` }));
    const provider = new NodeTracerProvider({ spanProcessors: [processor] });
    const tracer = provider.getTracer('plain');
    for (const [i, { name, attributes, startTime, endTime }] of finished.entries()) {
      tracer.startSpan(name, { attributes, startTime, root: true }).end(endTime);
      if (i % 512 === 511) await provider.forceFlush();
    }
    await provider.shutdown();
  };
  const bridged = async (): Promise<void> => {
    process.env.OTEL_LOGS_EXPORTER = 'none';
    process.env.OTEL_METRICS_EXPORTER = 'none';
    const telemetry = startAgentTelemetry({ endpoint });
    await feed(telemetry, ALONE);
    await telemetry.shutdown();
  };
  const pipeline = async (): Promise<void> => {
    const bridge = createBridge({ ...off, spanExporters: [{ export: (_: never, done) => done({ code: 0 }) }] });
    await feed(bridge, ALONE);
    await bridge.shutdown();
  };
  const written = async (): Promise<void> => {
    const writer = new OtlpWriter();
    const mapped = finished.map(span => ({
      ...span,
      spanContext: () => span.spanContext(),
      parts: [span.attributes],
      limits: { attributes: 128, links: 128 },
    }));
    for (let from = 0; from < mapped.length; from += 512) writer.spans(mapped.slice(from, from + 512) as never);
  };
  const rows = {
    'hooks to finished spans (the pipeline alone)': pipeline,
    'hooks through otel-hooks/sdk to OTLP/HTTP': bridged,
    'finished spans through the plain SDK to OTLP/HTTP': sdkAlone,
    'finished spans through the writer of delivery to bytes': written,
  };
  console.log(`\nCPU time of a span, ${spans} spans`);
  for (const [name, run] of Object.entries(rows)) {
    await run();
    console.log(`${name.padEnd(56)}${(await costOf(run, spans)).toFixed(1).padStart(8)} us`);
  }
  server.close();
}

const isGood = await flood();
await compare();
process.exitCode = isGood || !isGate ? 0 : 1;
