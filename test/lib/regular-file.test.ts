/** Untrusted files: the program never waits for and never reads a file that is not regular. */
import { execFileSync, spawn } from 'node:child_process';
import fs from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { FileRefused, readRegularFile } from '../../src/lib/regular-file.ts';

let folder: string;
beforeEach(() => {
  folder = fs.mkdtempSync(join(tmpdir(), 'otel-hooks-regular-'));
});
afterEach(() => fs.rmSync(folder, { recursive: true, force: true }));

const path = (name: string): string => join(folder, name);
const read = (name: string, follow?: boolean): string =>
  readRegularFile(path(name), 1_024, follow === undefined ? {} : { follow }).toString('utf8');

describe.skipIf(process.platform === 'win32')('a file that is read', () => {
  it('is complete, also through a link, and also without a stated size', () => {
    fs.writeFileSync(path('a'), 'x'.repeat(1_024));
    fs.symlinkSync('a', path('link'));
    expect([read('a').length, read('link').length]).toEqual([1_024, 1_024]);
    if (process.platform === 'linux') {
      expect(fs.statSync('/proc/self/status').size).toBe(0);
      expect(readRegularFile('/proc/self/status', 65_536).toString()).toContain('Pid:');
    }
  });

  it('is refused above the limit, also without a stated size', () => {
    fs.writeFileSync(path('a'), 'x'.repeat(1_025));
    expect(() => read('a')).toThrow('it is larger than 1024 bytes');
    fs.truncateSync(path('a'), 1e12);
    expect(() => read('a')).toThrow(FileRefused);
    if (process.platform === 'linux') expect(() => readRegularFile('/proc/self/status', 16)).toThrow(FileRefused);
  });

  it('does not open or wait for a FIFO, a device, a socket or a folder', () => {
    execFileSync('mkfifo', [path('fifo')]);
    fs.mkdirSync(path('folder'));
    fs.symlinkSync('/dev/zero', path('zero'));
    for (const name of ['fifo', 'folder', 'zero']) expect(() => read(name), name).toThrow('it is not a regular file');
  });

  it('is refused if it is a link and links are not followed', () => {
    fs.writeFileSync(path('a'), 'text');
    fs.symlinkSync('a', path('link'));
    expect(read('a', false)).toBe('text');
    expect(() => read('link', false)).toThrow('it is a symbolic link');
    expect(() => read('none', false)).toThrow(/ENOENT/);
  });

  it('remains the checked file while another process swaps the path for a link and a FIFO', async () => {
    fs.writeFileSync(path('secret'), 'secret');
    fs.writeFileSync(path('own'), 'own');
    const swapping = `
      const fs = require('node:fs');
      const at = name => ${JSON.stringify(folder)} + '/' + name;
      process.stdout.write('.');
      for (;;) {
        fs.copyFileSync(at('own'), at('next')); fs.renameSync(at('next'), at('target'));
        fs.symlinkSync('secret', at('next')); fs.renameSync(at('next'), at('target'));
        fs.linkSync(at('fifo'), at('next')); fs.renameSync(at('next'), at('target'));
      }`;
    execFileSync('mkfifo', [path('fifo')]);
    const swapper = spawn(process.execPath, ['-e', swapping], { stdio: ['ignore', 'pipe', 'inherit'] });
    const ended = new Promise(resolve => swapper.once('exit', resolve));
    await new Promise(resolve => swapper.stdout.once('data', resolve));
    const seen = new Set<string>();
    // Enough attempts to detect unsafe code: a check by path alone reads the secret, or waits for ever, within some
    // hundreds.
    const endMs = performance.now() + 1_000;
    while (performance.now() < endMs) {
      try {
        seen.add(read('target', false));
      } catch (error) {
        seen.add(error instanceof FileRefused ? 'refused' : 'gone');
      }
    }
    swapper.kill('SIGKILL');
    await ended;
    expect([...seen]).not.toContain('secret');
    expect([...seen]).toContain('own');
  });
});
