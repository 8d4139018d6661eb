/**
 * The waterfall: a tree of spans with their times. Only the visible rows are in the document, so that 10,000 spans
 * scroll smoothly. The keys are those of a tree: arrows move, close and open, + and - zoom.
 */
import { h, type JSX } from 'preact';
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from 'preact/hooks';
import type { PageSpan } from './data.ts';
import { dollars, duration } from './format.ts';
import { Foreign, Mark, riskKind } from './parts.ts';
import { type Row, rowsOf, timesOf } from './tree.ts';

export const ROW_PX = 24;
/** Rows beyond the visible part, so that fast scrolling shows no gaps. */
const SPARE = 12;

interface Range {
  fromMs: number;
  toMs: number;
}

interface Props {
  spans: readonly PageSpan[];
  selected: string | undefined;
  onSelect(id: string): void;
  /** Scrolls to the newest row when rows are added, unless the reader has scrolled away. */
  isLive: boolean;
}

export function Waterfall({ spans, selected, onSelect, isLive }: Props): JSX.Element {
  const [collapsed, setCollapsed] = useState<ReadonlySet<string>>(new Set());
  const [zoom, setZoom] = useState<Range>();
  const rows = useMemo(() => rowsOf(spans, collapsed), [spans, collapsed]);
  const whole = useMemo(() => timesOf(spans), [spans]);
  const range = zoom ?? whole;
  const { box, topPx, heightPx, onScroll, reveal } = useScroll(rows.length, isLive);
  const at = rows.findIndex(({ span }) => span.id === selected);
  useEffect(() => {
    if (at >= 0) reveal(at);
  }, [selected]);

  const toggle = (id: string, isClosed: boolean): void => {
    const next = new Set(collapsed);
    if (isClosed) next.add(id);
    else next.delete(id);
    setCollapsed(next);
  };
  const scale = (factor: number): void => setZoom(scaled(range, whole, factor, rows[at]?.span));
  const onKeyDown = (event: KeyboardEvent): void => {
    const row = rows[at];
    const to = target(event.key, at, rows, Math.max(1, Math.floor(heightPx / ROW_PX) - 1));
    if (to !== undefined) onSelect(rows[to]?.span.id ?? '');
    else if (event.key === 'ArrowLeft' && row?.hasChildren && !row.isCollapsed) toggle(row.span.id, true);
    else if (event.key === 'ArrowRight' && row?.isCollapsed) toggle(row.span.id, false);
    else if (event.key === '+' || event.key === '=') scale(0.5);
    else if (event.key === '-') scale(2);
    else if (event.key === '0') setZoom(undefined);
    else return;
    event.preventDefault();
  };

  const first = Math.max(0, Math.floor(topPx / ROW_PX) - SPARE);
  const last = Math.min(rows.length, Math.ceil((topPx + heightPx) / ROW_PX) + SPARE);
  const button = (label: string, text: string, act: () => void): JSX.Element =>
    h('button', { type: 'button', 'aria-label': label, title: label, onClick: act }, text);
  const closable = rows.filter(({ hasChildren, level }) => hasChildren && level > 1);
  return h(
    'section',
    { class: 'waterfall', 'aria-label': 'Waterfall' },
    h(
      'div',
      { class: 'tools' },
      button('Zoom in', '+', () => scale(0.5)),
      button('Zoom out', '−', () => scale(2)),
      button('Show all times', 'all', () => setZoom(undefined)),
      button('Close all', 'close all', () => setCollapsed(new Set(closable.map(({ span }) => span.id)))),
      button('Open all', 'open all', () => setCollapsed(new Set())),
      h('span', { class: 'quiet' }, `${rows.length} rows, ${duration(range.toMs - range.fromMs)} shown`),
    ),
    h(
      'div',
      {
        class: 'rows',
        ref: box,
        role: 'tree',
        tabIndex: 0,
        'aria-label': 'Spans of the session',
        'aria-activedescendant': at >= first && at < last ? `row-${selected}` : undefined,
        onScroll,
        onKeyDown,
      },
      h(
        'div',
        { class: 'all-rows', role: 'presentation', style: { height: `${rows.length * ROW_PX}px` } },
        ...rows.slice(first, last).map((row, i) =>
          h(Line, {
            key: row.span.id,
            row,
            top: (first + i) * ROW_PX,
            range,
            isSelected: row.span.id === selected,
            onSelect,
            toggle,
          }),
        ),
      ),
    ),
  );
}

/** The visible part of the rows, and the place that follows the newest row. */
function useScroll(rows: number, isLive: boolean) {
  const box = useRef<HTMLDivElement>(null);
  const [topPx, setTop] = useState(0);
  const [heightPx, setHeight] = useState(600);
  const isAtEnd = useRef(isLive);
  useLayoutEffect(() => {
    const measure = (): void => setHeight(box.current?.clientHeight ?? 600);
    measure();
    window.addEventListener('resize', measure);
    return () => window.removeEventListener('resize', measure);
  }, []);
  useLayoutEffect(() => {
    const { current } = box;
    if (current !== null && isLive && isAtEnd.current) current.scrollTop = current.scrollHeight;
  }, [rows, isLive]);
  const onScroll = (): void => {
    const { current } = box;
    if (current === null) return;
    isAtEnd.current = current.scrollTop + current.clientHeight >= current.scrollHeight - ROW_PX;
    setTop(current.scrollTop);
  };
  const reveal = (row: number): void => {
    const { current } = box;
    if (current === null) return;
    const top = row * ROW_PX;
    if (top < current.scrollTop) current.scrollTop = top;
    else if (top + ROW_PX > current.scrollTop + current.clientHeight)
      current.scrollTop = top + ROW_PX - current.clientHeight;
  };
  return { box, topPx, heightPx, onScroll, reveal };
}

