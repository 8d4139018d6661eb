/**
 * Repositories for tests, made in two ways: by git, and by hand in the files that git writes, for machines without git.
 * A suite that runs over both shows that the files written by hand equal those of git.
 */
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { appendFileSync, mkdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';

export const MESSAGE = 'someone@example.com did it';

/** Each function takes the folder of a working tree. */
export interface Repositories {
  init(folder: string, remote?: string): void;
  /** Returns the id of the new commit. */
  commit(folder: string): string;
  packRefs(folder: string): void;
  /** A linked working tree on a new branch. */
  addWorktree(folder: string, tree: string, branch: string): void;
  newBranch(folder: string, branch: string): void;
  detach(folder: string): void;
  reset(folder: string, revision: string): void;
}

export const byGit: Repositories = {
  init(folder, remote) {
    git(folder, 'init', '-q', '-b', 'main');
    if (remote !== undefined) git(folder, 'remote', 'add', 'origin', remote);
  },
  commit(folder) {
    git(folder, 'commit', '-q', '--allow-empty', '-m', MESSAGE);
    return git(folder, 'rev-parse', 'HEAD');
  },
  packRefs: folder => void git(folder, 'pack-refs', '--all'),
  addWorktree: (folder, tree, branch) => void git(folder, 'worktree', 'add', '-q', '-b', branch, tree),
  newBranch: (folder, branch) => void git(folder, 'checkout', '-q', '-b', branch),
  detach: folder => void git(folder, 'checkout', '-q', '--detach'),
  reset: (folder, revision) => void git(folder, 'reset', '-q', '--hard', revision),
};

function git(cwd: string, ...words: string[]): string {
  const who = { GIT_AUTHOR_NAME: 'A', GIT_AUTHOR_EMAIL: 'a@x', GIT_COMMITTER_NAME: 'A', GIT_COMMITTER_EMAIL: 'a@x' };
  const env = { PATH: process.env.PATH, HOME: dirname(cwd), GIT_CONFIG_NOSYSTEM: '1', ...who };
  return execFileSync('git', words, { cwd, env, encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] }).trim();
}

export const byHand: Repositories = {
  init(folder, remote) {
    const own = join(folder, '.git');
    mkdirSync(join(own, 'refs', 'heads'), { recursive: true });
    writeFileSync(join(own, 'HEAD'), 'ref: refs/heads/main\n');
    const origin = `[remote "origin"]\n\turl = ${remote}\n\tfetch = +refs/heads/*:refs/remotes/origin/*\n`;
    writeFileSync(join(own, 'config'), `[core]\n\tbare = false\n${remote === undefined ? '' : origin}`);
  },
  commit(folder) {
    const before = head(folder);
    const made = createHash('sha1').update(`${folder} ${before} ${++commits}`).digest('hex');
    point(folder, made);
    log(folder, before, made, `commit${before === NONE ? ' (initial)' : ''}: ${MESSAGE}`);
    return made;
  },
  packRefs(folder) {
    const [{ common }, ref] = [placesOf(folder), branchOf(folder) ?? ''];
    const header = '# pack-refs with: peeled fully-peeled sorted \n';
    writeFileSync(join(common, 'packed-refs'), `${header}${head(folder)} ${ref}\n`);
    rmSync(join(common, ref));
  },
  addWorktree(folder, tree, branch) {
    const { common } = placesOf(folder);
    const own = join(common, 'worktrees', basename(tree));
    const at = head(folder);
    mkdirSync(own, { recursive: true });
    mkdirSync(tree);
    writeFileSync(join(tree, '.git'), `gitdir: ${own}\n`);
    writeFileSync(join(own, 'gitdir'), `${join(tree, '.git')}\n`);
    writeFileSync(join(own, 'commondir'), '../..\n');
    writeFileSync(join(own, 'HEAD'), `ref: refs/heads/${branch}\n`);
    point(tree, at);
    log(tree, NONE, at, '');
  },
  newBranch(folder, branch) {
    const at = head(folder);
    const from = branchOf(folder)?.slice('refs/heads/'.length);
    writeFileSync(join(placesOf(folder).own, 'HEAD'), `ref: refs/heads/${branch}\n`);
    point(folder, at);
    log(folder, at, at, `checkout: moving from ${from} to ${branch}`);
  },
  detach(folder) {
    const at = head(folder);
    const from = branchOf(folder)?.slice('refs/heads/'.length);
    writeFileSync(join(placesOf(folder).own, 'HEAD'), `${at}\n`);
    log(folder, at, at, `checkout: moving from ${from} to ${at}`);
  },
  reset(folder, revision) {
    const before = head(folder);
    point(folder, revision);
    log(folder, before, revision, `reset: moving to ${revision}`);
  },
};

/** The id in git's log before the first commit. */
const NONE = '0'.repeat(40);
let commits = 0;

/** The folder of the working tree, and the one that all working trees of the repository share. */
function placesOf(folder: string): { own: string; common: string } {
  const path = join(folder, '.git');
  if (statSync(path).isDirectory()) return { own: path, common: path };
  const own = readFileSync(path, 'utf8').slice('gitdir: '.length).trim();
  return { own, common: join(own, '..', '..') };
}

/** Undefined where HEAD is detached. */
function branchOf(folder: string): string | undefined {
  return /^ref: (.*)\n$/.exec(readFileSync(join(placesOf(folder).own, 'HEAD'), 'utf8'))?.[1];
}

function head(folder: string): string {
  const { own, common } = placesOf(folder);
  const ref = branchOf(folder);
  if (ref === undefined) return readFileSync(join(own, 'HEAD'), 'utf8').trim();
  return (
    textOf(join(common, ref)) ?? textOf(join(common, 'packed-refs'))?.match(new RegExp(`(\\w{40}) ${ref}`))?.[1] ?? NONE
  );
}

function point(folder: string, revision: string): void {
  const { own, common } = placesOf(folder);
  const ref = branchOf(folder);
  const file = ref === undefined ? join(own, 'HEAD') : join(common, ref);
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, `${revision}\n`);
}

function log(folder: string, before: string, after: string, what: string): void {
  const { own } = placesOf(folder);
  mkdirSync(join(own, 'logs'), { recursive: true });
  appendFileSync(join(own, 'logs', 'HEAD'), `${before} ${after} A <a@x> 1790000000 +0000\t${what}\n`);
}

function textOf(file: string): string | undefined {
  try {
    return readFileSync(file, 'utf8').trim();
  } catch {
    return undefined;
  }
}
