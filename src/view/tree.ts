/** A trace as an indented tree, for terminals and for tests. */

import { asShown } from '../lib/shown.ts';
import { styled } from '../lib/terminal.ts';

export interface Node {
  id: string;
  parent: string | undefined;
  name: string;
  startMs: number;
  endMs: number;
  error: string | undefined;
  /** Short words that stand behind the times: outcome, decision, wait. */
  notes: string[];
}

export interface Drawing {
  color: boolean;
  columns: number;
  unicode: boolean;
}

/** A line as a terminal of this width has room for it. */
export const cutTo = (text: string, { columns, unicode }: Pick<Drawing, 'columns' | 'unicode'>): string =>
  text.length > columns ? `${text.slice(0, Math.max(0, columns - 1))}${unicode ? '…' : '~'}` : text;

/** Narrower terminals do without the time since the beginning. */
const WIDE = 64;
const DURATION = 8;
const OFFSET = 9;
/** Room that is left for words behind the times. */
const WORDS = { wide: 14, narrow: 8 };

export function drawTree(nodes: readonly Node[], drawing: Drawing): string {
  const known = new Set(nodes.map(node => node.id));
  const children = new Map<string, Node[]>();
  const roots: Node[] = [];
  for (const node of [...nodes].sort((a, b) => a.startMs - b.startMs || a.endMs - b.endMs || (a.id < b.id ? -1 : 1))) {
    if (node.parent === undefined || !known.has(node.parent)) roots.push(node);
    else if (!children.get(node.parent)?.push(node)) children.set(node.parent, [node]);
  }
  const beginMs = nodes.reduce((first, node) => Math.min(first, node.startMs), Number.POSITIVE_INFINITY);
  const rows: { tree: string; node: Node }[] = [];
  const lines = drawing.unicode
    ? { branch: '├─ ', last: '└─ ', through: '│  ', gap: '   ' }
    : { branch: '+- ', last: '+- ', through: '|  ', gap: '   ' };
  // Without recursion: a trace may be deep, and it may come from a stranger's file.
  const stack = roots.map(node => ({ node, lead: '', mark: '' })).reverse();
  const drawn = new Set<string>();
  while (stack.length > 0) {
    const next = stack.pop();
    if (next === undefined || drawn.has(next.node.id)) continue;
    drawn.add(next.node.id);
    rows.push({ tree: `${next.lead}${next.mark}${asShown(next.node.name)}`, node: next.node });
    const below = children.get(next.node.id) ?? [];
    const lead = next.mark === '' ? '' : next.lead + (next.mark === lines.last ? lines.gap : lines.through);
    for (let i = below.length - 1; i >= 0; i -= 1) {
      const node = below[i];
      if (node) stack.push({ node, lead, mark: i === below.length - 1 ? lines.last : lines.branch });
    }
  }
  const isWide = drawing.columns >= WIDE;
  const timesWidth = isWide ? OFFSET + 1 + DURATION : DURATION;
  const room = Math.max(12, drawing.columns - timesWidth - 3 - (isWide ? WORDS.wide : WORDS.narrow));
  const widest = Math.min(
    rows.reduce((longest, row) => Math.max(longest, row.tree.length), 8),
    room,
  );
  return rows.map(row => `${draw(row)}\n`).join('');

  function draw({ tree, node }: { tree: string; node: Node }): string {
    const name = cutTo(tree, { ...drawing, columns: widest }).padEnd(widest);
    const length = duration(node.endMs - node.startMs).padStart(DURATION);
    const times = isWide ? `${`+${duration(node.startMs - beginMs)}`.padStart(OFFSET)} ${length}` : length;
    const said = [...(node.error === undefined ? [] : [`ERROR ${node.error}`]), ...node.notes].join(', ');
    const words = cutTo(asShown(said), { ...drawing, columns: drawing.columns - widest - timesWidth - 3 });
    const line = `${name} ${times}  ${words}`.trimEnd();
    if (!drawing.color) return line;
    return node.error === undefined ? `${name} ${styled('dim', times)}  ${words}`.trimEnd() : styled('red', line);
  }
}

/** 7 ms, 4.2 s, 3:05 min, 2:05 h: as long as it takes, never longer. */
export function duration(ms: number): string {
  if (ms < 1_000) return `${Math.round(ms)}ms`;
  if (ms < 60_000) return `${(ms / 1_000).toFixed(ms < 10_000 ? 2 : 1)}s`;
  const seconds = Math.round(ms / 1_000);
  if (seconds < 3_600) return `${Math.floor(seconds / 60)}m${String(seconds % 60).padStart(2, '0')}s`;
  return `${Math.floor(seconds / 3_600)}h${String(Math.floor((seconds % 3_600) / 60)).padStart(2, '0')}m`;
}
