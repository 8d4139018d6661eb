/** One session: its waterfall, the details of a span, context, turns and events. */
import { Fragment, h, type JSX } from 'preact';
import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import { type Failure, request, snapshot, useLive } from './api.ts';
import { axisOf } from './axis.ts';
import { ContextChart, Turns } from './charts.ts';
import type { JournalPart, PageEvent, PageSpan, SessionPart, SessionRow, SpanDetails } from './data.ts';
import { clock, count, counted, day, dollars, duration, moment, short } from './format.ts';
import { costOf } from './groups.ts';
import { errorText, FailureNote, Foreign, Mark, placeOf, riskKind, stateWords, Time } from './parts.ts';
import { Summary } from './summary.ts';
import { withTurnNumbers } from './tree.ts';
import { Waterfall } from './waterfall.ts';

interface Held {
  part: SessionPart;
  /** The journals by their keys, each with all of its spans and events so far. */
  journals: ReadonlyMap<string, JournalPart>;
}

/** Adds a part to the data of the page. Another `made` begins again. */
function joined(held: Held | undefined, part: SessionPart): Held {
  const journals = part.journals.map((each): [string, JournalPart] => {
    const before = held?.journals.get(each.key);
    if (before?.made !== each.made) return [each.key, each];
    const more = <T>(had: T[], added: T[]): T[] => (added.length === 0 ? had : [...had, ...added]);
    const { spans, events, context } = each;
    return [
      each.key,
      {
        ...each,
        spans: more(before.spans, spans),
        events: more(before.events, events),
        context: more(before.context, context),
      },
    ];
  });
  return { part, journals: new Map(journals) };
}

interface Props {
  sessionKey: string;
  span: string | undefined;
}

export function Session({ sessionKey, span }: Props): JSX.Element {
  const [held, setHeld] = useState<Held>();
  const latest = useRef<Held | undefined>(undefined);
  const failure = useLive(sessionKey, async () => {
    const had = [...(latest.current?.journals.values() ?? [])].map(({ key, made, spans, events, context }) =>
      [key, made, spans.length, events.length, context.length].join('.'),
    );
    const words = new URLSearchParams({ key: sessionKey, had: had.join(',') });
    latest.current = joined(latest.current, await request<SessionPart>(`/api/session?${words}`));
    setHeld(latest.current);
  });
  const journals = useMemo(() => [...(held?.journals.values() ?? [])], [held]);
  const spans = useMemo(() => withTurnNumbers(journals.flatMap(each => [...each.spans, ...each.open])), [journals]);
  const spansOfEach = useMemo(() => byJournal(spans, journals), [spans]);
  const events = useMemo(() => journals.flatMap(each => each.events).sort((a, b) => a.atMs - b.atMs), [journals]);
  const context = useMemo(() => journals.flatMap(each => each.context).sort((a, b) => a.atMs - b.atMs), [journals]);
  const axis = useMemo(() => axisOf(spans), [spans]);
  const select = (id: string): void => {
    // Each selected span has an address, but not an entry of its own in the history.
    history.replaceState(undefined, '', `#/session/${sessionKey}?span=${id}`);
    window.dispatchEvent(new HashChangeEvent('hashchange'));
  };
  const [wanted, setWanted] = useState(span === undefined ? undefined : { id: span });
  const show = (id: string): void => {
    select(id);
    setWanted({ id });
  };
  const selected = spans.find(({ id }) => id === span);
  return h(
    'main',
    null,
    snapshot === undefined
      ? h('nav', { 'aria-label': 'Path' }, h('a', { href: '#/' }, '← all sessions'))
      : h('p', { class: 'quiet' }, snapshot.note),
    h('h1', null, 'Session ', h(Foreign, null, held?.part.row.session ?? '')),
    h(FailureNote, { failure }),
    held === undefined ? null : h(Facts, { row: held.part.row, journals }),
    held === undefined ? null : h(Summary, { row: held.part.row, journals: spansOfEach, onSelect: show }),
    held === undefined
      ? null
      : h(
          'div',
          { class: 'columns' },
          h(Waterfall, { spans, selected: span, wanted, onSelect: select, isLive: held.part.row.state === 'running' }),
          h(Details, { sessionKey, span: selected }),
        ),
    held === undefined ? null : h('h2', null, 'Use'),
    held === undefined ? null : h(ContextChart, { points: context, axis }),
    held === undefined
      ? null
      : h(Turns, { spans, costUsd: costOf(held.part.row), firstMs: held.part.row.firstMs, onSelect: show }),
    held === undefined ? null : h(Events, { events, firstMs: held.part.row.firstMs, onSelect: show }),
  );
}

