/** Makes the data to send from the output of sessions: OTLP bodies, lines for event destinations, and metric states. */
import { agentNamed, agents, formerNameOf } from '../agents/index.ts';
import { isNameOfAgents } from '../agents/shared/action-names.ts';
import { providerOfModel } from '../agents/shared/providers.ts';
import type { FinishedRecord } from '../assemble/finished.ts';
import type { Destination, Target } from '../config/destinations.ts';
import type { TypeLevel } from '../config/words.ts';
import type { ChangedDocuments } from '../documents/changed-documents.ts';
import { documents } from '../documents/documents.ts';
import { own } from '../lib/read.ts';
import { wildcards } from '../lib/wildcard.ts';
import type { SessionState } from '../session/session-state.ts';
import { accountsOf, type DestinationAccounts, increase, type Ledger } from '../store/ledger.ts';
import type { Round } from '../store/store.ts';
import { encodeBatches, locator, sliced, type Yield } from '../telemetry/batch.ts';
import { type Increment, incrementsOf } from '../telemetry/increments.ts';
import { isOfWeight } from '../telemetry/logs.ts';
import { addTo, type MetricState, noMetrics } from '../telemetry/metric-state.ts';
import type { SpanContextFacts } from '../telemetry/spans.ts';
import { outputFor } from './output-of-destination.ts';
import { chosen, isSampled, sampledSpans } from './sampling.ts';
import type { SessionOutput } from './session-in-round.ts';

/** The part of the output to send. Old events would make counters jump today, and back ends refuse old logs. */
export interface Selection {
  metrics: boolean;
  logsSinceMs: number;
}

export interface Outgoing {
  bodies: NonNullable<Round['bodies']>;
  tallies: ((ledger: Ledger) => void)[];
}

/** Returns the bodies, metric states and counts of the sessions' new output, for each of their destinations. */
export function outgoingOf(
  outputs: readonly SessionOutput[],
  changed: ChangedDocuments,
  nowMs: number,
  selection: Selection = { metrics: true, logsSinceMs: Number.NEGATIVE_INFINITY },
): Outgoing {
  const outgoing: Outgoing = { bodies: [], tallies: [] };
  for (const output of outputs) {
    const { fold, pinned } = output.state;
    if (pinned.keep !== undefined && pinned.keep.length > 0) output.choice = chosen(fold, output.spans, pinned.keep);
  }
  for (const id of new Set(outputs.flatMap(output => output.state.pinned.destinations))) {
    const destination = changed.read(documents.destinations.of(id));
    if (destination === undefined) continue;
    const here = outputs
      .filter(output => output.state.pinned.destinations.includes(id))
      .map(output => outputFor(output, destination, () => changed.read(documents.installation)?.key ?? ''));
    addLines(outgoing, here, destination);
    addBatches(outgoing, here, destination, selection.logsSinceMs);
    if (!destination.signals.metrics || !selection.metrics) continue;
    const document = documents.metrics.of(id);
    const state = changed.own(document) ?? noMetrics();
    if (addMetrics(outgoing, here, destination, state, nowMs)) changed.write(document, state);
  }
  return outgoing;
}

const accountIn = (ledger: Ledger, destination: Destination): DestinationAccounts =>
  accountsOf(ledger, destination.id, destination);

function addLines({ bodies, tallies }: Outgoing, here: readonly SessionOutput[], destination: Destination): void {
  const target = destination.signals.events;
  if (target === undefined) return;
  const parts = linesFor(here, target).filter(({ items }) => items > 0);
  for (const { items, lines } of parts)
    bodies.push({ destination: destination.id, signal: 'events', items, bytes: Buffer.from(lines) });
  tallies.push(ledger => {
    for (const { items } of parts) accountIn(ledger, destination).events.produced += items;
  });
}

function addBatches(
  { bodies, tallies }: Outgoing,
  here: readonly SessionOutput[],
  destination: Destination,
  logsSinceMs: number,
): void {
  const yields = here.map(output => yieldOf(output, destination, logsSinceMs));
  const batches = encodeBatches(yields);
  const unsampled = yields.reduce((sum, each) => sum + each.unsampled, 0);
  for (const batch of batches) bodies.push({ destination: destination.id, ...batch });
  tallies.push(ledger => {
    const accounts = accountIn(ledger, destination);
    for (const { signal, items } of batches) accounts[signal].produced += items;
    accounts.traces.produced += unsampled;
    if (unsampled > 0) increase(accounts.traces.dropped, 'sampled', unsampled);
  });
}

