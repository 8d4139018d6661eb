/** Every command with untrusted data: no control character of the data reaches a terminal. */
import fs from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { Io } from '../../src/commands/command.ts';
import { commands } from '../../src/commands/registry.ts';
import { encodeFragment, fragmentName } from '../../src/hook/fragment.ts';
import { sessionKey } from '../../src/session/session-state.ts';
import { openStore } from '../../src/store/store.ts';
import { type Collector, startCollector } from '../collector.ts';
import { ranIn } from './ran.ts';

/** A colour like ours, a title, an erased line, C1, bidirectional letters, zero width, a tag, a separate line. */
const BAD = 'x\u001b[31m\u001b]0;t\u0007\u009b2K\r\u202eab\u2066\u200b\ufeff\u{e0041}\u2028\nspoofed';
/** The same texts for file names and for single lines. */
const NAME = BAD.replaceAll('\n', '');
const OBEYED =
  /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u00ad\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\u{e0000}-\u{e007f}]/u;
const OURS = /\u001b\[(?:0|2|3[1-3])m|\r\u001b\[K|^\r|\r(?=\d+ %)/g;
/** Texts that a hook may send as the id of a session. */
const SESSION = 'x\u202eab\u2066\u200b\ufeff\u2028';
const FIRST_MS = Date.parse('2026-09-21T12:00:00.000Z');

let root: string;
let home: string;
let project: string;
let collector: Collector;

beforeAll(async () => {
  root = fs.mkdtempSync(join(tmpdir(), 'otel-hooks-hostile-text-'));
  home = join(root, 'home');
  project = join(home, `project ${NAME}`);
  collector = await startCollector({
    answer: () => ({ status: 400, headers: { 'content-type': 'text/plain' }, body: `no ${BAD}` }),
  });
  for (const folder of ['.config/otel-hooks', '.local/state/otel-hooks/inbox'])
    fs.mkdirSync(join(home, folder), { recursive: true, mode: 0o700 });
  fs.mkdirSync(join(project, '.git'), { recursive: true });
  write(join(project, '.git', 'HEAD'), `ref: refs/heads/${NAME}\n`);
  write(join(project, '.git', 'config'), `[remote "origin"]\n\turl = https://code.example/${NAME}/${NAME}.git\n`);
  write(join(project, '.otel-hooks.json'), JSON.stringify({ [BAD]: 1, provider: BAD, attributes: { [BAD]: BAD } }));
  const hooks = [{ command: `echo ${BAD}`, events: [BAD] }];
  write(join(project, '.openhook.json'), JSON.stringify({ openhook: '0.1', hooks }));
  const handler = { type: 'command', command: `otel-hooks hook --tool ${BAD}`, [BAD]: BAD };
  for (const file of ['.claude/settings.json', '.gemini/settings.json', '.cursor/hooks.json']) {
    fs.mkdirSync(join(project, file, '..'), { recursive: true });
    write(join(project, file), JSON.stringify({ version: 1, hooks: { [BAD]: [{ matcher: BAD, hooks: [handler] }] } }));
  }
  const config = {
    provider: 'otlp',
    otlp: { endpoint: collector.url, headers: { 'x-key': 'k' } },
    service_name: BAD,
    attributes: { [BAD]: BAD },
    content: { prompt: 'full', arguments: 'full', results: 'full', paths: 'full' },
    [BAD]: BAD,
  };
  write(join(home, '.config/otel-hooks/config.json'), JSON.stringify(config));
  for (const file of ['event.json', 'manifest.json', `file ${NAME}.json`]) write(join(project, file), manifest());
  recordHooks();
  await run(['deliver', '--wait', '3s']);
  journalSession();
}, 60_000);
afterAll(async () => {
  await collector.stop();
  fs.rmSync(root, { recursive: true, force: true });
});

const write = (file: string, text: string): void => fs.writeFileSync(file, text);
const manifest = (): string =>
  JSON.stringify({
    event_type: BAD,
    hook: BAD,
    name: BAD,
    [BAD]: BAD,
    version: BAD,
    hooks: [{ name: BAD, event: BAD }],
  });

function recordHooks(): void {
  const base = { session_id: SESSION, cwd: project, transcript_path: join(project, `${NAME}.jsonl`), model: BAD };
  const payloads: object[] = [
    { ...base, hook_event_name: 'SessionStart', source: BAD },
    { ...base, hook_event_name: 'UserPromptSubmit', prompt: BAD },
    { ...base, hook_event_name: 'PreToolUse', tool_name: BAD, tool_use_id: BAD, tool_input: { command: BAD } },
    { ...base, hook_event_name: 'PostToolUseFailure', tool_name: BAD, tool_use_id: BAD, tool_input: {}, error: BAD },
    { ...base, hook_event_name: 'SubagentStart', agent_id: BAD, agent_type: BAD },
    { ...base, hook_event_name: BAD, notification_type: BAD, message: BAD },
    { ...base, hook_event_name: 'SessionEnd', reason: BAD },
  ];
  const row = { type: 'assistant', sessionId: BAD, uuid: BAD, timestamp: new Date(FIRST_MS).toISOString() };
  const message = { id: BAD, model: BAD, role: 'assistant', content: [], usage: { input_tokens: 1, output_tokens: 1 } };
  write(base.transcript_path, `${JSON.stringify({ ...row, message })}\n`);
  for (const [i, payload] of payloads.entries()) {
    const unique = `00000000-0000-4000-8000-${String(i).padStart(12, '0')}`;
    const header = { tool: 'claude-code', ppid: '1', cwd: project, TRACEPARENT: NAME, OTEL_SERVICE_NAME: NAME };
    const name = fragmentName('0000beef', String(1_000 + i), 100 + i, unique);
    const bytes = encodeFragment(unique, header, Buffer.from(JSON.stringify(payload)));
    fs.writeFileSync(join(home, '.local/state/otel-hooks/inbox', name), bytes, { mode: 0o600 });
  }
  fs.writeFileSync(join(home, '.local/state/otel-hooks/inbox', `odd ${NAME}`), BAD, { mode: 0o600 });
}

/** A journal of another program or of an earlier version, with values that a hook can no longer bring in. */
function journalSession(): void {
  const store = openStore({ folder: join(home, '.local/state/otel-hooks'), access: 'own' });
  const key = sessionKey('codex', `j${BAD}`);
  const event = (n: number, event_type: string, data: object, facts: object = {}) => ({
    spec_version: '0.1.0',
    event_id: `00000000-0000-8000-8000-${String(n).padStart(12, '0')}`,
    event_type,
    timestamp: new Date(FIRST_MS + n * 1_000).toISOString(),
    source: { tool: BAD },
    session_id: `j${BAD}`,
    data,
    metadata: { 'dev.otel-hooks': { v: 1, seq: n, time: 'native', cwd: NAME, ...facts } },
  });
  const action = { name: BAD, result: { success: false } };
  const usage = { input: 10, output: 10 };
  const events = [
    event(1, 'Session.Start', { start_reason: BAD }),
    event(2, 'Prompt.Submitted', {}, { turn: BAD }),
    event(3, 'Action.After', { action }, { turn: BAD, tool: BAD, call: BAD, duration_ms: 4, error: BAD }),
    event(4, 'Model.Responded', { model: BAD }, { turn: BAD, model: BAD, response: BAD, usage }),
    event(5, `vendor.${BAD}`, { [BAD]: BAD }),
  ];
  const lines = events.map(each => `${JSON.stringify(each)}\n`).join('');
  store.commit({ journal: [{ key, lines }], sessions: [{ key, state: {} }] });
  store.close();
}

/** The arguments for each command; a new command needs an entry here. */
const words: { readonly [command: string]: string[][] } = {
  hook: [['--tool', BAD]],
  deliver: [['--wait', '2s']],
  status: [[], ['--tool', BAD]],
  doctor: [
    ['--no-proof', '--project'],
    ['--offline', '--no-proof'],
  ],
  enable: [
    ['--project', '--tool', 'claude-code', '--dry-run'],
    ['--project', '--tool', 'claude-code', '--endpoint', BAD, '--dry-run'],
    ['--tool', BAD],
  ],
  disable: [['--project', '--tool', 'claude-code', '--dry-run']],
  uninstall: [
    ['--dry-run', '--diff'],
    ['--purge', '--dry-run'],
  ],
  demo: [['--otlp', BAD]],
  import: [
    ['--dry-run', NAME],
    ['--dry-run', `${NAME}.jsonl`],
  ],
  serve: [
    ['--listen', BAD],
    ['--listen', '127.0.0.1:0', '--cert', BAD, '--key', BAD],
    ['--print-unit', 'systemd', '--state-dir', NAME],
  ],
  ingest: [['event.json'], [`file ${NAME}.json`], ['--tool', BAD, 'event.json'], [BAD]],
  destinations: [[], [BAD], ['drop', BAD], ['redirect', BAD, BAD], ['resend', 'file', '--session', BAD, '--yes']],
  show: [[], ['x'], ['j'], [''], [BAD]],
  preview: [[], ['x'], ['j'], [''], [BAD], ['x', '--raw', `raw ${NAME}`]],
  view: [
    ['--no-open', BAD],
    ['--no-open', '--port', BAD],
  ],
  top: [['--once'], ['--tool', BAD]],
  query: [[BAD], ['SELECT * FROM events, sessions, actions'], ['--schema']],
  // Its answers are in test/mcp.
  mcp: [[BAD]],
  tail: [
    ['--level', BAD],
    ['--lines', '50'],
    ['--lines', '50', '--format', 'openhook'],
  ],
  export: [[], ['--format', 'otlp-json'], ['--format', 'cloudevents']],
  report: [
    ['--since', '90d', '--by', 'day,agent,model,project,repository'],
    ['--since', '90d', '--by', 'model,project', '--format', 'csv'],
    ['--since', '90d', '--by', 'model,project', '--format', 'markdown'],
  ],
  validate: [
    ['--standard', 'agent-hooks', 'event.json', `no ${NAME}`],
    ['--standard', 'hook-interchange', `file ${NAME}.json`],
    ['--standard', 'openhook', '--format', 'sarif', '.openhook.json'],
    ['--standard', 'base-coat', 'event.json'],
  ],
  convert: [
    ['--from', 'claude-code', '--to', 'cursor', '.claude/settings.json'],
    ['--to', 'cursor', 'manifest.json'],
    ['--to', BAD, 'manifest.json'],
  ],
  capabilities: [['manifest.json'], ['--from', 'claude-code', '.claude/settings.json'], ['--to', BAD, 'manifest.json']],
  'hook-test': [['--to', 'cursor', 'manifest.json'], ['--to', BAD, 'manifest.json'], [BAD]],
  // The bin answers it without this program: test/run-hook.
  'run-hook': [[BAD]],
  'signing-key': [[join('no', NAME, 'key.pem')]],
  sign: [['--key', BAD, 'event.json'], ['--key', join('no', NAME, 'key.pem'), 'event.json'], [BAD]],
  verify: [
    ['--signature', BAD, '--keys', `file ${NAME}.json`, 'event.json'],
    ['--signatures', `file ${NAME}.json`, '--keys', `file ${NAME}.json`, 'event.json'],
  ],
  conformance: [
    ['--agent', BAD],
    ['--agent', 'claude-code', `file ${NAME}.json`],
  ],
  config: [[], ['--schema']],
  traceparent: [
    ['--tool', 'codex', '--session', BAD, '--call', BAD],
    ['--tool', BAD],
  ],
  openhook: [[], ['list'], ['trust'], ['trust', '--yes'], ['revoke']],
  completion: [[BAD], ['bash'], ['--values', 'sessions'], ['--values', 'destinations']],
  erase: [['x'], [BAD], ['j']],
  prune: [[]],
  version: [[]],
};

async function run(line: readonly string[], change: Partial<Io> = {}): Promise<string> {
  let asked = '';
  const ask = async (question: string): Promise<string> => {
    asked += question;
    return 'n';
  };
  const io = { env: { PATH: '', HOME: home }, cwd: project, now: () => FIRST_MS + 60_000, ask, ...change };
  // These commands work until a signal stops them.
  const stop = line[0] === 'tail' || line[0] === 'view' ? setTimeout(() => process.emit('SIGINT'), 500) : undefined;
  try {
    const { out, err } = await ranIn(home, line, io);
    return out + err + asked;
  } catch (error) {
    // The bin prints errors, escaped; here an error is a crash, and the message names the command.
    throw new Error(`${line.join(' ')} threw ${error instanceof Error ? error.stack : error}`);
  } finally {
    clearTimeout(stop);
  }
}

it('this test has arguments for every command', () => {
  expect(commands.map(({ name }) => name).filter(name => words[name] === undefined)).toEqual([]);
});

const isTerminal = { isTerminal: true, isOutTerminal: true, isErrTerminal: true };
const lines = Object.entries(words).flatMap(([name, all]) => all.map(each => [name, ...each]));

it.each(lines.map(line => [JSON.stringify(line.join(' ')), line] as const))(
  '%s prints no control character that others wrote',
  async (_, given) => {
    const changes: [string, string[], Partial<Io>][] = [
      ['text on a terminal', given, { ...isTerminal, color: true }],
      ['text in a pipe', given, {}],
      ['JSON on a terminal', [...given, '--json'], isTerminal],
      ['JSON on a terminal, with input from a pipe', [...given, '--json'], { isOutTerminal: true }],
    ];
    for (const [how, words, change] of changes) {
      const printed = await run(words, change);
      // Without a terminal, documents are printed byte for byte.
      if (how === 'text in a pipe' && isDocument(given)) continue;
      const others = (how === 'text on a terminal' ? printed.replaceAll(OURS, '') : printed).replaceAll('\r\n', '\n');
      const found = OBEYED.exec(others);
      expect(found && others.slice(Math.max(0, found.index - 80), found.index + 20), how).toBeNull();
      if (!words.includes('--json') && !isDocument(given)) expect(others, how).not.toMatch(/^spoofed/m);
    }
  },
  30_000,
);

const isDocument = ([name, ...flags]: readonly string[]): boolean =>
  name === 'convert' || name === 'export' || flags.includes('--format');

it('the planted text is shown by at least one command', async () => {
  const shown = [
    await run(['show']),
    await run(['show', 'j']),
    await run(['tail']),
    await run(['preview', 'j']),
    await run(['report', '--since', '90d', '--by', 'model,project']),
    await run(['status']),
    await run(['config']),
    await run(['doctor', '--no-proof']),
  ];
  for (const page of shown) expect(page).toMatch(/\\u\{?(?:1b|202e)/);
}, 30_000);
