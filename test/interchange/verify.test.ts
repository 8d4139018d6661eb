import { expect, it } from 'vitest';
import { convertManifest, verify } from '../../src/interchange/conversion.ts';
import { fittedTo } from '../../src/interchange/fit.ts';
import { guard, manifestOf, targetNamed } from './targets.ts';

it.each(['windsurf', 'cursor'])('three hooks on the split event of %s are not refused', slug => {
  const manifest = manifestOf(
    guard('a', { matcher: 'shell' }),
    guard('b', { matcher: 'file_read' }),
    guard('c', { matcher: ['shell', 'file_read'] }),
    guard('d'),
    guard('a', { matcher: 'file_read' }),
  );
  for (const registry of [undefined, '2026.03', '2026.04'] as const)
    expect(convertManifest(manifest, targetNamed(slug, { registry }))).toMatchObject({ ok: true });
});

it('a list of Windsurf in another order is refused', () => {
  const there = targetNamed('windsurf');
  const manifest = manifestOf(guard('a'), guard('b'));
  const encoded = convertManifest(manifest, there);
  const [file] = encoded.ok ? encoded.files : [];
  const { hooks } = JSON.parse(file?.text ?? '') as { hooks: Record<string, unknown[]> };
  const text = JSON.stringify({ hooks: { ...hooks, pre_write_code: hooks.pre_write_code?.toReversed() } });
  expect(verify(fittedTo(manifest, there), [{ path: there.layout.file, text }], there)).toContain('pre_write_code');
});

it('entries that differ only in their matchers may be joined', () => {
  const there = targetNamed('claude-code');
  const manifest = manifestOf(guard('a', { matcher: ['file_edit', 'file_write'] }));
  const one = (matcher: string): object => ({ matcher, hooks: [{ type: 'command', command: 'a' }] });
  const text = JSON.stringify({ hooks: { PreToolUse: [one('Edit'), one('Write')] } });
  expect(verify(fittedTo(manifest, there), [{ path: there.layout.file, text }], there)).toBeUndefined();
});