/** Divides the spans of a session into those of each journal. */
function byJournal(spans: readonly PageSpan[], journals: readonly JournalPart[]): PageSpan[][] {
  let from = 0;
  return journals.map(each => {
    const to = from + each.spans.length + each.open.length;
    const these = spans.slice(from, to);
    from = to;
    return these;
  });
}

function Facts({ row, journals }: { row: SessionRow; journals: readonly JournalPart[] }): JSX.Element {
  const damagedLines = journals.reduce((sum, each) => sum + each.damagedLines, 0);
  const content = [...new Set(journals.flatMap(each => each.content))].sort();
  const holder = snapshot === undefined ? 'The journal' : 'This file';
  const commits = [...new Set(journals.flatMap(each => each.commits))];
  const previous = journals.find(each => each.previous !== undefined && each.key === row.key)?.previous;
  const item = (name: string, value: JSX.Element | string | null): JSX.Element =>
    h('div', { key: name }, h('dt', null, name), h('dd', null, value));
  return h(
    'section',
    { 'aria-label': 'Facts' },
    h(
      'dl',
      { class: 'totals' },
      item('state', h(Mark, { kind: row.state === 'running' ? 'good' : 'plain' }, stateWords[row.state])),
      item('cost', dollars(costOf(row))),
      item('length', duration(row.lengthMs)),
      item('start', h(Time, { ms: row.firstMs })),
      item('agent', h(Foreign, null, row.agent)),
      item('model', h(Foreign, null, row.models.join(', ') || '–')),
      item('repository', h(Foreign, null, [placeOf(row), row.branch].filter(Boolean).join(' @ '))),
      item('turns', count(row.turns)),
      item('actions', count(row.actions)),
      item('failed actions', row.failed === 0 ? '0' : h(Mark, { kind: 'bad' }, count(row.failed))),
      row.failedResponses === 0 ? null : item('failed responses', h(Mark, { kind: 'bad' }, count(row.failedResponses))),
      item('denied actions', row.denied === 0 ? '0' : h(Mark, { kind: 'bad' }, count(row.denied))),
      item('waited for a person', row.waitMs === 0 ? '–' : `${duration(row.waitMs)} (${counted(row.asked, 'time')})`),
      item('highest risk', row.risk === undefined ? '–' : h(Mark, { kind: riskKind(row.risk) }, row.risk)),
      item('tokens in', count(row.input)),
      item('read from cache', count(row.cacheRead)),
      item('written to cache', count(row.cacheWrite)),
      item('tokens out', count(row.output)),
    ),
    damagedLines > 0
      ? h(
          'p',
          { class: 'note note-bad' },
          `${counted(damagedLines, 'damaged line')} in the journal; this page shows the rest.`,
        )
      : null,
    row.resumedAs === undefined
      ? null
      : h(
          'p',
          null,
          `This session was resumed ${row.resumedAs.length === 1 ? 'once' : `${row.resumedAs.length} times`} under another id; this page shows it as one session: `,
          ...row.resumedAs.map(each => h('code', { key: each }, h(Foreign, null, each), ' ')),
        ),
    previous === undefined
      ? null
      : h('p', null, 'It continues a session of which this machine has no journal: ', h('code', null, previous)),
    commits.length === 0
      ? null
      : h('p', null, 'Commits: ', ...commits.map(each => h('code', { key: each }, `${each.slice(0, 12)} `))),
    h(
      'p',
      { class: 'quiet' },
      content.length === 0
        ? `${holder} holds no content: no prompts, no responses, no inputs or outputs of tools.`
        : `${holder} holds content of these classes: ${content.join(', ')}. The page shows it as far as it is there.`,
    ),
  );
}

