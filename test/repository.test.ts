/** The facts that are read from repositories: from those that git makes, and from hostile ones. */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeEach, describe, expect, test } from 'vitest';
import { movedSince, repositoryAt } from '../src/session/repository.ts';
import { incrementsOf } from '../src/telemetry/increments.ts';
import { diskEyes } from '../src/transcripts/eyes.ts';
import { byGit, byHand, MESSAGE, type Repositories } from './git-folders.ts';
import { needs } from './needs.ts';
import { openHouse } from './transcripts/house.ts';

const root = mkdtempSync(join(tmpdir(), 'repository-'));
afterAll(() => rmSync(root, { recursive: true }));
const eyes = diskEyes();

function made(by: Repositories, name: string, remote?: string): string {
  const folder = mkdtempSync(join(root, `${name}-`));
  by.init(folder, remote);
  return folder;
}

describe.each([
  ['git', byGit],
  ['hand, as git does', byHand],
])('made by %s', (maker, by) => {
  beforeEach(context => {
    if (maker === 'git') needs(context, 'git');
  });

  test('a repository: below its root, packed, detached, in a linked working tree', () => {
    const folder = made(by, 'plain', 'https://dev:s3cret@github.com/acme/shop.git');
    expect(repositoryAt(folder, eyes)).toMatchObject({ branch: 'main', revision: undefined });
    const first = by.commit(folder);
    const known = { url: 'https://github.com/acme/shop', name: 'shop', owner: 'acme', provider: 'github' };
    mkdirSync(join(folder, 'src', 'deep'), { recursive: true });
    expect(repositoryAt(join(folder, 'src', 'deep'), eyes)).toEqual({ ...known, branch: 'main', revision: first });

    by.packRefs(folder);
    expect(repositoryAt(folder, eyes)).toMatchObject({ branch: 'main', revision: first });

    const tree = `${folder}-tree`;
    by.addWorktree(folder, tree, 'feature/x');
    const second = by.commit(tree);
    expect(repositoryAt(tree, eyes)).toEqual({ ...known, branch: 'feature/x', revision: second });
    expect(repositoryAt(folder, eyes)).toMatchObject({ branch: 'main', revision: first });

    by.detach(folder);
    expect(repositoryAt(folder, eyes)).toEqual({ ...known, branch: undefined, revision: first });
  });

  test('new commits come from the log: commits only, oldest first, without names of people', () => {
    const folder = made(by, 'moving');
    const before = by.commit(folder);
    expect(movedSince(folder, before, eyes)).toBeUndefined();
    const one = by.commit(folder);
    by.newBranch(folder, 'other');
    const two = by.commit(folder);
    const moved = movedSince(folder, before, eyes);
    expect(moved).toEqual({ commits: [one, two], branch: 'other', revision: two });
    by.reset(folder, before);
    expect(movedSince(folder, two, eyes)).toEqual({ commits: [], branch: 'other', revision: before });
    const fresh = made(by, 'fresh');
    const born = by.commit(fresh);
    expect(movedSince(fresh, undefined, eyes)).toEqual({ commits: [born], branch: 'main', revision: born });
  });
});

