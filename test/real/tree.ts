/**
 * Draws received traces as a tree of lines, with labels of the scenario in place of ids:
 *
 *     session new, completed
 *       turn completed by user
 *         chat main.1
 *         action main.1.1 Bash success, allow by config
 *         subagent Explore completed
 */
import type { Served } from './contract.ts';
import type { Item } from './receiver.ts';

export interface Span extends Item {
  traceId: string;
  spanId: string;
  parentSpanId?: string;
  name: string;
  startMs: number;
  endMs: number;
}

export type Kind = 'session' | 'turn' | 'subagent' | 'action' | 'chat' | 'plan' | 'other';

export const spansOf = (items: Item[], way: string): Span[] =>
  items
    .filter(item => item.signal === 'traces' && item.way === way)
    .map(item => ({
      ...(item as Span),
      startMs: Number(item.startTimeUnixNano) / 1e6,
      endMs: Number(item.endTimeUnixNano) / 1e6,
    }));

export function kindOf(span: Span): Kind {
  const operation = span.plain['gen_ai.operation.name'];
  if (operation === 'execute_tool') return 'action';
  if (operation === 'plan') return 'plan';
  if (operation === 'invoke_agent') {
    return span.plain['agent_hooks.turn.outcome'] === undefined && span.plain['agent_hooks.turn.id'] === undefined
      ? 'subagent'
      : span.plain['agent_hooks.subagent.outcome'] === undefined
        ? 'turn'
        : 'subagent';
  }
  if (span.name.startsWith('session')) return 'session';
  return operation === undefined ? 'other' : 'chat';
}

/** The label of the response or call that a span is about. */
export function labelOf(span: Span, served: readonly Served[]): string | undefined {
  const { plain } = span;
  const call = plain['gen_ai.tool.call.id'];
  if (kindOf(span) === 'action') return served.flatMap(({ calls }) => calls).find(({ id }) => isCall(id, call))?.label;
  if (kindOf(span) !== 'chat') return undefined;
  const response = plain['gen_ai.response.id'];
  const byId = served.find(({ id }) => id !== '' && id === response);
  if (byId !== undefined) return byId.label;
  // Some agents keep no id of a response: its numbers are unique, the output among them.
  return served.find(({ tokens }) => tokens !== undefined && tokens.output === plain['gen_ai.usage.output_tokens'])
    ?.label;
}

/** Gemini CLI puts the name of the tool before the id of the model. */
const isCall = (id: string, call: unknown): boolean =>
  id === call || (typeof call === 'string' && call.endsWith(`__${id}`));

/** `areBeside`: sessions run side by side, so the time of their starts says nothing; they are sorted by their text. */
export function drawTree(spans: readonly Span[], served: readonly Served[], areBeside = false): string {
  const ids = new Set(spans.map(({ spanId }) => spanId));
  const lines: string[] = [];
  const walk = (siblings: readonly Span[], depth: number): void => {
    for (const span of ordered(siblings, served)) {
      lines.push(`${'  '.repeat(depth)}${lineOf(span, served)}`);
      walk(
        spans.filter(({ parentSpanId, traceId }) => parentSpanId === span.spanId && traceId === span.traceId),
        depth + 1,
      );
    }
  };
  const tops = spans.filter(({ parentSpanId }) => parentSpanId === undefined || parentSpanId === '');
  const drawn = ordered(tops, served).map(top => {
    walk([top], 0);
    return lines.splice(0).join('\n');
  });
  lines.push(...(areBeside ? drawn.sort() : drawn));
  const orphans = spans.filter(({ parentSpanId }) => parentSpanId && !ids.has(parentSpanId));
  for (const trace of new Set(orphans.map(({ traceId }) => traceId))) {
    lines.push('(no root)');
    walk(
      orphans.filter(({ traceId }) => traceId === trace),
      1,
    );
  }
  return lines.join('\n');
}

/**
 * Sorted by time. Calls of one response, which may run in parallel, are in the order of the response. Calls of a script
 * that overlap are in the order of their text, since they start at the same moment.
 */
function ordered(siblings: readonly Span[], served: readonly Served[]): Span[] {
  const nested = siblings
    .filter(span => kindOf(span) === 'action' && labelOf(span, served) === undefined)
    .toSorted((a, b) => a.startMs - b.startMs);
  const together = new Map<string, string>();
  let run = { id: '', endMs: Number.NEGATIVE_INFINITY };
  for (const { spanId, startMs, endMs } of nested) {
    if (startMs >= run.endMs) run = { id: spanId, endMs };
    together.set(spanId, run.id);
    run.endMs = Math.max(run.endMs, endMs);
  }
  const groupOf = (span: Span): string => {
    const label = labelOf(span, served);
    if (kindOf(span) === 'action' && label !== undefined) return label.replace(/\.\d+$/, '');
    return together.get(span.spanId) ?? span.spanId;
  };
  const first = new Map<string, number>();
  for (const span of siblings) {
    first.set(groupOf(span), Math.min(first.get(groupOf(span)) ?? Number.POSITIVE_INFINITY, span.startMs));
  }
  const text = (span: Span): string => labelOf(span, served) ?? lineOf(span, served);
  return siblings.toSorted(
    (a, b) =>
      (first.get(groupOf(a)) ?? 0) - (first.get(groupOf(b)) ?? 0) ||
      (text(a) < text(b) ? -1 : text(a) > text(b) ? 1 : a.startMs - b.startMs),
  );
}

function lineOf(span: Span, served: readonly Served[]): string {
  const { plain } = span;
  const kind = kindOf(span);
  const words = (...some: unknown[]): string =>
    some.filter(word => word !== undefined && word !== '' && word !== false).join(' ');
  const error = plain['error.type'];
  switch (kind) {
    case 'session': {
      const segment = plain['agent_hooks.session.segment'];
      return `${words('session', plain['agent_hooks.session.start_reason'] ?? 'unknown', segment !== 0 && `part ${segment}`)}, ${
        plain['agent_hooks.session.end_reason'] ?? 'unknown'
      }`;
    }
    case 'turn':
      return words(
        'turn',
        plain['agent_hooks.turn.outcome'],
        'by',
        plain['agent_hooks.actor.type'],
        error && `(${error})`,
      );
    case 'subagent':
      return words(
        'subagent',
        plain['gen_ai.agent.name'],
        plain['agent_hooks.subagent.outcome'],
        error && `(${error})`,
      );
    case 'chat': {
      const label = labelOf(span, served);
      const operation = plain['gen_ai.operation.name'];
      return words(operation === 'chat' ? 'chat' : `chat (${operation})`, label, error && `failed (${error})`);
    }
    case 'action': {
      const exit = plain['process.exit.code'];
      const decision = words(
        plain['agent_hooks.decision.outcome'],
        plain['agent_hooks.decision.source'] && `by ${plain['agent_hooks.decision.source']}`,
        plain['agent_hooks.decision.reason_type'] && `(${plain['agent_hooks.decision.reason_type']})`,
      );
      return [
        words('action', labelOf(span, served), plain['gen_ai.tool.name'], plain['agent_hooks.action.outcome']),
        exit === undefined ? '' : `exit ${exit}`,
        error === undefined || error === 'exit_code' ? '' : String(error),
        decision,
      ]
        .filter(part => part !== '')
        .join(', ');
    }
    default:
      return words(kind, span.name, error && `(${error})`);
  }
}