function Details({ sessionKey, span }: { sessionKey: string; span: PageSpan | undefined }): JSX.Element {
  const [details, setDetails] = useState<{ id: string; is: SpanDetails }>();
  const [failure, setFailure] = useState<Failure>();
  useEffect(() => {
    if (span === undefined) return;
    const { id } = span;
    let isOver = false;
    request<SpanDetails>(`/api/span?${new URLSearchParams({ key: sessionKey, id })}`).then(
      is => {
        if (isOver) return;
        setDetails({ id, is });
        setFailure(undefined);
      },
      error => !isOver && setFailure(error as Failure),
    );
    return () => {
      isOver = true;
    };
  }, [sessionKey, span?.id, span?.endMs]);
  if (span === undefined)
    return h(
      'aside',
      { class: 'details', 'aria-label': 'Details' },
      h(
        'p',
        { class: 'quiet' },
        'Select a span to see its attributes and records. Keys: arrows move, left closes, right opens, + and − zoom, z fits the span, 0 shows all.',
      ),
    );
  const found = details?.id === span.id ? details.is : undefined;
  return h(
    'aside',
    { class: 'details', 'aria-label': 'Details', tabIndex: 0 },
    h('h2', null, h(Foreign, null, span.name)),
    h(
      'p',
      null,
      h(Time, { ms: span.startMs, text: `${day(span.startMs)} ${clock(span.startMs)}` }),
      ` for ${duration(span.endMs - span.startMs)}`,
      span.isOpen ? ', still open' : '',
    ),
    span.error === undefined ? null : h('p', null, h(Mark, { kind: 'bad' }, `failed: ${errorText(span.error)}`)),
    span.risk === undefined || span.risk === 'low'
      ? null
      : h('p', null, h(Mark, { kind: riskKind(span.risk) }, `risk ${span.risk}`)),
    span.waitMs === undefined ? null : h('p', null, `It waited ${duration(span.waitMs)} for a person.`),
    span.decidedBy === undefined
      ? null
      : h('p', null, h(Foreign, null, `${span.isDenied ? 'Denied' : 'Decided'} by ${span.decidedBy}.`)),
    span.notes.length === 0 ? null : h('p', null, h(Foreign, null, span.notes.join(', '))),
    h(FailureNote, { failure }),
    found === undefined ? null : h(Table, { pairs: found.attributes }),
    ...(found?.links ?? []).map(link => h('p', { key: link, class: 'quiet' }, `link ${link}`)),
    found === undefined || found.records.length === 0 ? null : h('h3', null, `Records (${found.records.length})`),
    ...(found?.records ?? []).map((record, i) =>
      h(
        'details',
        { key: i },
        h('summary', null, clock(record.atMs), ' ', h(Foreign, null, record.line)),
        h(Table, { pairs: record.attributes }),
      ),
    ),
  );
}

const Table = ({ pairs }: { pairs: readonly [string, string][] }): JSX.Element =>
  h(
    'table',
    { class: 'pairs' },
    h(
      'tbody',
      null,
      ...pairs.map(([name, value]) =>
        h(
          'tr',
          { key: name },
          h('th', { scope: 'row' }, ...name.split(/(?<=[._])/).flatMap(part => [part, h('wbr', null)])),
          h('td', null, h(Foreign, null, value)),
        ),
      ),
    ),
  );

const MOST_EVENTS = 300;

function Events({
  events,
  firstMs,
  onSelect,
}: {
  events: readonly PageEvent[];
  firstMs: number;
  onSelect(id: string): void;
}): JSX.Element | null {
  if (events.length === 0) return null;
  const newest = events.slice(-MOST_EVENTS).reverse();
  return h(
    'section',
    { 'aria-label': 'Events' },
    h('h2', null, `Events (${count(events.length)})`),
    h(
      'p',
      { class: 'quiet' },
      'Decisions, failures, loops, retries, budgets, policy, compactions and commits, the newest first.',
    ),
    h(
      'ul',
      { class: 'events' },
      ...newest.map(({ atMs, level, line, span }, i) =>
        h(
          'li',
          { key: events.length - i },
          h(Time, { ms: atMs, text: moment(atMs, firstMs) }),
          ' ',
          level === 'INFO' ? null : h(Mark, { kind: level === 'ERROR' ? 'bad' : 'warn' }, level.toLowerCase()),
          ' ',
          h(Foreign, null, line),
          span === undefined
            ? null
            : h(
                Fragment,
                null,
                ' ',
                h('button', { type: 'button', class: 'link', onClick: () => onSelect(span) }, 'show span'),
              ),
        ),
      ),
    ),
    events.length > MOST_EVENTS
      ? h('p', { class: 'quiet' }, `The oldest ${short(events.length - MOST_EVENTS)} are not listed.`)
      : null,
  );
}
