/**
 * The facts about sessions that the MCP server returns: names, numbers and closed words, as destinations get them.
 * Content (prompts, commands, paths, working folders, reasons) is left out, also if the journal holds it, unless the
 * person who starts the server asks for it.
 */
import type { ActionSpan, FinishedSpan } from '../assemble/finished.ts';
import { replay } from '../journal/replay.ts';
import { countsOf, type IndexedSession, sessionIndex } from '../journal/session-index.ts';
import { namedCounts } from '../journal/span-counts.ts';
import { asShown } from '../lib/shown.ts';
import type { Store } from '../store/store.ts';
import { nodeOfSpan, unlimitedFacts, usageOf } from '../view/nodes.ts';
import { isTrial } from '../view/trial-sessions.ts';

/** Names come from unknown authors. */
const shown = (text: string | undefined): string | undefined => text && asShown(text.slice(0, 200));

export interface Entry {
  key: string;
  entry: IndexedSession;
}

/** Returns the sessions with events since then, the last active one first. */
export function entriesIn(store: Store, sinceMs: number): Entry[] {
  return [...sessionIndex(store)]
    .map(([key, entry]) => ({ key, entry }))
    .filter(({ entry }) => !isTrial(entry.session) && entry.lastMs >= sinceMs)
    .sort((a, b) => b.entry.lastMs - a.entry.lastMs || (a.key < b.key ? -1 : 1));
}

export const sessionRow = ({ entry }: Entry) => ({
  session: shown(entry.session),
  agent: shown(entry.agent),
  state: entry.state,
  start: new Date(entry.firstMs).toISOString(),
  duration_ms: entry.lastMs - entry.firstMs,
  repository: shown(entry.repository),
  branch: shown(entry.branch),
  models: entry.models.map(shown),
  highest_risk: entry.risk,
  ...namedCounts(countsOf(entry)),
});

/** Returns the spans of a session in the order of a tree; `depth` is 0 for roots. */
export function treeOf(store: Store, { key, entry }: Entry, withContent: boolean) {
  const replayed = replay(store.journal(key) ?? '');
  const open = new Set(replayed?.open);
  const facts = unlimitedFacts(entry.agent, entry.session);
  const spans = [...(replayed?.finished ?? []), ...(replayed?.open ?? [])];
  const nodes = spans.map(span => ({ span, node: nodeOfSpan(span, facts) }));
  const known = new Set(nodes.map(({ node }) => node.id));
  const children = new Map<string | undefined, typeof nodes>();
  for (const each of nodes.sort((a, b) => a.node.startMs - b.node.startMs || a.node.endMs - b.node.endMs)) {
    const parent = each.node.parent !== undefined && known.has(each.node.parent) ? each.node.parent : undefined;
    if (!children.get(parent)?.push(each)) children.set(parent, [each]);
  }
  const rows: object[] = [];
  const stack = (children.get(undefined) ?? []).map(each => ({ each, depth: 0 })).reverse();
  for (let next = stack.pop(); next !== undefined; next = stack.pop()) {
    const { each, depth } = next;
    rows.push({
      id: each.node.id,
      parent: each.node.parent,
      depth,
      kind: each.span.kind,
      name: shown(each.node.name),
      start: new Date(each.node.startMs).toISOString(),
      duration_ms: Math.round(each.node.endMs - each.node.startMs),
      running: open.has(each.span) || undefined,
      error: open.has(each.span) ? undefined : shown(each.node.error),
      notes: open.has(each.span) ? [] : each.node.notes.map(shown),
      risk: each.span.risk?.level,
      ...usageRow(each.span),
      ...(withContent ? { content: contentOf(each.span) } : {}),
    });
    const below = (children.get(each.node.id) ?? []).map(child => ({ each: child, depth: depth + 1 }));
    stack.push(...below.reverse());
  }
  return rows;
}

function usageRow(span: FinishedSpan): object {
  const used = usageOf(span) ?? {};
  const usd = used.pricedUsd ?? used.costUsd;
  return {
    input_tokens: used.input,
    output_tokens: used.output,
    cache_read_tokens: used.cacheRead,
    cache_write_tokens: used.cacheWrite,
    reasoning_tokens: used.reasoning,
    cost_usd: usd === undefined ? undefined : Number(usd.toFixed(6)),
    unpriced_tokens: used.unpricedTokens,
  };
}

/** Yields failed actions, responses, turns and subagents, the last active session first. */
export function* failuresIn(store: Store, entries: readonly Entry[], withContent: boolean) {
  for (const each of entries) {
    for (const span of spansOf(store, each)) {
      if (span.errorType === undefined || span.kind === 'session' || span.kind === 'plan') continue;
      yield { ...spanRow(each, span), error: shown(span.errorType), ...exitOf(span), ...contentRow(span, withContent) };
    }
  }
}

const exitOf = (span: FinishedSpan) => (span.kind === 'action' ? { exit_code: span.exitCode } : {});

const levels = ['low', 'medium', 'high', 'critical'] as const;
export type Level = (typeof levels)[number];

/** Yields the actions of this risk level and of higher ones. */
export function* riskyIn(
  store: Store,
  entries: readonly Entry[],
  { least, withContent }: { least: Level; withContent: boolean },
) {
  const isRisky = (level: Level | undefined): boolean =>
    level !== undefined && levels.indexOf(level) >= levels.indexOf(least);
  // The index says which journals have such an action.
  for (const each of entries.filter(({ entry }) => isRisky(entry.risk))) {
    for (const span of spansOf(store, each)) {
      if (span.kind !== 'action' || !isRisky(span.risk?.level)) continue;
      yield {
        ...spanRow(each, span),
        risk: span.risk?.level,
        score: span.risk?.score,
        factors: span.risk?.factors?.map(shown),
        outcome: span.outcome,
        decision: span.decision?.outcome,
        decided_by: span.decision?.source,
        ...contentRow(span, withContent),
      };
    }
  }
}

/** The newest span of a session is the first; open spans have no outcome yet. */
const spansOf = (store: Store, { key }: Entry): FinishedSpan[] =>
  [...(replay(store.journal(key) ?? '')?.finished ?? [])].sort((a, b) => b.startMs - a.startMs);

const spanRow = ({ entry }: Entry, span: FinishedSpan) => ({
  session: shown(entry.session),
  agent: shown(entry.agent),
  repository: shown(entry.repository),
  at: new Date(span.startMs).toISOString(),
  duration_ms: Math.round(span.endMs - span.startMs),
  kind: span.kind,
  name: shown(nameOf(span)),
  ...(span.kind === 'action' ? { executable: shown(span.executable), mcp_server: shown(span.mcpServer) } : {}),
});

const nameOf = (span: FinishedSpan): string | undefined =>
  span.kind === 'action' ? span.tool : span.kind === 'chat' ? span.model : 'agent' in span ? span.agent : undefined;

/** The longest text of one field. */
const LONGEST = 2_000;

function contentOf(span: FinishedSpan): object | undefined {
  if (!('content' in span) || span.content === undefined) return undefined;
  const texts = Object.entries(span.content).flatMap(([name, value]) =>
    value === undefined
      ? []
      : [[name, asShown((typeof value === 'string' ? value : JSON.stringify(value)).slice(0, LONGEST))]],
  );
  return texts.length === 0 ? undefined : Object.fromEntries(texts);
}

const contentRow = (span: ActionSpan | FinishedSpan, withContent: boolean): object =>
  withContent ? { content: contentOf(span) } : {};
