/** Draws a trace as an indented tree. */
import type { Sums } from '../assemble/finished.ts';
import { asShown } from '../lib/shown.ts';
import { styled } from '../lib/terminal.ts';
import { costText, shortNumber } from './amounts.ts';

export interface Node {
  id: string;
  parent: string | undefined;
  name: string;
  startMs: number;
  endMs: number;
  error: string | undefined;
  /** Short texts after the times, such as outcome, decision and wait. */
  notes: string[];
  /** The usage of a turn, a response, a subagent or a session. */
  usage?: Partial<Sums> | undefined;
}

export interface Drawing {
  color: boolean;
  columns: number;
  unicode: boolean;
  /** Draws the cost and the tokens of each node, if any node has some. */
  usage?: true | undefined;
}

/** Cuts a line to the width of the terminal. */
export const cutTo = (text: string, { columns, unicode }: Pick<Drawing, 'columns' | 'unicode'>): string =>
  text.length > columns ? `${text.slice(0, Math.max(0, columns - 1))}${unicode ? '…' : '~'}` : text;

/** Narrower terminals do not show the time since the start of the trace. */
const WIDE = 64;
const DURATION = 8;
const OFFSET = 9;
/** Narrower terminals show the cost of a node, but not its tokens. */
const WIDE_FOR_TOKENS = 96;
/** Columns that are reserved for the notes. */
const WORDS = { wide: 14, narrow: 8 };

export function drawTree(nodes: readonly Node[], drawing: Drawing): string {
  const rows = rowsOf(nodes, drawing);
  const beginMs = nodes.reduce((first, node) => Math.min(first, node.startMs), Number.POSITIVE_INFINITY);
  const isWide = drawing.columns >= WIDE;
  const hasCost = drawing.usage === true && nodes.some(node => costOf(node) !== '');
  const costWidth = hasCost ? nodes.reduce((longest, node) => Math.max(longest, costOf(node).length), 0) + 2 : 0;
  const timesWidth = (isWide ? OFFSET + 1 + DURATION : DURATION) + costWidth;
  const room = Math.max(12, drawing.columns - timesWidth - 3 - (isWide ? WORDS.wide : WORDS.narrow));
  const widest = Math.min(
    rows.reduce((longest, row) => Math.max(longest, row.tree.length), 8),
    room,
  );
  return rows.map(row => `${draw(row)}\n`).join('');

  function draw({ tree, node }: Row): string {
    const name = cutTo(tree, { ...drawing, columns: widest }).padEnd(widest);
    const length = duration(node.endMs - node.startMs).padStart(DURATION);
    const clock = isWide ? `${`+${duration(node.startMs - beginMs)}`.padStart(OFFSET)} ${length}` : length;
    const times = hasCost ? `${clock}${costOf(node).padStart(costWidth)}` : clock;
    const hasTokens = drawing.usage === true && drawing.columns >= WIDE_FOR_TOKENS;
    const error = node.error === undefined ? [] : [`ERROR ${node.error}`];
    const notes = [...error, ...node.notes, ...(hasTokens ? tokenNotes(node.usage) : [])].join(', ');
    const words = cutTo(asShown(notes), { ...drawing, columns: drawing.columns - widest - timesWidth - 3 });
    const line = `${name} ${times}  ${words}`.trimEnd();
    if (!drawing.color) return line;
    return node.error === undefined ? `${name} ${styled('dim', times)}  ${words}`.trimEnd() : styled('red', line);
  }
}

const costOf = ({ usage }: Node): string => costText(usage?.pricedUsd ?? usage?.costUsd, usage?.unpricedTokens);

/** `9.0k in (8.0k from cache)`, `300 out` */
function tokenNotes({ input, output, cacheRead, cacheWrite, reasoning }: Partial<Sums> = {}): string[] {
  const parts = (all: [value: number | undefined, word: string][]): string => {
    const known = all.flatMap(([value, word]) => (value ? [`${shortNumber(value)} ${word}`] : []));
    return known.length === 0 ? '' : ` (${known.join(', ')})`;
  };
  return [
    ...(input === undefined
      ? []
      : [
          `${shortNumber(input)} in${parts([
            [cacheRead, 'from cache'],
            [cacheWrite, 'to cache'],
          ])}`,
        ]),
    ...(output === undefined ? [] : [`${shortNumber(output)} out${parts([[reasoning, 'reasoning']])}`]),
  ];
}

interface Row {
  /** The lines of the tree and the node's name. */
  tree: string;
  node: Node;
}

/** Returns the nodes in drawing order. Without recursion, because a trace of a file can be deep. */
function rowsOf(nodes: readonly Node[], { unicode }: Drawing): Row[] {
  const { roots, children } = familyOf(nodes);
  const lines = unicode
    ? { branch: '├─ ', last: '└─ ', through: '│  ', gap: '   ' }
    : { branch: '+- ', last: '+- ', through: '|  ', gap: '   ' };
  const rows: Row[] = [];
  const stack = roots.map(node => ({ node, lead: '', mark: '' })).reverse();
  const drawn = new Set<string>();
  for (let next = stack.pop(); next !== undefined; next = stack.pop()) {
    const { node, lead, mark } = next;
    if (drawn.has(node.id)) continue;
    drawn.add(node.id);
    rows.push({ tree: `${lead}${mark}${asShown(node.name)}`, node });
    const inner = mark === '' ? '' : lead + (mark === lines.last ? lines.gap : lines.through);
    const below = (children.get(node.id) ?? []).map((child, i, all) => ({
      node: child,
      lead: inner,
      mark: i === all.length - 1 ? lines.last : lines.branch,
    }));
    stack.push(...below.reverse());
  }
  return rows;
}

/** Nodes whose parent is unknown are roots. Siblings are in order of time. */
function familyOf(nodes: readonly Node[]): { roots: Node[]; children: Map<string, Node[]> } {
  const known = new Set(nodes.map(node => node.id));
  const children = new Map<string, Node[]>();
  const roots: Node[] = [];
  for (const node of [...nodes].sort((a, b) => a.startMs - b.startMs || a.endMs - b.endMs || (a.id < b.id ? -1 : 1))) {
    if (node.parent === undefined || !known.has(node.parent)) roots.push(node);
    else if (!children.get(node.parent)?.push(node)) children.set(node.parent, [node]);
  }
  return { roots, children };
}

/** Returns a duration as `7ms`, `4.20s`, `3m05s` or `2h05m`. */
export function duration(ms: number): string {
  if (ms < 1_000) return `${Math.round(ms)}ms`;
  if (ms < 60_000) return `${(ms / 1_000).toFixed(ms < 10_000 ? 2 : 1)}s`;
  const seconds = Math.round(ms / 1_000);
  if (seconds < 3_600) return `${Math.floor(seconds / 60)}m${String(seconds % 60).padStart(2, '0')}s`;
  return `${Math.floor(seconds / 3_600)}h${String(Math.floor((seconds % 3_600) / 60)).padStart(2, '0')}m`;
}
