/**
 * The bin is the cold start of every hook of every agent, so this test limits its size and lists the modules that it
 * loads.
 */
import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { builtinModules } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { root } from './sources.ts';

const bin = join(root, 'dist', 'otel-hooks.cjs');
let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'otel-hooks-front-'));
});
afterAll(() => rmSync(folder, { recursive: true }));

it('the bin is one file of at most 16 KB that can be executed', () => {
  expect(statSync(bin).size).toBeLessThanOrEqual(16 * 1024);
  expect(statSync(bin).mode & 0o111).toBe(0o111);
  expect(readFileSync(bin, 'utf8').startsWith('#!/usr/bin/env node\n')).toBe(true);
});

it('the bin names only node: modules, and the commands that it does not load for a hook', () => {
  const text = readFileSync(bin, 'utf8');
  const named = [...text.matchAll(/\b(?:require|import)\(\s*["'`]([^"'`]+)["'`]\s*\)/g)].map(match => match[1] ?? '');
  const others = [...new Set(named)].filter(
    name => !(name.startsWith('node:') && builtinModules.includes(name.slice(5))),
  );
  expect(others.sort()).toEqual(['./cli.js', './run-hook.cjs', './short.cjs']);
});

it('a hook that need not start a delivery loads only node:fs', () => {
  const spy = join(folder, 'spy.cjs');
  const list = join(folder, 'loaded');
  const state = join(folder, 'state');
  writeFileSync(
    spy,
    `const Module = require('node:module'); const { appendFileSync } = require('node:fs');
     const load = Module._load;
     Module._load = function (name, ...rest) { appendFileSync(${JSON.stringify(list)}, name + '\\n'); return load.call(this, name, ...rest); };`,
  );
  // The test holds the lock of delivery.
  mkdirSync(state, { mode: 0o700 });
  writeFileSync(join(state, 'lock'), `${process.pid} {}\n`, { mode: 0o600 });
  const output = execFileSync(process.execPath, ['-r', spy, bin, 'hook'], {
    input: JSON.stringify({ hook_event_name: 'Stop', session_id: 's' }),
    env: { HOME: folder, PATH: process.env.PATH, OTEL_HOOKS_STATE_DIR: state },
    encoding: 'utf8',
  });
  const loaded = readFileSync(list, 'utf8').trim().split('\n');
  expect(output).toBe('');
  expect(readdirSync(join(state, 'inbox'))).toHaveLength(1);
  expect([...new Set(loaded)].filter(name => name !== bin)).toEqual(['node:fs']);
});
