/** Every command: its words here, its code loaded when it is called. */
import { exampleAgent } from '../agents/index.ts';
import type { Command, Flag } from './command.ts';

// The command itself says what it makes of them.
const ANY = Number.POSITIVE_INFINITY;

const scopes = (what: string): Flag[] => [
  { name: '--global', summary: `${what} for all projects of this user` },
  { name: '--project', summary: `${what} for everyone who works in this folder` },
  { name: '--local', summary: `${what} for this user in this folder` },
];

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
    mostWords: ANY,
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
    summary: 'what is set up, and the books: what was received, where it is, what was lost and why',
    usage: 'otel-hooks status [--tool AGENT] [--global|--project|--local] [--json]',
    notes: ['The flags narrow the agents that are listed; the books are always those of all.'],
    flags: [
      { name: '--tool', value: 'AGENT', summary: `only this agent, such as ${exampleAgent.id}; several with commas` },
      ...scopes('only what is registered'),
    ],
    example: 'otel-hooks status --json',
    load: () => import('./status.ts'),
  },
  {
    name: 'doctor',
    summary: 'check everything from the agents to the back ends, and mend what is ours',
    usage:
      'otel-hooks doctor [--fix] [--yes] [--offline] [--no-proof] [--tool AGENT] [--global|--project|--local] [--json]',
    notes: [
      'A trace, a record and a metric that are marked as synthetic go to each destination and are read back where read_back.* or a',
      'local stack says so; hooks are run as their agents would. docs/doctor.md says what is checked. Exits 1 when it finds a problem.',
    ],
    flags: [
      { name: '--fix', summary: 'show what can be mended as a diff, ask, mend it' },
      { name: '--yes', short: '-y', summary: 'the same without asking' },
      { name: '--offline', summary: 'send nothing and ask nobody: look at this machine alone' },
      { name: '--no-proof', summary: 'do not run the hooks' },
      { name: '--tool', value: 'AGENT', summary: `only this agent, such as ${exampleAgent.id}; several with commas` },
      ...scopes('only what is registered'),
    ],
    example: 'otel-hooks doctor --fix',
    load: () => import('./doctor.ts'),
  },
  {
    name: 'enable',
    summary: "write our hooks into agents' settings, after showing the change, and try them",
    usage:
      'otel-hooks enable [--tool AGENT] [--global|--project|--local] [--provider NAME] [--endpoint URL] [--openhook] [--dry-run] [--yes]',
    notes: [
      'Without --tool it takes the agents that are installed here. A comment, the order, line ends and hooks of others stay as they',
      'are. Afterwards the written command is run with a session of its own, which is kept in the journal and sent nowhere.',
    ],
    flags: [
      {
        name: '--tool',
        value: 'AGENT',
        summary: `the agent, such as ${exampleAgent.id}; several with commas, all for every known one`,
      },
      { name: '--global', summary: 'for all projects of this user (the default)' },
      {
        name: '--project',
        summary: 'for everyone who works in this folder: the file is shared, and finds otel-hooks in PATH',
      },
      { name: '--local', summary: 'for this user in this folder, where the agent has that' },
      {
        name: '--provider',
        value: 'NAME',
        summary:
          'send what these hooks tell to this provider only, or to several; written into our configuration, if it has none',
        takesSeveral: true,
      },
      { name: '--endpoint', value: 'URL', summary: 'write the OTLP endpoint into our configuration' },
      { name: '--dry-run', summary: 'show the change, change nothing' },
      { name: '--yes', short: '-y', summary: 'do not ask' },
      { name: '--no-proof', summary: 'do not try the hooks afterwards' },
      {
        name: '--openhook',
        summary:
          'give events to the commands of .openhook.json, after your yes to each file; without --tool nothing else',
      },
      { name: '--attribution', summary: 'of the Python package: accepted, and nothing comes of it' },
      { name: '--no-attribution', summary: 'likewise' },
    ],
    example: `otel-hooks enable --tool ${exampleAgent.id} --global --endpoint http://127.0.0.1:4318`,
    load: () => import('./enable.ts'),
  },
  {
    name: 'disable',
    summary: "take our hooks out of agents' settings again",
    usage: 'otel-hooks disable [--tool AGENT] [--global|--project|--local] [--openhook] [--dry-run] [--yes]',
    notes: [
      'Without --tool it takes the agents that have hooks of ours. The former bytes come back, with whatever you changed since.',
    ],
    flags: [
      {
        name: '--tool',
        value: 'AGENT',
        summary: `the agent, such as ${exampleAgent.id}; several with commas, all for every known one`,
      },
      { name: '--global', summary: 'for all projects of this user (the default)' },
      { name: '--project', summary: 'for everyone who works in this folder: the file is shared' },
      { name: '--local', summary: 'for this user in this folder' },
      { name: '--openhook', summary: 'run no command of .openhook.json any more; without --tool nothing else' },
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
    mostWords: ANY,
    example: 'otel-hooks import --all --since 30d --dry-run',
    load: () => import('./import.ts'),
  },
  {
    name: 'serve',
    summary: 'take events over HTTP and deliver them, until it is told to stop',
    usage: 'otel-hooks serve [--listen 127.0.0.1:4319] [--cert FILE --key FILE [--client-ca FILE]]',
    notes: [
      'POST /v1/events takes events of Agent Hooks, OpenHook and Base Coat and CloudEvents; POST /hooks/AGENT the hooks that an',
      'agent sends by itself. Every sender shows the token that lies in the configuration folder: Authorization: Bearer.',
      'Ctrl-C or SIGTERM ends it; what was answered with 200 is kept. docs/serve.md has examples.',
    ],
    flags: [
      { name: '--listen', value: 'HOST:PORT', summary: 'where to listen (default 127.0.0.1:4319); others need --cert' },
      { name: '--cert', value: 'FILE', summary: 'the certificate chain (PEM), for TLS' },
      { name: '--key', value: 'FILE', summary: 'its key (PEM)' },
      { name: '--client-ca', value: 'FILE', summary: 'only senders with a certificate of this authority (PEM)' },
      { name: '--rate', value: 'N', summary: 'requests per second of one client (default 20000; 0 for any number)' },
      { name: '--rotate-token', summary: 'make a new token and end; the former one is refused within a second' },
      { name: '--print-unit', value: 'KIND', summary: 'print a service file and end: systemd or launchd' },
    ],
    example: 'otel-hooks serve --print-unit systemd > ~/.config/systemd/user/otel-hooks.service',
    load: () => import('./serve.ts'),
  },
  {
    name: 'show',
    summary: 'sessions from the journal, without any back end',
    usage: 'otel-hooks show [SESSION] [--all]',
    notes: [
      'Without a session: the list, newest first. With the first letters of an id: its tree, with times and decisions.',
    ],
    flags: [{ name: '--all', summary: 'also the sessions that `enable` and `doctor` tried the hooks with' }],
    mostWords: 1,
    example: 'otel-hooks show 3f2a',
    load: () => import('./show.ts'),
  },
  {
    name: 'preview',
    summary: 'what would leave, byte for byte, without sending or changing anything',
    usage: 'otel-hooks preview [SESSION] [--raw DIR]',
    notes: [
      'With the first letters of a session: all of it, whether it has left, waits, or has nowhere to go yet. Without: all that',
      'waits now. Each request as its destination gets it before compression; of the counters what the session adds to them.',
    ],
    flags: [{ name: '--raw', value: 'DIR', summary: 'write the bodies themselves there, one file for each request' }],
    mostWords: 1,
    example: 'otel-hooks preview 3f2a --json',
    load: () => import('./preview.ts'),
  },
  {
    name: 'tail',
    summary: 'what agents do, as it is recorded, until Ctrl-C',
    usage:
      'otel-hooks tail [--tool AGENT] [--session ID] [--type TYPES] [--level LEVEL] [--lines 10] [--format NAME] [--all]',
    notes: ['A line for each event of every session on this machine; --json prints the events themselves, one a line.'],
    flags: [
      { name: '--tool', value: 'AGENT', summary: `only this agent's, such as ${exampleAgent.id}` },
      { name: '--session', value: 'ID', summary: 'only the session whose id begins so, its subagents included' },
      { name: '--type', value: 'TYPES', summary: 'only such events, as in Action.After,Policy.*' },
      { name: '--level', value: 'LEVEL', summary: 'only from this level on: debug, info, warn or error' },
      {
        name: '--format',
        value: 'NAME',
        summary: 'JSON lines: agent-hooks (as --json), openhook, base-coat or cloudevents',
      },
      { name: '--lines', value: 'N', summary: 'so many of the past first (default 10)' },
      { name: '--all', summary: 'also the sessions that the hooks were tried with' },
    ],
    example: 'otel-hooks tail --type Action.*,Agent.Decision --level warn',
    load: () => import('./tail.ts'),
  },
  {
    name: 'export',
    summary: 'what is recorded, as a stream in a public format',
    usage: 'otel-hooks export [--format agent-hooks] [SESSION...] [--since 7d] [--tool AGENT] [--all] [--output FILE]',
    notes: [
      'One JSON object a line, sessions in the order in which they began, each whole. otlp-json is what of them leaves, with',
      'the same ids: requests for /v1/traces, /v1/logs and /v1/metrics. docs/exporting.md has each format.',
    ],
    flags: [
      {
        name: '--format',
        value: 'NAME',
        summary: 'agent-hooks (the default), openhook, base-coat, cloudevents or otlp-json',
      },
      { name: '--all', summary: 'also the sessions that the hooks were tried with' },
      { name: '--since', value: 'TIME', summary: 'sessions that did something since then (12h, 30d, 4w)' },
      { name: '--tool', value: 'AGENT', summary: `only this agent's, such as ${exampleAgent.id}` },
      {
        name: '--output',
        short: '-o',
        value: 'FILE',
        summary: 'write it there, for you alone (0600), once it is whole',
      },
    ],
    mostWords: ANY,
    printsDocument: true,
    example: 'otel-hooks export --format cloudevents --since 1d > events.jsonl',
    load: () => import('./export.ts'),
  },
  {
    name: 'report',
    summary: 'what sessions added up to: tokens, cost, decisions, denials, loops',
    usage: 'otel-hooks report [--since 7d] [--by day] [--format table]',
    notes: [
      'Read off the journals of this machine, so it goes back as far as these are kept. Tokens and cost are those of responses;',
      'what is not known is left empty, and tokens without a price are counted apart. Days are those of your time zone.',
    ],
    flags: [
      { name: '--since', value: 'TIME', summary: 'how far back (12h, 30d, 4w; default 7d)' },
      { name: '--by', value: 'WORDS', summary: 'day, agent, model, project, repository, or several with commas' },
      { name: '--format', value: 'NAME', summary: 'table, json, csv or markdown' },
    ],
    example: 'otel-hooks report --since 30d --by agent,model',
    load: () => import('./report.ts'),
  },
  {
    name: 'validate',
    summary: 'check files against an open standard, with positions and rules',
    usage: 'otel-hooks validate --standard NAME [--strict] [--open] [--level N] [--format text|json|sarif] FILE...',
    notes: [
      'FILE holds one event, an array of events, or one event on each line, of any size; for hook-interchange a manifest in JSON',
      'or YAML. - is standard input. Exits 0 when nothing is an error, 1 on errors and when a file cannot be read, 2 on wrong',
      'usage. All checks: docs/conformance.md.',
    ],
    flags: [
      { name: '--standard', value: 'NAME', summary: 'agent-hooks, openhook, hook-interchange or base-coat' },
      { name: '--strict', summary: 'warnings are errors' },
      { name: '--open', summary: 'the stream goes on: what has not ended yet is no fault' },
      {
        name: '--level',
        value: 'N',
        summary: 'the level that every emitter in the stream must reach, where there are levels',
      },
      { name: '--format', value: 'NAME', summary: 'text, json (as --json) or sarif (2.1.0, which code hosts show)' },
    ],
    mostWords: ANY,
    example: 'otel-hooks validate --standard agent-hooks session.jsonl',
    load: () => import('./validate.ts'),
  },
  {
    name: 'convert',
    summary: 'hooks of one agent for another, by the Hook Interchange Format, and what was lost on the way',
    usage:
      'otel-hooks convert [--from PROVIDER] --to PROVIDER [--out FOLDER [--force]] [--strict] [--soften] [--registry V] [--products] [--layout NAME] [--format json|yaml] FILE',
    notes: [
      'PROVIDER is an agent or hook-interchange, the format itself; without --from the file shows whose it is. Prints the file of the',
      'other and says on standard error what was lost; - is standard input. What is written was read again and compared. Exits 1',
      'when nothing could be carried over, or a hook that blocks is lost. docs/hook-interchange.md has the rules.',
    ],
    flags: [
      { name: '--from', value: 'PROVIDER', summary: 'whose file it is, where neither it nor its place says so' },
      { name: '--to', value: 'PROVIDER', summary: `an agent, such as ${exampleAgent.id}, or hook-interchange` },
      {
        name: '--out',
        value: 'FOLDER',
        summary: 'write into this project, where the agent looks for it; nothing is replaced',
      },
      {
        name: '--force',
        summary: 'with --out: replace the hooks of a file that is there, and keep what else it holds',
      },
      { name: '--strict', summary: 'exit 1 for every warning' },
      { name: '--soften', summary: 'hooks that are not to block cannot: exit code 2 becomes 1 there' },
      { name: '--registry', value: 'V', summary: 'names and abilities as of 2026.03 or 2026.04 (the default)' },
      { name: '--products', summary: 'beside the registry, what the products of today are known to do' },
      { name: '--layout', value: 'NAME', summary: 'another shape of the file, where there are several' },
      { name: '--format', value: 'NAME', summary: 'with --to hook-interchange: json or yaml' },
    ],
    mostWords: 1,
    printsDocument: true,
    example: `otel-hooks convert --to ${exampleAgent.id} hook.json`,
    load: () => import('./convert.ts'),
  },
  {
    name: 'capabilities',
    summary: 'what hooks of a manifest need, and which agent can carry them; or what agents have',
    usage:
      'otel-hooks capabilities [--from PROVIDER] [--to PROVIDER] [--policy FILE [--managed]] [--registry V] [--products] [--layout NAME] [FILE]',
    notes: [
      "FILE is a manifest of the Hook Interchange Format, or an agent's own: without --to it is tried with every agent. Without",
      'FILE: the tables of the format, or those of one agent. Exits 1 when a hook that blocks is lost, or a policy refuses one.',
    ],
    flags: [
      { name: '--from', value: 'PROVIDER', summary: 'whose file it is, where neither it nor its place says so' },
      {
        name: '--to',
        value: 'PROVIDER',
        summary: `only this agent, such as ${exampleAgent.id}, and all that would be lost`,
      },
      { name: '--policy', value: 'FILE', summary: 'whether this policy lets the hooks run' },
      { name: '--managed', summary: 'with --policy: they come from where managed hooks do' },
      { name: '--registry', value: 'V', summary: 'names and abilities as of 2026.03 or 2026.04 (the default)' },
      { name: '--products', summary: 'beside the registry, what the products of today are known to do' },
      { name: '--layout', value: 'NAME', summary: 'with --to: another shape of the file' },
    ],
    mostWords: 1,
    example: `otel-hooks capabilities --to ${exampleAgent.id} hook.json`,
    load: () => import('./capabilities.ts'),
  },
  {
    name: 'signing-key',
    summary: 'a key to sign events with, made where there is none, and its public half',
    usage: 'otel-hooks signing-key [FILE...]',
    notes: [
      'Prints a JWKS for whoever verifies: of the key that hooks.sign_key names, else of signing-key.pem in the configuration',
      'folder, or of those named here. A file that is not there is made (0600). docs/exporting.md says how keys are changed.',
    ],
    flags: [],
    mostWords: ANY,
    example: 'otel-hooks signing-key > jwks.json',
    load: () => import('./signing-key.ts'),
  },
  {
    name: 'verify',
    summary: 'whether a body of events is what was signed',
    usage: 'otel-hooks verify --signature JWS --keys FILE BODY',
    notes: ['BODY is the body of a request as it came, - is standard input. Exits 1 when the signature does not hold.'],
    flags: [
      { name: '--signature', value: 'JWS', summary: 'what the header agent-hooks-signature of the request holds' },
      { name: '--keys', value: 'FILE', summary: 'public keys that you trust: a JWKS, a JWK or PEM' },
    ],
    mostWords: ANY,
    example: 'otel-hooks verify --signature "$(cat signature)" --keys jwks.json body.jsonl',
    load: () => import('./verify.ts'),
  },
  {
    name: 'conformance',
    summary: 'how far an agent conforms to OpenHook and Agent Hooks, seen through otel-hooks',
    usage: 'otel-hooks conformance [--agent AGENT [SAMPLES...]] [--level N] [--json]',
    notes: [
      "Replays samples of the agent's payloads through the real way: those that come with otel-hooks, or files and folders of",
      'your own (.json, .jsonl, .sample). Exits 1 when what comes out breaks a standard, a sample is not taken, or a level is',
      'not reached. docs/conformance.md says what the levels ask.',
    ],
    flags: [
      { name: '--agent', value: 'AGENT', summary: `only this agent, such as ${exampleAgent.id}` },
      { name: '--level', value: 'N', summary: 'the level of OpenHook that must be reached' },
    ],
    mostWords: ANY,
    example: `otel-hooks conformance --agent ${exampleAgent.id}`,
    load: () => import('./conformance.ts'),
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
    name: 'openhook',
    summary: "what a project's .openhook.json would run, and your yes or no to it",
    usage: 'otel-hooks openhook [list | trust | revoke] [DIR] [--ci] [--yes] [--json]',
    notes: [
      'Without a word: the commands of the project here, and whether they are run. list: all that you agreed to. trust shows the',
      'commands and asks; it is for this text of this file: a change asks again. revoke takes it back and asks no more until',
      'the file changes. docs/openhook.md has the rules, and how the whole is switched on.',
    ],
    flags: [
      { name: '--ci', summary: 'with trust: run them where CI is set, too' },
      { name: '--yes', short: '-y', summary: 'with trust: do not ask' },
    ],
    mostWords: ANY,
    example: 'otel-hooks openhook trust',
    load: () => import('./openhook.ts'),
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
