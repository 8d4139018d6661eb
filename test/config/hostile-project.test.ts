/**
 * The effects that a project's file, a variable and another user of the machine can and cannot have on a configuration.
 */
import fs from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { resolve } from '../../src/config/config.ts';
import { type LoadedConfig, loadConfig } from '../../src/config/files.ts';
import { discover } from '../../src/openhook/project.ts';
import { repositoryAt } from '../../src/session/repository.ts';
import { diskEyes } from '../../src/transcripts/eyes.ts';
import { type Ran, ranIn } from '../commands/ran.ts';

let root: string;
let home: string;
let clone: string;
beforeEach(() => {
  root = fs.realpathSync(fs.mkdtempSync(join(tmpdir(), 'otel-hooks-config-')));
  home = join(root, 'home');
  clone = join(home, 'clone');
  fs.mkdirSync(join(clone, 'sub'), { recursive: true });
});
afterEach(() => fs.rmSync(root, { recursive: true, force: true }));

function write(path: string, value: unknown): string {
  const file = join(root, path);
  fs.mkdirSync(dirname(file), { recursive: true });
  fs.writeFileSync(file, typeof value === 'string' ? value : JSON.stringify(value));
  return file;
}

const load = (env: Record<string, string> = {}, cwd = clone): LoadedConfig =>
  loadConfig({ env, home, platform: 'linux', cwd });
const codes = ({ problems }: Pick<LoadedConfig, 'problems'>): string[] => problems.map(({ code }) => code);

function resolved(global: object, project: object, trusted = false) {
  return resolve({
    global: { file: '/home/me/config.json', text: JSON.stringify(global) },
    project: { file: '/shop/.otel-hooks.json', text: JSON.stringify(project), trusted },
    env: {},
    home: '/home/me',
    cwd: '/shop',
  });
}

describe('without consent a project’s file', () => {
  it('adds attributes and replaces none, and cannot name the person, the machine or the program', () => {
    const theirs = {
      team: 'theirs',
      area: 'payments',
      'service.name': 'x',
      'service.instance.id': 'x',
      'enduser.id': 'x',
      'user.name': 'x',
      'host.name': 'x',
      'telemetry.sdk.name': 'x',
    };
    const { attributes, problems } = resolved({ attributes: 'team=ours' }, { attributes: theirs });
    expect(attributes).toEqual({ team: 'ours', area: 'payments' });
    const keys = problems.map(problem => problem.code === 'config-untrusted' && problem.key).sort();
    expect(keys).toEqual(
      Object.keys(theirs)
        .filter(name => name !== 'area')
        .map(name => `attributes.${name}`)
        .sort(),
    );
    expect(resolved({ attributes: 'team=ours' }, { attributes: theirs }, true).attributes).toEqual(theirs);
  });

  it('keeps attributes whose names every object has', () => {
    expect(resolved({}, { attributes: { constructor: 'a' } }).attributes).toEqual({ constructor: 'a' });
  });

  it('names the service only if the user has not named it', () => {
    expect(resolved({}, { service_name: 'theirs' }).values.service_name).toBe('theirs');
    expect(resolved({ service_name: 'ours' }, { service_name: 'theirs' }).values.service_name).toBe('ours');
  });

  it.each([
    [{}, { trace: { sampler: 'always_off' } }, 'always_off'],
    [{ trace: { sampler: 'always_off' } }, { trace: { sampler: 'always_on' } }, 'always_off'],
    [{ trace: { sampler: 'traceidratio', sampler_arg: 0.1 } }, { trace: { sampler_arg: 1 } }, 'traceidratio'],
    [{ trace: { sampler: 'always_off' } }, { trace: { sampler: 'traceidratio', sampler_arg: 0.5 } }, 'always_off'],
  ])('lowers the share of traces, and never raises it: %j, %j', (ours, theirs, kind) => {
    const { sampler } = resolved(ours, theirs);
    expect(sampler.kind).toBe(kind);
    if (kind === 'traceidratio') expect(sampler.ratio).toBe(0.1);
  });

  it.each([
    [{ enabled: false }, 'enabled'],
    [{ trace: { sampler: 'always_off' } }, 'trace.sampler'],
    [{ trace: { sampler: 'traceidratio', sampler_arg: 0 } }, 'trace.sampler'],
  ])('silences its sessions with %j, unless the user forbids it', (theirs, by) => {
    expect(resolved({}, theirs)).toMatchObject({ silencedBy: by, problems: [] });
    const forbidden = resolved({ projects: { may_silence: false } }, theirs);
    expect(forbidden.silencedBy).toBeUndefined();
    expect([forbidden.values.enabled, forbidden.sampler.kind]).toEqual([true, 'always_on']);
    expect(codes(forbidden)).toContain('config-untrusted');
    expect(resolved({}, { projects: { may_silence: true } }).problems).toMatchObject([{ code: 'config-untrusted' }]);
  });
});

