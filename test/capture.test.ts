/** Every event in one statement, in the form of the standard: `{"hooks": {"event": "*", "output": ...}}`. */
import { mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, expect, it } from 'vitest';
import { encodeFragment, fragmentName } from '../src/hook/fragment.ts';
import { newSigningKey, publicJwk, publicKeys, SIGNATURE, signingKey, verifyDetached } from '../src/lib/jws.ts';
import { validateAgentHooks } from '../src/standards/agent-hooks/agent-hooks-validator.ts';
import { openStore } from '../src/store/store.ts';
import { startCollector } from './collector.ts';
import { booksOf, deliverHere, founded, room } from './obligations/stage.ts';

const { folder: home, leave } = room();
afterAll(leave);
const state = founded(join(home, 'state'));

let hooks = 0;
function arrive(session: string): void {
  const payloads = [
    { hook_event_name: 'SessionStart', source: 'startup' },
    { hook_event_name: 'PreToolUse', tool_name: 'Bash', tool_use_id: `c-${session}`, tool_input: { command: 'ls' } },
    { hook_event_name: 'PostToolUse', tool_name: 'Bash', tool_use_id: `c-${session}`, tool_input: { command: 'ls' } },
    { hook_event_name: 'SessionEnd', reason: 'logout' },
  ];
  for (const fields of payloads) {
    hooks += 1;
    const unique = String(hooks).padStart(12, '0');
    const header = { tool: 'claude-code', at: String(1_790_000_000_000 + hooks * 100), ppid: '1' };
    const payload = Buffer.from(JSON.stringify({ session_id: session, cwd: '/nowhere', ...fields }));
    const name = fragmentName('abcdef01', `${1_000 + hooks}.00`, 100 + hooks, unique);
    writeFileSync(join(state, 'inbox', name), encodeFragment(unique, header, payload), { mode: 0o600 });
  }
}

function configure(hooks: object): void {
  mkdirSync(join(home, '.config/otel-hooks'), { recursive: true });
  writeFileSync(join(home, '.config/otel-hooks/config.json'), JSON.stringify({ hooks }));
}
const delivered = () =>
  deliverHere(state, {
    surroundings: { env: {}, home, platform: 'linux', ownVariables: false, configFile: undefined },
  });

function journaled(): string[] {
  const store = openStore({ folder: state, access: 'read' });
  try {
    return store.journals().flatMap(key => (store.journal(key) ?? '').trimEnd().split('\n'));
  } finally {
    store.close();
  }
}
const typesIn = (lines: readonly string[]): string[] => lines.map(line => JSON.parse(line).event_type);

it('goes once to the named file, and signed to another machine', async () => {
  const collector = await startCollector();
  const key = join(home, 'key.pem');
  writeFileSync(key, newSigningKey(), { mode: 0o600 });
  const log = join(home, 'log', 'events.jsonl');
  configure({ event: '*', output: log });
  arrive('one');
  await delivered();
  const all = journaled();
  expect(readFileSync(log, 'utf8').trimEnd().split('\n')).toEqual(all);
  expect(statSync(log).mode & 0o777).toBe(0o600);
  expect(validateAgentHooks(readFileSync(log, 'utf8'), 'log').ok).toBe(true);

  configure({ event: 'Action.*', output: log, endpoint: `${collector.url}/in`, sign_key: key });
  arrive('two');
  await delivered();
  const actions = journaled().filter(line => !all.includes(line) && typesIn([line])[0]?.startsWith('Action.'));
  expect(readFileSync(log, 'utf8').trimEnd().split('\n')).toEqual([...all, ...actions]);
  const [request, ...more] = collector.requests;
  expect([request?.raw.toString().trimEnd().split('\n'), more]).toEqual([actions, []]);
  const keys = publicKeys(JSON.stringify(publicJwk(signingKey(readFileSync(key)))));
  expect(verifyDetached(request?.raw ?? Buffer.alloc(0), String(request?.headers[SIGNATURE]), keys).ok).toBe(true);
  expect(
    booksOf(state).destinations.map(({ provider, events }) => [provider, events.produced, events.accepted]),
  ).toEqual(
    expect.arrayContaining([
      ['agent-hooks-log', all.length, all.length],
      ['agent-hooks-log', 2, 2],
      ['agent-hooks-http', 2, 2],
    ]),
  );
  await collector.close();
});
