/** The list of sessions. */
import { Fragment, h, type JSX } from 'preact';
import { useMemo, useRef, useState } from 'preact/hooks';
import { failuresOf } from '../journal/span-counts.ts';
import { request, useLive } from './api.ts';
import type { SessionList, SessionRow } from './data.ts';
import { count, counted, dollars, duration, minute, short } from './format.ts';
import {
  type Choice,
  chosen,
  costByDay,
  costOf,
  type Grouping,
  grouped,
  groupings,
  noChoice,
  type SortKey,
  type Totals,
  totalsOf,
} from './groups.ts';
import { ImportOffer } from './import-offer.ts';
import { unpackedRows } from './packed-rows.ts';
import { FailureNote, Foreign, Mark, placeOf, riskKind, stateWords, Time } from './parts.ts';

/** More rows are shown on request: 2,000 rows would make the first display slow. */
const ROWS = 200;

interface Held {
  /** The last answer of the server. */
  list: SessionList;
  rows: ReadonlyMap<string, SessionRow>;
}

/** Adds the changes of a list to the sessions of the page. Another `made` begins again. */
function joined(held: Held | undefined, list: SessionList): Held {
  const isSame = held?.list.made === list.made;
  if (isSame && held.list.n === list.n) return held;
  const rows = new Map(isSame ? held.rows : []);
  for (const key of list.gone) rows.delete(key);
  for (const row of unpackedRows(list.rows)) rows.set(row.key, row);
  return { list, rows };
}

export function List(): JSX.Element {
  const [list, setList] = useState<Held>();
  const latest = useRef<Held | undefined>(undefined);
  const [choice, setChoice] = useState<Choice>(noChoice);
  const [most, setMost] = useState(ROWS);
  const failure = useLive(undefined, async () => {
    const { made = '', n = 0 } = latest.current?.list ?? {};
    latest.current = joined(latest.current, await request<SessionList>(`/api/sessions?had=${made}.${n}`));
    setList(latest.current);
  });
  const sessions = useMemo(() => [...(list?.rows.values() ?? [])], [list]);
  const rows = useMemo(() => chosen(sessions, choice), [sessions, choice]);
  const change = (part: Partial<Choice>): void => setChoice({ ...choice, ...part });
  const own = useMemo(() => sessions.filter(({ isTrial }) => !isTrial), [sessions]);
  return h(
    'main',
    null,
    h('h1', null, 'Sessions'),
    h(FailureNote, { failure }),
    list !== undefined && own.length === 0 ? h(Empty, { folder: list.list.stateFolder }) : null,
    h(ImportOffer, { isEmpty: list !== undefined && own.length === 0 }),
    own.length === 0
      ? null
      : h(
          Fragment,
          null,
          h(Filters, { choice, change, sessions: own }),
          h(Summary, { totals: totalsOf(rows) }),
          h(Calendar, { rows }),
          h(Table, { rows: rows.slice(0, most), choice, change }),
          rows.length > most
            ? h(
                'button',
                { type: 'button', onClick: () => setMost(most + 1_000) },
                `Show more of ${count(rows.length)} sessions`,
              )
            : null,
        ),
  );
}

const Empty = ({ folder }: { folder: string }): JSX.Element =>
  h(
    'p',
    { class: 'note' },
    'No session is recorded on this machine yet. State folder: ',
    h('code', null, folder),
    '. Next: ',
    h('code', null, 'otel-hooks enable'),
    ' registers the hooks; the next session of your agent appears here.',
  );

interface FiltersProps {
  choice: Choice;
  change(part: Partial<Choice>): void;
  sessions: readonly SessionRow[];
}

const DAY_MS = 86_400_000;
const ages: readonly [label: string, days: number][] = [
  ['any time', 0],
  ['24 hours', 1],
  ['7 days', 7],
  ['30 days', 30],
];

