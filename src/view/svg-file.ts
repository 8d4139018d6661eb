/** Draws a session as a waterfall in SVG: one file without scripts, for light and dark pages. */
import { axisOf } from '../page/axis.ts';
import type { PageSpan, SessionRow, Snapshot } from '../page/data.ts';
import { dollars, duration, short } from '../page/format.ts';
import { costOf } from '../page/groups.ts';
import { type Row, rowsOf } from '../page/tree.ts';
import { escaped } from './html-file.ts';
import { spansOf } from './snapshot.ts';

const [WIDTH, ROW, HEAD, EDGE] = [1_000, 20, 66, 12];
const [NAMES, NUMBERS, TRACK] = [430, 138, WIDTH - 2 * EDGE - 430 - 138];
/** The right edge of the costs; the lengths are right of it. */
const COST = 44;
/** A longer picture is too high for a page. */
const MOST_ROWS = 300;
/** The width of a character of the drawing's font, a little more than the usual one. */
const CHARACTER = 6.7;

const STYLE = `
text { font: 12px ui-sans-serif, system-ui, sans-serif; fill: #16191f }
.back { fill: #ffffff } .quiet { fill: #4b5563 } .bad { fill: #a3161f } .title { font-size: 15px; font-weight: 600 }
.line { stroke: #c9cfd8 } .session { fill: #5f6b7c } .turn { fill: #3567b5 } .chat { fill: #6d4bb3 }
.action { fill: #1d7f54 } .subagent, .plan { fill: #0f7b8a } .failed { fill: #c0212c }
.denied { fill: #fde8e8; stroke: #c0212c } .wait { fill: #b26b00 } .number { text-anchor: end }
@media (prefers-color-scheme: dark) {
text { fill: #e8ebf0 } .back { fill: #14171c } .quiet { fill: #a9b2bf } .bad { fill: #ff9a9a }
.line { stroke: #39414d } .session { fill: #8e99a8 } .turn { fill: #6b9fe8 } .chat { fill: #b49af0 }
.action { fill: #57c391 } .subagent, .plan { fill: #55c4d3 } .failed { fill: #ff7b7b }
.denied { fill: #47191d; stroke: #ff7b7b } .wait { fill: #ffc05c }
}`;

export function svgFile(snapshot: Snapshot): string {
  const { row } = snapshot.part;
  const spans = spansOf(snapshot);
  const rows = rowsOf(spans, new Set());
  const axis = axisOf(spans);
  const x = (ms: number): number => EDGE + NAMES + NUMBERS + (axis.at(ms) / axis.length) * TRACK;
  const drawn = rows.slice(0, MOST_ROWS);
  const notes = [
    ...(rows.length > drawn.length ? [`${rows.length - drawn.length} more spans are not drawn.`] : []),
    ...(axis.hiddenMs > 0 ? [`The drawing leaves out ${duration(axis.hiddenMs)} without work.`] : []),
    snapshot.note,
  ];
  const height = HEAD + (drawn.length + notes.length) * ROW + EDGE;
  const title = `Session of ${row.agent}: ${summary(row)}`;
  const parts = [
    `<svg xmlns="http://www.w3.org/2000/svg" width="${WIDTH}" height="${height}" viewBox="0 0 ${WIDTH} ${height}" role="img" aria-label="${escaped(title)}">`,
    `<title>${escaped(title)}</title><style>${STYLE}</style>`,
    `<rect class="back" width="${WIDTH}" height="${height}"/>`,
    textAt(EDGE, 24, cut(headline(row), WIDTH - 2 * EDGE, 8.4), 'title'),
    textAt(EDGE, 44, cut(summary(row), WIDTH - 2 * EDGE), 'quiet'),
    `<line class="line" x1="${EDGE}" x2="${WIDTH - EDGE}" y1="${HEAD - 10}" y2="${HEAD - 10}"/>`,
    ...drawn.flatMap((each, i) => lineOf(each, HEAD + i * ROW, x)),
    ...notes.map((note, i) => textAt(EDGE, HEAD + (drawn.length + i) * ROW + 18, cut(note, WIDTH - 2 * EDGE), 'quiet')),
    '</svg>',
  ];
  return `${parts.join('\n')}\n`;
}

function headline({ agent, session, repository, branch }: SessionRow): string {
  const place = [repository, branch].filter(Boolean).join(' @ ');
  return [agent, place, session].filter(Boolean).join(' · ');
}

function summary(row: SessionRow): string {
  return [
    `${new Date(row.firstMs).toISOString().slice(0, 16).replace('T', ' ')} UTC`,
    duration(row.lengthMs),
    dollars(costOf(row)),
    `${short(row.input)} tokens in, ${short(row.output)} out`,
    `${row.turns} turns`,
    `${row.actions} actions`,
    `${row.failed} failed`,
    `${row.denied} denied`,
  ].join(' · ');
}

function lineOf({ span, level }: Row, top: number, x: (ms: number) => number): string[] {
  const indent = EDGE + Math.min(level - 1, 16) * 14;
  const words = wordsOf(span);
  const room = EDGE + NAMES - indent;
  const name = cut(span.name, room);
  const rest = cut(words, room - (name.length + 1) * CHARACTER);
  const isBad = span.error !== undefined || span.isDenied;
  const kind = span.isDenied ? 'denied' : span.error === undefined ? span.kind : 'failed';
  const { askedMs = span.startMs, waitMs, usage } = span;
  const cost = usage?.costUsd === undefined ? '' : dollars(usage.costUsd);
  return [
    `<g><title>${escaped([span.name, words].filter(Boolean).join(': '))}</title>`,
    `<text x="${indent}" y="${top + 14}">${escaped(name)}<tspan dx="6" class="${isBad ? 'bad' : 'quiet'}">${escaped(rest)}</tspan></text>`,
    textAt(EDGE + NAMES + COST, top + 14, cost, 'number'),
    textAt(EDGE + NAMES + NUMBERS - 10, top + 14, duration(span.endMs - span.startMs), 'number'),
    bar(kind, x(span.startMs), x(span.endMs), top + 4, 12),
    ...(waitMs === undefined ? [] : [bar('wait', x(askedMs), x(askedMs + waitMs), top + 7, 6)]),
    '</g>',
  ];
}

function wordsOf({ error, isDenied, decidedBy, risk, waitMs, notes, isOpen }: PageSpan): string {
  return [
    ...(isDenied ? [`denied by ${decidedBy ?? 'an unknown source'}`] : error === undefined ? [] : [`failed: ${error}`]),
    ...(risk === undefined || risk === 'low' ? [] : [`risk ${risk}`]),
    ...(waitMs === undefined ? [] : [`waited ${duration(waitMs)} for a person`]),
    ...notes.filter(note => !isDenied || !note.startsWith('denied')),
    ...(isOpen ? ['open'] : []),
  ].join(', ');
}

function bar(kind: string, from: number, to: number, top: number, height: number): string {
  const width = Math.max(1.5, to - from);
  return `<rect class="${kind}" x="${from.toFixed(1)}" y="${top}" width="${width.toFixed(1)}" height="${height}" rx="2"/>`;
}

const textAt = (x: number, y: number, text: string, kind: string): string =>
  `<text class="${kind}" x="${x}" y="${y}">${escaped(text)}</text>`;

function cut(text: string, width: number, character = CHARACTER): string {
  const most = Math.max(0, Math.floor(width / character));
  return text.length > most ? `${text.slice(0, Math.max(0, most - 1))}…` : text;
}
