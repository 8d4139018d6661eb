/** One session: its waterfall, the details of a span, context, turns and events. */
import { h, type JSX } from 'preact';
import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import { type Failure, request, useLive } from './api.ts';
import { ContextChart, Turns } from './charts.ts';
import type { ContextPoint, PageEvent, PageSpan, SessionPart, SpanDetails } from './data.ts';
import { clock, count, dollars, duration, short } from './format.ts';
import { costOf } from './groups.ts';
import { FailureNote, Foreign, Mark, placeOf, riskKind, stateWords, Time } from './parts.ts';
import { Waterfall } from './waterfall.ts';

interface Held {
  part: SessionPart;
  spans: PageSpan[];
  events: PageEvent[];
  context: ContextPoint[];
}

/** Adds a part to what the page has. Another `made` begins again. */
function joined(held: Held | undefined, part: SessionPart): Held {
  const { spans, events, context } = part;
  if (held === undefined || held.part.made !== part.made) return { part, spans, events, context };
  return {
    part,
    spans: spans.length === 0 ? held.spans : [...held.spans, ...spans],
    events: events.length === 0 ? held.events : [...held.events, ...events],
    context: context.length === 0 ? held.context : [...held.context, ...context],
  };
}

interface Props {
  sessionKey: string;
  span: string | undefined;
}

export function Session({ sessionKey, span }: Props): JSX.Element {
  const [held, setHeld] = useState<Held>();
  const latest = useRef<Held | undefined>(undefined);
  const failure = useLive(sessionKey, async () => {
    const { current } = latest;
    const words = new URLSearchParams({
      key: sessionKey,
      made: current?.part.made ?? '',
      spans: String(current?.spans.length ?? 0),
      events: String(current?.events.length ?? 0),
      context: String(current?.context.length ?? 0),
    });
    latest.current = joined(current, await request<SessionPart>(`/api/session?${words}`));
    setHeld(latest.current);
  });
  const spans = useMemo(() => (held === undefined ? [] : [...held.spans, ...held.part.open]), [held]);
  const select = (id: string): void => {
    // Each selected span has an address, but not an entry of its own in the history.
    history.replaceState(undefined, '', `#/session/${sessionKey}?span=${id}`);
    window.dispatchEvent(new HashChangeEvent('hashchange'));
  };
  const selected = spans.find(({ id }) => id === span);
  return h(
    'main',
    null,
    h('nav', { 'aria-label': 'Path' }, h('a', { href: '#/' }, '← all sessions')),
    h('h1', null, 'Session ', h(Foreign, null, held?.part.row.session ?? '')),
    h(FailureNote, { failure }),
    held === undefined ? null : h(Facts, { held }),
    held === undefined
      ? null
      : h(
          'div',
          { class: 'columns' },
          h(Waterfall, { spans, selected: span, onSelect: select, isLive: held.part.row.state === 'running' }),
          h(Details, { sessionKey, span: selected }),
        ),
    held === undefined ? null : h('h2', null, 'Use'),
    held === undefined ? null : h(ContextChart, { points: held.context }),
    held === undefined ? null : h(Turns, { spans, onSelect: select }),
    held === undefined ? null : h(Events, { events: held.events, onSelect: select }),
  );
}

function Facts({ held: { part } }: { held: Held }): JSX.Element {
  const { row, damagedLines, content, previous, commits } = part;
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
      item('length', duration(row.lastMs - row.firstMs)),
      item('start', h(Time, { ms: row.firstMs })),
      item('agent', h(Foreign, null, row.agent)),
      item('model', h(Foreign, null, row.models.join(', ') || '–')),
      item('repository', h(Foreign, null, [placeOf(row), row.branch].filter(Boolean).join(' @ '))),
      item('turns', count(row.turns)),
      item('actions', count(row.actions)),
      item('failed', row.failed === 0 ? '0' : h(Mark, { kind: 'bad' }, count(row.failed))),
      item('denied', row.denied === 0 ? '0' : h(Mark, { kind: 'bad' }, count(row.denied))),
      item('waited for a person', row.waitMs === 0 ? '–' : `${duration(row.waitMs)} (${row.asked} times)`),
      item('highest risk', row.risk === undefined ? '–' : h(Mark, { kind: riskKind(row.risk) }, row.risk)),
      item('tokens in', count(row.input)),
      item('read from cache', count(row.cacheRead)),
      item('written to cache', count(row.cacheWrite)),
      item('tokens out', count(row.output)),
    ),
    (row.unpricedTokens ?? 0) > 0
      ? h('p', { class: 'quiet' }, `${count(row.unpricedTokens)} tokens have no price, so the cost is too low.`)
      : null,
    damagedLines > 0
      ? h(
          'p',
          { class: 'note note-bad' },
          `${count(damagedLines)} lines of the journal are damaged; this page shows the rest.`,
        )
      : null,
    previous === undefined
      ? null
      : h(
          'p',
          null,
          'It continues the session ',
          h('a', { href: `#/session/${encodeURIComponent(previous)}` }, h(Foreign, null, previous)),
          '.',
        ),
    commits.length === 0
      ? null
      : h('p', null, 'Commits: ', ...commits.map(each => h('code', { key: each }, `${each.slice(0, 12)} `))),
    h(
      'p',
      { class: 'quiet' },
      content.length === 0
        ? 'The journal holds no content: no prompts, no responses, no inputs or outputs of tools.'
        : `The journal holds content of these classes: ${content.join(', ')}. The page shows it as far as the journal has it.`,
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
        'Select a span to see its attributes and records. Keys: arrows move, left closes, right opens, + and − zoom, 0 shows all.',
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
      h(Time, { ms: span.startMs, text: clock(span.startMs) }),
      ` for ${duration(span.endMs - span.startMs)}`,
      span.isOpen ? ', still open' : '',
    ),
    span.error === undefined ? null : h('p', null, h(Mark, { kind: 'bad' }, `failed: ${span.error}`)),
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
        h('tr', { key: name }, h('th', { scope: 'row' }, name), h('td', null, h(Foreign, null, value))),
      ),
    ),
  );

const MOST_EVENTS = 300;

function Events({
  events,
  onSelect,
}: {
  events: readonly PageEvent[];
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
          h(Time, { ms: atMs, text: clock(atMs) }),
          ' ',
          level === 'INFO' ? null : h(Mark, { kind: level === 'ERROR' ? 'bad' : 'warn' }, level.toLowerCase()),
          ' ',
          h(Foreign, null, line),
          span === undefined
            ? null
            : h('button', { type: 'button', class: 'link', onClick: () => onSelect(span) }, 'show span'),
        ),
      ),
    ),
    events.length > MOST_EVENTS
      ? h('p', { class: 'quiet' }, `The oldest ${short(events.length - MOST_EVENTS)} are not listed.`)
      : null,
  );
}