describe('OTEL_HOOKS_CONFIG', () => {
  beforeEach(() => {
    write('home/clone/evil.json', { service_name: 'evil', state_dir: '/evil' });
    write('home/clone/.git/HEAD', 'ref: refs/heads/main\n');
  });

  it.each([
    ['a relative path', () => 'evil.json', () => clone],
    ['a relative path with steps', () => './../clone/evil.json', () => clone],
    ['a path in the project', () => join(clone, 'evil.json'), () => clone],
    ['the same from a folder below', () => join(clone, 'evil.json'), () => join(clone, 'sub')],
    ['the same with steps', () => `${home}/other/../clone/evil.json`, () => join(clone, 'sub')],
    ['the same by a link', () => join(root, 'link/evil.json'), () => clone],
    ['a home path in the project', () => '~/clone/evil.json', () => clone],
  ])('is refused with %s', (_, named, cwd) => {
    fs.symlinkSync(clone, join(root, 'link'));
    const config = load({ OTEL_HOOKS_CONFIG: named() }, cwd());
    expect([config.values.service_name, codes(config)]).toEqual([undefined, ['config-place']]);
    expect(config.globalFile).toBe(join(home, '.config/otel-hooks/config.json'));
  });

  it('is read outside of the project, and in the person’s own home', () => {
    const file = write('home/other/ours.json', { service_name: 'ours' });
    expect(load({ OTEL_HOOKS_CONFIG: file }).values.service_name).toBe('ours');
    expect(load({ OTEL_HOOKS_CONFIG: '~/other/ours.json' }).values.service_name).toBe('ours');
    expect(load({ OTEL_HOOKS_CONFIG: file }, home).values.service_name).toBe('ours');
  });
});

describe.skipIf(process.geteuid?.() !== 0)('files of another user (needs root, which can make some)', () => {
  const give = (path: string): void => fs.lchownSync(join(root, path), 4321, 4321);

  it('a project’s file is skipped, with a problem, and the search continues above it', () => {
    write('home/clone/.otel-hooks.json', { enabled: false });
    give('home/clone/.otel-hooks.json');
    write('home/.git/HEAD', '');
    const config = load();
    expect([config.values.enabled, config.projectFile, codes(config)]).toEqual([true, undefined, ['config-owner']]);
    write('shared/.otel-hooks.json', { service_name: 'shared' });
    write('shared/app/.otel-hooks.json', { service_name: 'app' });
    give('shared/app/.otel-hooks.json');
    expect(load({}, join(root, 'shared/app')).values.service_name).toBe('shared');
  });

  it('a link of another user to a file of the user is skipped', () => {
    write('home/own.json', { enabled: false });
    fs.symlinkSync('../own.json', join(clone, '.otel-hooks.json'));
    give('home/clone/.otel-hooks.json');
    expect(codes(load())).toEqual(['config-owner']);
  });

  it('.git names no branch and no remote', () => {
    write('shared/.git/HEAD', 'ref: refs/heads/theirs\n');
    write('shared/.git/config', '[remote "origin"]\n\turl = https://example.com/theirs.git\n');
    fs.mkdirSync(join(root, 'shared/app'));
    const found = () => repositoryAt(join(root, 'shared/app'), diskEyes());
    expect(found()?.branch).toBe('theirs');
    give('shared/.git/HEAD');
    expect(found()).toBeUndefined();
    write('shared/app/.git', `gitdir: ${join(root, 'mine')}\n`);
    write('mine/HEAD', 'ref: refs/heads/mine\n');
    expect(found()?.branch).toBe('mine');
    give('shared/app/.git');
    expect(found()).toBeUndefined();
  });

  it('a discovery file runs nothing', () => {
    write('home/clone/.openhook.json', { openhook: '0.1', hooks: [] });
    give('home/clone/.openhook.json');
    expect(discover(clone, { env: {}, home, platform: 'linux', cwd: clone })).toMatchObject({
      why: 'it belongs to another user',
    });
  });
});

