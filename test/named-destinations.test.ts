/** Named destinations over real receivers: what each of them gets, and what happens when the configuration changes. */
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { loadConfig } from '../src/config/files.ts';
import type { Delivered } from '../src/deliver/deliver.ts';
import { imbalances, waitingIn } from '../src/deliver/status-books.ts';
import { encodeFragment, fragmentName } from '../src/hook/fragment.ts';
import { configuredIn } from '../src/session/pin.ts';
import { type Collector, startCollector } from './collector.ts';
import { receivedIn, takenBy } from './obligations/received.ts';
import { deliverHere, founded, room } from './obligations/stage.ts';

let home = '';
let state = '';
let leave: () => void;
let nowMs = 0;
let count = 0;
const collectors: Collector[] = [];

beforeEach(() => {
  const made = room();
  home = made.folder;
  leave = made.leave;
  state = founded(join(home, 'state'));
  nowMs = Date.parse('2026-03-02T10:00:00Z');
  count = 0;
});
afterEach(async () => {
  await Promise.all(collectors.splice(0).map(each => each.close()));
  leave();
});

async function receiver(options: Parameters<typeof startCollector>[0] = {}): Promise<Collector> {
  const collector = await startCollector(options);
  collectors.push(collector);
  return collector;
}

function configure(config: object): void {
  mkdirSync(join(home, '.config/otel-hooks'), { recursive: true });
  writeFileSync(join(home, '.config/otel-hooks/config.json'), JSON.stringify(config));
}

function arrive(session_id: string, events: readonly object[]): void {
  for (const event of events) {
    count += 1;
    const unique = String(count).padStart(12, '0');
    const header = { tool: 'claude-code', at: String(nowMs - 60_000 + count * 100), ppid: '1' };
    const payload = { session_id, cwd: join(home, 'secret-folder'), ...event };
    const name = fragmentName('abcdef01', `${1_000 + count}.00`, 100 + count, unique);
    const bytes = encodeFragment(unique, header, Buffer.from(JSON.stringify(payload)));
    writeFileSync(join(state, 'inbox', name), bytes, { mode: 0o600 });
  }
}

/** Receivers that are down are not waited for. */
const DOWN_MS = 100;

/** Delivers as a person does, with the present configuration. */
async function deliver(waitMs = 60_000): Promise<Delivered> {
  nowMs += 60_000;
  const config = loadConfig({ env: {}, home, platform: 'linux', cwd: home });
  const delivered = await deliverHere(state, {
    surroundings: { env: {}, home, platform: 'linux', ownVariables: false, configFile: undefined },
    configured: configuredIn(config, home).destinations,
    waitMs,
    now: () => nowMs,
  });
  expect(delivered.books && imbalances(delivered.books)).toEqual([]);
  return delivered;
}

const SECRET = `ghp_${'a1B2'.repeat(9)}`;
const words = {
  prompt: 'wordsofprompt',
  response: 'wordsofanswer',
  arguments: 'wordsofinput',
  results: 'wordsofoutput',
  paths: 'secret-folder',
  commands: 'wordsofcommand',
};
const begin = [
  { hook_event_name: 'SessionStart', source: 'startup' },
  { hook_event_name: 'UserPromptSubmit', prompt_id: 'p1', prompt: `${words.prompt} ${SECRET}` },
];
const rest = [
  ...['PreToolUse', 'PostToolUse'].map(hook_event_name => ({
    ...{ hook_event_name, prompt_id: 'p1', tool_name: 'Bash', tool_use_id: 'c1' },
    tool_input: { command: `echo ${words.commands}`, description: words.arguments },
    ...(hook_event_name === 'PostToolUse' ? { tool_response: { stdout: words.results } } : {}),
  })),
  {
    ...{ hook_event_name: 'PostToolUse', prompt_id: 'p1', tool_name: 'Edit', tool_use_id: 'c2' },
    tool_input: { file_path: `/x/${words.paths}/a.ts`, old_string: 'a', new_string: words.arguments },
    tool_response: { filePath: '/x' },
  },
  { hook_event_name: 'Notification', message: `${words.response} waits` },
  { hook_event_name: 'Stop', prompt_id: 'p1', last_assistant_message: words.response },
  { hook_event_name: 'SessionEnd', reason: 'logout' },
];
const session = [...begin, ...rest];
const textOf = (collector: Collector): string =>
  JSON.stringify([collector.spans(), collector.records(), collector.metrics()]);
const names = (collector: Collector): string[] => collector.spans().map(({ name }) => String(name));
const full = Object.fromEntries([...Object.keys(words), 'user', 'host'].map(of => [of, 'full']));

