import { describe, expect, it } from 'vitest';
import { convertManifest, decode } from '../../src/interchange/conversion.ts';
import type { Hook } from '../../src/interchange/manifest.ts';
import { plainTextLosses } from '../../src/interchange/plain-text.ts';
import { guard, lossLines, manifestOf, targetNamed } from './targets.ts';

function lossesAt(slug: string, hook: Hook): string {
  return lossLines(convertManifest(manifestOf(hook), targetNamed(slug)).losses).join('\n');
}

describe('variables of the project', () => {
  const commandAt = (slug: string, command: string): string | undefined => {
    const { fit } = convertManifest(manifestOf(guard(command)), targetNamed(slug));
    return fit.hooks[0]?.hook.handler.command;
  };

  const braced = (name: string): string => `$\{${name}}`;

  it.each([
    ['cursor', '"$CLAUDE_PROJECT_DIR"/hooks/a.sh', '"$CLAUDE_PROJECT_DIR"/hooks/a.sh'],
    ['gemini-cli', '"$FACTORY_PROJECT_DIR"/a.sh', '"$GEMINI_PROJECT_DIR"/a.sh'],
    [
      'factory-droid',
      `sh "${braced('CLAUDE_PROJECT_DIR/a')}" $CLAUDE_PROJECT_DIRS`,
      `sh "${braced('FACTORY_PROJECT_DIR/a')}" $CLAUDE_PROJECT_DIRS`,
    ],
    ['claude-code', braced('CURSOR_PROJECT_DIR:-.'), braced('CLAUDE_PROJECT_DIR:-.')],
    ['opencode', '$CLAUDE_PROJECT_DIR/a.sh', '$PWD/a.sh'],
  ])('are those of %s', (slug, from, to) => {
    expect(commandAt(slug, from)).toBe(to);
  });

  it('stay where the runtime sets them', () => {
    const target = targetNamed('codex', { commands: 'runtime' });
    const { fit, losses } = convertManifest(manifestOf(guard('"$CLAUDE_PROJECT_DIR"/a.sh')), target);
    expect(fit.hooks[0]?.hook.handler.command).toBe('"$CLAUDE_PROJECT_DIR"/a.sh');
    expect(lossLines(losses).join('\n')).not.toContain('PROJECT_DIR');
  });

  it('are losses where the agent has none', () => {
    const losses = lossesAt('codex', guard('"$CLAUDE_PROJECT_DIR"/a.sh'));
    expect(losses).toContain('1 error semantic_approximation: Codex does not set $CLAUDE_PROJECT_DIR');
    expect(lossesAt('codex', guard('"$CLAUDE_PROJECT_DIR"/a.sh', { blocking: false }))).toContain('1 warning semantic');
    expect(lossesAt('factory-droid', guard('"$CLAUDE_PROJECT_DIR"/a.sh'))).toContain(
      '$CLAUDE_PROJECT_DIR becomes $FACTORY_PROJECT_DIR',
    );
  });
});

describe('plain text as context', () => {
  const native = {
    hooks: {
      SessionStart: [{ hooks: [{ type: 'command', command: 'date' }] }],
      PreToolUse: [{ hooks: [{ type: 'command', command: 'x' }] }],
    },
  };
  const claude = targetNamed('claude-code');
  const decoded = decode(JSON.stringify(native), 'settings.json', claude);
  const manifest = decoded.ok ? decoded.manifest : manifestOf();

  it.each([
    ['windsurf', 0],
    ['cursor', 1],
    ['codex', 0],
    ['gemini-cli', 1],
  ])('is a loss at %s where the agent does not take it', (slug, losses) => {
    expect(plainTextLosses(manifest, claude.provider, targetNamed(slug))).toHaveLength(losses);
  });

  it('is a loss in the format', () => {
    expect(lossLines(plainTextLosses(manifest, claude.provider, undefined))).toEqual([
      '1 warning semantic_approximation: plain text that the hook prints at session_start is context for Claude Code; for the format it is an error of the hook',
    ]);
  });
});

describe('keys of other agents', () => {
  it.each([
    ['cursor', 'failClosed', true],
    ['claude-code', 'shell', 'powershell'],
    ['claude-code', 'once', true],
    ['gemini-cli', 'sequential', true],
    ['copilot-cli', 'env', { A: '1' }],
    ['kiro', 'enabled', false],
  ] as const)('%s: %s is named with what it means', (slug, key, value) => {
    const losses = lossesAt('windsurf', guard('x', { provider_data: { [slug]: { [key]: value, other_key: 1 } } }));
    expect(losses).toMatch(new RegExp(`1 warning field_dropped: ${key} of .*: `));
    expect(losses).toMatch(/1 info field_dropped: provider_data\.\S+ is not for Windsurf: .*other_key/);
  });

  it('the group of a handler is one of them', () => {
    const losses = lossesAt('cursor', guard('x', { provider_data: { 'gemini-cli': { group: { note: 'n' } } } }));
    expect(losses).toContain('provider_data.gemini-cli is not for Cursor: group.note');
  });
});

it('a status message is a loss where no agent shows it', () => {
  const hook = guard('x', { handler: { type: 'command', command: 'x', status_message: 'Looking' } });
  expect(lossesAt('gemini-cli', hook)).toContain(
    '1 info field_dropped: Gemini CLI shows no message while a hook runs: status_message is not carried over',
  );
  expect(lossesAt('claude-code', hook)).not.toContain('status_message');
});