/** The row to which a key moves. */
function target(key: string, at: number, rows: readonly Row[], page: number): number | undefined {
  const row = rows[at];
  const to: { readonly [key: string]: number | undefined } = {
    ArrowDown: at + 1,
    ArrowUp: at < 0 ? 0 : at - 1,
    PageDown: Math.min(rows.length - 1, at + page),
    PageUp: Math.max(0, at - page),
    Home: 0,
    End: rows.length - 1,
    ArrowLeft: row === undefined || (row.hasChildren && !row.isCollapsed) ? undefined : parentOf(rows, at),
    ArrowRight: row?.hasChildren && !row.isCollapsed ? at + 1 : undefined,
  };
  const found = Object.hasOwn(to, key) ? to[key] : undefined;
  return found === undefined || rows[found] === undefined ? undefined : found;
}

function parentOf(rows: readonly Row[], at: number): number | undefined {
  const level = rows[at]?.level ?? 1;
  for (let i = at - 1; i >= 0; i -= 1) if ((rows[i]?.level ?? 1) < level) return i;
  return undefined;
}

/** The range after a zoom around the selected span, or around the middle. */
function scaled(range: Range, whole: Range, factor: number, around: PageSpan | undefined): Range {
  const lengthMs = Math.max(10, (range.toMs - range.fromMs) * factor);
  if (lengthMs >= whole.toMs - whole.fromMs) return whole;
  const isInside = around !== undefined && around.startMs <= range.toMs && around.endMs >= range.fromMs;
  const centerMs = isInside ? (around.startMs + around.endMs) / 2 : (range.fromMs + range.toMs) / 2;
  const fromMs = Math.min(Math.max(whole.fromMs, centerMs - lengthMs / 2), whole.toMs - lengthMs);
  return { fromMs, toMs: fromMs + lengthMs };
}

interface LineProps {
  row: Row;
  top: number;
  range: Range;
  isSelected: boolean;
  onSelect(id: string): void;
  toggle(id: string, isClosed: boolean): void;
}

function Line({
  row: { span, level, hasChildren, isCollapsed },
  top,
  range,
  isSelected,
  onSelect,
  toggle,
}: LineProps): JSX.Element {
  const kind = span.error === undefined ? (span.isDenied ? 'denied' : span.kind) : 'failed';
  const arrow = hasChildren ? (isCollapsed ? '▸' : '▾') : '';
  const usage = span.usage;
  return h(
    'div',
    {
      id: `row-${span.id}`,
      class: `row${isSelected ? ' selected' : ''}`,
      role: 'treeitem',
      'aria-level': level,
      'aria-selected': isSelected,
      'aria-expanded': hasChildren ? !isCollapsed : undefined,
      style: { top: `${top}px` },
      onClick: () => onSelect(span.id),
    },
    h(
      'span',
      { class: 'name', style: { paddingLeft: `${Math.min(level, 20) * 12 - 8}px` } },
      h(
        'span',
        {
          class: 'arrow',
          'aria-hidden': 'true',
          onClick: (event: Event) => {
            if (!hasChildren) return;
            event.stopPropagation();
            toggle(span.id, !isCollapsed);
          },
        },
        arrow,
      ),
      h(Foreign, null, span.name),
      span.isOpen ? h(Mark, { kind: 'good' }, 'open') : null,
      span.error === undefined
        ? null
        : h(Mark, { kind: 'bad' }, h('span', { class: 'hidden' }, 'failed: '), span.error),
      span.risk === undefined || span.risk === 'low'
        ? null
        : h(Mark, { kind: riskKind(span.risk) }, `risk ${span.risk}`),
      h('span', { class: 'quiet' }, span.notes.filter(note => !note.startsWith('risk ')).join(', ')),
    ),
    h(
      'span',
      { class: 'numbers' },
      usage?.costUsd === undefined ? '' : dollars(usage.costUsd),
      ' ',
      duration(span.endMs - span.startMs),
    ),
    h(
      'span',
      { class: 'track' },
      bar(range, span.startMs, span.endMs, `bar bar-${kind}`),
      span.waitMs === undefined
        ? null
        : bar(range, span.askedMs ?? span.startMs, (span.askedMs ?? span.startMs) + span.waitMs, 'bar bar-wait'),
    ),
  );
}

function bar({ fromMs, toMs }: Range, startMs: number, endMs: number, name: string): JSX.Element | null {
  const share = (ms: number): number => ((ms - fromMs) / (toMs - fromMs)) * 100;
  const [left, right] = [Math.max(0, share(startMs)), Math.min(100, share(endMs))];
  if (right < 0 || left > 100) return null;
  return h('span', { class: name, style: { left: `${left}%`, width: `max(2px, ${Math.max(0, right - left)}%)` } });
}
