/**
 * The messages of `status`, `doctor` and `deliver`: each message is provoked and its advice is followed exactly; then
 * the message must be gone.
 */
import { chmodSync, existsSync, mkdirSync, renameSync, rmSync, symlinkSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Io } from '../../src/commands/command.ts';
import { noted } from '../../src/documents/problem-notes.ts';
import { explain, type Problem, problemCodes } from '../../src/problems/problem.ts';
import { openStore } from '../../src/store/store.ts';
import type { CollectorOptions } from '../collector.ts';
import { needsRoot } from '../needs.ts';
import { type House, newHouse } from './house.ts';
import { type Case, type Cases, type Message, messagesIn } from './message-case.ts';
import { ofConfiguration } from './messages-of-configuration.ts';
import { ofMachine } from './messages-of-machine.ts';
import { ofServers } from './messages-of-servers.ts';

let house: House;
beforeEach(() => {
  house = newHouse();
});
afterEach(() => house.close());

const OWN = 'http://127.0.0.1:9';

const shownBy =
  (...words: string[]) =>
  async (): Promise<Message[]> =>
    messagesIn(await house.run(...words, '--json'));

const otlp = (more: object = {}, others: object = {}) => ({
  provider: 'otlp',
  otlp: { endpoint: OWN, ...more },
  ...others,
});

/** A session that is pinned to the configuration, and delivered. */
async function met(config: object | string): Promise<void> {
  if (typeof config === 'string') {
    house.configure({});
    writeFileSync(house.configFile, config);
  } else house.configure(config);
  house.hooked('m-1', 'SessionStart', 'SessionEnd');
  await house.deliver();
}

/** A destination with this answer, which then accepts everything. */
function answering(answer: NonNullable<CollectorOptions['answer']>) {
  let isMended = false;
  return {
    async provoke(events = 1): Promise<void> {
      const { url } = await house.collector((...asked) => (isMended ? { status: 200 } : answer(...asked)));
      house.configure({ provider: 'otlp', otlp: { endpoint: url } });
      for (let i = 0; i < events; i += 1) house.hooked(`m-${i}`, 'SessionStart', 'SessionEnd');
      for (let i = 0; i < Math.min(events, 3); i += 1) await house.deliver();
    },
    mend: (): void => {
      isMended = true;
    },
  };
}

const deliver = () => house.deliver();
const corrected = (config: object) => async (): Promise<void> => {
  house.configure(config);
  await house.deliver();
};

/** Past problems: the present state cannot prove that they are over. */
const past: { readonly [code: string]: Problem } = {
  'fragment-failed': { code: 'fragment-failed', folder: 'F', why: 'failed' },
  'enrichment-failed': { code: 'enrichment-failed', enrichment: 'risk' },
  'transcript-failed': { code: 'transcript-failed', agent: 'A', why: 'row' },
  'sessions-full': { code: 'sessions-full' },
  'input-not-taken': { code: 'input-not-taken', folder: 'F', why: 'too-many-events' },
};

const project = (): string => join(house.home, 'project');

/** A session in a project with its own configuration file. */
async function inProject(file: object): Promise<void> {
  mkdirSync(project(), { recursive: true });
  writeFileSync(join(project(), '.otel-hooks.json'), JSON.stringify(file));
  house.hooked('m-1', { hook_event_name: 'SessionStart', cwd: project() });
  await house.deliver();
}

