/** The report of `status` about the set-up; other tests check its accounts after deliveries. */
import fs from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { ranIn } from './ran.ts';

let home: string;
beforeEach(() => {
  home = fs.mkdtempSync(join(tmpdir(), 'otel-hooks-status-'));
});
afterEach(() => fs.rmSync(home, { recursive: true, force: true }));

const run = (...words: string[]) => ranIn(home, words, { cwd: join(home, 'project') });

const write = (path: string, text: string): void => {
  fs.mkdirSync(join(home, path, '..'), { recursive: true });
  fs.writeFileSync(join(home, path), text);
};

it('lists agents with their scopes, and providers with their secrets masked', async () => {
  write(
    '.config/otel-hooks/config.json',
    JSON.stringify({
      provider: ['otlp', 'langfuse'],
      otlp: { endpoint: 'http://user:word@127.0.0.1:4318', headers: 'authorization=Bearer abcdefghijkl' },
      langfuse: { public_key: 'pk-lf-0123456789', secret_key: 'sk-lf-0123456789' },
    }),
  );
  await run('enable', '--tool', 'claude,cursor', '--yes', '--no-proof');
  await run('enable', '--tool', 'claude', '--project', '--yes', '--no-proof');
  const { code, out } = await run('status');
  expect(code).toBe(0);
  expect(out).toMatch(/^Claude Code {2}global {3}\d+ events {2}~\/\.claude\/settings\.json +[\d.]+$/m);
  expect(out).toMatch(/^Claude Code {2}project {2}\d+ events {2}~\/project\/\.claude\/settings\.json +[\d.]+$/m);
  expect(out).toMatch(/^Cursor {7}global {3}\d+ events {2}~\/\.cursor\/hooks\.json *$/m);
  expect(out).toContain('otlp.headers authorization=***');
  expect(out).toMatch(/langfuse\.secret_key \*\*\*(?!\w)/);
  expect(out).not.toMatch(/word|abcdefghijkl|0123456789,? *$/m);

  const { agents, providers } = JSON.parse((await run('status', '--json')).out);
  expect(agents.map(({ agent, scope, stale }: { [key: string]: unknown }) => [agent, scope, stale])).toEqual([
    ['claude-code', 'global', []],
    ['claude-code', 'project', []],
    ['cursor', 'global', []],
  ]);
  expect(providers).toMatchObject([
    { provider: 'otlp', endpoint: 'http://127.0.0.1:4318', signals: ['traces', 'metrics', 'logs'] },
    { provider: 'langfuse', endpoint: 'https://cloud.langfuse.com', signals: ['traces'] },
  ]);
  const narrowed = JSON.parse((await run('status', '--json', '--tool', 'claude', '--project')).out);
  expect(narrowed.agents).toMatchObject([{ agent: 'claude-code', scope: 'project' }]);
});

it.each(['status', 'config', 'deliver'])('%s reports mistakes in destinations', async command => {
  const { code, err } = await ranIn(home, [command], { env: { PATH: '', OTEL_HOOKS_PROVIDER: 'zipkin' } });
  expect(err).toMatch(/^otel-hooks: .*zipkin.*\n {2}next: /);
  expect(code).toBe(1);
});

it('deliver fails for an endpoint that is not an address, and names it', async () => {
  const env = { PATH: '', OTEL_EXPORTER_OTLP_ENDPOINT: 'not an address' };
  const { code, err } = await ranIn(home, ['deliver'], { env });
  expect(err).toMatch(/^otel-hooks: .*OTEL_EXPORTER_OTLP_ENDPOINT.*\n {2}next: /);
  expect(code).toBe(1);
});

it('names the first step once if nothing is set up', async () => {
  const { code, out } = await run('status');
  expect(code).toBe(0);
  expect(out.match(/next: otel-hooks enable/g)).toHaveLength(1);
  expect(out).toContain('Nothing has been received yet');
});

it('reports stale hooks and unreadable files', async () => {
  await run('enable', '--tool', 'claude', '--yes', '--no-proof');
  fs.writeFileSync(join(home, '.local/share/otel-hooks/hook.sh'), '# of another version\n');
  write('.cursor/hooks.json', '{ "version": 1, ');
  const { code, out, err } = await run('status');
  expect([code, err]).toEqual([1, expect.stringMatching(/hooks\.json: not valid JSON.*\(line 1, column \d+\)/)]);
  expect(out).toMatch(/^Claude Code .* events \(stale: otel-hooks doctor --fix\)/m);
  expect(out).toMatch(/^Cursor .* cannot be read /m);
});