describe('content', () => {
  it.each(['off', 'hash', 'redacted'] as const)('%s at one destination, and all of it at the other', async mode => {
    const [wide, narrow] = [await receiver(), await receiver()];
    const content = Object.fromEntries(Object.keys(full).map(of => [of, mode]));
    configure({
      content: full,
      metrics: { include: ['user.id'] },
      destinations: { mine: { endpoint: wide.url }, team: { endpoint: narrow.url, content } },
    });
    arrive('s-1', session);
    const { books } = await deliver();
    expect(books && waitingIn(books)).toBe(0);
    const all = textOf(wide);
    for (const word of [...Object.values(words), SECRET]) expect(all).toContain(word);
    const user = String(wide.spans().find(({ plain }) => plain['user.id'] !== undefined)?.plain['user.id']);
    const host = String(wide.spans()[0]?.resource['host.name']);
    const their = textOf(narrow);
    expect(their).not.toContain(SECRET);
    expect(names(narrow).sort()).toEqual(names(wide).sort());
    const texts = narrow.spans().flatMap(({ plain, resource }) => [plain['user.id'], resource['host.name']]);
    if (mode === 'redacted') {
      for (const word of Object.values(words)) expect(their).toContain(word);
      expect(texts).toContain(user);
      return;
    }
    for (const word of Object.values(words)) expect(their).not.toContain(word);
    expect([user, host].filter(each => texts.includes(each))).toEqual([]);
    const hashes = (name: string): unknown[] =>
      [...narrow.records(), ...narrow.spans()].flatMap(({ plain, resource }) => plain[name] ?? resource[name] ?? []);
    const named = ['user.hash', 'host.id', 'agent_hooks.action.path_hash', 'agent_hooks.action.command_hash'];
    const found = named.map(name => hashes(name).length > 0);
    expect(found).toEqual(named.map(() => mode === 'hash'));
  });

  it('hashes of a destination equal those of a session that keeps hashes only', async () => {
    const [wide, hashed, other] = [await receiver(), await receiver(), await receiver()];
    const hash = Object.fromEntries(Object.keys(full).map(of => [of, 'hash']));
    const key = { hash_key: 'a key of several machines' };
    configure({
      content: { ...full, ...key },
      destinations: { mine: { endpoint: wide.url }, team: { endpoint: hashed.url, content: hash } },
    });
    arrive('s-1', session);
    await deliver();
    configure({ content: { ...hash, ...key }, destinations: { other: { endpoint: other.url } } });
    arrive('s-2', session);
    await deliver();
    const values = (collector: Collector): unknown[] =>
      [...collector.records(), ...collector.spans()]
        .flatMap(({ plain, resource }) => [...Object.entries(plain), ...Object.entries(resource)])
        .filter(([name, value]) => String(value).startsWith('hmac-sha256:') && !name.includes('metadata'))
        .map(pair => JSON.stringify(pair))
        .sort();
    expect(new Set(values(hashed))).toEqual(new Set(values(other)));
    expect(values(hashed).length).toBeGreaterThan(6);
  });

  it('a destination never gets more than the session keeps', async () => {
    const team = await receiver();
    configure({ destinations: { team: { endpoint: team.url, content: full } } });
    arrive('s-1', session);
    await deliver();
    for (const word of [...Object.values(words), SECRET]) expect(textOf(team)).not.toContain(word);
  });
});

describe('signals and sampling', () => {
  it('each destination has its own', async () => {
    const [all, few, logs] = [await receiver(), await receiver(), await receiver()];
    configure({
      destinations: {
        all: { endpoint: all.url },
        few: { endpoint: few.url, sampler: 'always_off' },
        logs: { endpoint: logs.url, signals: ['logs'] },
      },
    });
    arrive('s-1', session);
    const { books } = await deliver();
    expect(all.spans().length).toBeGreaterThan(3);
    expect([few.spans(), logs.spans()]).toEqual([[], []]);
    expect([few, logs].map(each => each.records().length)).toEqual([all, all].map(each => each.records().length));
    expect([few.metrics().length > 0, logs.metrics().length]).toEqual([true, 0]);
    const byName = Object.fromEntries(books?.destinations.map(each => [each.name, each]) ?? []);
    expect(byName.few?.spans.dropped).toEqual({ sampled: byName.all?.spans.produced });
    expect(byName.logs?.spans.produced).toBe(0);
  });

  it("a share is not larger than that of a project's file", async () => {
    const team = await receiver();
    configure({ destinations: { team: { endpoint: team.url, sampler: 'always_on' } } });
    mkdirSync(join(home, 'project'));
    writeFileSync(join(home, 'project', '.otel-hooks.json'), '{"trace": {"sampler": "always_off"}}');
    arrive(
      's-1',
      session.map(event => ({ ...event, cwd: join(home, 'project') })),
    );
    await deliver();
    expect(team.spans()).toEqual([]);
    expect(team.records().length).toBeGreaterThan(3);
  });
});

