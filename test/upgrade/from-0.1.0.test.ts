/**
 * A state folder that version 0.1.0 wrote is delivered by this version: an open session, a backlog of bodies that no
 * collector took, and two fragments in the inbox. state-0.1.0.json contains the folder. The ids below are those that
 * 0.1.0 sent for the same folder: OTEL_HOOKS_UPGRADE_BIN names another build to compare with.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { text } from 'node:stream/consumers';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { type Collector, startCollector } from '../collector.ts';

const bin = process.env.OTEL_HOOKS_UPGRADE_BIN ?? join(import.meta.dirname, '..', '..', 'dist', 'otel-hooks.cjs');
type Files = Record<string, { text?: string; base64?: string }>;
const files: Files = JSON.parse(readFileSync(join(import.meta.dirname, 'state-0.1.0.json'), 'utf8'));

let folder: string;
let collector: Collector;
beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'otel-hooks-upgrade-'));
  collector = await startCollector();
  for (const part of ['inbox', 'quarantine', 'rounds', 'journal', 'sessions', 'documents', 'outbox', 'problems'])
    mkdirSync(join(folder, 'state', part), { recursive: true, mode: 0o700 });
  for (const [path, { text: content = '', base64 }] of Object.entries(files)) {
    const place = join(folder, 'state', path);
    mkdirSync(dirname(place), { recursive: true, mode: 0o700 });
    const bytes = base64 === undefined ? content.replaceAll('http://127.0.0.1:9/', `${collector.url}/`) : undefined;
    writeFileSync(place, bytes ?? Buffer.from(base64 ?? '', 'base64'), { mode: 0o600 });
  }
});
afterEach(async () => {
  await collector.close();
  rmSync(folder, { recursive: true, force: true });
});

async function run(words: readonly string[]): Promise<{ status: number | null; stdout: string }> {
  const env = { HOME: folder, PATH: process.env.PATH, OTEL_HOOKS_STATE_DIR: join(folder, 'state') };
  const child = spawn(process.execPath, [bin, ...words], { env, cwd: folder, stdio: ['ignore', 'pipe', 'ignore'] });
  const [stdout, [status]] = await Promise.all([text(child.stdout), once(child, 'close')]);
  return { status, stdout };
}

const deliver = () => run(['deliver', '--wait', '20s']);
const idsOf = (items: readonly { [field: string]: unknown }[]) =>
  items.map(({ name, traceId, spanId, parentSpanId = '-' }) => `${traceId} ${spanId} ${parentSpanId} ${name}`);

it('delivers the backlog, the inbox and the rest of an open session once, under the ids of 0.1.0', async () => {
  // The session has been silent for more than an hour, so the first delivery ends it.
  expect((await deliver()).status).toBe(0);
  await deliver();
  expect(idsOf(collector.spans()).sort()).toMatchInlineSnapshot(`
    [
      "c01bb946e60399c34f88dee2e2553789 012d4ff8118cb6ee bb1a885423a6d4e9 invoke_agent claude-code",
      "c01bb946e60399c34f88dee2e2553789 388deecb314162da 012d4ff8118cb6ee execute_tool Bash",
      "c01bb946e60399c34f88dee2e2553789 810e324cb5009c02 a33051a9def220f5 execute_tool Read",
      "c01bb946e60399c34f88dee2e2553789 a33051a9def220f5 bb1a885423a6d4e9 invoke_agent claude-code",
      "c01bb946e60399c34f88dee2e2553789 bb1a885423a6d4e9 - session claude-code",
    ]
  `);
  expect(new Set(collector.spans().map(({ spanId }) => spanId)).size).toBe(collector.spans().length);
  const { stdout } = await run(['status', '--json']);
  const status = JSON.parse(stdout);
  expect(status).toMatchObject({ balanced: true, fragments: { received: 7, journaled: 7, waiting: 0 } });
  expect(status.destinations[0].spans).toMatchObject({ produced: 5, accepted: 5, waiting: 0 });
});
