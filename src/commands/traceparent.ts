/**
 * `traceparent`: a hook of its own, beside those that record. It gives the commands that an agent starts the trace of the
 * session. As a hook, it prints nothing and exits 0 in every case, so that no agent takes it for a decision.
 */
import { closeSync, constants, existsSync, fstatSync, openSync, readFileSync, writeSync } from 'node:fs';
import type { Agent } from '../agents/contract/contract.ts';
import { destinationsFor } from '../config/destinations.ts';
import type { Fields } from '../event/event.ts';
import { isFields } from '../lib/read.ts';
import { type Asked, traceContextOf } from '../pipeline/trace-context.ts';
import { callerOf } from '../session/pin.ts';
import { openStore } from '../store/store.ts';
import { agentOf } from './agent-word.ts';
import { flagText, type Io, UsageError, type Words } from './command.ts';
import { foldersOf } from './place.ts';

const MOST_BYTES = 4 * 1024 * 1024;
const PATIENCE_MS = 2_000;

export async function run(words: Words, io: Io): Promise<number> {
  const tool = flagText(words, '--tool');
  if (tool === undefined) throw new UsageError('takes --tool AGENT');
  const agent = agentOf(tool);
  const session = flagText(words, '--session');
  if (session === undefined) {
    await asHook(agent, words, io);
    return 0;
  }
  const context = contextOf(agent, { session, call: flagText(words, '--call') }, words, io);
  if (words.flags['--json']) io.out(`${JSON.stringify({ v: 1, traceparent: context ?? null }, null, 2)}\n`);
  else if (context !== undefined) io.out(`${context}\n`);
  return context === undefined ? 1 : 0;
}

/** Appends to the file whose lines the agent runs before each command. */
async function asHook(agent: Agent, words: Words, io: Io): Promise<void> {
  try {
    const file = agent.environmentFile && io.env[agent.environmentFile];
    const payload = await payloadOf(process.stdin);
    const session = payload && agent.session(payload, { cwd: io.cwd });
    if (!file || payload === undefined || session === undefined) return;
    const atMs = Date.now() - process.uptime() * 1_000;
    const context = contextOf(agent, { session, hook: { payload, atMs } }, words, io);
    if (context !== undefined) append(file, context);
  } catch {
    // The commands of the agent run without a trace.
  }
}

function contextOf(agent: Agent, asked: Omit<Asked, 'agent'>, words: Words, io: Io): string | undefined {
  const cwd = (asked.hook && agent.cwd(asked.hook.payload)) ?? io.cwd;
  const { state, config } = foldersOf(words, { ...io, cwd });
  // Without a destination, no other program gets a span of the session.
  if (destinationsFor(config, undefined).destinations.length === 0) return undefined;
  const { values, sampler } = config;
  const pinned = {
    sampler,
    caller: callerOf(io.env.TRACEPARENT, values['trace.traceparent']),
    shape: values['trace.shape'] === 'turn' ? ('turn' as const) : undefined,
    turns: values['trace.turns'] === 'off' ? ('off' as const) : undefined,
  };
  const store = existsSync(state) ? openStore({ folder: state, access: 'read' }) : undefined;
  try {
    return traceContextOf(store, { agent, ...asked }, pinned);
  } finally {
    store?.close();
  }
}

/** Reads the payload of a hook; undefined if it is no JSON object, is too large, or does not end. */
async function payloadOf(input: NodeJS.ReadableStream): Promise<Fields | undefined> {
  const parts: Buffer[] = [];
  let size = 0;
  const read = (async () => {
    for await (const part of input) {
      size += part.length;
      if (size > MOST_BYTES) return;
      parts.push(Buffer.from(part));
    }
  })();
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<void>(settle => {
    timer = setTimeout(settle, PATIENCE_MS);
  });
  await Promise.race([read, late]);
  clearTimeout(timer);
  if (input === process.stdin) process.stdin.destroy();
  if (size > MOST_BYTES) return undefined;
  const value: unknown = JSON.parse(Buffer.concat(parts).toString());
  return isFields(value) ? value : undefined;
}

/**
 * Adds a line that sets the variable. The agent may keep the lines of earlier runs: the new one replaces their value. A
 * value that the agent gives its commands stays. Links are not followed, and pipes are not waited for.
 */
function append(path: string, context: string): void {
  const file = openSync(path, constants.O_RDWR | constants.O_APPEND | constants.O_CREAT | NO_LINK | NO_WAIT, 0o600);
  try {
    const stats = fstatSync(file);
    if (!stats.isFile() || stats.size > MOST_BYTES) return;
    const before = readFileSync(file, 'utf8');
    const former = [...before.matchAll(ownLines)].at(-1)?.[1];
    if (former === context) return;
    const start = before === '' || before.endsWith('\n') ? '' : '\n';
    writeSync(
      file,
      `${start}case "\${TRACEPARENT-}" in "${former ? `"|"${former}` : ''}") export TRACEPARENT="${context}";; esac\n`,
    );
  } finally {
    closeSync(file);
  }
}

const ownLines =
  /^case "\$\{TRACEPARENT-\}" in .*\) export TRACEPARENT="(00-[0-9a-f]{32}-[0-9a-f]{16}-0[01])";; esac$/gm;

const NO_LINK = constants.O_NOFOLLOW ?? 0;
const NO_WAIT = constants.O_NONBLOCK ?? 0;
