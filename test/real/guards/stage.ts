/**
 * One run of a guarded agent, inside a network namespace of its own: the model server, guards in the dialects that they
 * were written for, their conversion for the agent, and the agent itself. Writes `guarded.json` into the folder of the
 * run. It checks no results.
 */
import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { chmodSync, existsSync, mkdirSync, readdirSync, readFileSync, readlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { Driver, Place, Reply, Scenario } from '../contract.ts';
import { startModelServer } from '../model-server.ts';
import type { Guard } from './cases.ts';
import { scriptOf } from './scripts.ts';
import { type GuardTarget, mcpServer } from './targets.ts';

export interface GuardOrders {
  folder: string;
  guards: readonly Guard[];
  /** The installed agent, and the clone. */
  agent: string;
  root: string;
}

/** What was seen of one guard. */
export interface Guarded {
  guard: Guard;
  /** The call ran as the model wrote it. */
  ran: boolean;
  /** It ran with the other input. */
  changed: boolean;
  /** Where the reason was shown. */
  shown: ('model' | 'output' | 'log')[];
}

export interface GuardedRun {
  exits: (number | string)[];
  stdout: string;
  stderr: string;
  requests: number;
  conversions: { words: string[]; exit: number | null; stderr: string }[];
  guarded: Guarded[];
}

export async function guardStage(driver: Driver, target: GuardTarget, orders: GuardOrders): Promise<void> {
  const { folder, guards } = orders;
  const place: Place = {
    ...{ folder, home: join(folder, 'home'), temporary: join(folder, 'tmp'), project: join(folder, 'project') },
    ...{ agent: orders.agent, modelPort: 0 },
  };
  for (const each of [place.home, place.temporary, place.project]) mkdirSync(each, { recursive: true });
  const replyFor = ({ thing, mark }: Guard): Reply => ({
    calls: [target.call(thing, `ran-${mark}`, place.project)],
  });
  const scenario: Scenario = {
    about: 'guards',
    model: {
      main: [...guards.map(guard => replyFor(guard)), { text: 'Done.' }],
      ...Object.fromEntries(guards.map(guard => [guard.mark, [replyFor(guard), { text: 'Done.' }]])),
    },
    steps: [],
    expect: { tree: '' },
  };
  const model = await startModelServer(scenario);
  place.modelPort = model.port;
  if (target.settings !== undefined) scenario.settings = target.settings(place);
  const otelHooks = join(folder, 'bin');
  const path = [
    join(orders.agent, 'node_modules', '.bin'),
    otelHooks,
    dirname(process.execPath),
    '/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin',
  ].join(':');
  const base = { HOME: place.home, TMPDIR: place.temporary, PATH: path, LANG: 'C.UTF-8', TERM: 'xterm-256color' };
  write(
    join(otelHooks, 'otel-hooks'),
    `#!/bin/sh\nexec "${process.execPath}" "${join(orders.root, 'dist', 'otel-hooks.cjs')}" "$@"\n`,
    0o755,
  );
  write(join(place.project, 'server.py'), mcpServer);
  write(join(place.project, 'readme.md'), '# A project\n');
  for (const words of [
    ['init', '-q'],
    ['add', '.'],
    ['-c', 'user.name=a', '-c', 'user.email=a@b', 'commit', '-qm', 'first'],
  ])
    spawnSync('git', words, { cwd: place.project, env: base });
  driver.prepare(place, scenario);
  const conversions: GuardedRun['conversions'] = [];
  convertGuards({ guards, target, place, env: base, bin: join(orders.root, 'dist', 'otel-hooks.cjs'), conversions });
  target.prepare?.(place);
  const env = {
    ...base,
    NO_COLOR: '1',
    SHELL: '/bin/bash',
    ...driver.environment(place, scenario),
    ...target.environment,
  };
  const tags = target.stops ? guards.map(({ mark }) => mark) : ['main'];
  const outputs: { exit: number | string; stdout: string; stderr: string }[] = [];
  for (const tag of tags) {
    const step = { prompt: `Do it. [[${tag}]]`, ...(target.args && { args: [...target.args] }) };
    const child = spawn(
      join(orders.agent, 'node_modules', '.bin', driver.command),
      driver.headless(step, place, scenario),
      { cwd: place.project, env, detached: true, stdio: ['ignore', 'pipe', 'pipe'] },
    );
    const timer = setTimeout(() => child.pid !== undefined && process.kill(-child.pid, 'SIGKILL'), 120_000);
    outputs.push(await outputOf(child));
    clearTimeout(timer);
  }
  const stdout = outputs.map(each => each.stdout).join('');
  const stderr = outputs.map(each => each.stderr).join('');
  const logs = target.logs === undefined ? '' : textsIn(join(place.home, target.logs));
  const bodies = model.bodies.map(({ body }) => body).join('\n');
  const guarded = guards.map((guard): Guarded => {
    const { mark, thing } = guard;
    const there = (name: string): boolean =>
      existsSync(join(place.project, thing === 'MCP' ? `server.py.${name}` : name));
    // An input that the agent cannot take is denied with a reason of its own.
    const text = guard.way === 'updated input' ? 'does not take another input' : `reason-${mark}`;
    const shown = [
      ...(bodies.includes(text) ? (['model'] as const) : []),
      ...(`${stdout}${stderr}`.includes(text) ? (['output'] as const) : []),
      ...(logs.includes(text) ? (['log'] as const) : []),
    ];
    return { guard, ran: there(`ran-${mark}`), changed: there(`new-${mark}`), shown };
  });
  const run: GuardedRun = {
    exits: outputs.map(({ exit }) => exit),
    stdout,
    stderr,
    requests: model.served.length,
    conversions,
    guarded,
  };
  writeFileSync(join(folder, 'guarded.json'), JSON.stringify(run, null, 1));
  writeFileSync(join(folder, 'bodies.json'), JSON.stringify(model.bodies, null, 1));
  await model.close();
  endLeftovers();
}

interface Conversion {
  guards: readonly Guard[];
  target: GuardTarget;
  place: Place;
  env: Record<string, string>;
  bin: string;
  conversions: GuardedRun['conversions'];
}

/** Writes each guard into a file of its own agent, reads it there, and converts all of them for the target. */
function convertGuards({ guards, target, place, env, bin, conversions }: Conversion): void {
  const convert = (cwd: string, words: string[]): string => {
    const done = spawnSync(process.execPath, [bin, 'convert', ...words], { cwd, env, encoding: 'utf8' });
    conversions.push({ words, exit: done.status, stderr: done.stderr });
    return done.stdout;
  };
  const matchers = { shell: 'shell', 'file write': 'file_write', MCP: { mcp: { server: 'box', tool: 'put' } } };
  const hooks: unknown[] = [];
  for (const guard of guards) {
    const folder = join(place.folder, 'sources', guard.mark);
    const script = join(folder, `${guard.mark}.sh`);
    write(script, scriptOf(guard, place.project), 0o755);
    const hook = {
      name: guard.mark,
      ...{ event: 'before_tool_execute', matcher: matchers[guard.thing] },
      ...{ handler: { type: 'command', command: script, timeout: 20 }, blocking: true },
    };
    if (guard.source === 'hook-interchange') {
      hooks.push(hook);
      continue;
    }
    const manifest = join(folder, 'hook.json');
    write(manifest, JSON.stringify({ spec: 'hooks/0.1', hooks: [hook] }));
    convert(folder, ['--plain', '--to', guard.source, '--out', folder, manifest]);
    const [native] = filesIn(folder).filter(file => !file.endsWith('hook.json') && !file.endsWith('.sh'));
    const read = convert(folder, ['--from', guard.source, '--to', 'hook-interchange', native ?? 'missing']);
    hooks.push(...(JSON.parse(read || '{"hooks":[]}') as { hooks: unknown[] }).hooks);
  }
  const all = join(place.folder, 'sources', 'hook.json');
  write(all, JSON.stringify({ spec: 'hooks/0.1', hooks }, null, 2));
  convert(place.project, ['--to', target.slug, '--out', place.project, all]);
}

const filesIn = (folder: string): string[] =>
  readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter(entry => entry.isFile())
    .map(entry => join(entry.parentPath, entry.name));

const textsIn = (folder: string): string =>
  existsSync(folder)
    ? filesIn(folder)
        .map(file => readFileSync(file, 'utf8'))
        .join('')
    : '';

function write(path: string, text: string, mode = 0o644): void {
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, text);
  chmodSync(path, mode);
}

async function outputOf(child: ChildProcess): Promise<{ exit: number | string; stdout: string; stderr: string }> {
  let stdout = '';
  let stderr = '';
  child.stdout?.setEncoding('utf8').on('data', (text: string) => {
    stdout += text;
  });
  child.stderr?.setEncoding('utf8').on('data', (text: string) => {
    stderr += text;
  });
  const exit = await new Promise<number | string>(resolve => {
    child.on('error', error => resolve(String(error)));
    child.on('close', (code, signal) => resolve(code ?? signal ?? ''));
  });
  return { exit, stdout, stderr };
}

/** Ends what the agent left in the network namespace of this run. */
function endLeftovers(): void {
  const own = readlinkSync('/proc/self/ns/net');
  for (const name of readdirSync('/proc').filter(each => /^\d+$/.test(each))) {
    if (Number(name) === process.pid || Number(name) === process.ppid) continue;
    try {
      if (readlinkSync(`/proc/${name}/ns/net`) === own) process.kill(Number(name), 'SIGKILL');
    } catch {
      // The process ended meanwhile.
    }
  }
}