const cases: Cases = {
  ...ofConfiguration,
  ...ofMachine,
  ...ofServers,
  'config-json': () => ({
    advice: /fix line 1, then run `otel-hooks deliver`/,
    provoke: () => met('{ "provider": '),
    follow: corrected({}),
  }),
  'config-value': () => ({
    advice: /correct it/,
    provoke: () => met(otlp({ timeout_ms: 'soon' })),
    follow: () => house.run('config', 'set', 'otlp.timeout_ms', '5000'),
  }),
  'config-key': () => ({
    advice: /did you mean otlp\.endpoint/,
    provoke: () => met({ otlp: { enpoint: OWN } }),
    follow: () => house.configure({ otlp: { endpoint: OWN } }),
  }),
  'config-keys': () => ({
    advice: /remove them from/,
    provoke: () => met(Object.fromEntries(Array.from({ length: 40 }, (_, i) => [`unknown_${i}`, 1]))),
    follow: () => house.configure({}),
  }),
  'config-untrusted': () => ({
    advice: /then run `otel-hooks config --trust` in that project/,
    provoke: () => inProject({ otlp: { endpoint: OWN } }),
    follow: () => house.runWith({ cwd: project() }, 'config', '--trust', '--yes'),
  }),
  'config-reference': () => ({
    advice: /then run `otel-hooks config --trust` in that project/,
    // biome-ignore lint/suspicious/noTemplateCurlyInString: the form of a reference
    provoke: () => inProject({ attributes: { key: '${env:HOME}' } }),
    follow: () => house.runWith({ cwd: project() }, 'config', '--trust', '--yes'),
  }),
  'session-silenced': () => ({
    advice: /projects\.may_silence/,
    provoke: () => inProject({ enabled: false }),
    follow: () => house.run('config', 'set', 'projects.may_silence', 'false'),
  }),
  'credentials-withheld': () => ({
    advice: /in the same place as the endpoint/,
    async provoke() {
      house.configure(otlp({ headers: 'authorization=x' }));
      const env = { PATH: '', OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:19' };
      house.hooked('m-1', 'SessionStart', 'SessionEnd');
      await house.runWith({ env }, 'deliver', '--wait', '300ms');
    },
    follow: () => house.configure(otlp({ endpoint: 'http://127.0.0.1:19', headers: 'authorization=x' })),
  }),
  'provider-unknown': () => ({
    advice: /did you mean otlp/,
    provoke: () => met({ provider: 'oltp' }),
    follow: corrected({ provider: 'console' }),
  }),
  'provider-incomplete': () => ({
    advice: /set file\.path in the config file/,
    provoke: () => met({ provider: 'file' }),
    follow: () => house.run('config', 'set', 'file.path', join(house.home, 'out.jsonl')),
  }),
  'endpoint-missing': () => ({
    advice: /set otlp\.endpoint/,
    provoke: () => met({ provider: 'otlp', otlp: { traces_endpoint: `${OWN}/v1/traces` } }),
    follow: () => house.run('config', 'set', 'otlp.endpoint', OWN),
  }),
  'endpoint-grpc-port': () => ({
    advice: /run `otel-hooks doctor --fix`, which sets otlp\.protocol to grpc/,
    provoke: () => met(otlp({ endpoint: 'http://127.0.0.1:4317' })),
    follow: () => house.run('doctor', '--fix', '--yes', '--offline', '--no-proof'),
  }),
  'endpoint-grpc-path': () => ({
    advice: /set it to http:\/\/127\.0\.0\.1:4317;/,
    provoke: () => met(otlp({ endpoint: 'http://127.0.0.1:4317/otlp', protocol: 'grpc' })),
    follow: () => house.run('config', 'set', 'otlp.endpoint', 'http://127.0.0.1:4317'),
  }),
  'endpoint-cleartext': () => ({
    advice: /use an https:\/\/ address/,
    provoke: () => house.configure(otlp({ endpoint: 'http://collector.example.com:4318' })),
    follow: () => house.configure(otlp({ endpoint: 'https://collector.example.com:4318' })),
  }),
  'endpoint-unsigned': () => ({
    advice: /run `otel-hooks signing-key`, set `hooks.sign_key`/,
    provoke: () => house.configure({ hooks: { endpoint: 'https://events.example.com/' } }),
    async follow() {
      await house.run('signing-key', join(house.home, 'key.pem'));
      await house.run('config', 'set', 'hooks.sign_key', join(house.home, 'key.pem'));
    },
  }),
  'endpoint-signal-path': () => ({
    advice: /set it to http:\/\/127\.0\.0\.1:9/,
    provoke: () => met(otlp({ endpoint: `${OWN}/v1/traces` })),
    follow: () => house.run('config', 'set', 'otlp.endpoint', OWN),
  }),
  'delivery-failing': () => {
    const { provoke, mend } = answering(() => ({ status: 503 }));
    return { advice: /Then `otel-hooks deliver`/, provoke, follow: async () => [mend(), await deliver()] };
  },
  'delivery-refused': () => {
    const { provoke, mend } = answering(() => ({ status: 401 }));
    return {
      advice: /correct otlp\.headers, then `otel-hooks deliver`/,
      provoke,
      follow: async () => [mend(), await deliver()],
    };
  },
  'delivery-endpoint': () => {
    const { provoke } = answering(({ signal }) => ({ status: signal === 'logs' ? 404 : 200 }));
    return {
      advice: /or set OTEL_LOGS_EXPORTER=none, then `otel-hooks destinations drop http/,
      provoke,
      async follow() {
        const [problem] = await shownBy('status')();
        const [, endpoint = ''] = /destinations drop ([^`]+)`/.exec(problem?.next ?? '') ?? [];
        const env = { PATH: '', OTEL_LOGS_EXPORTER: 'none' };
        expect(await house.runWith({ env }, 'destinations', 'drop', endpoint, '--yes')).toMatchObject({ code: 0 });
      },
    };
  },
  'delivery-rejected': () => {
    const { provoke, mend } = answering(({ signal }) => ({ status: signal === 'traces' ? 413 : 200 }));
    return {
      advice: /limits of the collector, then `otel-hooks destinations resend http/,
      provoke,
      follow: async () => [mend(), await house.run('destinations', 'resend', 'otlp', '--yes'), await deliver()],
    };
  },
  'delivery-all-refused': () => {
    const { provoke, mend } = answering(({ signal }) => ({ status: signal === 'traces' ? 400 : 200 }));
    return {
      advice: /then `otel-hooks deliver`/,
      provoke: () => provoke(24),
      follow: async () => [mend(), await deliver(), await deliver()],
    };
  },
  'delivery-partial': () => {
    const { provoke, mend } = answering(({ signal }) => ({
      status: 200,
      headers: { 'content-type': 'application/json' },
      body: signal === 'traces' ? '{ "partialSuccess": { "rejectedSpans": "1", "errorMessage": "too old" } }' : '{}',
    }));
    return {
      advice: /then `otel-hooks destinations resend \S+ --session SESSION`.* `otel-hooks prune --problems`/,
      provoke,
      async follow() {
        mend();
        const [problem] = await shownBy('status')();
        const [, words = ''] = /`otel-hooks ([^`]+SESSION)`/.exec(problem?.next ?? '') ?? [];
        const resend = words.replace('SESSION', 'm-0').split(' ');
        expect(await house.run(...resend, '--yes')).toMatchObject({ code: 0 });
        expect(await deliver()).toMatchObject({ code: 0 });
        await house.run('prune', '--problems');
      },
    };
  },
  'hook-failed': () => ({
    advice: /The next hook that is recorded removes this message/,
    provoke: () => sign('hook-write-sh'),
    follow: laterHook,
  }),
  'program-missing': () => ({
    advice: /The next hook that is recorded removes this message/,
    provoke: () => sign('hook-kick-missing'),
    follow: laterHook,
  }),
  'fragments-newer': () => ({
    advice: /run the newer one: `otel-hooks deliver`/,
    async provoke() {
      writeFileSync(join(house.state, 'inbox', '0-0-1-newer'), 'otel-hooks/9 a\n\nnewer\n', { mode: 0o600 });
      await deliver();
    },
    // The newer version processes it.
    follow: async () => [rmSync(join(house.state, 'inbox', '0-0-1-newer')), await deliver()],
  }),
  'state-not-a-folder': () => ({
    advice: /move it away/,
    provoke() {
      rmSync(house.state, { recursive: true });
      writeFileSync(house.state, '');
    },
    follow: () => renameSync(house.state, `${house.state}.away`),
  }),
  'state-symlink': () => ({
    advice: /put a folder in its place/,
    provoke() {
      renameSync(house.state, `${house.state}.real`);
      symlinkSync(`${house.state}.real`, house.state);
    },
    follow: () => [rmSync(house.state), renameSync(`${house.state}.real`, house.state)],
  }),
  'mode-open': () => ({
    advice: /or `otel-hooks doctor --fix`/,
    shown: shownBy('doctor', '--offline', '--no-proof'),
    provoke: () => chmodSync(house.state, 0o755),
    follow: () => house.run('doctor', '--offline', '--no-proof', '--yes'),
  }),
  ...Object.fromEntries(
    Object.entries(past).map(([code, problem]): [string, () => Case] => [
      code,
      () => ({
        advice: /`otel-hooks prune --problems` removes this message/,
        provoke: () => notedNow(problem),
        follow: () => house.run('prune', '--problems'),
      }),
    ]),
  ),
};

/** A marker that a front end left. */
function sign(code: string): void {
  const file = join(house.state, 'problems', code);
  mkdirSync(join(file, '..'), { recursive: true, mode: 0o700 });
  writeFileSync(file, '');
  utimesSync(file, house.nowMs / 1_000, house.nowMs / 1_000);
}

async function laterHook(): Promise<void> {
  const file = join(house.state, 'problems');
  const before = house.nowMs / 1_000 - 86_400;
  for (const code of ['hook-write-sh', 'hook-kick-missing'])
    if (existsSync(join(file, code))) utimesSync(join(file, code), before, before);
  house.hooked('m-9', 'SessionStart');
  await deliver();
}

function notedNow(problem: Problem): void {
  if (problem.code === 'fragment-failed') {
    mkdirSync(join(house.state, 'quarantine'), { recursive: true, mode: 0o700 });
    writeFileSync(join(house.state, 'quarantine', 'failed.0-0-1-x'), '');
  }
  const store = openStore({ folder: house.state, access: 'own' });
  store.commit({ documents: noted(store, [problem], house.nowMs) });
  store.close();
}

/** The names of more faults with the same code have a suffix. */
const codeOf = (name: string): string => name.replace(/ .*/, '');

describe('a message disappears when its advice is followed', () => {
  it.for(Object.entries(cases))('%s', async ([name, made], context) => {
    const code = codeOf(name);
    const { advice, provoke, follow, shown = shownBy('status'), needsRoot: isRoots } = made(house);
    if (isRoots) needsRoot(context);
    await provoke();
    const found = (await shown()).filter(each => each.code === code);
    expect(found).not.toEqual([]);
    expect(found.map(({ next }) => next).join('\n')).toMatch(advice);
    await follow();
    expect((await shown()).filter(each => each.code === code)).toEqual([]);
  });
});

/** Codes that no row provokes, with the reason. */
const unprovoked: { readonly [code: string]: string } = {
  'state-missing': 'status and doctor take it for a new machine, and name `enable`',
  'books-unbalanced': 'the accounts have a checksum, so only a defect causes it, and the advice is to report that',
};

it('each problem has a row that provokes it, or a reason', () => {
  const provoked = Object.keys(cases).map(codeOf);
  expect([...new Set([...provoked, ...Object.keys(unprovoked)])].sort()).toEqual(problemCodes().sort());
  expect(provoked.filter(code => code in unprovoked)).toEqual([]);
});

describe('a question of doctor disappears when its advice is followed', () => {
  interface Finding {
    check: string;
    state: string;
    says: string;
    next?: string;
  }
  const questions = async (change: Partial<Io> = {}, ...words: string[]): Promise<Finding[]> => {
    const ran = await house.runWith({ now: Date.now, ...change }, 'doctor', '--json', ...words);
    const { findings } = JSON.parse(ran.out) as { findings: Finding[] };
    return findings.filter(each => each.state === 'unknown');
  };
  const quiet = ['--offline', '--no-proof'];

  it('no destination is configured', async () => {
    const found = await questions({}, ...quiet);
    expect(found.map(({ next }) => next)).toEqual(['set otlp.endpoint there, for example to http://127.0.0.1:4318.']);
    await house.run('config', 'set', 'otlp.endpoint', 'http://127.0.0.1:4318');
    expect(await questions({}, ...quiet)).toEqual([]);
  });

  it('an agent is installed and does not call otel-hooks', async () => {
    house.configure(otlp());
    mkdirSync(join(house.home, '.claude'));
    const [{ next = '' } = {}] = await questions({}, ...quiet);
    expect(next).toBe('otel-hooks enable --tool claude-code');
    await house.run(...next.split(' ').slice(1), '--yes', '--no-proof');
    expect(await questions({}, ...quiet)).toEqual([]);
  });

  it('no back end is known', async () => {
    const { url } = await house.collector();
    // An address outside of this machine, because `doctor` searches this machine for back ends at their usual ports.
    house.configure(otlp({ endpoint: url.replace('127.0.0.1', '0.0.0.0') }));
    const [{ next = '' } = {}] = await questions({}, '--no-proof');
    expect(next).toMatch(/^set read_back\.tempo or read_back\.jaeger or read_back\.loki or read_back\.prometheus to/);
    const result = [{ value: [0, '99999999999'] }];
    const body = JSON.stringify({ trace: { resourceSpans: [{}] }, data: { result } });
    const backEnd = await house.collector(() => ({ status: 200, body }));
    for (const key of ['tempo', 'loki', 'prometheus'])
      await house.run('config', 'set', `read_back.${key}`, backEnd.url);
    expect(await questions({}, '--no-proof')).toEqual([]);
  });
});

describe('the words of messages', () => {
  it.each<[Problem, string]>([
    [{ code: 'fragments-newer', folder: 'F', fragments: 1 }, '1 hook in F/inbox was written'],
    [{ code: 'fragments-newer', folder: 'F', fragments: 2 }, '2 hooks in F/inbox were written'],
    [{ code: 'config-keys', file: 'F', more: 1 }, '1 further key does not exist; it was'],
    [{ code: 'delivery-rejected', endpoint: 'E', signal: 'traces', reason: '400', items: 1 }, 'one item of the traces'],
    [{ code: 'delivery-rejected', endpoint: 'E', signal: 'traces', reason: '400', items: 2 }, '2 items of the traces'],
  ])('%j has the right number', (problem, words) => {
    expect(explain(problem).what).toContain(words);
  });
});
