/** Plays the steps of a person at an agent's terminal. */
import { spawn } from 'node:child_process';
import type { TerminalStep } from './contract.ts';
import type { ModelServer } from './model-server.ts';

const keys: Record<string, string> = {
  Enter: '\r',
  Escape: '\x1b',
  Tab: '\t',
  Up: '\x1b[A',
  Down: '\x1b[B',
  'Ctrl-C': '\x03',
  'Ctrl-U': '\x15',
  'Ctrl-D': '\x04',
};

/** The time that a step waits for its text. */
const patienceMs = 90_000;

export async function playTerminal(
  command: string[],
  cwd: string,
  env: Record<string, string>,
  steps: TerminalStep[],
  model: ModelServer,
): Promise<{ exit: number | string; screen: string }> {
  const { NO_COLOR: _, ...colored } = env;
  const child = spawn('python3', [process.env.REAL_AGENTS_PTY ?? '', ...command], {
    cwd,
    env: colored,
    detached: true,
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  let raw = '';
  let from = 0;
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    raw += text;
    // A terminal answers these questions; programs wait for it.
    if (text.includes('\x1b[6n')) child.stdin.write('\x1b[1;1R');
    if (text.includes('\x1b[c')) child.stdin.write('\x1b[?62;c');
  });
  let isOver = false;
  const ended = new Promise<number | string>(resolve => {
    child.on('error', error => resolve(`not started: ${error.message}`));
    child.on('close', (code, signal) => {
      isOver = true;
      resolve(signal ?? code ?? -1);
    });
  });
  child.stdin.on('error', () => undefined);
  const log: string[] = [];
  for (const step of steps) {
    if (step.pauseMs !== undefined) await sleep(step.pauseMs);
    if (step.served !== undefined) await Promise.race([model.whenServed(step.served), ended, sleep(patienceMs)]);
    if (step.wait !== undefined) {
      const wanted = squeezed(step.wait);
      const untilMs = Date.now() + patienceMs;
      while (!isOver && !squeezed(visible(raw.slice(from))).includes(wanted) && Date.now() < untilMs) await sleep(100);
      if (!squeezed(visible(raw.slice(from))).includes(wanted)) log.push(`<<never saw: ${step.wait}>>`);
      // The program draws its last lines, and begins to read keys.
      await sleep(400);
    }
    if (step.type !== undefined || step.key !== undefined) from = raw.length;
    if (step.type !== undefined) {
      child.stdin.write(step.type);
      await sleep(800);
    }
    if (step.key !== undefined) {
      child.stdin.write(keys[step.key] ?? step.key);
      await sleep(300);
    }
  }
  const timer = setTimeout(() => {
    log.push('<<did not end>>');
    try {
      process.kill(-(child.pid ?? 0), 'SIGKILL');
    } catch {
      // The process ended meanwhile.
    }
  }, 40_000);
  const exit = await ended;
  clearTimeout(timer);
  return { exit: log.length === 0 ? exit : log.join(' '), screen: `${log.join('\n')}\n${visible(raw)}` };
}

/** Programs move the cursor in place of writing spaces. */
const visible = (raw: string): string =>
  raw
    .replaceAll(/\x1b\[\d*C/g, ' ')
    .replaceAll(/\x1b\[[0-9;?>=]*[A-Za-z]/g, '')
    .replaceAll(/\x1b\][^\x07\x1b]*(\x07|\x1b\\)/g, '')
    .replaceAll(/\x1b[()][0-9A-B]|\x1b[=>78]/g, '');

const squeezed = (text: string): string => text.replaceAll(/\s+/g, '');

const sleep = (ms: number): Promise<void> => new Promise(resolve => setTimeout(resolve, ms));