/** Adds to the counters in `state`. Returns false if the output changed none of them. */
function addMetrics(
  { tallies }: Outgoing,
  here: readonly SessionOutput[],
  destination: Destination,
  state: MetricState,
  nowMs: number,
): boolean {
  const before = state.version;
  for (const output of here) {
    const { resource, sampler, metrics: settings } = output.state.pinned;
    const isSent = destination.signals.traces && isSampled(sampler, output.state);
    const isExemplified = isSent && settings?.exemplars !== false;
    addTo(state, resource, incrementsIn(output), nowMs, {
      mostSeries: settings?.series,
      locate: isExemplified ? locator(spanFactsOf(output.state)) : undefined,
    });
  }
  const versions = state.version - before;
  tallies.push(ledger => {
    accountIn(ledger, destination).metrics.produced += versions;
  });
  return versions > 0;
}

/** A file gets all lines of a round at once. A request has the same limit of items for lines as for spans. */
function linesFor(here: readonly SessionOutput[], { types, url }: Target): { items: number; lines: string }[] {
  const all = here.map(output => output.lines).join('');
  if (types === undefined && url === undefined)
    return [{ items: here.reduce((sum, output) => sum + output.count, 0), lines: all }];
  const isWanted = wildcards(types ?? ['*']);
  const lines = all.split(/(?<=\n)/).filter(line => line !== '' && isWanted(String(JSON.parse(line).event_type)));
  return sliced(lines).map(part => ({ items: part.length, lines: part.join('') }));
}

export const incrementsIn = ({
  state,
  events,
  spans,
  records,
}: Pick<SessionOutput, 'state' | 'events' | 'spans'> & Partial<Pick<SessionOutput, 'records'>>): Increment[] =>
  incrementsOf(
    events,
    spans,
    // An unknown agent can send any name. One series for each name would make the number of series unbounded.
    agentNamed(state.agent)?.id ?? 'custom',
    name => isNameOfAgents(name, agents),
    {
      provider: agentNamed(state.agent)?.provider,
      providerOf: providerOfModel,
      semconv: state.pinned.semconv,
      include: state.pinned.metrics?.include,
      session: state.session,
      repository: state.fold.repository,
      user: state.pinned.user,
      // A sender that names agent definitions has few of them; the guard of series limits their number.
      knownSubagent: kind =>
        agentNamed(state.agent)?.subagents?.includes(kind) ||
        (state.fold.segment?.agent !== undefined && /^[\w.:-]{1,64}$/.test(kind)),
      records,
    },
  );

function yieldOf(output: SessionOutput, destination: Destination, logsSinceMs: number): Yield & { unsampled: number } {
  const { state, records } = output;
  const { pinned } = state;
  const traces = destination.signals.traces ? sampledSpans(output, pinned.sampler) : { spans: [], unsampled: 0 };
  return {
    ...traces,
    records: destination.signals.logs ? weighing(pinned, recordsSince(logsSinceMs, records)) : [],
    facts: spanFactsOf(state),
    resource: pinned.resource,
  };
}

export const spanFactsOf = (state: SessionState): SpanContextFacts => ({
  agent: state.agent,
  session: state.session,
  provider: agentNamed(state.agent)?.provider,
  providerOf: providerOfModel,
  denyAsError: state.pinned.denyAsError,
  semconv: state.pinned.semconv,
  formerName: state.pinned.spanNames && formerNameOf(state.agent),
  turns: state.pinned.turns,
  caller: state.pinned.caller,
  limits: state.pinned.limits,
  content: state.pinned.content,
  user: state.pinned.user,
});

/** Returns the records since a time. Without a limit, it skips the check of each record. */
const recordsSince = (sinceMs: number, records: FinishedRecord[]): FinishedRecord[] =>
  sinceMs === Number.NEGATIVE_INFINITY
    ? records
    : records.filter(({ event }) => Date.parse(event.timestamp) >= sinceMs);

function weighing({ level, levels }: SessionState['pinned'], records: FinishedRecord[]): FinishedRecord[] {
  if (levels === undefined) return level === undefined ? records : records.filter(record => isOfWeight(record, level));
  const patterns = Object.keys(levels).sort((a, b) => b.length - a.length);
  const known = new Map<string, TypeLevel>();
  const levelFor = (type: string): TypeLevel => {
    const pattern = patterns.find(each => (each.endsWith('*') ? type.startsWith(each.slice(0, -1)) : type === each));
    return (pattern === undefined ? undefined : own(levels, pattern)) ?? level ?? 'debug';
  };
  return records.filter(record => {
    const { event_type: type } = record.event;
    const least = known.get(type) ?? levelFor(type);
    known.set(type, least);
    return least !== 'off' && isOfWeight(record, least);
  });
}
