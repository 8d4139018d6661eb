/** Hooks that are programs in folders: each folder has one program for each name. */
import { describe, expect, it } from 'vitest';
import { settings } from '../../src/agents/cline/settings.ts';

const places = { home: '/home/me', project: '/shop', env: {}, platform: 'linux' };
const filesWith = (texts: Record<string, string>, platform = 'linux') =>
  settings.files(
    'global',
    { ...places, platform },
    path => texts[path],
    () => [],
  );
const writtenWith = (texts: Record<string, string>) =>
  filesWith(texts)
    .filter(({ add }) => add)
    .map(({ path }) => path);

describe('a name that another hook uses', () => {
  const own = '#!/bin/bash\n# mine\njq . >> log; echo \'{"cancel":false}\'\n';
  it('our hook goes into the other folder, and the person’s own stays', () => {
    const taken = '/home/me/Documents/Cline/Hooks/PreToolUse';
    const written = writtenWith({ [taken]: own });
    expect(written).toContain('/home/me/.cline/hooks/PreToolUse');
    expect(written).not.toContain(taken);
    expect(written).toContain('/home/me/Documents/Cline/Hooks/TaskStart');
    const file = filesWith({ [taken]: own }).find(({ path }) => path === taken);
    expect(file?.remove(own)).toEqual({ ok: true, text: own, changed: false, events: [] });
    expect(file?.entries(own)).toEqual([]);
  });
  it('in both folders, nothing is changed', () => {
    const both = {
      '/home/me/Documents/Cline/Hooks/Stop': own,
      '/home/me/Documents/Cline/Hooks/TaskStart': own,
      '/home/me/.cline/hooks/TaskStart': own,
    };
    const file = filesWith(both).find(({ path, add }) => add && path.endsWith('/TaskStart'));
    expect(file?.add?.(own, new Map())).toMatchObject({
      ok: false,
      line: 1,
      why: expect.stringMatching(/another program/),
    });
  });
});

it('entries of the Python package count as ours', () => {
  const [file] = filesWith({});
  for (const text of [
    '#!/bin/sh\notel-hooks hook --provider langfuse\n',
    '#!/usr/bin/env bash\n\nset -euo pipefail\n\n# otel-hooks\nexec uvx otel-hooks hook --provider otlp\n',
  ])
    expect(file?.remove(text)).toMatchObject({ ok: true, text: undefined, changed: true });
});

it('only the line that the Python package appended to a person’s own program is removed', () => {
  const [file] = filesWith({});
  const own = '#!/bin/bash\njq . >> log\n';
  expect(file?.remove(`${own}otel-hooks hook --provider langfuse\n`)).toMatchObject({
    ok: true,
    text: own,
    changed: true,
  });
  for (const kept of [own, `${own}otel-hooks hook\ndate\n`, `${own}lint && otel-hooks hook\n`])
    expect(file?.remove(kept)).toMatchObject({ ok: true, text: kept, changed: false });
});
