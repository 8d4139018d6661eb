/** Links in a clone and links of the user: the file that a change of settings reaches. */
import fs from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type Ran, ranIn } from '../commands/ran.ts';

let home: string;
let clone: string;
beforeEach(() => {
  home = fs.realpathSync(fs.mkdtempSync(join(tmpdir(), 'otel-hooks-links-')));
  clone = join(home, 'clone');
  fs.mkdirSync(clone);
  fs.writeFileSync(join(home, '.bashrc'), '{}\n', { mode: 0o640 });
});
afterEach(() => fs.rmSync(home, { recursive: true, force: true }));

const run = (words: string[]): Promise<Ran> => ranIn(home, words, { cwd: clone });
const link = (to: string, path: string): void => {
  fs.mkdirSync(dirname(join(clone, path)), { recursive: true });
  fs.symlinkSync(to, join(clone, path));
};
const settings = '.claude/settings.json';
const enable = ['enable', '--tool', 'claude', '--yes', '--no-proof'];
const disable = ['disable', '--tool', 'claude', '--yes'];
const old = JSON.stringify({ hooks: { Stop: [{ hooks: [{ type: 'command', command: 'otel-hooks hook' }] }] } });

describe.skipIf(process.platform === 'win32')('in a clone', () => {
  it('a link in the place of the backup is not followed, by any command that changes settings', async () => {
    for (const name of ['settings.json.otel-hooks-backup', `.settings.json.otel-hooks-${process.pid}`])
      link('../../.bashrc', `.claude/${name}`);
    fs.writeFileSync(join(clone, settings), old);
    for (const words of [
      [...enable, '--project'],
      ['doctor', '--fix', '--yes', '--offline', '--no-proof'],
      [...disable, '--project'],
    ])
      await run(words);
    expect(fs.readFileSync(join(home, '.bashrc'), 'utf8')).toBe('{}\n');
    expect(fs.lstatSync(join(clone, '.claude/settings.json.otel-hooks-backup')).isSymbolicLink()).toBe(true);
  });

  it.each([
    ['the file', '../../.bashrc', settings],
    ['the folder', '../other', '.claude'],
    ['a file that is not there yet', '../../.profile', settings],
    ['two links', 'second', settings],
  ])('settings that lead out of it through %s are refused, and the target is named', async (_, to, path) => {
    fs.mkdirSync(join(home, 'other'));
    link(to, path);
    if (to === 'second') fs.symlinkSync('../../.bashrc', join(clone, '.claude/second'));
    const before = fs.readdirSync(home, { recursive: true }).sort();
    for (const scope of ['--project', '--local'].slice(0, path === settings ? 1 : 2)) {
      const ran = await run([...enable, scope]);
      expect([ran.code, ran.err]).toEqual([
        1,
        expect.stringMatching(/is a link out of the project, to ~\/(\.bashrc|other|\.profile)/),
      ]);
    }
    expect(fs.readFileSync(join(home, '.bashrc'), 'utf8')).toBe('{}\n');
    expect(fs.readdirSync(home, { recursive: true }).sort()).toEqual(before);
  });

  it('entries of ours behind such a link stay, for disable and doctor --fix alike', async () => {
    fs.writeFileSync(join(home, '.bashrc'), old);
    link('../../.bashrc', settings);
    const off = await run([...disable, '--project']);
    expect([off.code, off.err]).toEqual([1, expect.stringContaining('is a link out of the project')]);
    const fixed = await run(['doctor', '--fix', '--yes', '--offline', '--no-proof', '--tool', 'claude']);
    expect(fixed.out).toContain('is a link out of the project');
    expect(fs.readFileSync(join(home, '.bashrc'), 'utf8')).toBe(old);
  });

  it('a link that stays in the project is followed, kept and named', async () => {
    fs.writeFileSync(join(clone, 'shared.json'), '{}\n');
    link('../shared.json', settings);
    const ran = await run([...enable, '--project']);
    expect([ran.code, ran.out]).toEqual([0, expect.stringContaining('(it is a link to ~/clone/shared.json)')]);
    expect(fs.readFileSync(join(clone, 'shared.json'), 'utf8')).toContain('SessionStart');
    expect(fs.lstatSync(join(clone, settings)).isSymbolicLink()).toBe(true);
    await run([...disable, '--project']);
    expect(fs.readFileSync(join(clone, 'shared.json'), 'utf8')).toBe('{}\n');
  });

  it('convert writes nothing outside of the folder that it was given', async () => {
    const manifest = join(home, 'hook.json');
    fs.writeFileSync(
      manifest,
      JSON.stringify({ hooks: { SessionEnd: [{ hooks: [{ type: 'command', command: 'true' }] }] } }),
    );
    fs.mkdirSync(join(home, 'other'));
    link('../other', '.cursor');
    const words = ['convert', manifest, '--from', 'claude-code', '--to', 'cursor', '--out', clone, '--force'];
    const ran = await run(words);
    expect([ran.code, ran.err]).toEqual([1, expect.stringContaining('leads out of')]);
    expect(fs.readdirSync(join(home, 'other'))).toEqual([]);
    fs.unlinkSync(join(clone, '.cursor'));
    expect((await run(words)).code).toBe(0);
  });
});

describe.skipIf(process.platform === 'win32')('the person’s own link to a file elsewhere', () => {
  it('is followed, kept and named, and disable restores the file byte for byte', async () => {
    const real = join(home, 'dotfiles/settings.json');
    fs.mkdirSync(dirname(real));
    fs.writeFileSync(real, '{ "model": "x" }\n');
    fs.mkdirSync(join(home, '.claude'));
    fs.symlinkSync('../dotfiles/settings.json', join(home, settings));
    const on = await run(enable);
    expect([on.code, on.out]).toEqual([0, expect.stringContaining('(it is a link to ~/dotfiles/settings.json)')]);
    expect((await run(disable)).code).toBe(0);
    expect(fs.readFileSync(real, 'utf8')).toBe('{ "model": "x" }\n');
    expect(fs.readlinkSync(join(home, settings))).toBe('../dotfiles/settings.json');
    expect(fs.readdirSync(dirname(real))).toEqual(['settings.json']);
  });
});

describe('a copy that a killed change left', () => {
  const notes = () => join(home, '.local/share/otel-hooks/folders.json');
  const left = async (): Promise<string> => {
    await run(enable);
    const copy = join(home, '.claude', `.settings.json.otel-hooks-${'0'.repeat(16)}`);
    fs.writeFileSync(copy, '{ "model": "former" }\n', { mode: 0o600 });
    const noted = JSON.parse(fs.readFileSync(notes(), 'utf8')) as object;
    fs.writeFileSync(notes(), JSON.stringify({ ...noted, copies: { [copy]: join(home, settings) } }));
    return copy;
  };

  it('is removed by the next change', async () => {
    const copy = await left();
    await run(disable);
    expect(fs.existsSync(copy)).toBe(false);
    expect(fs.existsSync(join(home, settings))).toBe(false);
  });

  it('is restored if the file is missing', async () => {
    const copy = await left();
    fs.unlinkSync(join(home, settings));
    await run(disable);
    expect([fs.existsSync(copy), fs.readFileSync(join(home, settings), 'utf8')]).toEqual([
      false,
      '{ "model": "former" }\n',
    ]);
  });
});
