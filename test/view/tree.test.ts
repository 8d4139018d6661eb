/** A tree fits into any terminal: narrow terminals show less, pipes get all. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { forTerminal } from '../../src/lib/terminal.ts';
import { type Drawing, drawTree, type Node } from '../../src/view/tree.ts';

const node = (id: string, parent: string | undefined, name: string, more: Partial<Node> = {}): Node => ({
  id,
  parent,
  name,
  startMs: 1_000,
  endMs: 4_200,
  error: undefined,
  notes: [],
  ...more,
});
const nodes = [
  node('1', undefined, 'session an-agent', { endMs: 125_000, notes: ['exit'] }),
  node('2', '1', 'invoke_agent an-agent'),
  node('3', '2', 'execute_tool mcp__a_server_with_a_long_name__and_an_action_with_one (npm)', {
    startMs: 2_000,
    endMs: 4_000,
    error: 'exit_code',
    notes: ['exit 1', 'allowed (user)', 'waited 2500ms'],
  }),
];
const plain: Drawing = { color: false, columns: Number.POSITIVE_INFINITY, unicode: true };
const lines = (drawing: Partial<Drawing>): string[] =>
  drawTree(nodes, { ...plain, ...drawing })
    .trimEnd()
    .split('\n');

it('in a pipe nothing is cut', () => {
  expect(lines({})[2]).toMatch(
    /and_an_action_with_one \(npm\) +\+1\.00s +2\.00s {2}ERROR exit_code, exit 1, allowed \(user\)/,
  );
  expect(lines({})[2]).toContain('waited 2500ms');
});

describe.each([40, 60, 64, 80, 120, 300])('%i columns', columns => {
  it.each([true, false])('hold every line, unicode %s', unicode => {
    const drawn = lines({ columns, unicode });
    expect(drawn).toHaveLength(3);
    for (const line of drawn) expect(line.length).toBeLessThanOrEqual(columns);
    if (!unicode) expect(drawn.join('')).toMatch(/^[\x20-\x7e]*$/);
    expect(drawn[0]).toMatch(/^session an-ag.* 2m04s/);
  });
});

it('colours do not change the text', () => {
  for (const columns of [40, 100, 300]) {
    const bare = forTerminal(drawTree(nodes, { ...plain, color: true, columns })).replaceAll(/\u001b\[\d+m/g, '');
    expect(bare.split('\n').map(line => line.trimEnd())).toEqual(drawTree(nodes, { ...plain, columns }).split('\n'));
  }
});

it('draws each node once, with any parents', () => {
  const any = fc.array(fc.tuple(fc.nat(20), fc.option(fc.nat(20), { nil: undefined })), {
    minLength: 1,
    maxLength: 21,
  });
  fc.assert(
    fc.property(any, fc.integer({ min: 1, max: 300 }), (pairs, columns) => {
      const known = new Map(pairs.map(([id, parent]) => [id, node(String(id), parent?.toString(), `n${id}`)]));
      const drawn = drawTree([...known.values()], { ...plain, columns: Math.max(40, columns) });
      const roots = [...known.values()].filter(each => each.parent === undefined || !known.has(Number(each.parent)));
      expect(drawn.split('\n').length - 1).toBeGreaterThanOrEqual(roots.length);
      expect(drawn.split('\n').length - 1).toBeLessThanOrEqual(known.size);
    }),
  );
});
