/** The rows of the waterfall: the tree of spans, without the children of collapsed ones. */
import type { PageSpan } from './data.ts';

export interface Row {
  span: PageSpan;
  level: number;
  hasChildren: boolean;
  isCollapsed: boolean;
}

/** Turns have the same name each; the number of a turn in its session tells them apart. */
export function withTurnNumbers(spans: readonly PageSpan[]): PageSpan[] {
  const turns = spans.filter(({ kind }) => kind === 'turn').sort((a, b) => a.startMs - b.startMs);
  const numbers = new Map(turns.map(({ id }, i) => [id, i + 1]));
  return spans.map(span =>
    span.kind === 'turn' ? { ...span, name: `turn ${numbers.get(span.id)}: ${span.name}` } : span,
  );
}

/** The ids of the spans above a span. */
export function ancestorsOf(spans: readonly PageSpan[], id: string): Set<string> {
  const parents = new Map(spans.map(span => [span.id, span.parent]));
  const found = new Set<string>();
  let next = parents.get(id);
  while (next !== undefined && !found.has(next)) {
    found.add(next);
    next = parents.get(next);
  }
  return found;
}

/** A span whose parent is unknown is a root. Siblings are in order of time. Without recursion, for deep trees. */
export function rowsOf(spans: readonly PageSpan[], collapsed: ReadonlySet<string>): Row[] {
  const known = new Set(spans.map(({ id }) => id));
  const children = new Map<string | undefined, PageSpan[]>();
  for (const span of [...spans].sort((a, b) => a.startMs - b.startMs || a.endMs - b.endMs || (a.id < b.id ? -1 : 1))) {
    const parent =
      span.parent !== undefined && known.has(span.parent) && span.parent !== span.id ? span.parent : undefined;
    if (!children.get(parent)?.push(span)) children.set(parent, [span]);
  }
  const rows: Row[] = [];
  const seen = new Set<string>();
  const stack = (children.get(undefined) ?? []).map(span => ({ span, level: 1 })).reverse();
  for (let next = stack.pop(); next !== undefined; next = stack.pop()) {
    const { span, level } = next;
    if (seen.has(span.id)) continue;
    seen.add(span.id);
    const below = children.get(span.id) ?? [];
    const isCollapsed = collapsed.has(span.id);
    rows.push({ span, level, hasChildren: below.length > 0, isCollapsed });
    if (!isCollapsed) stack.push(...below.map(child => ({ span: child, level: level + 1 })).reverse());
  }
  return rows;
}
