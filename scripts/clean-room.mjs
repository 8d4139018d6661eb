/**
 * The two commands of README, run as a new user runs them: `node scripts/clean-room.mjs`.
 *
 * The commit is cloned into a folder without neighbours. Another user without privileges and with an empty HOME runs
 * the commands word for word, with npm 10 and a PATH that has only node, npm, sh and coreutils. The variable CI is not
 * set, so a test that needs another program is skipped. After each command the working tree must be clean and HOME must
 * contain only npm's own folder.
 *
 * The registry and the certificates of npm come from the caller's configuration; no other part of the caller's
 * environment reaches the commands.
 */
import { spawn, spawnSync } from 'node:child_process';
import { chmodSync, existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const BUDGET_S = 300;
const COMMAND_TIMEOUT_MS = 600_000;
/** A user that exists on no machine: without a name, a home or a group. */
const UID = 61_117;

const root = fileURLToPath(new URL('..', import.meta.url));
const room = mkdtempSync(join(tmpdir(), 'otel-hooks-clean-room-'));
const at = Object.fromEntries(['bin', 'clone', 'home', 'npm', 'tmp'].map(name => [name, join(room, name)]));
const clone = join(at.clone, 'otel-hooks');
const isRoot = process.geteuid?.() === 0;
const startMs = Date.now();
/** The process group of the command that runs. */
let running;

for (const signal of ['SIGINT', 'SIGTERM']) {
  process.on(signal, () => {
    end();
    rmSync(room, { recursive: true, force: true, maxRetries: 5, retryDelay: 200 });
    process.exit(1);
  });
}

try {
  await visit();
  const tookS = (Date.now() - startMs) / 1000;
  console.log(
    `clean room: ok in ${tookS.toFixed(0)} s${tookS > BUDGET_S ? `, more than the ${BUDGET_S} s planned` : ''}`,
  );
} catch (error) {
  console.error(`clean room: FAILED: ${error.message}`);
  process.exitCode = 1;
} finally {
  // A process that a hook started may still write for some seconds.
  rmSync(room, { recursive: true, force: true, maxRetries: 40, retryDelay: 1_000 });
}

async function visit() {
  if (!isRoot && process.env.CI) throw new Error('only root can become another user');
  chmodSync(room, 0o755);
  for (const folder of Object.values(at)) mkdirSync(folder);
  must('git', ['clone', '--quiet', '--no-hardlinks', root, clone]);
  const commands = commandsOf(readFileSync(join(clone, 'README.md'), 'utf8'));
  installNpm();
  furnishPath();
  if (isRoot) must('chown', ['-R', `${UID}:${UID}`, at.clone, at.home, at.tmp]);
  const env = environment();

  console.log(`commit    ${git('log', '-1', '--format=%h %s')}`);
  console.log(`user      ${isRoot ? `uid ${UID}, without a name` : 'the caller, who is not root'}`);
  console.log(`programs  node ${process.versions.node}, npm ${must('npm', ['--version'], env).trim()}, sh, coreutils`);
  if (must('git', ['-C', root, 'status', '--porcelain']) !== '')
    console.log('note      changes that are not committed are not in the clone');
  for (const command of commands) await type(command, env);
}

/** Ends the running command, with all processes that it started. */
function end() {
  if (running !== undefined) process.kill(-running, 'SIGKILL');
}

/** The lines of the first shell block below "See it", as a reader types them, with comments. */
function commandsOf(readme) {
  const [, section = ''] = readme.split(/^## See it$/m);
  const lines = /^```sh\n([\s\S]*?)^```$/m.exec(section)?.[1]?.trim().split('\n') ?? [];
  if (lines.length !== 2 || !lines[0].includes('npm run demo') || !lines[1].includes('npm test'))
    throw new Error('README has no longer two commands below "See it"');
  return lines;
}

function furnishPath() {
  symlinkSync(process.execPath, join(at.bin, 'node'));
  symlinkSync(join(at.npm, 'node_modules', 'npm', 'bin', 'npm-cli.js'), join(at.bin, 'npm'));
  for (const name of ['sh', ...coreutils()]) {
    const path = (process.env.PATH ?? '')
      .split(delimiter)
      .map(folder => join(folder, name))
      .find(existsSync);
    if (path !== undefined) symlinkSync(path, join(at.bin, name));
  }
}

function environment() {
  const env = { PATH: at.bin, HOME: at.home, TMPDIR: at.tmp, NO_COLOR: '1', LANG: 'C.UTF-8' };
  for (const key of ['registry', 'cafile', 'proxy', 'https-proxy', 'noproxy']) {
    const value = must('npm', ['config', 'get', key]).trim();
    if (value !== '' && value !== 'null' && value !== 'undefined') env[`npm_config_${key.replace('-', '_')}`] = value;
  }
  if (process.env.NODE_EXTRA_CA_CERTS) env.NODE_EXTRA_CA_CERTS = process.env.NODE_EXTRA_CA_CERTS;
  return env;
}

/** Runs one line as if it was typed, and prints its output. */
async function type(line, env) {
  console.log(`\n$ ${line}`);
  const startedMs = Date.now();
  const words = ['sh', '-c', line];
  const asUser = ['setpriv', '--reuid', UID, '--regid', UID, '--clear-groups', '--no-new-privs', ...words].map(String);
  const [program, ...args] = isRoot ? asUser : words;
  // setpriv is looked up in the PATH of this process; only the command gets the new environment.
  const child = spawn(programPath(program), args, {
    cwd: clone,
    env,
    stdio: ['ignore', 'inherit', 'inherit'],
    // A process group of its own, so that all of its processes can be ended.
    detached: true,
  });
  running = child.pid;
  const timer = setTimeout(end, COMMAND_TIMEOUT_MS);
  const status = await new Promise((settled, refused) => {
    child.on('error', refused);
    child.on('close', (code, signal) => settled(code ?? signal));
  });
  clearTimeout(timer);
  running = undefined;
  const tookS = ((Date.now() - startedMs) / 1000).toFixed(1);
  console.log(`-- ended with ${status} after ${tookS} s`);
  if (status !== 0) throw new Error(`\`${line}\` ended with ${status}`);
  // Ignored files count too: only files that npm installs and that the build writes may be new.
  const changed = git('status', '--porcelain', '--ignored')
    .split('\n')
    .filter(each => !['', '!! dist/', '!! node_modules/'].includes(each))
    .join('\n');
  if (changed !== '')
    throw new Error(`the working tree is no longer clean after \`${line}\`:\n${changed}\n${git('diff')}`);
  const inHome = readdirSync(at.home).filter(name => name !== '.npm');
  if (inHome.length > 0) throw new Error(`HOME holds ${inHome.join(', ')} after \`${line}\``);
}

function git(...words) {
  return must('git', ['-c', 'safe.directory=*', '-C', clone, ...words]).trim();
}

/** The network may fail once; the room itself is what is tried here. */
function installNpm() {
  const words = ['install', '--no-audit', '--no-fund', '--prefix', at.npm, 'npm@10'];
  for (let left = 2; ; left--) {
    try {
      must('npm', words);
      return;
    } catch (error) {
      if (left === 0) throw error;
      console.log(`again: ${error.message.split('\n')[0]}`);
    }
  }
}

function must(program, words, env = process.env) {
  const done = spawnSync(program, words, { encoding: 'utf8', env });
  if (done.status !== 0) throw new Error(`${program} ${words.join(' ')}: ${done.error?.message ?? done.stderr}`);
  return done.stdout;
}

function programPath(program) {
  const found = (process.env.PATH ?? '')
    .split(delimiter)
    .map(folder => join(folder, program))
    .find(existsSync);
  if (found === undefined) throw new Error(`${program} is not installed`);
  return found;
}

function coreutils() {
  return `[ arch b2sum base32 base64 basename basenc cat chcon chgrp chmod chown cksum comm cp csplit cut date dd df dir
    dircolors dirname du echo env expand expr factor false fmt fold groups head hostid id install join link ln logname ls
    md5sum mkdir mkfifo mknod mktemp mv nice nl nohup nproc numfmt od paste pathchk pinky pr printenv printf ptx pwd
    readlink realpath rm rmdir runcon seq sha1sum sha224sum sha256sum sha384sum sha512sum shred shuf sleep sort split
    stat stdbuf stty sum sync tac tail tee test timeout touch tr true truncate tsort tty uname unexpand uniq unlink
    users vdir wc who whoami yes`.split(/\s+/);
}