describe('config --trust', () => {
  const asked: string[] = [];
  const trust = (words: string[] = [], answer?: string): Promise<Ran> => {
    asked.length = 0;
    const ask = async (question: string): Promise<string> => {
      asked.push(question);
      return answer ?? '';
    };
    const words_ = ['config', '--trust', ...words];
    return ranIn(home, words_, { cwd: clone, isTerminal: answer !== undefined, ask });
  };
  const isTrusted = () => load().projectTrusted;
  const theirs = {
    service_name: 'shop',
    provider: ['otlp', 'file'],
    otlp: { endpoint: 'https://name:secret-word@collector.example/path?api_key=hidden', headers: 'x-key=hidden' },
    file: { path: 'out/log\u001b[2J.jsonl' },
  };

  it('shows every key beyond a project’s rights, with hosts and real paths, and nothing secret', async () => {
    fs.mkdirSync(join(root, 'elsewhere'));
    fs.symlinkSync(join(root, 'elsewhere'), join(clone, 'out'));
    write('home/clone/.otel-hooks.json', theirs);
    const ran = await trust([], 'n');
    for (const shown of ['provider', 'otlp.endpoint', 'https://collector.example/path', 'otlp.headers', 'x-key=***'])
      expect(ran.out).toContain(shown);
    expect(ran.out).toContain(`${join(root, 'elsewhere')}/log\\u{1b}[2J.jsonl`);
    expect(ran.out).not.toMatch(/service_name|hidden|secret-word|\u001b/);
    expect([asked.length, isTrusted(), ran.out.endsWith('Nothing was accepted.\n')]).toEqual([1, false, true]);
  });

  it('accepts after a yes, or with --yes, and refuses to guess without a terminal', async () => {
    write('home/clone/.otel-hooks.json', theirs);
    const silent = await trust();
    expect([silent.code, silent.err, isTrusted()]).toEqual([2, expect.stringContaining('--yes'), false]);
    await trust([], 'yes');
    expect([asked.length, isTrusted()]).toEqual([1, true]);
    write('home/clone/.otel-hooks.json', { ...theirs, service_name: 'other' });
    expect(isTrusted()).toBe(false);
    const agreed = await trust(['--yes']);
    expect([agreed.code, asked.length, isTrusted()]).toEqual([0, 0, true]);
    expect((await trust()).out).toContain('was accepted before');
  });

  it('does not ask if no key needs consent', async () => {
    write('home/clone/.otel-hooks.json', { service_name: 'shop' });
    const ran = await trust();
    expect([ran.code, ran.out]).toEqual([0, expect.stringContaining('nothing that needs your consent')]);
  });

  it('agrees to the text that was shown, even if the file changes during the question', async () => {
    const file = write('home/clone/.otel-hooks.json', theirs);
    const ask = async (): Promise<string> => {
      fs.writeFileSync(file, JSON.stringify({ otlp: { endpoint: 'https://evil.example' } }));
      return 'y';
    };
    await ranIn(home, ['config', '--trust'], { cwd: clone, isTerminal: true, ask });
    expect(isTrusted()).toBe(false);
  });
});
