/** The questions of `enable` and `uninstall` at a terminal. An invalid answer repeats the question. */
import type { Agent } from '../agents/contract/contract.ts';
import { agentNamed } from '../agents/index.ts';
import { type Io, UsageError } from './command.ts';
import { table } from './text.ts';

const MOST_TRIES = 5;

export const isEndpoint = (text: string): boolean => /^https?:/i.test(text) && URL.canParse(text);

/** Undefined: the user chose none of them. */
export async function askAgents(
  io: Io,
  found: readonly Agent[],
  isSetUp: (agent: Agent) => boolean,
): Promise<readonly Agent[] | undefined> {
  io.out('Found on this machine:\n');
  io.out(table(found.map((agent, at) => ['', String(at + 1), agent.title, isSetUp(agent) ? '(set up already)' : ''])));
  return await until(io, 'Set up which? [Enter: all; numbers such as 1,2; n: none] ', answer => {
    if (answer === '' || answer === 'all' || answer === 'y') return { value: found };
    if (answer === 'n' || answer === 'no' || answer === 'none') return { value: undefined };
    const words = answer.split(/[\s,]+/).filter(word => word !== '');
    const chosen = words.map(word => (/^\d+$/.test(word) ? found[Number(word) - 1] : agentNamed(word)));
    const odd = words.find((_, at) => chosen[at] === undefined);
    if (odd !== undefined) return { why: `${odd} is none of 1 to ${found.length}.` };
    return { value: found.filter(agent => chosen.includes(agent)) };
  });
}

/** Returns the endpoint; undefined: all data stays on this machine. */
export async function askDestination(io: Io): Promise<string | undefined> {
  io.out(
    [
      '',
      'No destination is configured. Where are traces, metrics and logs to go?',
      '  An address of an OTLP receiver (HTTP), such as http://127.0.0.1:4318',
      '  Enter: nowhere. Sessions stay on this machine; otel-hooks show and report read them there.',
      '',
    ].join('\n'),
  );
  return await until(io, 'Address [local only]: ', answer => {
    if (answer === '' || answer === 'local' || answer === 'local only') return { value: undefined };
    // Many users omit the scheme.
    const address = /^[\w.-]+:\d+(\/|$)/.test(answer) ? `http://${answer}` : answer;
    return isEndpoint(address) ? { value: address } : { why: `${answer} is no address such as http://127.0.0.1:4318.` };
  });
}

/** Asks before a change. The default is no. */
export const mayChange = (io: Io, diff: () => string): Promise<boolean> => isAgreed(io, 'Change this?', diff);
export const mayRemove = (io: Io, diff: () => string): Promise<boolean> => isAgreed(io, 'Remove this?', diff);

async function isAgreed(io: Io, question: string, diff: () => string): Promise<boolean> {
  for (;;) {
    const answer = (await io.ask(`${question} [y/N, d: show the lines] `)).trim().toLowerCase();
    if (answer !== 'd' && answer !== 'diff') return answer === 'y' || answer === 'yes';
    io.out(diff() || 'No lines of agents’ settings change.\n');
  }
}

async function until<T>(
  io: Io,
  question: string,
  read: (answer: string) => { value: T } | { why: string },
): Promise<T> {
  for (let tries = 1; ; tries += 1) {
    const result = read((await io.ask(question)).trim());
    if ('value' in result) return result.value;
    if (tries === MOST_TRIES) throw new UsageError(result.why);
    io.out(`${result.why}\n`);
  }
}
