/** The root span of a trace while it is open, for samplers and processors that see a span when it starts. */
import type { Attributes } from '@opentelemetry/api';
import type { SpanKey, TraceKey } from '../assemble/finished.ts';
import { development, operations } from './names.ts';
import { type SpanContextFacts, wireSpanId, wireTraceId } from './spans.ts';

export interface OpenRoot {
  traceId: string;
  spanId: string;
  name: string;
  attributes: Attributes;
  /** The caller, if the session is a part of its trace. */
  parent: { traceId: string; spanId: string; traceFlags: number } | undefined;
}

export function openRootOf(trace: TraceKey, facts: SpanContextFacts): OpenRoot {
  const { agent, session, caller } = facts;
  const isChild = caller?.policy === 'parent' && trace.segment === 0;
  return {
    traceId: wireTraceId(trace, facts),
    spanId: wireSpanId(rootKeyOf(trace), trace, facts),
    name: trace.turn === undefined ? `session ${agent}` : `${operations.invokeAgent} ${agent}`,
    attributes: {
      [development.sessionId]: session,
      [development.conversationId]: session,
      [development.agentName]: agent,
    },
    parent: isChild ? { traceId: caller.traceId, spanId: caller.spanId, traceFlags: caller.flags ?? 1 } : undefined,
  };
}

function rootKeyOf({ session, segment, turn }: TraceKey): SpanKey {
  if (turn === undefined) return { kind: 'session', session, parts: [String(segment)] };
  const at = turn.lastIndexOf('\0');
  return { kind: 'turn', session, parts: [turn.slice(0, at), turn.slice(at + 1)] };
}
