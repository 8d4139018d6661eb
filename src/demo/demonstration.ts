/**
 * Plays a session through the real program: a shell runs the command of `enable` for each hook, the process that hooks
 * start delivers, and a receiver in this process accepts the data. All files are in a temporary folder.
 */
import { spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { appendFileSync, mkdirSync, mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { type DemoHook, type HookCommand, isAbsent, SINCE_BEFORE } from '../agents/contract/contract.ts';
import { exampleAgent } from '../agents/index.ts';
import { deliver } from '../deliver/deliver.ts';
import type { StatusBooks } from '../deliver/status-books.ts';
import { removeFolder } from '../lib/remove-folder.ts';
import { startedAs } from '../setup/commands.ts';
import { applySetup, entriesOf, type Program, planSetup, type Setup } from '../setup/setup.ts';
import { type Receiver, startReceiver } from './receiver.ts';

export interface Demonstration {
  session: string;
  receiver: Receiver;
  books: StatusBooks;
  /** Wall time of each hook process, for which the agent would wait. */
  hookMs: number[];
  /** Wall time of a Node process that does nothing, for comparison. */
  bareMs: number[];
  /** The commands of the hook processes, by event. */
  commands: ReadonlyMap<string, HookCommand>;
}

/** A small budget, so that the session nearly uses it up. */
const budget = { session_tokens: 240_000 };

export interface Stage {
  program: Program;
  passOn: string | undefined;
  platform: NodeJS.Platform;
}

export async function demonstrate({ program, passOn, platform }: Stage): Promise<Demonstration> {
  const home = mkdtempSync(join(tmpdir(), 'otel-hooks-demo-'));
  const receiver = await startReceiver(passOn);
  try {
    const state = join(home, 'state');
    const config = join(home, 'config.json');
    const shop = join(home, 'shop');
    mkdirSync(shop);
    writeFileSync(config, JSON.stringify({ provider: 'otlp', otlp: { endpoint: receiver.url }, budget }));
    const env = { HOME: home, PATH: process.env.PATH, OTEL_HOOKS_CONFIG: config, OTEL_HOOKS_LINGER: '1s' };
    const commands = setUp(home, state, program, platform);
    const session = randomUUID();
    const bareMs: number[] = [];
    const hookMs: number[] = [];
    for (let i = 0; i < 3; i += 1) bareMs.push(await timed(program.node, ['-e', '0'], '', shop, env));
    const began = new Map<unknown, number>();
    for (const group of together(script(session, shop))) {
      await pause(group[0]?.afterMs ?? 0);
      for (const hook of group) {
        settleDuration(hook, began);
        tellRows(hook, hook.rows);
      }
      const times = await Promise.all(group.map(hook => run(hook, commands, shop, env, platform)));
      hookMs.push(...times);
      for (const hook of group) tellRows(hook, hook.rowsAfter);
    }
    const delivered = await deliver({
      stateFolder: state,
      byHand: true,
      waitMs: 15_000,
      surroundings: { env, home, platform, ownVariables: false, configFile: config },
    });
    if (delivered.books === undefined) throw new Error('the delivery that the hooks started did not hand over');
    return { session, receiver, books: delivered.books, hookMs, bareMs, commands };
  } finally {
    receiver.close();
    await removeFolder(home);
  }
}

/** Writes hooks into a settings file of the temporary home, as `enable` does, and reads them back. */
function setUp(home: string, state: string, program: Program, platform: NodeJS.Platform): Map<string, HookCommand> {
  const setup: Setup = {
    agent: exampleAgent,
    scope: 'global',
    action: 'enable',
    places: { home, project: home, env: {} },
    platform,
    program,
    folders: { state, data: join(home, 'data', 'otel-hooks') },
  };
  const planned = planSetup(setup);
  if (!planned.ok) throw new Error(JSON.stringify(planned.problem));
  const applied = applySetup(planned.plan);
  if (!applied.ok) throw new Error(JSON.stringify(applied.problem));
  return new Map(entriesOf(setup).map(({ event, command }) => [event, command]));
}

/** Appends lines to the transcript, as the agent does. */
function tellRows({ payload, rowsIn }: DemoHook, rows: DemoHook['rows'] = []): void {
  const path = rowsIn ?? payload.transcript_path;
  if (typeof path !== 'string' || rows.length === 0) return;
  mkdirSync(dirname(path), { recursive: true });
  const timestamp = new Date().toISOString();
  appendFileSync(path, rows.map(row => `${JSON.stringify({ ...row, timestamp })}\n`).join(''));
}

function settleDuration({ payload, call }: DemoHook, began: Map<unknown, number>): void {
  const beganMs = began.get(call) ?? performance.now();
  began.set(call, beganMs);
  if (payload.duration_ms === SINCE_BEFORE)
    Object.assign(payload, { duration_ms: Math.round(performance.now() - beganMs) });
}

function script(session: string, folder: string): DemoHook[] {
  const { demo } = exampleAgent;
  return isAbsent(demo) ? [] : demo(session, folder);
}

const together = (hooks: readonly DemoHook[]): DemoHook[][] => {
  const groups: DemoHook[][] = [];
  for (const hook of hooks) {
    const last = groups.at(-1);
    if (hook.together && last) last.push(hook);
    else groups.push([hook]);
  }
  return groups;
};

function run(
  hook: DemoHook,
  commands: ReadonlyMap<string, HookCommand>,
  cwd: string,
  env: NodeJS.ProcessEnv,
  platform: NodeJS.Platform,
): Promise<number> {
  const command = commands.get(hook.event);
  if (command === undefined) throw new Error(`no hook is registered for ${hook.event}`);
  if (isAbsent(exampleAgent.settings)) throw new Error(exampleAgent.settings.absent);
  const [program, args] = startedAs(command, exampleAgent.settings.runs, platform);
  return timed(program, args, JSON.stringify(hook.payload), cwd, env);
}

function timed(program: string, args: string[], input: string, cwd: string, env: NodeJS.ProcessEnv): Promise<number> {
  return new Promise((settled, failed) => {
    const startMs = performance.now();
    const child = spawn(program, args, { cwd, env, stdio: ['pipe', 'pipe', 'inherit'], windowsHide: true });
    let output = '';
    child.stdout.on('data', (text: Buffer) => {
      output += text.toString();
    });
    child.on('error', failed);
    child.on('exit', code => {
      if (code !== 0 || output !== '')
        failed(new Error(`${program} exited ${code} and printed ${JSON.stringify(output)}`));
      else settled(performance.now() - startMs);
    });
    // A hook may end before it has read its whole input.
    child.stdin.on('error', () => undefined);
    child.stdin.end(input);
  });
}

const pause = (ms: number): Promise<void> => new Promise(resolve => setTimeout(resolve, ms));
