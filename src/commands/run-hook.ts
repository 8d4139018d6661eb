/** The help of `run-hook`. The bin starts its program before the other commands are loaded. */
import { exampleAgent } from '../agents/index.ts';
import { type Command, UsageError } from './command.ts';

export const runHook: Command = {
  name: 'run-hook',
  summary: 'run a hook of the Hook Interchange Format, and answer in the words of the agent that calls',
  usage: 'otel-hooks run-hook --as AGENT [--event EVENT] [--from DIALECT] [--blocking] [flags] -- COMMAND',
  notes: [
    'Agents call this; convert writes it. COMMAND gets one JSON document on standard input, in the words of the format or of',
    'DIALECT, and its exit code and output become the answer of AGENT. One word is a line for the shell; several are a program',
    'with its arguments. Faults of run-hook itself deny if the hook is blocking. It records nothing. docs/run-hook.md explains it.',
  ],
  flags: [
    { name: '--as', value: 'AGENT', summary: `the agent that calls, such as ${exampleAgent.id}` },
    { name: '--event', value: 'EVENT', summary: "the agent's name of the event, if the payload has none" },
    { name: '--hook', value: 'ID', summary: 'the name of the hook, for messages' },
    { name: '--from', value: 'DIALECT', summary: 'the agent that COMMAND was written for (default hook-interchange)' },
    { name: '--blocking', summary: 'exit code 2 denies, and so do faults of run-hook' },
    {
      name: '--fail',
      value: 'HOW',
      summary: 'when COMMAND fails: open lets the action go on (the default), closed denies',
    },
    { name: '--timeout', value: 'SECONDS', summary: 'end COMMAND and its children after this time (default 30)' },
    {
      name: '--timeout-action',
      value: 'HOW',
      summary: 'a timeout is an error (warn, the default) or exit code 2 (block)',
    },
    {
      name: '--degrade',
      value: 'CAPABILITY=STRATEGY',
      summary: 'block, warn or exclude, for answers that the agent cannot honour; several with commas',
    },
    { name: '--cwd', value: 'DIR', summary: 'the folder of COMMAND, relative to the project' },
    { name: '--env', value: 'NAME=VALUE', summary: 'a variable of COMMAND; the flag can be repeated' },
    { name: '--native', summary: "give COMMAND the agent's own payload, unchanged" },
    { name: '--windows', value: 'COMMAND', summary: 'the command on Windows' },
    { name: '--linux', value: 'COMMAND', summary: 'the command on Linux' },
    { name: '--darwin', value: 'COMMAND', summary: 'the command on macOS' },
  ],
  mostWords: Number.POSITIVE_INFINITY,
  example: `otel-hooks run-hook --as ${exampleAgent.id} --blocking -- ./no-force-push.sh < payload.json`,
  load: async () => ({
    run: () => {
      throw new UsageError('run-hook takes no flags of other commands');
    },
  }),
};
