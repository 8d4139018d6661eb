/** Droid has two files of hooks, and an event of one hides the same event of the other. */
import { parse } from 'jsonc-parser';
import { expect, test } from 'vitest';
import type { HookCommand, SettingsFile } from '../../src/agents/contract/contract.ts';
import { settings } from '../../src/agents/droid/settings.ts';

const places = { home: '/home/me', project: '/shop', env: {}, platform: 'linux' };
const posix = "otel_hooks='droid Stop edge'; . '/home/me/.local/share/otel-hooks/hook.sh'";
const commands = new Map<string, HookCommand>([
  ['Stop', { posix }],
  ['SessionEnd', { posix }],
]);

function filesOver(texts: Record<string, string>): [own: SettingsFile, shared: SettingsFile] {
  const found =
    'files' in settings
      ? settings.files(
          'global',
          places,
          path => texts[path.split('/').pop() ?? ''],
          () => [],
        )
      : [];
  const [own, shared] = found;
  if (own === undefined || shared === undefined) throw new Error('not two files');
  return [own, shared];
}

const after = (file: SettingsFile, text: string | undefined): unknown => {
  const edit = file.add?.(text, commands) ?? file.remove(text ?? '');
  return edit.ok && edit.text !== undefined ? parse(edit.text) : undefined;
};

test('without hooks.json, all of our hooks go into settings.json, below `hooks`', () => {
  const [own, shared] = filesOver({});
  expect(own.add).toBeUndefined();
  expect(after(shared, undefined)).toEqual({
    hooks: {
      Stop: [{ hooks: [{ type: 'command', command: posix, timeout: 5 }] }],
      SessionEnd: [{ hooks: [{ type: 'command', command: posix, timeout: 5 }] }],
    },
  });
});

test('an event that hooks.json has gets our hook there, at the top level, and only there', () => {
  const text = '{ "Stop": [ { "hooks": [ { "type": "command", "command": "say done" } ] } ] }';
  const [own, shared] = filesOver({ 'hooks.json': text });
  expect(after(own, text)).toMatchObject({ Stop: [{}, { hooks: [{ command: posix }] }] });
  expect(Object.keys((after(shared, undefined) as { hooks: object }).hooks)).toEqual(['SessionEnd']);
});

test('entries below a member `hooks` of hooks.json, which Droid ignores, are removed', () => {
  const former = JSON.stringify({ hooks: { Stop: [{ hooks: [{ type: 'command', command: posix, timeout: 5 }] }] } });
  const [own] = filesOver({ 'hooks.json': former });
  expect(own.entries(former)).toEqual([]);
  expect(own.remove(former)).toMatchObject({ ok: true, changed: true });
  expect(own.remove(former)).not.toMatchObject({ text: expect.stringContaining('otel_hooks') });
});