function Filters({ choice, change, sessions }: FiltersProps): JSX.Element {
  const agents = [...new Set(sessions.map(({ agent }) => agent))].sort();
  const chosenIn = (event: Event): string => (event.currentTarget as HTMLInputElement | HTMLSelectElement).value;
  const option = (value: string, label = value): JSX.Element => h('option', { value }, label);
  return h(
    'form',
    { class: 'filters', role: 'search', onSubmit: (event: Event) => event.preventDefault() },
    h(
      'label',
      null,
      'Search ',
      h('input', {
        type: 'search',
        id: 'search',
        placeholder: 'id, repository, branch, model',
        value: choice.search,
        onInput: (event: Event) => change({ search: chosenIn(event) }),
      }),
    ),
    h(
      'label',
      null,
      'Agent ',
      h(
        'select',
        { value: choice.agent, onChange: (event: Event) => change({ agent: chosenIn(event) }) },
        option('', 'all'),
        ...agents.map(each => option(each)),
      ),
    ),
    h(
      'label',
      null,
      'State ',
      h(
        'select',
        { value: choice.state, onChange: (event: Event) => change({ state: chosenIn(event) }) },
        option('', 'all'),
        ...Object.keys(stateWords).map(each => option(each)),
      ),
    ),
    h(
      'label',
      null,
      'Active in ',
      h(
        'select',
        {
          onChange: (event: Event) => {
            const days = Number(chosenIn(event));
            change({ sinceMs: days === 0 ? Number.NEGATIVE_INFINITY : Date.now() - days * DAY_MS });
          },
        },
        ...ages.map(([label, days]) => option(String(days), label)),
      ),
    ),
    h(
      'label',
      null,
      'Group by ',
      h(
        'select',
        { value: choice.groupBy, onChange: (event: Event) => change({ groupBy: chosenIn(event) as Grouping }) },
        ...groupings.map(each => option(each)),
      ),
    ),
    h(
      'label',
      { class: 'check' },
      h('input', {
        type: 'checkbox',
        checked: choice.isTroubled,
        onChange: (event: Event) => change({ isTroubled: (event.currentTarget as HTMLInputElement).checked }),
      }),
      ' only with failures, denials or risk',
    ),
  );
}

function Summary({ totals }: { totals: Totals }): JSX.Element {
  const { counts } = totals;
  const item = (name: string, value: string): JSX.Element =>
    h('div', { key: name }, h('dt', null, name), h('dd', null, value));
  return h(
    'dl',
    { class: 'totals', 'aria-label': 'Totals of the listed sessions' },
    item('sessions', count(totals.sessions)),
    item('cost', dollars(totals.costUsd)),
    item('tokens in', short(counts.input)),
    item('of them cached', short(counts.cacheRead)),
    item('tokens out', short(counts.output)),
    item('turns', count(counts.turns)),
    item('actions', count(counts.actions)),
    item('failed actions', count(counts.failed)),
    counts.failedResponses === 0 ? null : item('failed responses', count(counts.failedResponses)),
    item('denied actions', count(counts.denied)),
    totals.unpriced === 0 ? null : item('sessions without a full price', count(totals.unpriced)),
  );
}

function Calendar({ rows }: { rows: readonly SessionRow[] }): JSX.Element | null {
  const days = costByDay(rows);
  if (rows.length === 0) return null;
  const highest = Math.max(...days.map(({ costUsd }) => costUsd), 0.000001);
  return h(
    'details',
    { class: 'calendar' },
    h('summary', null, `Cost by day, ${days[0]?.day} to ${days.at(-1)?.day}`),
    h(
      'ol',
      null,
      ...days.map(({ day, costUsd, sessions }) => {
        const step = sessions === 0 ? 0 : 1 + Math.min(3, Math.floor((costUsd / highest) * 4));
        const text = `${day}: ${dollars(costUsd)}, ${sessions} ${sessions === 1 ? 'session' : 'sessions'}`;
        return h('li', { key: day, class: `day day-${step}`, title: text }, h('span', { class: 'hidden' }, text));
      }),
    ),
  );
}

const columns: readonly [label: string, sort: SortKey | undefined][] = [
  ['session', undefined],
  ['agent', undefined],
  ['start', 'firstMs'],
  ['length', 'length'],
  ['cost', 'costUsd'],
  ['repository', undefined],
  ['model', undefined],
  ['turns', 'turns'],
  ['actions', 'actions'],
  ['failed', 'failed'],
  ['denied', 'denied'],
  ['risk', undefined],
  ['in', 'tokens'],
  ['cached', undefined],
  ['out', undefined],
  ['state', undefined],
];

interface TableProps {
  rows: readonly SessionRow[];
  choice: Choice;
  change(part: Partial<Choice>): void;
}

