import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { resolve } from '../src/config/config.ts';
import { defaultModes } from '../src/event/content-classes.ts';
import { contentSettings, keeperOf } from '../src/session/own-content.ts';
import { pin } from '../src/session/pin.ts';
import { fragmentOf, START_MS } from './play.ts';

const from = (config: object) =>
  contentSettings(
    resolve({ global: { file: '/c.json', text: JSON.stringify(config) }, env: {}, home: '/home/ada', cwd: '/' }),
  );

it('by default no content is kept, and a session has no settings for it', () => {
  expect(from({})).toEqual({ settings: undefined, problems: [] });
  expect(keeperOf({})).toBeUndefined();
  expect(from({ content: { prompt: 'hash', paths: 'off' } }).settings).toBeUndefined();
});

it("requested metadata of vendors is searched with the user's own patterns, and no other metadata stays", () => {
  const { settings } = from({ metadata: { include: ['dev.a.b'] }, redaction: { patterns: ['ACME-[0-9]+'] } });
  expect(settings).toMatchObject({ modes: defaultModes, metadata: ['dev.a.b'] });
  expect(keeperOf({ content: settings })).toMatchObject({ metadata: ['dev.a.b'] });
  expect(keeperOf({ content: settings })?.clean('ACME-1')).toBe('[redacted:own]');
});

it("users' own patterns remove more, and allow texts that they match as a whole", () => {
  const { settings, problems } = from({
    content: { prompt: 'redacted' },
    redaction: { patterns: ['ACME-[0-9]+'], allow: ['.*@example\\.org', 'ACME-7'] },
  });
  expect(problems).toEqual([]);
  const clean = keeperOf({ content: settings })?.clean;
  expect(clean?.('ACME-1, ACME-7, ACME-77, a@example.org, a@example.org.evil.example')).toBe(
    '[redacted:own], ACME-7, [redacted:own], a@example.org, [redacted:email]',
  );
});

it('an unusable pattern affects only itself; a pattern that would hang another engine works', () => {
  const { settings, problems } = from({
    content: { prompt: 'redacted' },
    redaction: { patterns: ['(', '(a+)+$', '(?=x)'], allow: ['['] },
  });
  expect(settings).toMatchObject({ patterns: ['(a+)+$'], allow: [] });
  expect(problems.map(problem => 'value' in problem && problem.value)).toEqual(['(', '(?=x)', '[']);
  expect(keeperOf({ content: settings })?.clean(`${'a'.repeat(20_000)}!`)).toHaveLength(20_001);
});

it('is pinned with the session: user and machine in their modes, hashes under a key that machines may share', () => {
  const home = mkdtempSync(join(tmpdir(), 'otel-hooks-content-'));
  try {
    const pinned = (config: object, hashKey: string, user?: string) => {
      const configFile = join(home, 'config.json');
      writeFileSync(configFile, JSON.stringify(config));
      const settles = { action: 'hook', turn: 'hook', subagent: 'hook', session: 'hook' } as const;
      const opening = { agent: { id: 'a', settles }, session: 's', key: 'k', cwd: home, user };
      const where = { env: {}, home, platform: process.platform, ownVariables: false, configFile, installation: 'i' };
      return pin(opening, fragmentOf({ atMs: START_MS, payload: {} }), { ...where, hashKey }).pinned;
    };
    const usual = pinned({}, 'one');
    expect(usual).not.toHaveProperty('content');
    expect(usual).not.toHaveProperty('user');
    expect(usual.resource).not.toHaveProperty('host.name');
    const who = { content: { user: 'hash', host: 'hash' } };
    expect(pinned(who, 'one').user).toMatch(/^hmac-sha256:/);
    expect(pinned(who, 'one').resource['host.id']).toMatch(/^hmac-sha256:/);
    expect(pinned(who, 'one').user).not.toBe(pinned(who, 'two').user);
    const shared = { content: { ...who.content, hash_key: '0123456789abcdef' } };
    expect(pinned(shared, 'one').user).toBe(pinned(shared, 'two').user);
    // The user of an event of a standard is the one that it names, not the user who is logged in at its arrival.
    const userOf = (mode: string) => pinned({ content: { user: mode } }, 'one', 'kim').user;
    expect([userOf('off'), userOf('full')]).toEqual([undefined, 'kim']);
    expect(pinned({ content: { user: 'full' } }, 'one', '')).not.toHaveProperty('user');
    expect(userOf('hash')).toMatch(/^hmac-sha256:/);
    expect(userOf('hash')).not.toBe(pinned(who, 'one').user);
    expect(pinned(who, 'two', userOf('hash')).user).toBe(userOf('hash'));
    const named = pinned({ content: { user: 'redacted', host: 'full' } }, 'one');
    expect(named.user).toBeTruthy();
    expect(named.resource['host.name']).toBeTruthy();
  } finally {
    rmSync(home, { recursive: true, force: true });
  }
});
