/**
 * The waterfall: a tree of spans with their times. Only the visible rows are in the document, so that 10,000 spans
 * scroll smoothly. The keys are those of a tree: arrows move, close and open, + and - zoom.
 */
import { h, type JSX } from 'preact';
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from 'preact/hooks';
import { type Axis, axisOf } from './axis.ts';
import type { PageSpan } from './data.ts';
import { counted, dollars, duration } from './format.ts';
import { Foreign, Mark, riskKind } from './parts.ts';
import { ancestorsOf, type Row, rowsOf } from './tree.ts';

export const ROW_PX = 24;
/** The height of a session with few spans, in rows. */
const MOST_EMPTY = 10;
/** Rows beyond the visible part, so that fast scrolling shows no gaps. */
const SPARE = 12;
/** If fewer rows of the tree are in the window, the page scrolls to the tree. */
const LEAST_SEEN = 5;

/** A part of the time axis. */
interface Range {
  from: number;
  to: number;
}

interface Props {
  spans: readonly PageSpan[];
  selected: string | undefined;
  /** A span that the reader chose outside of the tree. Each choice is an object of its own. */
  wanted: { id: string } | undefined;
  onSelect(id: string): void;
  /** Scrolls to the newest row when rows are added, unless the reader has scrolled away. */
  isLive: boolean;
}

