/** Turns the spans of a replayed journal into nodes of a tree. */
import type { FinishedSpan, Sums } from '../assemble/finished.ts';
import type { Replay } from '../journal/replay.ts';
import { spanIdOf, traceIdOf } from '../telemetry/ids.ts';
import { resourceOf } from '../telemetry/resource.ts';
import { readableSpan } from '../telemetry/sdk-values.ts';
import { mapSpan } from '../telemetry/spans.ts';
import { nodeOf } from './span-node.ts';
import type { Node } from './tree.ts';

const unlimited = { span: { attributes: 1_000, links: 1_000 }, log: { attributes: 1_000 } };

/** Facts for mapping a span or a record for display, without the limits of a destination. */
export const unlimitedFacts = (agent: string, session: string) => ({
  agent,
  session,
  provider: undefined,
  denyAsError: false,
  limits: unlimited,
});

/** Returns the node of a span; `facts` come from `unlimitedFacts`. */
export function nodeOfSpan(span: FinishedSpan, facts: ReturnType<typeof unlimitedFacts>): Node {
  const { attributes, name, status } = readableSpan(mapSpan(span, facts, resourceOf({})));
  const node = nodeOf({
    spanId: spanIdOf(facts.agent, span.key),
    parentSpanId: span.parent && spanIdOf(facts.agent, span.parent),
    name,
    startMs: span.startMs,
    endMs: span.endMs,
    isError: status.code === 2,
    attributes,
  });
  return { ...node, usage: usageOf(span) };
}

/** Returns the usage of a span and of the spans below it; undefined for spans that use nothing of their own. */
export function usageOf(span: FinishedSpan): Partial<Sums> | undefined {
  if (span.kind === 'action' || span.kind === 'plan') return undefined;
  return span.kind === 'chat' ? span : { ...span.usage, ...(span.kind === 'session' ? span.stated?.usage : {}) };
}

/** Adds the nodes of a replay to those of its traces. Returns the traces in the order of their first spans. */
export function nodesOf(
  { agent, session, finished, open }: Pick<Replay, 'agent' | 'session' | 'finished' | 'open'>,
  traces = new Map<string, Node[]>(),
): Map<string, Node[]> {
  const facts = unlimitedFacts(agent, session);
  const add = (span: FinishedSpan, isOpenStill: boolean): void => {
    const node = nodeOfSpan(span, facts);
    const trace = traceIdOf(span.trace);
    const shown = isOpenStill ? { ...node, error: undefined, notes: ['open'] } : node;
    if (!traces.get(trace)?.push(shown)) traces.set(trace, [shown]);
  };
  for (const span of finished) add(span, false);
  for (const span of open) add(span, true);
  return traces;
}
