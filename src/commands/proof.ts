/**
 * Tries the hook of an agent: runs the command of its settings file as the agent would, with the first event of a trial
 * session. The process that hooks start then takes the event to the journal. Nothing is sent: the session is pinned to
 * a configuration without destinations.
 *
 * Constraint: settings of a project come with a clone, and its author may have written any text that looks like an
 * entry of ours. So the text that runs is computed, never read from the file: if the file differs from the text that
 * this version would write for this machine, nothing runs. PATH then holds no folder of the project (`searchPath`).
 */

import { spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { delimiter } from 'node:path';
import { isAbsent } from '../agents/contract/contract.ts';
import type { Fields } from '../event/event.ts';
import { replay } from '../journal/replay.ts';
import { pathIn, withPath } from '../lib/path-variable.ts';
import { INSTALL_COMMAND } from '../problems/install.ts';
import { explain } from '../problems/problem.ts';
import { sessionKey } from '../session/session-state.ts';
import { startedAs } from '../setup/commands.ts';
import { searchPath } from '../setup/search-path.ts';
import { commandsFor, entriesOf, type Setup } from '../setup/setup.ts';
import { isInPath, standingOf } from '../setup/standing.ts';
import { StateRefused } from '../store/folder.ts';
import { openStore } from '../store/store.ts';
import { trialSession } from '../view/trial-sessions.ts';

export type Proof =
  | { ok: true; event: string; type: string; session: string; tookMs: number }
  /** False: the files are correct, but this machine cannot run the program that they name. */
  | { ok: false; isTried?: false; why: string; next: string };

const PATIENCE_MS = 15_000;
const LOOK_EVERY_MS = 40;

/** The command that a trial would run. */
export interface HookRun {
  file: string;
  event: string;
  /** The command as text, for the user. */
  command: string;
  program: string;
  args: readonly string[];
  payload: Fields;
  env: NodeJS.ProcessEnv;
}

type Failed = Extract<Proof, { ok: false }>;
const failed = (why: string, next: string): Failed => ({ ok: false, why, next });

/** Runs no program. Fails if a file differs from the text that this version writes on this machine. */
export function hookRunOf(setup: Setup, cwd: string, env: NodeJS.ProcessEnv, nowMs: number): HookRun | Failed {
  const { agent, platform, scope, places } = setup;
  const { settings } = agent;
  if (isAbsent(settings)) return failed(settings.absent, '');
  const safe = withPath(env, searchPath(pathIn(env), places).join(delimiter));
  if (scope === 'project' && !isInPath('otel-hooks', { env: safe }, platform)) {
    const why = 'otel-hooks is not in PATH outside of this project, where a file that is shared looks for it';
    return { ...failed(why, `in a clone of otel-hooks: ${INSTALL_COMMAND}`), isTried: false };
  }
  const { event, payload } = settings.proof(trialSession(nowMs, randomBytes(3).toString('hex')), cwd, nowMs);
  const standing = standingOf(setup);
  const entry = entriesOf(setup).find(each => each.event === event);
  if (!entry || standing === undefined) {
    return failed(`no hook for ${event} was found`, 'look at the file, then run it again.');
  }
  const differs = failed(
    `${entry.file} differs from the text that this version writes, so nothing was run`,
    'otel-hooks doctor --fix',
  );
  if (!('events' in standing) || standing.stale.length > 0) return differs;
  const wanted = commandsFor({ ...setup, provider: standing.provider }, settings).get(event) ?? {};
  const [program, args] = startedAs(wanted, settings.runs, platform);
  const [, inFile] = startedAs(entry.command, settings.runs, platform);
  if (inFile.join('\0') !== args.join('\0')) return differs;
  const command = args.at(-1) ?? '';
  const common = { file: entry.file, event, command, payload, env: safe };
  // Its text is the text that this version writes; otherwise it would be stale.
  const isItself = settings.runs.posix === 'itself' && platform !== 'win32';
  return isItself ? { ...common, program: entry.file, args: [] } : { ...common, program, args };
}

export async function prove(
  setup: Setup,
  cwd: string,
  env: NodeJS.ProcessEnv,
  nowMs: number,
  isStopped: () => boolean = () => false,
): Promise<Proof> {
  const planned = hookRunOf(setup, cwd, env, nowMs);
  if ('ok' in planned) return planned;
  const { agent, folders } = setup;
  const { event, payload, program, args } = planned;
  const session = agent.session(payload, {}) ?? '';
  const startMs = performance.now();
  const ran = await run(program, args, JSON.stringify(payload), cwd, { ...planned.env, OTEL_HOOKS_ENABLED: 'false' });
  if (ran.why !== undefined) return failed(ran.why, `run it by hand: ${[program, ...args].join(' ')}`);
  if (ran.stdout.trim() !== agent.reply.stdout) {
    return failed(`it printed ${JSON.stringify(ran.stdout)}`, `otel-hooks disable --tool ${agent.id}`);
  }
  try {
    while (performance.now() - startMs < PATIENCE_MS && !isStopped()) {
      const type = firstTypeIn(folders.state, sessionKey(agent.id, session));
      if (type !== undefined)
        return { ok: true, event, type, session, tookMs: Math.round(performance.now() - startMs) };
      await new Promise(resolve => setTimeout(resolve, LOOK_EVERY_MS));
    }
  } catch (error) {
    if (!(error instanceof StateRefused)) throw error;
    const { what, next } = explain(error.problem);
    return failed(`its event was not recorded: ${what.replace(/\.$/, '')}`, next);
  }
  return failed('nothing came to the journal', 'otel-hooks status');
}

/** Returns the type of the first event in a session's journal, as soon as it exists. */
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

function run(
  program: string,
  args: readonly string[],
  input: string,
  cwd: string,
  env: NodeJS.ProcessEnv,
): Promise<Ran> {
  return new Promise(settled => {
    const child = spawn(program, [...args], { cwd, env, stdio: ['pipe', 'pipe', 'pipe'], windowsHide: true });
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
