/**
 * That an agent's hooks work is shown, not said: the command that stands in its file now is run as the agent would run it, with
 * a first event of a session of its own, and the process that hooks start takes that to the journal. It is sent nowhere: the
 * session is pinned to a configuration that sends nothing.
 */
import { spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { isAbsent } from '../agents/contract/contract.ts';
import { sessionKey } from '../session/session-state.ts';
import { startedAs } from '../setup/commands.ts';
import { entriesOf, type Setup } from '../setup/setup.ts';
import { isInPath } from '../setup/standing.ts';
import { openStore } from '../store/store.ts';
import { replay } from '../view/replay.ts';
import { trialSession } from '../view/trial.ts';

export type Proof =
  | { ok: true; event: string; type: string; session: string; tookMs: number }
  | { ok: false; why: string; next: string };

const PATIENCE_MS = 15_000;
const LOOK_EVERY_MS = 40;

export async function prove(
  setup: Setup,
  cwd: string,
  env: NodeJS.ProcessEnv,
  nowMs: number,
  isStopped: () => boolean = () => false,
): Promise<Proof> {
  const { agent, platform, folders, scope } = setup;
  const { settings } = agent;
  if (isAbsent(settings)) return { ok: false, why: settings.absent, next: '' };
  if (scope === 'project' && !isInPath('otel-hooks', { env }, platform)) {
    const why = 'otel-hooks is not in PATH, where a file that is shared looks for it';
    return { ok: false, why, next: 'npm i -g otel-hooks' };
  }
  const { event, payload } = settings.proof(trialSession(nowMs, randomBytes(3).toString('hex')), cwd, nowMs);
  const session = agent.session(payload, {}) ?? '';
  const entry = entriesOf(setup).find(each => each.event === event);
  if (!entry) return { ok: false, why: `no hook for ${event} was found`, next: 'look at the file, then run it again.' };
  const isItself = settings.runs.posix === 'itself' && platform !== 'win32';
  const [program, args] = isItself ? [entry.file, []] : startedAs(entry.command, settings.runs, platform);

  const startMs = performance.now();
  const ran = await run(program, args, JSON.stringify(payload), cwd, { ...env, OTEL_HOOKS_ENABLED: 'false' });
  if (ran.why !== undefined)
    return { ok: false, why: ran.why, next: `run it by hand: ${[program, ...args].join(' ')}` };
  if (ran.stdout.trim() !== agent.reply.stdout) {
    return {
      ok: false,
      why: `it printed ${JSON.stringify(ran.stdout)}`,
      next: `otel-hooks disable --tool ${agent.id}`,
    };
  }
  while (performance.now() - startMs < PATIENCE_MS && !isStopped()) {
    const type = firstTypeIn(folders.state, sessionKey(agent.id, session));
    if (type !== undefined) return { ok: true, event, type, session, tookMs: Math.round(performance.now() - startMs) };
    await new Promise(resolve => setTimeout(resolve, LOOK_EVERY_MS));
  }
  return { ok: false, why: 'nothing came to the journal', next: 'otel-hooks status' };
}

/** The type of the first event in a session's journal, once there is one. */
function firstTypeIn(state: string, key: string): string | undefined {
  const store = openStore({ folder: state, access: 'read' });
  try {
    return replay(store.journal(key) ?? '')?.events[0]?.event_type;
  } finally {
    store.close();
  }
}

interface Ran {
  stdout: string;
  why?: string;
}

function run(program: string, args: string[], input: string, cwd: string, env: NodeJS.ProcessEnv): Promise<Ran> {
  return new Promise(settled => {
    const child = spawn(program, args, { cwd, env, stdio: ['pipe', 'pipe', 'pipe'], windowsHide: true });
    let stdout = '';
    let stderr = '';
    child.stdout.on('data', (part: Buffer) => {
      stdout += part.toString();
    });
    child.stderr.on('data', (part: Buffer) => {
      stderr += part.toString();
    });
    child.on('error', error => settled({ stdout, why: `it did not start: ${error.message}` }));
    child.on('exit', code =>
      settled(code === 0 ? { stdout } : { stdout, why: `it ended with ${code}: ${stderr.trim().slice(0, 200)}` }),
    );
    child.stdin.on('error', () => undefined);
    child.stdin.end(input);
  });
}