describe('addresses', () => {
  test.each([
    ['git@github.com:acme/shop.git', 'https://github.com/acme/shop'],
    ['ssh://git@gitlab.example.org:2222/group/sub/shop.git/', 'https://gitlab.example.org/group/sub/shop'],
    [
      'https://x-access-token:ghp_0123456789abcdefghij0123456789abcdef@github.com/acme/shop?token=1#x',
      'https://github.com/acme/shop',
    ],
    ['http://git.intern:8080/shop', 'http://git.intern:8080/shop'],
    ['codecommit::eu-west-1://alice@shop', 'https://git-codecommit.eu-west-1.amazonaws.com/v1/repos/shop'],
    ['codecommit://alice@shop', undefined],
    ['alice:s3cret@git.example.org:acme/shop.git', 'https://git.example.org/acme/shop'],
    ['ssh://alice@example.org@source.example.com:2022/p/shop', 'https://source.example.com/p/shop'],
    ['alice@vs-ssh.example.com:v3/acme/shop', 'https://vs-ssh.example.com/v3/acme/shop'],
    ['git.example.org:alice@shop', 'https://git.example.org/shop'],
    ['https://git.example.org/alice:s3cret@acme/shop', 'https://git.example.org/acme/shop'],
    ['persistent-https::https://alice:s3cret@git.example.org/acme/shop', 'https://git.example.org/acme/shop'],
    ['gcrypt::rsync://alice@git.example.org/shop', undefined],
    ['ext::ssh alice@git.example.org %S shop', undefined],
    ['svn::svn+ssh://alice@git.example.org/shop', undefined],
    ['/home/alice/shop.git', undefined],
    ['file:///home/alice/shop', undefined],
    ['C:\\Users\\alice\\shop', undefined],
    ['../shop', undefined],
  ])('%s', (remote, url) => {
    const folder = mkdtempSync(join(root, 'address-'));
    mkdirSync(join(folder, '.git'));
    writeFileSync(join(folder, '.git', 'HEAD'), 'ref: refs/heads/main\n');
    writeFileSync(join(folder, '.git', 'config'), `[core]\n\tbare = false\n[remote "origin"]\n\turl = ${remote}\n`);
    const found = repositoryAt(folder, eyes);
    expect(found?.url).toBe(url);
    expect(JSON.stringify(found)).not.toMatch(/alice|s3cret/);
  });
});

test('a missing or hostile repository is unknown', () => {
  expect(repositoryAt(join(root, 'nowhere'), eyes)).toBeUndefined();
  expect(repositoryAt('relative', eyes)).toBeUndefined();
  const hostile = (head: string, more: Record<string, string> = {}): string => {
    const folder = mkdtempSync(join(root, 'hostile-'));
    mkdirSync(join(folder, '.git', 'logs'), { recursive: true });
    writeFileSync(join(folder, '.git', 'HEAD'), head);
    for (const [name, text] of Object.entries(more)) writeFileSync(join(folder, '.git', name), text);
    return folder;
  };
  const nothing = { branch: undefined, revision: undefined };
  expect(repositoryAt(hostile('ref: refs/heads/../../../../etc/passwd\n'), eyes)).toEqual(nothing);
  expect(repositoryAt(hostile('secret words\n'), eyes)).toEqual(nothing);
  expect(repositoryAt(hostile('x'.repeat(1_000_000)), eyes)).toEqual(nothing);
  const big = hostile('ref: refs/heads/main\n', {
    'packed-refs': 'x'.repeat(9 * 1024 * 1024),
    config: '[remote "origin"]\n'.repeat(30_000),
  });
  expect(repositoryAt(big, eyes)).toEqual({ branch: 'main', revision: undefined });
  const linked = mkdtempSync(join(root, 'linked-'));
  writeFileSync(join(linked, '.git'), 'gitdir: /dev\n');
  expect(repositoryAt(linked, eyes)).toBeUndefined();
});

test("a session's span names its repository and the commits made meanwhile", () => {
  const folder = made(byHand, 'session', 'git@github.com:acme/shop.git');
  const start = byHand.commit(folder);
  const house = openHouse();
  try {
    house.hook(0, 'SessionStart', { source: 'startup', cwd: folder });
    house.round();
    const next = byHand.commit(folder);
    house.hook(5, 'UserPromptSubmit', { prompt_id: 'p1', prompt: 'x', cwd: folder });
    house.hook(6, 'Stop', { prompt_id: 'p1', cwd: folder });
    house.hook(7, 'SessionEnd', { reason: 'other', cwd: folder });
    house.round();
    const session = house.spans().find(span => span.kind === 'session');
    expect(session).toMatchObject({
      repository: { url: 'https://github.com/acme/shop', branch: 'main', revision: start },
      commits: [next],
    });
    expect(JSON.stringify(house.events())).not.toContain(MESSAGE.split(' ')[0]);
    const counted = incrementsOf(house.events(), [], 'claude-code', () => true);
    expect(counted.filter(({ metric }) => metric === 'commits').map(({ value }) => value)).toEqual([1]);
  } finally {
    house.close();
  }
});