export function Waterfall({ spans, selected, wanted, onSelect, isLive }: Props): JSX.Element {
  const [collapsed, setCollapsed] = useState<ReadonlySet<string>>(new Set());
  const [zoom, setZoom] = useState<Range>();
  const rows = useMemo(() => rowsOf(spans, collapsed), [spans, collapsed]);
  const axis = useMemo(() => axisOf(spans), [spans]);
  const range = zoom ?? { from: 0, to: axis.length };
  const { box, topPx, heightPx, onScroll, reveal, center } = useScroll(rows.length, isLive);
  const at = rows.findIndex(({ span }) => span.id === selected);
  useEffect(() => {
    if (at >= 0) reveal(at);
  }, [selected]);
  useOnce(wanted, rows, ({ id }) => {
    const open = withoutThoseAbove(collapsed, spans, id);
    if (open.size === collapsed.size) return center(rows.findIndex(({ span }) => span.id === id));
    setCollapsed(open);
    return false;
  });

  const toggle = (id: string, isClosed: boolean): void => {
    const next = new Set(collapsed);
    if (isClosed) next.add(id);
    else next.delete(id);
    setCollapsed(next);
  };
  const scale = (factor: number): void => setZoom(scaled(range, axis, factor, rows[at]?.span));
  const fitSelected = (): void => setZoom(fitted(axis, rows[at]?.span));
  const onKeyDown = (event: KeyboardEvent): void => {
    const row = rows[at];
    const to = target(event.key, at, rows, Math.max(1, Math.floor(heightPx / ROW_PX) - 1));
    if (to !== undefined) onSelect(rows[to]?.span.id ?? '');
    else if (event.key === 'ArrowLeft' && row?.hasChildren && !row.isCollapsed) toggle(row.span.id, true);
    else if (event.key === 'ArrowRight' && row?.isCollapsed) toggle(row.span.id, false);
    else if (event.key === '+' || event.key === '=') scale(0.5);
    else if (event.key === '-') scale(2);
    else if (event.key === 'z') fitSelected();
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
      button('Fit the selected span', 'fit', fitSelected),
      button('Show all times', 'all', () => setZoom(undefined)),
      button('Close all', 'close all', () => setCollapsed(new Set(closable.map(({ span }) => span.id)))),
      button('Open all', 'open all', () => setCollapsed(new Set())),
      h(
        'span',
        { class: 'quiet' },
        `${counted(rows.length, 'row')}, ${duration(range.to - range.from)} shown${axis.hiddenMs > 0 ? `; ${duration(axis.hiddenMs)} without work left out` : ''}`,
      ),
    ),
    h(
      'div',
      {
        class: 'rows',
        style: { height: `min(60vh, ${Math.max(MOST_EMPTY, rows.length) * ROW_PX + 2}px)` },
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
            axis,
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

/** Tries an action for each new wish, again after each change of the rows, until it returns true. */
function useOnce<T>(wish: T | undefined, rows: readonly Row[], act: (wish: T) => boolean): void {
  const done = useRef<T>(undefined);
  useEffect(() => {
    if (wish !== undefined && done.current !== wish && act(wish)) done.current = wish;
  }, [wish, rows]);
}

/** The closed spans, without those that hide this span. */
function withoutThoseAbove(collapsed: ReadonlySet<string>, spans: readonly PageSpan[], id: string): Set<string> {
  const above = ancestorsOf(spans, id);
  return new Set([...collapsed].filter(each => !above.has(each)));
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
  return { box, topPx, heightPx, onScroll, reveal, center: (row: number) => centerIn(box.current, row) };
}

/** Scrolls a row to the centre of the part of the tree that is in the window. Returns false if there is no such row. */
function centerIn(box: HTMLElement | null, row: number): boolean {
  if (box === null || row < 0) return false;
  const seen = () => {
    const { top, bottom } = box.getBoundingClientRect();
    return { top, from: Math.max(0, top), to: Math.min(window.innerHeight, bottom) };
  };
  if (seen().to - seen().from < LEAST_SEEN * ROW_PX) box.scrollIntoView({ block: 'nearest' });
  const { top, from, to } = seen();
  box.scrollTop = (row + 0.5) * ROW_PX - ((from + to) / 2 - top);
  // The first and the last rows cannot move to the centre.
  const rowTop = top + row * ROW_PX - box.scrollTop;
  if (rowTop < 0 || rowTop + ROW_PX > window.innerHeight) window.scrollBy(0, rowTop - window.innerHeight / 2);
  return true;
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

/** The range after a zoom around the selected span, or around the middle. Undefined: everything. */
function scaled({ from, to }: Range, axis: Axis, factor: number, around: PageSpan | undefined): Range | undefined {
  const length = Math.max(10, (to - from) * factor);
  if (length >= axis.length) return undefined;
  const [start, end] = around === undefined ? [to, from] : [axis.at(around.startMs), axis.at(around.endMs)];
  const center = start <= to && end >= from && around !== undefined ? (start + end) / 2 : (from + to) / 2;
  const first = Math.min(Math.max(0, center - length / 2), axis.length - length);
  return { from: first, to: first + length };
}

/** The range of a span with a little space around it. */
function fitted(axis: Axis, span: PageSpan | undefined): Range | undefined {
  if (span === undefined) return undefined;
  const [start, end] = [axis.at(span.startMs), axis.at(span.endMs)];
  const spare = Math.max(5, (end - start) * 0.02);
  return { from: Math.max(0, start - spare), to: Math.min(axis.length, end + spare) };
}

interface LineProps {
  row: Row;
  top: number;
  axis: Axis;
  range: Range;
  isSelected: boolean;
  onSelect(id: string): void;
  toggle(id: string, isClosed: boolean): void;
}

function Line({
  row: { span, level, hasChildren, isCollapsed },
  top,
  axis,
  range,
  isSelected,
  onSelect,
  toggle,
}: LineProps): JSX.Element {
  const kind = span.error === undefined ? (span.isDenied ? 'denied' : span.kind) : 'failed';
  const arrow = hasChildren ? (isCollapsed ? '▸' : '▾') : '';
  const { usage, askedMs = span.startMs } = span;
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
      h('span', { class: 'quiet' }, notesOf(span).join(', ')),
    ),
    h('span', { class: 'numbers' }, usage?.costUsd === undefined ? '' : dollars(usage.costUsd)),
    h('span', { class: 'numbers' }, duration(span.endMs - span.startMs)),
    h(
      'span',
      { class: 'track' },
      bar(range, axis.at(span.startMs), axis.at(span.endMs), `bar bar-${kind}`),
      span.waitMs === undefined ? null : bar(range, axis.at(askedMs), axis.at(askedMs + span.waitMs), 'bar bar-wait'),
    ),
  );
}

function notesOf({ notes, waitMs }: PageSpan): string[] {
  return waitMs === undefined ? notes : [...notes, `waited ${duration(waitMs)} for a person`];
}

function bar({ from, to }: Range, start: number, end: number, name: string): JSX.Element | null {
  const share = (x: number): number => ((x - from) / (to - from)) * 100;
  const [left, right] = [Math.max(0, share(start)), Math.min(100, share(end))];
  if (right < 0 || left > 100) return null;
  return h('span', { class: name, style: { left: `${left}%`, width: `max(2px, ${Math.max(0, right - left)}%)` } });
}
