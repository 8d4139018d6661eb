/** The least work of a delivery: one action of one session, delivered to one destination. */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { deliver } from '../src/deliver/deliver.ts';
import { encodeFragment, fragmentName } from '../src/hook/fragment.ts';
import { openStore } from '../src/store/store.ts';
import { type Collector, startCollector } from './collector.ts';

let home = '';
let collector: Collector;
beforeEach(async () => {
  home = mkdtempSync(join(tmpdir(), 'deliver-cost-'));
  collector = await startCollector();
});
afterEach(async () => {
  vi.restoreAllMocks();
  await collector.close();
  rmSync(home, { recursive: true, force: true });
});

function hook(number: number, fields: object): void {
  const unique = `00000000-0000-4000-8000-${String(number).padStart(12, '0')}`;
  const header = {
    tool: 'claude-code',
    ppid: '1',
    OTEL_HOOKS_PROVIDER: 'otlp',
    OTEL_EXPORTER_OTLP_ENDPOINT: collector.url,
  };
  const payload = { session_id: 's-1', cwd: home, tool_name: 'Bash', tool_use_id: 't1', ...fields };
  const name = fragmentName('0000beef', String(1_000 + number), 100 + number, unique);
  const bytes = encodeFragment(unique, header, Buffer.from(JSON.stringify(payload)));
  writeFileSync(join(home, 'state', 'inbox', name), bytes, { mode: 0o600 });
}

/** A file of the folder `documents`, as text or as a value. */
const isDocument = (value: unknown): boolean =>
  typeof value === 'string'
    ? /^\{"v":1,"n":\d+,"value":/.test(value)
    : typeof value === 'object' && value !== null && 'n' in value && 'value' in value;

it('a pair of hooks delivered to one destination costs few rounds and little JSON', async () => {
  mkdirSync(join(home, 'state', 'inbox'), { recursive: true, mode: 0o700 });
  hook(1, { hook_event_name: 'PreToolUse', tool_input: { command: 'ls' } });
  hook(2, { hook_event_name: 'PostToolUse', tool_input: { command: 'ls' }, tool_response: { stdout: 'a' } });
  const parse = vi.spyOn(JSON, 'parse');
  const stringify = vi.spyOn(JSON, 'stringify');
  const { sent } = await deliver({
    stateFolder: join(home, 'state'),
    byHand: true,
    waitMs: 5_000,
    surroundings: { env: {}, home, platform: 'linux', ownVariables: false, configFile: undefined },
  });
  const [parsed, written] = [parse, stringify].map(spy => spy.mock.calls.map(([value]): unknown => value));
  vi.restoreAllMocks();

  // One span, two records, and the metric state.
  expect(sent).toBe(4);
  expect(new Set(collector.requests.map(({ signal }) => signal))).toEqual(new Set(['traces', 'logs', 'metrics']));
  const store = openStore({ folder: join(home, 'state'), access: 'read' });
  const rounds = store.ledger().n;
  store.close();
  // One round takes the fragments, and one round notes the answer of each signal.
  expect(rounds).toBe(4);
  expect(parsed?.filter(isDocument).length).toBeGreaterThan(0);
  expect(parsed?.filter(isDocument).length).toBeLessThanOrEqual(12);
  expect(written?.filter(isDocument).length).toBeGreaterThan(0);
  expect(written?.filter(isDocument).length).toBeLessThanOrEqual(12);
  expect(parsed?.length).toBeLessThanOrEqual(30);
  expect(written?.length).toBeLessThanOrEqual(30);
});
