/**
 * Tries otel-hooks as a new user would, for every agent, and writes the output to docs/tutorial.md: the packed package
 * in an empty home, a folder such as the agent makes, `enable` at a terminal, a short session through the commands that
 * are now in the agent's file, `show`, `disable`. The hooks are samples of test/agents, with times of today;
 * `tutorial.json` beside them names the samples.
 *
 *   node scripts/tutorial.mjs            write, if more than times and random values has changed
 *   node scripts/tutorial.mjs --check    exit 1 in this case
 *
 * Works on `dist`: build first.
 */
import { execFile, execFileSync, spawn } from 'node:child_process';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, relative } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import * as esbuild from 'esbuild';

const root = fileURLToPath(new URL('..', import.meta.url));
const file = join(root, 'docs/tutorial.md');

const { agents, entriesOf, startedAs, unifiedDiff, wrapped } = await load();
const stage = mkdtempSync(join(tmpdir(), 'otel-hooks-tutorial-'));
try {
  const tarball = pack();
  const tried = [];
  const waiting = [...agents.entries()];
  const work = async () => {
    for (let next = waiting.shift(); next; next = waiting.shift()) tried[next[0]] = await tryOut(next[1], tarball);
  };
  await Promise.all([work(), work(), work()]);
  const text = wrapped(page(tried));
  const before = existsSync(file) ? readFileSync(file, 'utf8') : '';
  if (steady(text) !== steady(before)) {
    if (!process.argv.includes('--check')) writeFileSync(file, text);
    else {
      process.stderr.write(
        'docs/tutorial.md is not what happens; run `npm run tutorial` and look at the difference:\n',
      );
      process.stderr.write(unifiedDiff(steady(before), steady(text), { from: file, to: 'what happens' }));
      process.exitCode = 1;
    }
  }
} finally {
  // Deliveries that hooks started linger for a second.
  await new Promise(resolve => setTimeout(resolve, 1_500));
  rmSync(stage, { recursive: true, force: true });
}

