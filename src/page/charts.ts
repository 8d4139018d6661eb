/** Two small charts in SVG: the fill of the context over time, and the tokens and cost of each turn. */
import { h, type JSX } from 'preact';
import type { Axis } from './axis.ts';
import type { ContextPoint, PageSpan } from './data.ts';
import { count, dollars, duration, minute, moment, short } from './format.ts';

const [WIDTH, HEIGHT] = [600, 120];
/** More points than pixels add nothing. */
const MOST_POINTS = 600;

export function ContextChart({ points, axis }: { points: readonly ContextPoint[]; axis: Axis }): JSX.Element | null {
  const known = points.filter(({ tokens }) => tokens !== undefined);
  const [first, last] = [known[0], known.at(-1)];
  if (first === undefined || last === undefined || known.length < 2) return null;
  const highest = Math.max(...known.map(({ tokens = 0 }) => tokens), 1);
  const limit = points.findLast(point => point.limit !== undefined)?.limit;
  const top = Math.max(highest, limit ?? 0);
  const share = (tokens = 0): string => (limit === undefined ? '' : ` (${Math.round((tokens / limit) * 100)} %)`);
  const x = (ms: number): number => (axis.at(ms) / axis.length) * WIDTH;
  const y = (tokens: number): number => HEIGHT - (tokens / top) * (HEIGHT - 8);
  const step = Math.ceil(known.length / MOST_POINTS);
  const line = known.filter((point, i) => i % step === 0 || point === last || point.isCompaction);
  const compactions = points.filter(({ isCompaction }) => isCompaction);
  const size = limit === undefined ? '' : ` of ${count(limit)}`;
  const times = compactions.length === 1 ? '1 compaction' : `${count(compactions.length)} compactions`;
  const text = `At the end the context holds ${count(last.tokens)}${size} tokens${share(last.tokens)}; the most were ${count(highest)}${share(highest)}. ${times}.`;
  return h(
    'figure',
    null,
    h('figcaption', null, `Context over time. ${text}`),
    h(
      'svg',
      { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, preserveAspectRatio: 'none', role: 'img', 'aria-label': text },
      ...compactions.map(({ atMs }) =>
        h(
          'line',
          { class: 'compaction', x1: x(atMs), x2: x(atMs), y1: 0, y2: HEIGHT },
          h('title', null, `compaction at ${minute(atMs)}`),
        ),
      ),
      h('polyline', {
        class: 'line',
        points: line.map(({ atMs, tokens = 0 }) => `${x(atMs).toFixed(1)},${y(tokens).toFixed(1)}`).join(' '),
      }),
    ),
  );
}

const MOST_TURNS = 500;

export function Turns({
  spans,
  costUsd,
  firstMs,
  onSelect,
}: {
  spans: readonly PageSpan[];
  /** The cost of the session. */
  costUsd: number | undefined;
  firstMs: number;
  onSelect(id: string): void;
}): JSX.Element | null {
  const turns = spans.filter(({ kind }) => kind === 'turn').sort((a, b) => a.startMs - b.startMs);
  if (turns.length === 0) return null;
  const most = Math.max(...turns.map(({ usage }) => usage?.costUsd ?? 0));
  const ofTurnsUsd = turns.reduce((sum, { usage }) => sum + (usage?.costUsd ?? 0), 0);
  const differs = costUsd !== undefined && dollars(ofTurnsUsd) !== dollars(costUsd);
  return h(
    'details',
    { open: turns.length <= 20 },
    h('summary', null, `Tokens and cost per turn (${turns.length})`),
    differs
      ? h(
          'p',
          { class: 'quiet' },
          `The turns cost ${dollars(ofTurnsUsd)} of ${dollars(costUsd)}. The rest is the cost of responses outside of turns, and of responses that became known after their turn had ended.`,
        )
      : null,
    h(
      'div',
      { class: 'scroll', tabIndex: 0, role: 'region', 'aria-label': 'Table of turns' },
      h(
        'table',
        null,
        h(
          'thead',
          null,
          h(
            'tr',
            null,
            ...['turn', 'start', 'length', 'in', 'cached', 'out', 'cost', ''].map(name =>
              h('th', { key: name, scope: 'col' }, name || h('span', { class: 'hidden' }, 'share of the highest cost')),
            ),
          ),
        ),
        h(
          'tbody',
          null,
          ...turns.slice(-MOST_TURNS).map((turn, i) => {
            const { usage } = turn;
            const number = i + 1 + Math.max(0, turns.length - MOST_TURNS);
            return h(
              'tr',
              { key: turn.id },
              h(
                'td',
                null,
                h(
                  'button',
                  { type: 'button', class: 'link', onClick: () => onSelect(turn.id) },
                  `${number}${turn.isOpen ? ' (running)' : ''}`,
                ),
              ),
              h('td', { class: 'number' }, moment(turn.startMs, firstMs)),
              h('td', { class: 'number' }, duration(turn.endMs - turn.startMs)),
              h('td', { class: 'number' }, short(usage?.input)),
              h('td', { class: 'number' }, short(usage?.cacheRead)),
              h('td', { class: 'number' }, short(usage?.output)),
              h('td', { class: 'number' }, dollars(usage?.costUsd)),
              h(
                'td',
                null,
                h('meter', {
                  min: 0,
                  max: Math.max(most, 0.000001),
                  value: usage?.costUsd ?? 0,
                  'aria-label': `cost of turn ${number}`,
                }),
              ),
            );
          }),
        ),
      ),
    ),
  );
}
