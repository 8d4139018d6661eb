/** The disk that a session of 60 spans takes once it is over: its state, and its journal before and after packing. */
import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { expect, it } from 'vitest';
import { encodeFragment, fragmentName } from '../../src/hook/fragment.ts';
import { computeRound } from '../../src/pipeline/round.ts';
import { openStore } from '../../src/store/store.ts';
import { diskEyes } from '../../src/transcripts/eyes.ts';
import { impatient } from '../../src/transcripts/settlement.ts';

const SESSION = '6f1c2d3e-0000-4000-8000-00000000beef';
const ACTIONS = 54;
const START_MS = Date.UTC(2026, 2, 2, 9);

it('a session of 60 spans takes at most 4 KB of state, and its packed journal a tenth', () => {
  const root = mkdtempSync(join(tmpdir(), 'otel-hooks-disk-'));
  try {
    const store = openStore({ folder: join(root, 'state'), access: 'own' });
    let n = 0;
    const hook = (event: string, fields: object = {}): void => {
      n += 1;
      const payload = { session_id: SESSION, cwd: '/home/dev/shop', hook_event_name: event, ...fields };
      const unique = `${String(n).padStart(8, '0')}-0000`;
      const header = { tool: 'claude-code', event, at: String(START_MS + n * 40), ppid: '4711', cwd: '/' };
      const name = fragmentName('abcdef01', (1_000 + n / 100).toFixed(2), 1_000 + n, unique);
      const bytes = encodeFragment(unique, header, Buffer.from(JSON.stringify(payload)));
      writeFileSync(join(root, 'state', 'inbox', name), bytes, { mode: 0o600 });
    };
    hook('SessionStart', { source: 'startup', model: 'claude-sonnet-5' });
    for (let turn = 0; turn < 5; turn += 1) {
      const at = { prompt_id: `${SESSION}-${turn}`, permission_mode: 'default' };
      hook('UserPromptSubmit', { ...at, prompt: `Please look at number ${turn}` });
      for (let call = turn; call < ACTIONS; call += 5) {
        const use = { ...at, tool_name: 'Bash', tool_use_id: `toolu_01${String(call).padStart(22, 'A')}` };
        hook('PreToolUse', { ...use, tool_input: { command: `npm test -- ${call}` } });
        hook('PostToolUse', {
          ...use,
          tool_input: { command: `npm test -- ${call}` },
          tool_response: { stdout: `${call}` },
        });
      }
      hook('Stop', at);
    }
    hook('SessionEnd', { reason: 'other' });
    const taken = store.take({ fragments: 1_000, bytes: 32 * 1024 * 1024 });
    const world = {
      ...{ env: {}, home: root, platform: process.platform, ownVariables: false, configFile: undefined },
      ...{ installation: 'disk', hashKey: 'disk', nowMs: START_MS + 60_000, eyes: diskEyes(), waits: impatient },
    };
    const { round } = computeRound(store, taken, {}, world);
    expect(store.commit(round)).toBe('committed');
    const [key = ''] = store.sessions();
    expect(store.outline(key)).toMatchObject({ destinations: [] });
    expect(statSync(join(root, 'state', 'sessions', `${key}.json`)).size).toBeLessThanOrEqual(4_096);
    const journal = readFileSync(join(root, 'state', 'journal', `${key}.jsonl`));
    const packed = (bytes: Buffer): number => gzipSync(bytes, { level: 9 }).length;
    expect(packed(journal)).toBeLessThanOrEqual(journal.length / 10);
    expect(packed(journal.subarray(0, 35 * 1024))).toBeLessThanOrEqual(4_096);
  } finally {
    rmSync(root, { recursive: true });
  }
});
