/**
 * P1: for every input and in every environment a hook ends with 0 and prints nothing except the one neutral answer that
 * its agent requires, and it keeps the event wherever that is possible. test/hook checks the front ends in usual
 * environments, test/wire checks single bad payloads.
 */
import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { chownSync, mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { agents } from '../../src/agents/index.ts';
import { imbalances } from '../../src/deliver/status-books.ts';
import { samplesOf } from '../agents/samples.ts';
import { type Collector, startCollector } from '../collector.ts';
import {
  build,
  decoded,
  demolish,
  type FrontEnd,
  fragments,
  type House,
  harmless,
  node,
  type Ran,
  run,
  shells,
} from '../hook/front-ends.ts';
import { isInstalled } from '../needs.ts';
import { type Random, randomOf } from './load.ts';
import { notRun, row } from './report.ts';
import { bySize, seed } from './size.ts';
import { deliverHere, exporting } from './stage.ts';

const TIMEOUT_MS = 3_600_000;
const isRoot = process.geteuid?.() === 0;
/** An unknown user: without a name, without a home. */
const stranger = 54_321;
const houses: House[] = [];
const mounts: string[] = [];
const children: ChildProcess[] = [];
let collector: Collector;

beforeAll(async () => {
  collector = await startCollector();
});
afterAll(() => collector.close());
afterEach(async () => {
  for (const child of children.splice(0)) child.kill('SIGKILL');
  for (const mount of mounts.splice(0)) spawnSync('umount', [mount]);
  for (const each of houses.splice(0)) await demolish(each);
});

function house(options?: Parameters<typeof build>[0]): House {
  const built = build(options);
  houses.push(built);
  return built;
}

const [dash] = shells;
const present = [...shells, node].filter(each => each.missing === undefined);
/** In the quick size one shell represents all shells. */
const frontEnds = bySize({ quick: present.filter(each => each === dash || each === node), ci: present, full: present });
const isHarmless = ({ status, stdout, stderr }: Ran): boolean => status === 0 && stdout === '' && stderr === '';

/** The number of parallel hooks. */
async function inParallel<T>(items: readonly T[], work: (item: T, i: number) => Promise<void>): Promise<void> {
  let next = 0;
  const lane = async (): Promise<void> => {
    for (let i = next++; i < items.length; i = next++) {
      const item = items[i];
      if (item !== undefined) await work(item, i);
    }
  };
  await Promise.all([lane(), lane(), lane(), lane()]);
}

const samples = agents.flatMap(agent => samplesOf(agent.id).map(sample => ({ agent, ...sample })));

describe('H1 fuzzed input', () => {
  it(`H1 is kept byte for byte, and delivered or set aside (seed ${seed})`, { timeout: TIMEOUT_MS }, async () => {
    const count = bySize({ quick: 24, ci: 800, full: 10_000 });
    const random = randomOf(seed);
    const at = house();
    const sent = Array.from({ length: count }, (_, i) => {
      const { agent, payload } = samples[Math.floor(random() * samples.length)] ?? {};
      // Node takes ten times as long to start.
      const frontEnd = dash !== undefined && dash.missing === undefined && i % 8 > 0 ? dash : node;
      return { frontEnd, tool: agent?.id ?? '', bytes: spoiled(JSON.stringify(payload), random) };
    });
    const wrong: string[] = [];
    let longestHookMs = 0;
    await inParallel(sent, async ({ frontEnd, tool, bytes }, i) => {
      const startMs = performance.now();
      const command = frontEnd.command(at, { tool, event: `fuzz-${i}` });
      const ran = await run(command, bytes, { env: exporting(collector.url) });
      longestHookMs = Math.max(longestHookMs, performance.now() - startMs);
      if (!isHarmless(ran)) wrong.push(`${i} ${frontEnd.name}: ${JSON.stringify(ran)}`);
    });
    const kept = new Map(fragments(at).map(({ header, payload }) => [header.event, payload]));
    const lost = sent.filter(({ bytes }, i) => kept.get(`fuzz-${i}`)?.equals(bytes) !== true).length;
    rmSync(join(at.state, 'lock'));
    const { books } = await deliverHere(at.state);
    const { journaled = 0, quarantined = 0, dropped = {}, waiting } = books?.fragments ?? {};
    row('H1', 'fuzzed input', {
      faults: count,
      obligations: count,
      delivered: journaled,
      quarantined,
      dropped: Object.values(dropped).reduce((sum, each) => sum + each, 0),
      lost,
      longestHookMs,
    });
    expect(wrong).toEqual([]);
    expect(lost).toBe(0);
    expect(waiting).toBe(0);
    expect(books && imbalances(books)).toEqual([]);
    expect(books?.fragments.received).toBe(count);
  });
});

const pieces = [
  '{',
  '}',
  '[',
  ']',
  '"',
  '\\',
  ',',
  ':',
  '\0',
  '\n',
  '\u2028',
  '\ufeff',
  '"__proto__":',
  '"session_id":7,',
  '\\ud800',
  '\\u0000',
  '1e999',
  '-0',
  '[['.repeat(5_000),
  '{"a":'.repeat(5_000),
  '../'.repeat(50),
  '😀'.repeat(300),
  'x'.repeat(300_000),
];

const values = ['7', '-1e300', 'null', 'true', '[]', '{}', '{"a":[{}]}', '""', '"\\ud800"', '"../../x"', '"__proto__"'];

/** A payload with damage of one kind. */
function spoiled(text: string, random: Random): Buffer {
  const at = (length: number): number => Math.floor(random() * length);
  let bytes = Buffer.from(text);
  for (let changes = 1 + at(3); changes > 0; changes -= 1) {
    const place = at(bytes.length + 1);
    const [before, after] = [bytes.subarray(0, place), bytes.subarray(place)];
    const piece = Buffer.from(pieces[at(pieces.length)] ?? '');
    const noise = Buffer.from(Array.from({ length: 1 + at(200) }, () => at(256)));
    const otherValues = (share: number) => () =>
      Buffer.from(
        bytes
          .toString('utf8')
          .replaceAll(/"[^"]{0,40}"(?=[,}\]])/g, each => (random() < share ? (values[at(values.length)] ?? '') : each)),
      );
    const ways = [
      () => before,
      () => Buffer.concat([before, piece, after]),
      () => Buffer.concat([before, noise, after]),
      () => Buffer.concat([before, after.subarray(at(20))]),
      () => Buffer.concat([before, bytes]),
      () => noise,
      () => Buffer.from(bytes.map(byte => (random() < 0.01 ? at(256) : byte))),
    ];
    // Mostly damage that leaves valid JSON, so that the code behind the parser is tested too.
    const way = random() < 0.75 ? otherValues(random() * random()) : ways[at(ways.length)];
    bytes = Buffer.from(way?.() ?? bytes);
  }
  return bytes;
}

describe('H2 every event of every agent', () => {
  it('H2 is answered with nothing, or with the one neutral answer', { timeout: TIMEOUT_MS }, async () => {
    const at = house();
    const seen = new Set<string>();
    // In the quick size a third of them, a different third in each run.
    const every = bySize({ quick: 3, ci: 1, full: 1 });
    const chosen = samples.filter((_, i) => (i + seed) % every === 0);
    const asked = chosen.flatMap(({ agent, payload, file }) => {
      const event = agent.eventName(payload) ?? agent.eventByShape?.(payload) ?? '';
      const isFirst = !seen.has(agent.id);
      seen.add(agent.id);
      // In the quick size the Node front end answers once for each agent.
      const mouths = frontEnds.filter(
        each => each !== node || isFirst || bySize({ quick: false, ci: true, full: true }),
      );
      return mouths.map(frontEnd => ({ frontEnd, agent, payload, event, file }));
    });
    const wrong: string[] = [];
    await inParallel(asked, async ({ frontEnd, agent, payload, event, file }) => {
      const reply = agent.reply.stdout;
      const isWord = /^[0-9A-Za-z._:,/-]+$/.test(event);
      const command = frontEnd.command(at, { tool: agent.id, event: isWord ? event : 'unnamed', reply });
      const ran = await run(command, JSON.stringify(payload));
      const expected = { ...harmless, stdout: reply === '' ? '' : `${reply}\n` };
      if (JSON.stringify(ran) !== JSON.stringify(expected))
        wrong.push(`${agent.id} ${file} ${frontEnd.name}: ${JSON.stringify(ran)}`);
    });
    const kept = fragments(at).length;
    row('H2', 'all events of all agents', {
      faults: asked.length,
      obligations: asked.length,
      lost: asked.length - kept,
      note: `${agents.length} agents, ${chosen.length} payloads, ${frontEnds.length} front ends`,
    });
    expect(wrong).toEqual([]);
    expect(kept).toBe(asked.length);
  });
});

const payload = JSON.stringify({ session_id: 's', hook_event_name: 'Stop', text: 'x'.repeat(2_000) });

/** The environment of a hook, and whether the hook can keep the event in it. */
interface Surroundings {
  name: string;
  needs?: 'root' | 'script';
  /** The reason why a front end is not checked here. */
  except?: (frontEnd: FrontEnd) => string | undefined;
  kept: boolean;
  run(at: House, frontEnd: FrontEnd): Promise<Ran>;
}

const asShell = (words: string[], before: string): string[] => [
  '/bin/sh',
  '-c',
  `${before}; exec "$@"`,
  'sh',
  ...words,
];
const reply = '{"neutral":true}';

const surroundings: Surroundings[] = [
  {
    name: 'input that dribbles in, byte by byte',
    kept: true,
    run: (at, frontEnd) => {
      const child = start(frontEnd.command(at, {}));
      const bytes = Buffer.from(payload);
      const write = (from: number): void => {
        if (from >= bytes.length) child.stdin?.end();
        else child.stdin?.write(bytes.subarray(from, from + 211), () => setTimeout(write, 5, from + 211));
      };
      write(0);
      return ended(child);
    },
  },
  // The row tests the wait, so it is not in the quick size.
  ...bySize({ quick: [], ci: [1_000, 100_000], full: [1_000, 100_000] }).map(
    (bytes): Surroundings => ({
      name: `${bytes} bytes of an object from a writer that never closes its pipe`,
      except: frontEnd => (frontEnd === node ? undefined : 'a shell has no clock: the limit of the agent ends it'),
      kept: true,
      run: (at, frontEnd) => {
        const half = join(at.folder, 'half');
        writeFileSync(half, payload.replace('xx', 'x'.repeat(100_000)).slice(0, bytes));
        const words = frontEnd.command(at, {}).map(word => `'${word.replaceAll("'", "'\\''")}'`);
        return run(['/bin/bash', '-c', `exec 3> >(${words.join(' ')}); cat '${half}' >&3; wait $!`], '');
      },
    }),
  ),
  {
    name: 'an agent that has gone before the answer that it demands',
    kept: true,
    run: async (at, frontEnd) => {
      const child = start(frontEnd.command(at, { reply }));
      child.stdout?.destroy();
      child.stdin?.end(payload);
      return { ...(await ended(child)), stdout: '' };
    },
  },
  {
    name: 'a closed output where an answer is demanded',
    kept: true,
    run: (at, frontEnd) => run(frontEnd.command(at, { reply }), payload, { redirect: '>&-' }),
  },
  {
    name: 'a full disk where an answer is demanded',
    kept: true,
    run: (at, frontEnd) => run(frontEnd.command(at, { reply }), payload, { redirect: '>/dev/full' }),
  },
  {
    name: 'a terminal for input',
    needs: 'script',
    kept: false,
    run: (at, frontEnd) => {
      const file = join(at.folder, 'typed');
      const quoted = frontEnd.command(at, {}).map(word => `'${word.replaceAll("'", "'\\''")}'`);
      writeFileSync(file, `${quoted.join(' ')}; echo "left $?"`);
      const child = start(['script', '-qec', `/bin/sh ${file}`, '/dev/null']);
      return ended(child).then(({ stdout, ...ran }) => ({ ...ran, stdout: stdout.replace('left 0\r\n', '') }));
    },
  },
  {
    name: 'no home, no name and no place that is known',
    needs: 'root',
    kept: false,
    run: (at, frontEnd) => {
      const words = frontEnd === node ? [at.bin, 'hook'] : frontEnd.command(at, {});
      return run(words, payload, { uid: stranger, env: { HOME: '' } });
    },
  },
  {
    name: 'a working folder that was removed',
    except: frontEnd => (frontEnd === node ? undefined : 'a shell says so itself before it reads its command'),
    kept: true,
    run: (at, frontEnd) => {
      const gone = join(at.folder, 'gone');
      mkdirSync(gone);
      return run(asShell(frontEnd.command(at, {}), `cd '${gone}' && rmdir '${gone}'`), payload);
    },
  },
  {
    name: 'a read-only file system',
    needs: 'root',
    kept: false,
    run: (at, frontEnd) => {
      const done = spawnSync('mount', ['-t', 'tmpfs', '-o', 'size=256k,mode=700', 'tmpfs', at.state]);
      if (done.status === 0) mounts.push(at.state);
      for (const name of ['inbox', 'problems']) mkdirSync(join(at.state, name), { mode: 0o700, recursive: true });
      const sealed = spawnSync('mount', ['-o', 'remount,ro', at.state]);
      if (done.status !== 0 || sealed.status !== 0) throw new Error('not mounted');
      return run(frontEnd.command(at, {}), payload);
    },
  },
  {
    name: 'a umask that takes every right',
    needs: 'root',
    kept: true,
    run: (at, frontEnd) => {
      for (const path of [at.state, at.inbox, join(at.state, 'problems'), join(at.state, 'lock')])
        chownSync(path, stranger, stranger);
      return run(asShell(frontEnd.command(at, {}), 'umask 777'), payload, { uid: stranger });
    },
  },
  ...(
    [
      ['-f 0', payload.length],
      ['-f 1', payload.length],
      ['-f 1', 60_000],
      ['-f 2048', 3_000_000],
    ] as const
  ).map(
    ([limit, bytes]): Surroundings => ({
      name: `ulimit ${limit}, ${bytes} bytes`,
      except: frontEnd =>
        frontEnd === node && limit === '-f 0' ? 'the signal of this limit ends Node itself' : undefined,
      kept: false,
      run: (at, frontEnd) => run(asShell(frontEnd.command(at, {}), `ulimit ${limit}`), payload.padEnd(bytes)),
    }),
  ),
  ...['-n 4', '-n 8', '-n 11', '-s 64', '-c 0', '-t 1', '-v 20000'].map(
    (limit): Surroundings => ({
      name: `ulimit ${limit}`,
      except(frontEnd) {
        if (frontEnd === node && /-[nsv]/.test(limit)) return 'Node itself does not start so';
        // Each of these shells fails in the same way with an empty script.
        return frontEnd !== dash && limit.startsWith('-n')
          ? 'bash, busybox and zsh need more descriptors for any script'
          : undefined;
      },
      kept: false,
      run: (at, frontEnd) => run(asShell(frontEnd.command(at, {}), `ulimit ${limit}`), payload),
    }),
  ),
  {
    name: 'no process that may be started any more',
    needs: 'root',
    except(frontEnd) {
      if (frontEnd === node) return 'Node itself does not start so';
      return frontEnd.name === 'zsh' ? 'zsh exits before the script' : undefined;
    },
    kept: false,
    run: (at, frontEnd) => {
      for (const path of [at.state, at.inbox, join(at.state, 'problems')]) chownSync(path, stranger, stranger);
      return run(asShell(frontEnd.command(at, {}), 'ulimit -u 0 2>/dev/null || ulimit -p 0'), payload, {
        uid: stranger,
      });
    },
  },
];

function start(words: string[]): ChildProcess {
  const [program = '', ...args] = words;
  const child = spawn(program, args, {
    cwd: '/tmp',
    env: { PATH: process.env.PATH ?? '', HOME: '/nonexistent' },
    timeout: 60_000,
    killSignal: 'SIGKILL',
  });
  children.push(child);
  child.stdin?.on('error', () => undefined);
  return child;
}

function ended(child: ChildProcess): Promise<Ran> {
  const output = { stdout: '', stderr: '' };
  for (const stream of ['stdout', 'stderr'] as const)
    child[stream]?.on('data', part => {
      output[stream] += part;
    });
  return new Promise(settled => child.on('close', status => settled({ status, ...output })));
}

describe('H3 surroundings', () => {
  it.for(surroundings)(
    'H3 $says',
    { timeout: TIMEOUT_MS },
    async ({ name: says, needs, except, kept, run: put }, context) => {
      if (needs === 'root' && !isRoot) return notRun(context, 'H3', says, 'only root can arrange it');
      if (needs === 'script' && !isInstalled('script')) return notRun(context, 'H3', says, 'script is not installed');
      const judged = frontEnds.filter(frontEnd => except?.(frontEnd) === undefined);
      const wrong: string[] = [];
      for (const frontEnd of judged) {
        const at = house();
        const ran = await put(at, frontEnd);
        if (!isHarmless(ran)) wrong.push(`${frontEnd.name}: ${JSON.stringify(ran)}`);
        const found = decoded(at).map(({ ok }) => ok);
        if (kept && !(found.length === 1 && found[0])) wrong.push(`${frontEnd.name}: kept ${JSON.stringify(found)}`);
      }
      const others = [...new Set(frontEnds.flatMap(frontEnd => except?.(frontEnd) ?? []))];
      row('H3', says, { faults: judged.length, note: others.join('; ') });
      expect(wrong).toEqual([]);
    },
  );
});

describe('H4 a hostile environment', () => {
  /** Names that a shell resolves before it looks for a program, or in place of its own commands. */
  const names = [
    'printf',
    'read',
    'cat',
    'kill',
    'cd',
    'trap',
    'exec',
    'unset',
    'umask',
    'set',
    'eval',
    'exit',
    'rm',
    '[',
  ];
  const evil = Object.fromEntries(names.map(name => [`BASH_FUNC_${name}%%`, '() { echo evil; }']));

  it.for(present)('H4 changes nothing for $name', { timeout: TIMEOUT_MS }, async frontEnd => {
    const at = house();
    const wrong: string[] = [];
    const startup = join(at.folder, 'startup');
    writeFileSync(startup, 'set -eu; IFS=abc; umask 777; cat() { :; }; printf() { :; }; read() { :; }\n');
    writeFileSync(join(at.folder, '.zshenv'), 'alias -g cat=evil printf=evil\nsetopt err_exit no_unset glob_subst\n');
    const programs = join(at.folder, 'programs');
    mkdirSync(programs);
    for (const name of ['cat', 'node', 'setsid', 'rm', 'printf', 'sh'])
      writeFileSync(join(programs, name), '#!/bin/sh\necho evil\n', { mode: 0o755 });
    const attributes = 'é=ü\n\'"$(touch /evil)`touch /evil`';
    const environments: Record<string, Record<string, string>> = {
      'that sets up shells': {
        IFS: '/-o',
        ENV: startup,
        BASH_ENV: startup,
        ZDOTDIR: at.folder,
        CDPATH: '/usr:/tmp',
        SHELLOPTS: 'errexit:nounset:noglob',
        POSIXLY_CORRECT: '1',
        LC_ALL: 'C.UTF-8',
        LANG: 'xx_XX.UTF-8',
        otel_hooks: 'evil',
        oh_state: '/evil',
        oh_head: 'evil',
      },
      'with functions in place of builtins': functionsFor(frontEnd),
      // Node reads these variables before it runs our code; the shell hook never passes them on.
      'for Node': frontEnd === node ? {} : { NODE_OPTIONS: '--require=/nonexistent', NODE_PATH: '/nonexistent' },
      'with other programs in its PATH': frontEnd === node ? {} : { PATH: `${programs}:${process.env.PATH}` },
      'for OpenTelemetry': {
        OTEL_SDK_DISABLED: 'true',
        OTEL_CONFIG_FILE: '/dev/zero',
        OTEL_LOG_LEVEL: 'all',
        OTEL_TRACES_EXPORTER: 'console',
        OTEL_EXPORTER_OTLP_ENDPOINT: 'file:///etc/passwd',
        OTEL_EXPORTER_OTLP_HEADERS: 'a=b\r\nc: d',
        OTEL_HOOKS_DEBUG: 'true',
        OTEL_HOOKS_CONFIG: '/dev/zero',
      },
    };
    for (const [says, env] of Object.entries(environments)) {
      const ran = await run(frontEnd.command(at, { event: says.replaceAll(' ', '-') }), payload, {
        env: { ...env, OTEL_RESOURCE_ATTRIBUTES: attributes },
      });
      if (!isHarmless(ran)) wrong.push(`${says}: ${JSON.stringify(ran)}`);
    }
    if (frontEnd === node) {
      // The hook reads its configuration for the state folder; a configuration that is not a file names none.
      const env = { XDG_STATE_HOME: join(at.folder, 'xdg'), OTEL_HOOKS_CONFIG: '/dev/zero' };
      const ran = await run([at.bin, 'hook'], payload, { env });
      if (!isHarmless(ran)) wrong.push(`with an endless configuration: ${JSON.stringify(ran)}`);
      expect(readdirSync(join(at.folder, 'xdg', 'otel-hooks', 'inbox'))).toHaveLength(1);
    }
    const kept = fragments(at);
    row('H4', `a hostile environment, ${frontEnd.name}`, { faults: Object.keys(environments).length });
    expect(wrong).toEqual([]);
    expect(kept.map(({ header }) => header.event).sort()).toEqual(
      Object.keys(environments)
        .map(says => says.replaceAll(' ', '-'))
        .sort(),
    );
    for (const { payload: found, header } of kept) {
      expect(found.toString()).toBe(payload);
      expect(header.OTEL_RESOURCE_ATTRIBUTES).toBe(attributes);
    }
  });

  /**
   * The row checks only the code before our first line: bash keeps some of these variables even there, and refuses to
   * start as sh with others.
   */
  function functionsFor({ name }: FrontEnd): Record<string, string> {
    const own =
      name === 'bash'
        ? /_(unset|trap|\[)%%$/
        : name === 'bash --posix'
          ? /_(trap|exec|unset|set|eval|exit|\[)%%$/
          : undefined;
    return Object.fromEntries(Object.entries(evil).filter(([variable]) => own === undefined || !own.test(variable)));
  }
});
