/** Every command: its words here, its code loaded when it is called. */
import { exampleAgent } from '../agents/index.ts';
import type { Command } from './command.ts';

export const commands: Command[] = [
  {
    name: 'hook',
    summary: 'take one hook from standard input; what an agent calls',
    usage: 'otel-hooks hook [--tool AGENT] [--event NAME] [--provider NAME] [--flush 5s]',
    notes: [
      'Always exits 0 and prints nothing (or the one neutral answer its agent demands). Without --tool the payload itself',
      'tells whose it is. It writes one file and leaves; sending happens in a process of its own.',
    ],
    flags: [
      { name: '--tool', value: 'AGENT', summary: `the agent that calls, such as ${exampleAgent.id}` },
      { name: '--event', value: 'NAME', summary: "the agent's name of the event, where the payload has none" },
      { name: '--edge', summary: 'start delivery in any case: a session, prompt or turn begins or ends' },
      { name: '--provider', value: 'NAME', summary: 'send this session to these destinations only' },
      { name: '--reply', value: 'TEXT', summary: 'print this, where an agent demands an answer; never a decision' },
      { name: '--flush', value: 'TIME', summary: 'wait at most so long until everything is delivered (5s, 500ms)' },
    ],
    example: `otel-hooks hook --tool ${exampleAgent.id} --flush 5s < payload.json`,
    // The bin answers before this is ever loaded; whoever comes by another way gets the same front end.
    load: async () => ({ run: () => 0 }),
  },
  {
    name: 'deliver',
    summary: 'turn what hooks left into traces, logs and metrics, and send them',
    usage: 'otel-hooks deliver [--wait 10s]',
    notes: [
      'Hooks start this by themselves. By hand it tries at once whatever waits, also after a refusal, and says what left and',
      'what still waits. Exits 1 when something waits.',
    ],
    flags: [{ name: '--wait', value: 'TIME', summary: 'give up after so long (default 10s)' }],
    example: 'otel-hooks deliver --wait 30s',
    load: () => import('./deliver.ts'),
  },
  {
    name: 'status',
    summary: 'the books: what was received, where it is, what was lost and why',
    usage: 'otel-hooks status [--json]',
    flags: [],
    example: 'otel-hooks status --json',
    load: () => import('./status.ts'),
  },
  {
    name: 'enable',
    summary: "write our hooks into an agent's settings, after showing the change",
    usage:
      'otel-hooks enable --tool AGENT [--global|--project|--local] [--provider NAME] [--endpoint URL] [--dry-run] [--yes]',
    flags: [
      { name: '--tool', value: 'AGENT', summary: `the agent, such as ${exampleAgent.id}; all for every known one` },
      { name: '--global', summary: 'for all projects of this user (the default)' },
      { name: '--project', summary: 'for everyone who works in this folder: the file is shared' },
      { name: '--local', summary: 'for this user in this folder' },
      { name: '--provider', value: 'NAME', summary: 'write the provider into our configuration, if it has none' },
      { name: '--endpoint', value: 'URL', summary: 'write the OTLP endpoint into our configuration' },
      { name: '--dry-run', summary: 'show the change, change nothing' },
      { name: '--yes', short: '-y', summary: 'do not ask' },
    ],
    example: `otel-hooks enable --tool ${exampleAgent.id} --global --endpoint http://127.0.0.1:4318`,
    load: () => import('./enable.ts'),
  },
  {
    name: 'disable',
    summary: "take our hooks out of an agent's settings again",
    usage: 'otel-hooks disable --tool AGENT [--global|--project|--local] [--dry-run] [--yes]',
    flags: [
      { name: '--tool', value: 'AGENT', summary: `the agent, such as ${exampleAgent.id}; all for every known one` },
      { name: '--global', summary: 'for all projects of this user (the default)' },
      { name: '--project', summary: 'for everyone who works in this folder: the file is shared' },
      { name: '--local', summary: 'for this user in this folder' },
      { name: '--dry-run', summary: 'show the change, change nothing' },
      { name: '--yes', short: '-y', summary: 'do not ask' },
    ],
    example: `otel-hooks disable --tool ${exampleAgent.id} --global`,
    load: () => import('./disable.ts'),
  },
  {
    name: 'demo',
    summary: 'play a session through the whole real way and show what comes out',
    usage: 'otel-hooks demo [--otlp URL]',
    notes: [
      'Real hook processes write into a temporary folder, a real delivery sends to a receiver inside this process. Nothing is',
      'written elsewhere, nothing needs to be installed.',
    ],
    flags: [
      { name: '--otlp', value: 'URL', summary: 'send it to this collector as well, to see it in Grafana or Jaeger' },
    ],
    example: 'otel-hooks demo --otlp http://127.0.0.1:4318',
    load: () => import('./demo.ts'),
  },
  {
    name: 'import',
    summary: 'take in sessions that agents wrote down before, with their true times',
    usage: 'otel-hooks import PATH... | --all [--tool AGENT] [--since 30d] [--metrics] [--dry-run]',
    notes: [
      'PATH is the main file of a session, whose subagents are found beside it, or a folder. What was taken in once, or told',
      'by hooks, adds nothing. Ctrl-C keeps what is done. Log records leave only where they are no older than a week.',
    ],
    flags: [
      { name: '--all', summary: 'wherever the agents of this machine keep them' },
      { name: '--tool', value: 'AGENT', summary: `only this agent's, such as ${exampleAgent.id}` },
      { name: '--since', value: 'TIME', summary: 'only what was written since then (12h, 30d, 4w)' },
      { name: '--metrics', summary: 'count it into counters and histograms too, as of today' },
      { name: '--dry-run', summary: 'list sessions, spans and tokens; keep and send nothing' },
      { name: '--wait', value: 'TIME', summary: 'how long to send at most (default 30s); the rest is sent later' },
    ],
    example: 'otel-hooks import --all --since 30d --dry-run',
    load: () => import('./import.ts'),
  },
  {
    name: 'show',
    summary: 'sessions from the journal, without any back end',
    usage: 'otel-hooks show [SESSION]',
    notes: [
      'Without a session: the list, newest first. With the first letters of an id: its tree, with times and decisions.',
    ],
    flags: [],
    example: 'otel-hooks show 3f2a',
    load: () => import('./show.ts'),
  },
  {
    name: 'validate',
    summary: 'check a file against an open standard, with positions and rules',
    usage: 'otel-hooks validate --standard agent-hooks FILE',
    notes: [
      'FILE holds one event, an array of events, or one event on each line; - is standard input. Exits 1 on errors.',
    ],
    flags: [{ name: '--standard', value: 'NAME', summary: 'agent-hooks' }],
    example: 'otel-hooks validate --standard agent-hooks session.jsonl',
    load: () => import('./validate.ts'),
  },
  {
    name: 'config',
    summary: 'the configuration in force, and where each value comes from',
    usage: 'otel-hooks config [--schema | --trust]',
    flags: [
      { name: '--schema', summary: 'print the JSON Schema of the configuration file' },
      { name: '--trust', summary: "accept this project's .otel-hooks.json as it stands now, endpoints included" },
    ],
    example: 'otel-hooks config --json',
    load: () => import('./config.ts'),
  },
  {
    name: 'prune',
    summary: 'bring the state folder within its limits now, or empty the quarantine',
    usage: 'otel-hooks prune [--quarantine]',
    notes: [
      'Delivery does this after every round; by hand it is for limits that were just lowered. What goes first stands in',
      'docs/limits.md, how much may stay in the keys keep.* of the configuration. What goes is counted.',
    ],
    flags: [{ name: '--quarantine', summary: 'remove all that was set aside, raw payloads included' }],
    example: 'otel-hooks prune --quarantine',
    load: () => import('./prune.ts'),
  },
  {
    name: 'version',
    summary: 'the version',
    usage: 'otel-hooks version',
    flags: [],
    example: 'otel-hooks version',
    load: () => import('./version.ts'),
  },
];
