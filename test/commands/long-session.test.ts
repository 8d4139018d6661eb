/** `show SESSION` in pieces: the same output as from the whole session at once. */
import fs from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { paged } from '../../src/commands/pager.ts';
import { treePieces } from '../../src/commands/show-session.ts';
import { type Replay, replay } from '../../src/journal/replay.ts';
import { sessionKey } from '../../src/session/session-state.ts';
import { openStore } from '../../src/store/store.ts';
import { localSecond } from '../../src/view/local-time.ts';
import { nodesOf } from '../../src/view/nodes.ts';
import { drawTree } from '../../src/view/tree.ts';
import { journalLine } from '../journal-line.ts';
import { ranIn } from './ran.ts';

const AT = Date.parse('2026-09-21T12:00:00.000Z');
const session = '019ca8d7-2222-7a1b-92c3-0123456789ab';
const key = sessionKey('some-agent', session);
const drawing = { color: false, columns: 100, unicode: false };
let home: string;
let store: ReturnType<typeof openStore>;

beforeEach(() => {
  home = fs.mkdtempSync(join(tmpdir(), 'otel-hooks-long-'));
  store = openStore({ folder: join(home, '.local/state/otel-hooks'), access: 'own' });
});
afterEach(() => {
  store.close();
  fs.rmSync(home, { recursive: true, force: true });
});

const lineOf = (n: number, type: string, data: object, facts?: object): string =>
  journalLine({ session, atMs: AT }, n, type, data, facts);

const action = (n: number, turn: string): string =>
  lineOf(
    n,
    'Action.After',
    { action: { name: 'shell', result: { success: true } } },
    { turn, call: `c${n}`, tool: 'shell', duration_ms: 100 },
  );

/** Turns from this one on, of two actions each. The last turn stays open. */
function turns(from: number, to: number): string {
  let lines = from === 0 ? lineOf(1, 'Session.Start', { start_reason: 'new' }) : '';
  for (let turn = from; turn < to; turn += 1) {
    const n = 2 + turn * 5;
    lines += lineOf(n, 'Prompt.Submitted', {}, { turn: `t${turn}` });
    lines += action(n + 1, `t${turn}`) + action(n + 2, `t${turn}`);
    if (turn < to - 1) lines += lineOf(n + 3, 'Turn.End', {}, { turn: `t${turn}` });
    // A late action of an earlier turn.
    if (turn % 20 === 10) lines += action(n + 4, `t${turn - 3}`);
  }
  return lines;
}

const append = (lines: string): void => {
  const next = { journal: [{ key, lines }], sessions: [{ key, state: {} }] };
  expect(store.commit(next)).toBe('committed');
};

function whole(shape?: 'turn'): Replay {
  const replayed = replay(store.journal(key) ?? '', shape);
  if (replayed === undefined) throw new Error('no event can be read');
  return replayed;
}

const drawnWhole = (replayed: Replay): string =>
  [...nodesOf(replayed)]
    .map(([trace, nodes]) => {
      const startMs = Math.min(...nodes.map(node => node.startMs));
      return `trace ${trace}\nstart ${localSecond(startMs)}\n${drawTree(nodes, { ...drawing, usage: true })}\n`;
    })
    .join('');

describe.each([[undefined], ['turn' as const]])('traces of shape %s', shape => {
  it('are drawn in pieces as from the whole session', () => {
    append(turns(0, 1_000));
    const replayed = whole(shape);
    expect(replayed.open.length).toBeGreaterThan(0);
    const pieces = [...treePieces(store, { key, shape }, drawing, 0)];
    expect(pieces.length).toBeGreaterThan(1);
    expect(pieces.join('')).toBe(drawnWhole(replayed));
    expect([...treePieces(store, { key, shape }, drawing)].join('')).toBe(drawnWhole(replayed));
  });

  it('are drawn before the rest of the journal is read', () => {
    append(turns(0, 1_000));
    let endBytes = 0;
    const reader = {
      journalSize: () => store.journalSize(key),
      journalFrom(...asked: Parameters<typeof store.journalFrom>) {
        const part = store.journalFrom(...asked);
        endBytes = part?.endBytes ?? endBytes;
        return part;
      },
    };
    const pieces = treePieces(reader, { key, shape }, drawing, 0);
    expect(pieces.next().value).toMatch(/^trace /);
    expect(endBytes).toBeLessThan(store.journalSize(key) ?? 0);
  });

  it('leave out events that arrive while they are drawn', () => {
    append(turns(0, 1_000));
    const before = drawnWhole(whole(shape));
    const pieces = treePieces(store, { key, shape }, drawing, 0);
    let text = pieces.next().value ?? '';
    append(turns(1_000, 1_010));
    for (const piece of pieces) text += piece;
    expect(text).toBe(before);
  });
});

it.each([1, 2, 1_000])('prints the JSON of %i turns as one value', async count => {
  append(count === 1 ? lineOf(1, 'Session.Start', { start_reason: 'new' }) : turns(0, count));
  const { agent, finished, open } = whole();
  const { out } = await ranIn(home, ['show', session, '--json'], { now: () => AT });
  expect(out).toBe(`${JSON.stringify({ v: 1, session, agent, finished, open }, null, 2)}\n`);
});

describe('a pager', () => {
  const terminal = { isTerminal: true, rows: 24, columns: 80, now: () => AT };

  it('gets all pieces of a long session', async () => {
    append(turns(0, 1_000));
    const file = join(home, 'paged');
    const { out: direct } = await ranIn(home, ['show', session], { ...terminal, isTerminal: false });
    const env = { PATH: process.env.PATH, PAGER: `cat > '${file}'` };
    expect(await ranIn(home, ['show', session], { ...terminal, env })).toMatchObject({ code: 0, out: '' });
    expect(fs.readFileSync(file, 'utf8')).toBe(direct);
  });

  it('that does not start leaves the whole output to the terminal', async () => {
    append(turns(0, 1_000));
    const { out: direct } = await ranIn(home, ['show', session], { ...terminal, isTerminal: false });
    const env = { PATH: process.env.PATH, PAGER: 'no-such-pager-here' };
    expect((await ranIn(home, ['show', session], { ...terminal, env })).out).toBe(direct);
  });

  it('does not hide an error of the text', async () => {
    const torn = {
      *[Symbol.iterator]() {
        yield 'line\n'.repeat(30);
        throw new Error('the journal is gone');
      },
    };
    const io = { ...terminal, env: { PATH: process.env.PATH, PAGER: 'cat > /dev/null' }, platform: process.platform };
    const words = { flags: {}, rest: [] };
    await expect(paged(torn, words, io as never)).rejects.toThrow('the journal is gone');
  });
});