/** The sources are TypeScript, so they are bundled into a file that Node can read. */
async function load() {
  const folder = mkdtempSync(join(tmpdir(), 'otel-hooks-tutorial-'));
  try {
    const outfile = join(folder, 'agents.mjs');
    await esbuild.build({
      absWorkingDir: root,
      stdin: {
        contents: `
          export { agents } from './src/agents/index.ts';
          export { unifiedDiff } from './src/lib/diff.ts';
          export { entriesOf } from './src/setup/setup.ts';
          export { startedAs } from './src/setup/commands.ts';
          export { wrapped } from './test/docs/wrap.ts';`,
        resolveDir: root,
      },
      bundle: true,
      platform: 'node',
      format: 'esm',
      // The other form of jsonc-parser loads its parts by names that only Node resolves.
      mainFields: ['module', 'main'],
      outfile,
      logLevel: 'warning',
    });
    return await import(pathToFileURL(outfile).href);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

function pack() {
  execFileSync('npm', ['pack', '--ignore-scripts', '--silent', '--pack-destination', stage], { cwd: root });
  return join(stage, readdirSync(stage).find(name => name.endsWith('.tgz')) ?? '');
}

/** The samples of a short session, in order, and the files that its home has before (if the page should show them). */
function sessionOf({ id }) {
  return JSON.parse(readFileSync(join(root, 'test/agents', id, 'tutorial.json'), 'utf8'));
}

/** A new home with one agent, from the installation to its session and the removal. */
async function tryOut(agent, tarball) {
  const { samples, files = {} } = sessionOf(agent);
  const home = join(stage, agent.id, 'home');
  const project = join(home, 'shop');
  mkdirSync(project, { recursive: true });
  const prefix = join(home, '.npm-global');
  const path = [join(prefix, 'bin'), dirname(process.execPath), '/usr/bin', '/bin'].join(':');
  const env = {
    HOME: home,
    PATH: path,
    NO_COLOR: '1',
    TZ: 'UTC',
    LANG: 'C.UTF-8',
    TERM: 'xterm',
    OTEL_HOOKS_LINGER: '1s',
  };
  const places = { home, project, env };
  const [folder] = agent.settings.installed.folders(places);
  mkdirSync(folder, { recursive: true });
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(dirname(join(home, name)), { recursive: true });
    writeFileSync(join(home, name), text);
  }
  const before = contentsOf(home);
  const words = ['install', '--global', '--offline', '--no-audit', '--no-fund', '--prefix', prefix, tarball];
  await ran('npm', words, project, env);

  const typed = [];
  const type = async (command, answers) => {
    const shown = await atTerminal(command, project, env, answers);
    typed.push(`$ ${command}\n${tidy(shown, home)}`);
    return shown;
  };
  await type('otel-hooks enable', { 'Address [local only]: ': '', 'Change this?': 'y' });
  await play(agent, samples, places);
  // A person looks a moment later, when the delivery that hooks started has ended.
  await ran('otel-hooks', ['deliver', '--wait', '30s'], project, env);
  const listed = await type('otel-hooks show');
  const session = listed.split('\n')[1]?.split(' ')[0] ?? '';
  const isOwn = !/[\s'"]/.test(session) && session.length > 3;
  if (!isOwn) throw new Error(`${agent.id}: no session is listed:\n${listed}`);
  const tree = await type(`otel-hooks show ${session.slice(0, 12)}`);
  if (!/invoke_agent|execute_tool/.test(tree)) throw new Error(`${agent.id}: no turn and no action:\n${tree}`);
  await type('otel-hooks disable --yes');
  const after = contentsOf(home);
  for (const [name, text] of Object.entries(before)) {
    if (after[name] !== text) throw new Error(`${agent.id}: ${name} was not given back`);
  }
  return { agent, folder: relative(home, folder), typed };
}

/** Every file, except those of otel-hooks and of npm. */
function contentsOf(home) {
  const found = {};
  for (const name of readdirSync(home, { recursive: true })) {
    if (/^(\.npm|\.npm-global|shop|\.local|\.config\/otel-hooks)(\/|$)/.test(name)) continue;
    if (statSync(join(home, name)).isFile()) found[name] = readFileSync(join(home, name), 'utf8');
  }
  return found;
}

/** As a person sees it: `script` gives the command a terminal. */
function atTerminal(command, cwd, env, answers = {}) {
  return new Promise((settled, failed) => {
    const child = spawn('script', ['-qec', `stty cols 132; ${command}`, '/dev/null'], { cwd, env });
    const tooLong = setTimeout(() => child.kill('SIGKILL'), 60_000);
    let shown = '';
    const open = new Map(Object.entries(answers));
    child.stdout.on('data', part => {
      shown += part;
      for (const [question, answer] of open) {
        if (!shown.includes(question)) continue;
        open.delete(question);
        child.stdin.write(`${answer}\n`);
      }
    });
    child.on('error', failed);
    child.on('close', code => {
      clearTimeout(tooLong);
      // Line editing moves the cursor.
      if (code === 0) settled(shown.replace(/\r|\x1b[=>]|\x1b\[[\d;?]*[A-Za-z]/g, ''));
      else failed(new Error(`${command} ended with ${code}:\n${shown}`));
    });
  });
}

function ran(program, args, cwd, env, input = '') {
  return new Promise((settled, failed) => {
    const child = execFile(program, args, { cwd, env }, (error, stdout) => (error ? failed(error) : settled(stdout)));
    child.stdin.end(input);
  });
}

/** Runs each hook by the command that is now in the agent's file. */
async function play(agent, samples, places) {
  const { runs } = agent.settings;
  const entries = entriesOf({ agent, scope: 'global', places, platform: process.platform });
  for (const name of samples) {
    const payload = payloadOf(agent.id, name, places);
    const event = agent.eventName(payload) ?? agent.eventByShape?.(payload);
    const entry = entries.find(each => each.event === event);
    if (entry === undefined) throw new Error(`${agent.id}: no hook is registered for ${event} (${name})`);
    const [program, args] =
      runs.posix === 'itself' ? [entry.file, []] : startedAs(entry.command, runs, process.platform);
    const output = await ran(program, args, places.project, places.env, JSON.stringify(payload));
    if (output.trim() !== agent.reply.stdout) throw new Error(`${agent.id}: ${name} printed ${output}`);
    await new Promise(resolve => setTimeout(resolve, 20));
  }
}

/** A sample with times of now and paths of this home. */
function payloadOf(id, name, { home, project }) {
  const [head] = readFileSync(join(root, 'test/agents', id, `${name}.sample`), 'utf8').split(/^---- events\n/m);
  const text = head.replace(/^#.*$/gm, '');
  const shop = /\/home\/\w+\/(?:shop|orchard|tidepool|[a-z]+)(?=[/"])/g;
  const payload = JSON.parse(text.replace(shop, project).replace(/\/home\/(?!you)\w+(?=\/\.)/g, home));
  const times = [];
  walk(payload, value => {
    const ms = timeIn(value);
    if (ms !== undefined) times.push(ms);
    return value;
  });
  const laterMs = Date.now() - Math.max(...times);
  return walk(payload, value => {
    const ms = timeIn(value);
    if (ms === undefined) return value;
    if (typeof value === 'number') return value + laterMs;
    return /^\d+$/.test(value) ? String(ms + laterMs) : new Date(ms + laterMs).toISOString();
  });
}

/** Unix ms as a number, or a text with a date and a time. */
function timeIn(value) {
  if (typeof value === 'number') return value > 1.7e12 && value < 2e12 ? value : undefined;
  if (typeof value !== 'string') return undefined;
  return /^\d{4}-\d\d-\d\dT[\d:.]+(Z|[+-]\d\d:\d\d)$/.test(value) ? Date.parse(value) : undefined;
}

function walk(value, change) {
  if (Array.isArray(value)) return value.map(each => walk(each, change));
  if (typeof value !== 'object' || value === null) return change(value);
  return Object.fromEntries(Object.entries(value).map(([name, each]) => [name, walk(each, change)]));
}

/** The home of the reader. The test runs in a folder for temporary files, but a real installation does not. */
function tidy(shown, home) {
  return shown
    .trimEnd()
    .replaceAll(home, '/home/you')
    .replace(/^otel-hooks: the program is in .*\n {2}next: .*\n/m, '')
    .split('\n')
    .map(line => line.trimEnd())
    .join('\n');
}

/** Removes the values that differ in each run: lengths, dates, ids of trials, and their padding. */
function steady(text) {
  return text
    .replace(/(?<![0-9a-f])0[0-9a-f]{7}-[0-9a-f]{4}-7[0-9a-f]{3}-8[0-9a-f]{3}-[0-9a-f]{12}(?=$|\n)/gm, 'TRIAL')
    .replace(/\d{4}-\d\d-\d\d \d\d:\d\d(:\d\d)? [+-]\d\d:\d\d/g, 'DATE')
    .replace(/\+?\d+(\.\d+)? ?(ms|s)\b|\+?\d+m\d\ds|\+?\d+h\d\dm/g, 'TIME')
    .replace(/ +/g, ' ');
}

function page(tried) {
  return `<!-- Written by scripts/tutorial.mjs, which does all of this: \`npm run tutorial\`. -->

# Tutorial

This page shows, for each agent, the way from the installation to the trace of a session. A script that CI runs typed every command
into a terminal, in an empty home with only the folder that the agent makes. The sessions are short and invented.

\`\`\`sh
npm install && npm run build && npm i -g .   # in a clone of otel-hooks
otel-hooks enable      # finds your agents, asks for the destination, shows the change, tries it
\`\`\`

Then work with the agent as usual, and look at its sessions:

\`\`\`sh
otel-hooks show        # the sessions; \`show\` and the first letters of one: its tree
otel-hooks tail        # what happens now
otel-hooks report      # tokens, cost and decisions, added up
\`\`\`

All of this stays on your machine. To see it in Grafana, Jaeger or another back end, add a destination:
\`otel-hooks enable --endpoint http://127.0.0.1:4318\`, or one of docs/providers.md. \`otel-hooks doctor\` checks every step.

${tried.map(({ agent }) => `* [${agent.title}](#${agent.title.toLowerCase().replaceAll(' ', '-')})`).join('\n')}

${tried.map(sectionOf).join('\n')}`;
}

function sectionOf({ agent, folder, typed }) {
  const [enable, list, tree, disable] = typed;
  const fenced = text => `\`\`\`\n${text}\n\`\`\`\n`;
  return `## ${agent.title}

\`enable\` finds the agent by its folder \`~/${folder}\`:

${fenced(enable)}
After a session:

${fenced(`${list}\n${tree}`)}
\`disable\` restores the files byte for byte:

${fenced(disable)}`;
}
