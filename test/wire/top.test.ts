/** `top` of the built program: its screen in a real terminal, and its lines elsewhere. */
import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { needs } from '../needs.ts';
import { record, recordAll, SECOND_DAY } from '../recorded-sessions.ts';
import { furnish, type House, otelHooks, until, vacate } from './house.ts';

/** Other tests may use the machine. */
const PATIENCE_MS = 15_000;

let house: House;

beforeAll(() => {
  house = furnish('built', 'otel-hooks-top-');
  recordAll(house.state);
}, 60_000);
afterAll(() => vacate(house));

interface Terminal {
  /** All that was written to the terminal. */
  seen(): string;
  type(text: string): void;
  resize(columns: number, rows: number): void;
  ended: Promise<{ exit: number; echo: boolean; lines: boolean }>;
}

function inTerminal(
  columns: number,
  rows: number,
  words: readonly string[],
  env: Record<string, string> = {},
): Terminal {
  const pty = join(import.meta.dirname, 'in-terminal.py');
  const child = spawn('python3', [pty, `${columns}`, `${rows}`, process.execPath, house.bin, ...words], {
    cwd: house.project,
    env: { ...house.env, LANG: 'C.UTF-8', TERM: 'xterm-256color', ...env },
  });
  let text = '';
  let end = '';
  child.stdout.setEncoding('utf8').on('data', (more: string) => {
    text += more;
  });
  child.stderr.setEncoding('utf8').on('data', (more: string) => {
    end += more;
  });
  return {
    seen: () => text,
    type: more => void child.stdin.write(more),
    resize: (wide, high) => void child.stdin.write(`\0resize ${wide} ${high}`),
    ended: new Promise(settled => child.on('close', () => settled(JSON.parse(end)))),
  };
}

/** The rows of the last drawn screen. */
const lastScreen = (seen: string): string[] =>
  (seen.split('\u001b[H').at(-1) ?? '')
    .split('\u001b[J')[0]
    ?.replaceAll(/\u001b\[[\d;?]*[A-Za-z]/g, '')
    .split(/\r?\n/) ?? [];

const LEFT = '\u001b[?25h\u001b[?1049l';

describe.skipIf(process.platform === 'win32')('top in a terminal', () => {
  it.for([
    ['q', 'q'],
    ['Ctrl-C', '\u0003'],
  ] as const)('%s quits and restores the terminal', async ([, key], context) => {
    needs(context, 'python3');
    const terminal = inTerminal(120, 20, ['top']);
    await until(() => terminal.seen().includes('\u001b[J'), PATIENCE_MS);
    expect(terminal.seen().startsWith('\u001b[?1049h\u001b[?25l')).toBe(true);
    const [head, columns, first, second] = lastScreen(terminal.seen());
    expect(head).toMatch(/^2 running, \$1\.50\+, 1 waiting for a person, \d\d:\d\d:\d\d\S*, q quits$/);
    expect(columns).toMatch(/^session +agent +.*now +for +context +cost/);
    expect(first).toMatch(/^f00dbbbb-0000 .* waits for a person: Bash \(git\) .* 43% +\$1\.50 /);
    expect(second).toMatch(/^c0decccc-0000 .* shell \(make\) /);
    terminal.type(key);
    expect(await terminal.ended).toEqual({ exit: 0, echo: true, lines: true });
    expect(terminal.seen().endsWith(LEFT)).toBe(true);
  });

  it('shows new sessions, follows the size of the window, and never drops the cost', async context => {
    needs(context, 'python3');
    const terminal = inTerminal(200, 20, ['top']);
    await until(() => terminal.seen().includes('acme/shop'), PATIENCE_MS);
    record(house.state, 'codex', 'beefdddd-new', SECOND_DAY, [
      [0, 'Session.Start'],
      [1, 'Prompt.Submitted', {}, { turn: 't1' }],
    ]);
    await until(() => terminal.seen().includes('the model works'), PATIENCE_MS);
    for (const columns of [80, 60, 40]) {
      const before = terminal.seen().length;
      terminal.resize(columns, 20);
      await until(() => lastScreen(terminal.seen().slice(before)).length > 3, PATIENCE_MS);
      const drawn = lastScreen(terminal.seen().slice(before));
      for (const line of drawn) expect(line.length, line).toBeLessThan(columns);
      expect(drawn.join('\n')).toMatch(/\$1\.50/);
    }
    const before = terminal.seen().length;
    terminal.resize(100, 4);
    await until(() => lastScreen(terminal.seen().slice(before)).length === 3, PATIENCE_MS);
    expect(lastScreen(terminal.seen().slice(before))[2]).toBe('3 more');
    terminal.type('q');
    expect((await terminal.ended).exit).toBe(0);
  });

  it('prints lines on a terminal that cannot move its cursor', async context => {
    needs(context, 'python3');
    const terminal = inTerminal(100, 20, ['top'], { TERM: 'dumb' });
    await until(() => terminal.seen().includes('waits for a person'), PATIENCE_MS);
    expect(terminal.seen()).not.toContain('\u001b');
    terminal.type('\u0003');
    expect((await terminal.ended).exit).toBe(0);
  });
});

describe('top without a terminal', () => {
  it('prints a line for each session, and ends with the reader', async () => {
    const child = spawn(process.execPath, [house.bin, 'top'], { cwd: house.project, env: house.env });
    let text = '';
    child.stdout.setEncoding('utf8').on('data', (more: string) => {
      text += more;
    });
    const ended = new Promise(settled => child.on('close', settled));
    await until(() => text.includes('shell (make)'), PATIENCE_MS);
    expect(text).toMatch(
      /^\d\d:\d\d:\d\d\S* {2}f00dbbbb {2}claude-code {2}43% {2}\$1\.50 {2}waits for a person: Bash \(git\)$/m,
    );
    child.kill('SIGINT');
    expect(await ended).toBe(0);
  });

  it('prints the present state with --once, as text and as JSON', () => {
    expect(otelHooks(house, ['top', '--once', '--tool', 'claude-code']).stdout.trim().split('\n')).toHaveLength(2);
    const { sessions } = JSON.parse(otelHooks(house, ['top', '--once', '--json']).stdout);
    expect(sessions[0]).toMatchObject({ activity: 'waiting', of: 'Bash (git)', context_share: 0.43, cost_usd: 1.5 });
  });
});