describe('a change of the configuration', () => {
  it('the backlog of the short form goes once to the same destination when it gets a name', async () => {
    const collector = await receiver({ answer: () => ({ status: isUp ? 200 : 503 }) });
    let isUp = false;
    const otlp = { endpoint: collector.url, headers: { 'x-key': 'k' } };
    configure({ provider: 'otlp', otlp });
    arrive('s-1', session);
    arrive('s-2', begin);
    const down = await deliver(DOWN_MS);
    const waiting = (down.books && waitingIn(down.books)) ?? 0;
    expect(waiting).toBeGreaterThan(15);
    configure({ destinations: { team: otlp } });
    arrive('s-3', session);
    await deliver(DOWN_MS);
    isUp = true;
    arrive('s-2', rest);
    const { books } = await deliver();
    expect(books && waitingIn(books)).toBe(0);
    const received = receivedIn(takenBy(collector));
    expect(received).toMatchObject({ repeatedItems: 0, changed: [], fallen: [] });
    expect([received.records.size, received.counted]).toEqual([3 * session.length, 3 * session.length]);
    const [short, team] = books?.destinations ?? [];
    expect([short?.name, team?.name]).toEqual([undefined, 'team']);
    expect(short?.spans).toMatchObject({ accepted: 0, dropped: { redirected: short?.spans.produced } });
    expect(team?.spans.accepted).toBe(received.spans.size);
  });

  it('the short form and a name for the same address are two destinations', async () => {
    const collector = await receiver();
    configure({ otlp: { endpoint: collector.url }, destinations: { team: { endpoint: collector.url } } });
    arrive('s-1', session);
    const { books } = await deliver();
    expect(books?.destinations.map(({ logs }) => logs.accepted)).toEqual([session.length, session.length]);
    expect(books?.destinations.map(({ metrics }) => metrics.dropped)).toEqual([{}, {}]);
  });

  it('what waits goes to the new address with the new key, at once', async () => {
    const [former, present] = [await receiver({ answer: () => ({ status: 401 }) }), await receiver()];
    configure({ destinations: { team: { endpoint: former.url, headers: 'x-key=former' } } });
    arrive('s-1', session);
    let refused = await deliver(DOWN_MS);
    while (refused.problems.length === 0) refused = await deliver(DOWN_MS);
    expect(refused.problems).toMatchObject([{ code: 'delivery-refused', keys: ['destinations.team.headers'] }]);
    configure({ destinations: { team: { endpoint: present.url, headers: 'x-key=present' } } });
    const { problems, books } = await deliver();
    expect(problems).toEqual([]);
    expect(books?.destinations).toMatchObject([{ name: 'team', endpoint: present.url }]);
    expect(receivedIn(takenBy(present))).toMatchObject({ counted: session.length, fallen: [], repeatedItems: 0 });
    expect(new Set(present.requests.map(({ headers }) => headers['x-key']))).toEqual(new Set(['present']));
  });

  it('a session counts the change too, and no person has to deliver', async () => {
    const [former, present] = [await receiver({ answer: () => ({ status: 401 }) }), await receiver()];
    configure({ destinations: { team: { endpoint: former.url } } });
    arrive('s-1', session);
    await deliver(DOWN_MS);
    const asked = former.requests.length;
    configure({ destinations: { team: { endpoint: present.url } } });
    arrive('s-2', session);
    nowMs += 1_000;
    await deliverHere(state, {
      ...{ byHand: false, waitMs: 0, now: () => nowMs },
      surroundings: { env: {}, home, platform: 'linux', ownVariables: false, configFile: undefined },
    });
    expect(receivedIn(takenBy(present)).records.size).toBe(2 * session.length);
    expect(former.requests.length).toBe(asked);
  });

  it('a signal that is excluded is dropped and counted, and nothing waits for it', async () => {
    let isUp = false;
    const collector = await receiver({ answer: () => ({ status: isUp ? 200 : 503 }) });
    configure({ destinations: { team: { endpoint: collector.url } } });
    arrive('s-1', session);
    await deliver(DOWN_MS);
    configure({ destinations: { team: { endpoint: collector.url, signals: ['traces'] } } });
    isUp = true;
    const { books } = await deliver();
    expect(books && waitingIn(books)).toBe(0);
    const [team] = books?.destinations ?? [];
    expect(team?.logs).toMatchObject({ accepted: 0, dropped: { excluded: session.length } });
    expect(Object.keys(team?.metrics.dropped ?? {})).toEqual(['excluded']);
    expect([collector.spans().length > 0, collector.records(), collector.metrics()]).toEqual([true, [], []]);
  });

  it('the same name in the file of another project is another destination', async () => {
    let isUp = false;
    const [ours, theirs] = [await receiver({ answer: () => ({ status: isUp ? 200 : 503 }) }), await receiver()];
    configure({ destinations: { team: { endpoint: ours.url } } });
    arrive('s-1', session);
    await deliver(DOWN_MS);
    isUp = true;
    const file = join(home, 'other.json');
    writeFileSync(file, JSON.stringify({ destinations: { team: { endpoint: theirs.url } } }));
    arrive('s-2', session);
    nowMs += 60_000;
    const { books } = await deliverHere(state, {
      surroundings: { env: {}, home, platform: 'linux', ownVariables: false, configFile: file },
      now: () => nowMs,
    });
    expect(books?.destinations.map(({ logs }) => logs.accepted)).toEqual([session.length, session.length]);
    const sessions = (collector: Collector) => [
      ...new Set(collector.records().map(({ plain }) => plain['session.id'])),
    ];
    expect([ours, theirs].map(sessions)).toEqual([['s-1'], ['s-2']]);
  });
});
