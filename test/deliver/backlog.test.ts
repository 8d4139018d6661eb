/** A backlog in the inbox that makes more bodies than the outbox may hold at once. */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { deliver } from '../../src/deliver/deliver.ts';
import { keepOf } from '../../src/deliver/state-limits.ts';
import { encodeFragment, fragmentName } from '../../src/hook/fragment.ts';
import { openStore } from '../../src/store/store.ts';
import { type Reply, startCollector } from '../collector.ts';

const HOOKS = 200;
const A_ROUND = { fragments: 10, bytes: 1_000_000 };
const SLOW_MS = 20;

let home = '';
beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), 'backlog-'));
});
afterEach(() => rmSync(home, { recursive: true, force: true }));

function writeHooks(endpoint: string): void {
  const inbox = join(home, 'state', 'inbox');
  mkdirSync(inbox, { recursive: true, mode: 0o700 });
  for (let number = 0; number < HOOKS; number += 1) {
    const unique = `00000000-0000-4000-8000-${String(number).padStart(12, '0')}`;
    const header = {
      ...{ tool: 'claude-code', ppid: '1', OTEL_HOOKS_PROVIDER: 'otlp', OTEL_METRICS_EXPORTER: 'none' },
      OTEL_EXPORTER_OTLP_ENDPOINT: endpoint,
    };
    const name = number % 2 === 0 ? 'PreToolUse' : 'PostToolUse';
    const use = { tool_name: 'Bash', tool_use_id: `t${number >> 1}`, tool_input: { command: 'ls' } };
    const payload = { session_id: 's-1', cwd: home, hook_event_name: name, ...use };
    const file = fragmentName('0000beef', String(1_000 + number), 100 + number, unique);
    writeFileSync(join(inbox, file), encodeFragment(unique, header, Buffer.from(JSON.stringify(payload))), {
      mode: 0o600,
    });
  }
}

async function delivered(waitMs: number, answer: () => Reply | Promise<Reply>) {
  const collector = await startCollector({ answer });
  writeHooks(collector.url);
  const keep = keepOf();
  // Each round makes about 7 KB.
  keep.places.outbox.sizeBytes = 40_000;
  await deliver({
    stateFolder: join(home, 'state'),
    ...{ byHand: true, waitMs, keep, round: A_ROUND },
    surroundings: { env: {}, home, platform: 'linux', ownVariables: false, configFile: undefined },
  });
  const records = collector.records().length;
  await collector.close();
  const store = openStore({ folder: join(home, 'state'), access: 'read' });
  const { fragments, destinations } = store.ledger();
  store.close();
  const [{ traces, logs } = { traces: undefined, logs: undefined }] = Object.values(destinations);
  return { fragments, traces, logs, records };
}

it('drops nothing while the destination accepts, however slowly', async () => {
  const { fragments, traces, logs, records } = await delivered(30_000, async () => {
    await pause(SLOW_MS);
    return { status: 200 };
  });
  expect(fragments.journaled).toBe(HOOKS);
  expect(records).toBe(HOOKS);
  expect(logs).toMatchObject({ accepted: HOOKS, dropped: {} });
  expect(traces).toMatchObject({ accepted: HOOKS / 2, dropped: {} });
});

it('takes all hooks and drops the oldest data while the destination refuses', async () => {
  const { fragments, logs } = await delivered(1_500, () => ({ status: 503 }));
  expect(fragments.journaled).toBe(HOOKS);
  expect(logs?.accepted).toBe(0);
  expect(logs?.dropped['over-size']).toBeGreaterThan(0);
});
