/** The commands about this machine: waiting data, stored data, the configuration and the shell. */
import type { Command } from './command.ts';

export const commandsOfMachine: Command[] = [
  {
    name: 'destinations',
    summary: 'list destinations and their waiting data; move, drop or resend it',
    usage: 'otel-hooks destinations [list | redirect A B | drop A | resend A [--session SESSION]] [--yes] [--json]',
    notes: [
      'A and B are names of the list, ids, addresses, or a provider with one destination. redirect moves the data that waits for A',
      'to B. drop removes it. resend sends data that A refused (from the quarantine) or one session of the journal again; ids stay the',
      'same. Each shows its plan and asks first, and `otel-hooks status` counts the result. docs/waiting-data.md has examples.',
    ],
    flags: [
      { name: '--session', value: 'SESSION', summary: 'with resend: all spans and records of this session' },
      { name: '--yes', short: '-y', summary: 'ask nothing; needs no terminal' },
    ],
    words: [['list', 'redirect', 'drop', 'resend'], 'DESTINATION', 'DESTINATION'],
    mostWords: 3,
    example: 'otel-hooks destinations redirect otlp-old.example:4318 otlp-127.0.0.1:4318',
    load: () => import('./destinations.ts'),
  },
  {
    name: 'config',
    summary: 'show the present configuration and the origin of each value; get, set or unset one key',
    usage: 'otel-hooks config [get KEY | set KEY VALUE | unset KEY | --schema | --trust [--yes]]',
    notes: [
      'set and unset change the configuration file of the user; comments, order and the rest of the file stay. A value is checked',
      'before it is written. Numbers, lists and tables are written as JSON.',
      'The key of a named destination is destinations.NAME.MEMBER, such as destinations.team.endpoint or destinations.team.content.prompt;',
      'destinations.NAME is the whole destination.',
      'A project may reduce and label the data that leaves. --trust shows each setting of its .otel-hooks.json that needs your consent, with',
      'real paths and hosts, and asks. The consent is for this text: after a change of the file you are asked again.',
    ],
    flags: [
      { name: '--schema', summary: 'print the JSON Schema of the configuration file' },
      {
        name: '--trust',
        summary: "accept the present text of this project's .otel-hooks.json, after showing its effects",
      },
      { name: '--yes', short: '-y', summary: 'with --trust: do not ask' },
    ],
    words: [['get', 'set', 'unset'], 'KEY'],
    mostWords: 3,
    example: 'otel-hooks config set otlp.endpoint http://127.0.0.1:4318',
    load: () => import('./config.ts'),
  },
  {
    name: 'traceparent',
    summary: "give the commands that an agent starts the trace of its session, as a hook of the agent's own",
    usage: 'otel-hooks traceparent --tool AGENT [--session SESSION [--call CALL]]',
    notes: [
      'Without --session it is a hook: it reads the payload, appends TRACEPARENT to the file that the agent runs before its commands,',
      'prints nothing and exits 0. With --session it prints the value of the session, or with --call that of an action. No `enable`',
      'registers it: docs/traceparent.md has the lines for each agent.',
    ],
    flags: [
      { name: '--tool', value: 'AGENT', summary: 'the agent that starts the commands' },
      { name: '--session', value: 'SESSION', summary: 'print the value of this session' },
      { name: '--call', value: 'CALL', summary: "with --session: of this action, by the agent's id" },
    ],
    example: 'otel-hooks traceparent --tool AGENT',
    load: () => import('./traceparent.ts'),
  },
  {
    name: 'erase',
    summary: 'remove one session from this machine: journal, state, waiting data, quarantine and logs',
    usage: 'otel-hooks erase SESSION [--yes] [--json]',
    notes: [
      'SESSION is an id or its first letters. It shows the data that it will remove, and asks. Waiting requests with several sessions',
      'are rewritten. Data that was sent stays where it was sent, and so does the transcript that the agent keeps. Later hooks and',
      'imports do not bring the session back. After a kill, the next delivery or the same command does the rest.',
    ],
    flags: [{ name: '--yes', short: '-y', summary: 'ask nothing; needs no terminal' }],
    words: ['SESSION'],
    mostWords: 1,
    example: 'otel-hooks erase 3f2a',
    load: () => import('./erase.ts'),
  },
  {
    name: 'prune',
    summary: 'apply the limits of the state folder now, or empty the quarantine',
    usage: 'otel-hooks prune [--quarantine] [--problems]',
    notes: [
      'Delivery does this after every round; run it by hand after you lowered a limit. docs/limits.md has the order of removal,',
      'and the keys keep.* of the configuration have the limits. Removed data is counted.',
    ],
    flags: [
      { name: '--quarantine', summary: 'remove all files of the quarantine, including raw payloads' },
      {
        name: '--problems',
        summary: 'forget past problems that `status` shows; those that still exist are shown again',
      },
    ],
    example: 'otel-hooks prune --quarantine',
    load: () => import('./prune.ts'),
  },
  {
    name: 'completion',
    summary: 'print completions for bash, zsh or fish',
    usage: 'otel-hooks completion SHELL',
    notes: [
      'The first lines of the output say how to use it. docs/shell.md has the steps for each shell, and the man page.',
    ],
    flags: [
      {
        name: '--values',
        value: 'KIND',
        choices: ['destinations', 'keys', 'sessions'],
        summary: 'for the completions: print names of destinations, keys or ids of sessions, one on each line',
      },
    ],
    words: ['SHELL'],
    mostWords: 1,
    printsDocument: true,
    example: 'source <(otel-hooks completion bash)',
    load: () => import('./completion.ts'),
  },
  {
    name: 'version',
    summary: 'print the version; with --json the facts that a bug report needs',
    usage: 'otel-hooks version [--json]',
    flags: [],
    example: 'otel-hooks version --json',
    load: () => import('./version.ts'),
  },
];
