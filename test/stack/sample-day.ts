/**
 * An hour of work of some agents on two machines of a team: the sessions of `npm run stack -- --sample`, and of the
 * pictures in the docs. The oldest session comes first, because Loki refuses a record that is an hour older than the newest
 * record of its stream.
 */
import { ranIn } from '../commands/ran.ts';
import { byHand } from '../git-folders.ts';
import { Machine } from './machine.ts';
import { type Action, ended, statedCost, worked } from './working-day.ts';

const MINUTE_MS = 60_000;

interface Planned {
  /** Minutes from the end of the session until now. */
  ago: number;
  turns: number;
  calls: number;
  model: string;
  command: string;
  isFailing?: boolean;
  actions?: readonly Action[];
}

/** The most expensive session: a long build, a failed test, and a risky command that a person allowed. */
const RELEASE: readonly Action[] = [
  { command: 'npm run build', ms: 4_200 },
  { command: 'npm run test:e2e', ms: 141_000, fails: 'Exit code 1\nexpected 3 items in the cart, found 4' },
  { command: 'npm run test:e2e', ms: 97_000 },
  { command: 'git commit --all --message "Fix the cart"', ms: 300 },
  { command: 'git push --force origin main', ms: 2_600, waitMs: 21_000 },
];

const PLAN: readonly Planned[] = [
  { ago: 44, turns: 3, calls: 4, model: 'claude-sonnet-4-5', command: 'npm test' },
  { ago: 37, turns: 2, calls: 6, model: 'claude-opus-4-1', command: 'npm run build' },
  { ago: 30, turns: 4, calls: 3, model: 'claude-sonnet-4-5', command: 'npm run lint' },
  { ago: 24, turns: 2, calls: 3, model: 'claude-haiku-4-5', command: 'npm run broken', isFailing: true },
  { ago: 16, turns: 5, calls: 4, model: 'claude-sonnet-4-5', command: 'cargo test' },
  { ago: 9, turns: 4, calls: 5, model: 'claude-opus-4-1', command: 'npm run build', actions: RELEASE },
  { ago: 4, turns: 2, calls: 4, model: 'claude-sonnet-4-5', command: 'npm test' },
];

/** Sessions whose hooks are in files. They end now. */
const JOURNEYS = [
  'subagents',
  'permission-granted',
  'mcp-and-skills',
  'denied-by-classifier',
  'compaction',
  'cursor-subagents',
  'copilot-without-ids',
];

export interface Played {
  /** Ids of the sessions, in the order of the plan. */
  sessions: string[];
  /** The id of the most expensive session. */
  dearest: string;
}

/** Delivers the sessions to a collector. `program` is the installed command, which delivers what ends now. */
export async function playSampleDay(program: string, endpoint: string): Promise<Played> {
  const machines = ['web', 'api'].map(name => {
    const machine = new Machine(program, {
      provider: 'otlp',
      attributes: { 'service.namespace': 'shop', 'deployment.environment.name': 'laptops' },
      metrics: { include: ['vcs.repository.name', 'vcs.ref.head.name', 'user.id'] },
      content: { user: 'hash' },
      otlp: { endpoint },
    });
    machine.repository(`https://git.example/shop/${name}.git`, name === 'web' ? 'main' : 'faster-search');
    return machine;
  });
  try {
    const sessions: string[] = [];
    for (const [i, { ago, ...about }] of PLAN.entries()) {
      const machine = machines[i % 2] as Machine;
      const agoMs = ago * MINUTE_MS;
      const session = worked(machine, { ...about, agoMs: agoMs + 2_000, isRunning: true });
      await deliverAt(machine, agoMs + 1_500);
      byHand.commit(machine.home);
      ended(machine, session, agoMs + 1_000);
      await deliverAt(machine, agoMs);
      sessions.push(session);
    }
    const [web] = machines as [Machine, Machine];
    for (const file of JOURNEYS) web.journey(`${file}.journey`);
    statedCost(web);
    await web.deliver();
    return { sessions, dearest: sessions[PLAN.findIndex(({ actions }) => actions !== undefined)] ?? '' };
  } finally {
    for (const machine of machines) machine.remove();
  }
}

/** Delivers at a time in the past, so that counts appear when the work was done. */
async function deliverAt(machine: Machine, agoMs: number): Promise<void> {
  const words = ['deliver', '--wait', '30s', ...machine.flags];
  const { code, err } = await ranIn(machine.home, words, { now: () => Date.now() - agoMs });
  if (code !== 0) throw new Error(`deliver ended with ${code}:\n${err}`);
}
