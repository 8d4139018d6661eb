/** The four answers above the waterfall of a session. */
import { type ComponentChildren, h, type JSX } from 'preact';
import { useState } from 'preact/hooks';
import {
  denials,
  failureCounts,
  failures,
  lengthOf,
  longest,
  type ModelUse,
  modelUses,
  type TimeClass,
  timeClasses,
  timeUse,
} from './answers.ts';
import type { PageSpan, SessionRow } from './data.ts';
import { count, counted, dollars, duration, moment, short } from './format.ts';
import { costOf } from './groups.ts';
import { errorText, Foreign, Time } from './parts.ts';

interface Props {
  row: SessionRow;
  /** The spans of each journal of the session. */
  journals: readonly (readonly PageSpan[])[];
  onSelect(id: string): void;
}

const MOST_LISTED = 8;
const MOST_LONGEST = 4;

export function Summary({ row, journals, onSelect }: Props): JSX.Element {
  const spans = journals.flat();
  const failed = failures(spans);
  const denied = denials(spans);
  return h(
    'div',
    { class: 'cards' },
    h(CostCard, { row, uses: modelUses(spans) }),
    h(TimeCard, { row, journals, onSelect }),
    h(
      Card,
      { title: `Failed: ${failureCounts(failed)}` },
      h(Spans, {
        firstMs: row.firstMs,
        spans: failed,
        none: 'Nothing failed.',
        words: ({ error = '', notes }) => [errorText(error), ...notes].join(', '),
        onSelect,
      }),
    ),
    h(
      Card,
      { title: `Denials: ${count(denied.length)}` },
      h(Spans, {
        firstMs: row.firstMs,
        spans: denied,
        none: 'No action was denied.',
        words: ({ decidedBy = 'an unknown source' }) => `denied by ${decidedBy}`,
        onSelect,
      }),
    ),
  );
}

const Card = ({ title, children }: { title: string; children?: ComponentChildren }): JSX.Element =>
  h('section', { class: 'card', 'aria-label': title }, h('h2', null, title), children);

function CostCard({ row, uses }: { row: SessionRow; uses: readonly ModelUse[] }): JSX.Element {
  const unpriced = row.unpricedTokens ?? 0;
  return h(
    Card,
    { title: `Cost: ${dollars(costOf(row))}` },
    ...uses
      .slice(0, MOST_LISTED)
      .map(use =>
        h(
          'p',
          { key: use.model },
          h(Foreign, null, use.model),
          `: ${dollars(use.costUsd)} for ${counted(use.responses, 'response')}; ${short(use.input)} tokens in (${short(use.cacheRead)} of them from the cache), ${short(use.output)} out`,
        ),
      ),
    uses.length === 0
      ? h(
          'p',
          null,
          `${short(row.input)} tokens in (${short(row.cacheRead)} of them from the cache), ${short(row.output)} out`,
        )
      : null,
    unpriced > 0
      ? h('p', { class: 'quiet' }, `${count(unpriced)} tokens have no price, so the cost is too low.`)
      : null,
    row.costUsd === undefined && row.statedCostUsd !== undefined
      ? h('p', { class: 'quiet' }, 'The agent states this cost.')
      : h('p', { class: 'quiet' }, 'Costs are computed from price lists.'),
  );
}

const classWords: { readonly [name in TimeClass]: string } = {
  person: 'waiting for a person',
  actions: 'actions',
  model: 'responses of models',
  other: 'other work within turns',
  idle: 'between turns, when no prompt was being answered',
};

function TimeCard({ row, journals, onSelect }: Props): JSX.Element {
  const use = timeUse(journals);
  const wholeMs = Math.max(
    1,
    timeClasses.reduce((sum, name) => sum + use[name], 0),
  );
  const shown = timeClasses.filter(name => use[name] > 0);
  return h(
    Card,
    { title: `Time: ${duration(row.lengthMs)}` },
    h(
      'div',
      { class: 'shares', 'aria-hidden': 'true' },
      ...shown.map(name =>
        h('span', { key: name, class: `share share-${name}`, style: { flexGrow: use[name] / wholeMs } }),
      ),
    ),
    h(
      'ul',
      { class: 'legend' },
      ...shown.map(name =>
        h(
          'li',
          { key: name },
          h('span', { class: `swatch share-${name}`, 'aria-hidden': 'true' }),
          `${duration(use[name])} ${classWords[name]} (${Math.round((use[name] / wholeMs) * 100)} %)`,
        ),
      ),
    ),
    h('p', { class: 'quiet' }, 'The longest:'),
    h(Spans, {
      firstMs: row.firstMs,
      spans: longest(journals.flat(), MOST_LONGEST),
      none: 'No span is known.',
      words: span =>
        span.waitMs === undefined
          ? duration(lengthOf(span))
          : `${duration(lengthOf(span))}, ${duration(span.waitMs)} of it waiting for a person`,
      onSelect,
    }),
  );
}

interface SpansProps {
  firstMs: number;
  spans: readonly PageSpan[];
  none: string;
  words(span: PageSpan): string;
  onSelect(id: string): void;
}

function Spans({ firstMs, spans, none, words, onSelect }: SpansProps): JSX.Element {
  const [isWhole, setWhole] = useState(false);
  if (spans.length === 0) return h('p', null, none);
  const more = isWhole ? 0 : spans.length - MOST_LISTED;
  return h(
    'ul',
    { class: 'spans' },
    ...spans
      .slice(0, isWhole ? undefined : MOST_LISTED)
      .map(span =>
        h(
          'li',
          { key: span.id },
          h(Time, { ms: span.startMs, text: moment(span.startMs, firstMs) }),
          ' ',
          h(
            'button',
            { type: 'button', class: 'link', onClick: () => onSelect(span.id) },
            h(Foreign, null, span.name.replace(/^execute_tool /, '')),
          ),
          ' ',
          h(Foreign, null, words(span)),
        ),
      ),
    more > 0
      ? h(
          'li',
          { key: 'more' },
          h('button', { type: 'button', class: 'link', onClick: () => setWhole(true) }, `and ${count(more)} more`),
        )
      : null,
  );
}