function Table({ rows, choice, change }: TableProps): JSX.Element {
  const head = ([label, sort]: (typeof columns)[number]): JSX.Element => {
    if (sort === undefined)
      return h('th', { key: label, scope: 'col', class: label === 'cached' ? 'spare' : undefined }, label);
    const isSorted = choice.sortBy === sort;
    const order = choice.isAscending ? 'ascending' : 'descending';
    const onClick = (): void => change({ sortBy: sort, isAscending: isSorted ? !choice.isAscending : false });
    const arrow = isSorted ? (choice.isAscending ? ' ▲' : ' ▼') : '';
    return h(
      'th',
      { key: label, scope: 'col', 'aria-sort': isSorted ? order : 'none' },
      h('button', { type: 'button', onClick }, label, h('span', { 'aria-hidden': 'true' }, arrow)),
    );
  };
  return h(
    'div',
    { class: 'scroll', tabIndex: 0, role: 'region', 'aria-label': 'Table of sessions' },
    h(
      'table',
      { class: 'sessions' },
      h('thead', null, h('tr', null, ...columns.map(head))),
      ...[...grouped(rows, choice.groupBy)].map(([name, group]) =>
        h(
          'tbody',
          { key: name },
          choice.groupBy === 'none' ? null : h(GroupHead, { name, totals: totalsOf(group) }),
          ...group.map(row => h(SessionLine, { key: row.key, row })),
        ),
      ),
    ),
    rows.length === 0 ? h('p', null, 'No session fits these filters.') : null,
  );
}

const GroupHead = ({ name, totals }: { name: string; totals: Totals }): JSX.Element =>
  h(
    'tr',
    { class: 'group' },
    h(
      'th',
      { scope: 'colgroup', colSpan: columns.length },
      h(Foreign, null, name),
      ` — ${count(totals.sessions)} ${totals.sessions === 1 ? 'session' : 'sessions'}, ${dollars(totals.costUsd)}, ${counted(totals.counts.actions, 'action')}, ${count(totals.counts.failed)} of them failed`,
    ),
  );

function SessionLine({ row }: { row: SessionRow }): JSX.Element {
  const bad = (value: number): JSX.Element | string => (value === 0 ? '0' : h(Mark, { kind: 'bad' }, count(value)));
  const place = placeOf(row);
  return h(
    'tr',
    null,
    h(
      'td',
      null,
      h(
        'a',
        { href: `#/session/${row.key}`, title: [row.session, ...(row.resumedAs ?? [])].join(', ') },
        h(Foreign, null, row.session.slice(0, 13)),
      ),
      row.resumedAs === undefined ? null : h('span', { class: 'quiet' }, ` +${row.resumedAs.length}`),
    ),
    h('td', null, h(Foreign, null, row.agent)),
    h('td', { class: 'number' }, h(Time, { ms: row.firstMs, text: minute(row.firstMs) })),
    h('td', { class: 'number' }, duration(row.lengthMs)),
    h(
      'td',
      {
        class: 'number',
        title: (row.unpricedTokens ?? 0) > 0 ? `${count(row.unpricedTokens)} tokens have no price` : '',
      },
      `${dollars(costOf(row))}${costOf(row) !== undefined && (row.unpricedTokens ?? 0) > 0 ? '+' : ''}`,
    ),
    h(
      'td',
      { class: 'long', title: row.cwd },
      h(Foreign, null, row.branch === undefined ? place : `${place} @ ${row.branch}`),
    ),
    h(
      'td',
      { class: 'long', title: row.models.join(', ') },
      h(Foreign, null, row.models[0] ?? '–'),
      row.models.length > 1 ? h('span', { class: 'quiet' }, ` +${row.models.length - 1}`) : null,
    ),
    h('td', { class: 'number' }, count(row.turns)),
    h('td', { class: 'number' }, count(row.actions)),
    h('td', { class: 'number', title: failureTitle(row) }, bad(failuresOf(row))),
    h('td', { class: 'number' }, bad(row.denied)),
    h('td', null, row.risk === undefined ? '–' : h(Mark, { kind: riskKind(row.risk) }, row.risk)),
    h('td', { class: 'number', title: tokenTitle(row) }, short(row.input)),
    h('td', { class: 'number spare' }, short(row.cacheRead)),
    h('td', { class: 'number' }, short(row.output)),
    h(
      'td',
      null,
      row.state === 'ended'
        ? 'ended'
        : h(Mark, { kind: row.state === 'running' ? 'good' : 'warn' }, stateWords[row.state]),
    ),
  );
}

const failureTitle = ({ failed, failedResponses, failedTurns }: SessionRow): string =>
  [counted(failed, 'action'), counted(failedResponses, 'response'), counted(failedTurns, 'turn')].join(', ');

const tokenTitle = ({ input, output, cacheRead, cacheWrite, reasoning }: SessionRow): string =>
  `in ${count(input)}, of them read from cache ${count(cacheRead)} and written to cache ${count(cacheWrite)}; out ${count(output)}, of them reasoning ${count(reasoning)}`;
