import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { rules } from '../../src/standards/openhook/rules.ts';
import { type Ran, ranIn } from './ran.ts';

const root = join(import.meta.dirname, '..', '..');
const docs = readFileSync(join(root, 'docs', 'conformance.md'), 'utf8');
const home = mkdtempSync(join(tmpdir(), 'otel-hooks-validate-'));
const stream = join(home, 'stream.jsonl');
const good = join(home, 'my files', 'good.jsonl');
const discovery = join(home, '.openhook.json');
const ran = (...words: string[]): Promise<Ran> => ranIn(home, words);
const openhook = (...words: string[]): Promise<Ran> => ran('validate', '--standard', 'openhook', ...words);

beforeAll(() => {
  mkdirSync(join(home, 'my files'));
  const example = /```jsonl\n([\s\S]*?)```/.exec(docs)?.[1] ?? '';
  writeFileSync(stream, example);
  writeFileSync(
    good,
    example
      .split('\n')
      .filter(line => !line.includes('tool.end'))
      .join('\n'),
  );
  writeFileSync(discovery, '{ "openhook": "0.1", "hooks": [{ "command": "./record", "events": ["tool.*"] }] }\n');
});
afterAll(() => rmSync(home, { recursive: true }));

/** The output that docs/conformance.md shows below a command. */
const shown = (command: string): string => docs.split(`$ otel-hooks ${command}\n`)[1]?.split('```')[0] ?? '';

describe('docs/conformance.md shows the printed output', () => {
  it.each([
    ['a stream', 'stream.jsonl', stream, 1],
    ['a discovery file', '.openhook.json', discovery, 0],
  ])('of %s', async (_, name, path, code) => {
    const result = await openhook(path);
    expect(result.out.replaceAll('~/', '')).toBe(shown(`validate --standard openhook ${name}`));
    expect(result.code).toBe(code);
  });

  it('of an agent', async () => {
    const folder = join(root, 'test', 'agents', 'kiro');
    // The folder also holds files that are neither hooks nor transcripts.
    const samples = readdirSync(folder).filter(name => /\.(sample|transcript)$/.test(name));
    const result = await ran('conformance', '--agent', 'kiro', ...samples.map(name => join(folder, name)));
    expect(result).toEqual({ code: 0, out: shown('conformance --agent kiro'), err: '' });
  });
});

describe('validate', () => {
  it('shows its findings in the exit code', async () => {
    expect((await openhook(good)).code).toBe(0);
    expect((await openhook(good, stream)).code).toBe(1);
    expect((await openhook('--strict', discovery)).code).toBe(1);
    expect((await openhook('--level', '2', good)).code).toBe(1);
    expect((await openhook(good, join(home, 'nothing'))).code).toBe(1);
    for (const words of [[], ['--level', '4', good], ['--format', 'xml', good]])
      expect((await openhook(...words)).code).toBe(2);
    expect((await ran('validate', '--standard', 'nothing', good)).err).toContain('known: agent-hooks');
    expect((await ran('validate', good)).code).toBe(2);
  });

  it('prints one report of one file, and a list of several', async () => {
    const one = JSON.parse((await openhook('--json', good)).out);
    expect(one).toMatchObject({ standard: 'openhook', ok: true, levels: [{ source: 'some-tool', level: 1 }] });
    const two = JSON.parse((await openhook('--format', 'json', good, stream)).out);
    expect(two.map((report: { ok: boolean }) => report.ok)).toEqual([true, false]);
  });

  it('reads standard input from a fast or a slow program', () => {
    const program = join(root, 'dist', 'otel-hooks.cjs');
    const line = JSON.stringify(readFileSync(good, 'utf8').split('\n')[0]);
    const writes = `const w = n => n > 0 && process.stdout.write(${line} + '\\n', () => w(n - 1)); w(2000)`;
    const out = execFileSync(
      'sh',
      [
        '-c',
        '"$0" -e "$1" | "$0" "$2" validate --standard openhook --open --json -',
        process.execPath,
        writes,
        program,
      ],
      {
        encoding: 'utf8',
      },
    );
    expect(JSON.parse(out)).toMatchObject({ events: 2_000, valid: 2_000, name: 'standard input' });
  });

  it('prints SARIF 2.1.0: every check is a rule, every finding a result at its place', async () => {
    const report = JSON.parse((await openhook('--json', stream)).out);
    const { code, out } = await openhook('--format', 'sarif', good, stream);
    expect(code).toBe(1);
    const log = JSON.parse(out);
    expect(log).toMatchObject({ version: '2.1.0', $schema: 'https://json.schemastore.org/sarif-2.1.0.json' });
    expect(log.runs).toHaveLength(1);
    const [{ tool, results, columnKind }] = log.runs;
    expect(columnKind).toBe('utf16CodeUnits');
    expect(tool.driver.rules.map(({ id }: { id: string }) => id)).toEqual(Object.keys(rules));
    for (const rule of tool.driver.rules) {
      expect(rule.shortDescription.text).not.toBe('');
      expect(['error', 'warning', 'note']).toContain(rule.defaultConfiguration.level);
    }
    const ofStream = results.filter((result: Result) => uriOf(result).endsWith('stream.jsonl'));
    expect(ofStream.map((result: Result) => [result.ruleId, result.level, regionOf(result)])).toEqual(
      report.findings.map(({ rule, level, line, column }: Record<string, unknown>) => [
        rule,
        level,
        { startLine: line, startColumn: column },
      ]),
    );
    for (const { ruleId, ruleIndex, message } of results) {
      expect(tool.driver.rules[ruleIndex].id).toBe(ruleId);
      expect(message.text.length).toBeGreaterThan(10);
    }
  });

  it('names files in SARIF as URIs', async () => {
    const { out } = await openhook('--format', 'sarif', '--strict', '--level', '2', good);
    expect(uriOf(JSON.parse(out).runs[0].results[0])).toMatch(/\/my%20files\/good\.jsonl$/);
  });
});

interface Result {
  ruleId: string;
  level: string;
  locations: { physicalLocation: { artifactLocation: { uri: string }; region: object } }[];
}
const uriOf = ({ locations }: Result): string => locations[0]?.physicalLocation.artifactLocation.uri ?? '';
const regionOf = ({ locations }: Result): object | undefined => locations[0]?.physicalLocation.region;

describe('conformance', () => {
  it('takes samples of your own as one recording', async () => {
    const folder = join(home, 'recorded');
    mkdirSync(folder);
    const payload = (name: string, more: object) =>
      JSON.stringify({
        hook_event_name: name,
        session_id: 'own-1',
        cwd: '/home/ada/shop',
        transcript_path: '/home/ada/t.jsonl',
        ...more,
      });
    writeFileSync(
      join(folder, 'session.jsonl'),
      `# by hand\n${payload('SessionStart', { source: 'startup' })}\n${payload('SessionEnd', { reason: 'other' })}\n`,
    );
    const result = await ran('conformance', '--agent', 'claude-code', '--json', folder);
    expect(result.err).toBe('');
    const [report] = JSON.parse(result.out).agents;
    expect(report.samples).toBe(1);
    expect(report.openhook.level).toBe(1);
    expect(report.openhook.requirements.filter(({ state }: { state: string }) => state === 'missing')).toHaveLength(3);
    expect(result.code).toBe(0);
    expect((await ran('conformance', '--agent', 'claude-code', '--level', '2', folder)).code).toBe(1);
  });

  it('accepts a recording with the time of each payload', async () => {
    const session = { session_id: 'own-2', cwd: '/home/ada/shop', transcript_path: '/home/ada/t.jsonl' };
    const recorded = [
      { payload: { hook_event_name: 'SessionStart', source: 'startup', ...session } },
      {
        received_at: '2026-11-18T09:00:00Z',
        payload: { hook_event_name: 'SessionEnd', reason: 'other', ...session },
      },
    ];
    const file = join(home, 'received.json');
    writeFileSync(file, JSON.stringify(recorded));
    const [report] = JSON.parse((await ran('conformance', '--agent', 'claude-code', '--json', file)).out).agents;
    expect([report.samples, report.openhook.level, report.refused]).toEqual([1, 1, []]);
    expect(report.agentHooks.reported.map(({ type }: { type: string }) => type)).toEqual([
      'Session.Start',
      'Session.End',
    ]);
  });

  it('names the samples that it refuses', async () => {
    const broken = join(home, 'broken.json');
    writeFileSync(broken, '[1, 2]');
    expect((await ran('conformance', '--agent', 'claude-code', broken)).code).toBe(1);
    expect((await ran('conformance', '--agent', 'claude-code', join(home, 'nothing'))).err).toContain('cannot be read');
    const strange = join(home, 'strange.json');
    writeFileSync(strange, '{"hello":"world"}');
    const result = await ran('conformance', '--agent', 'claude-code', strange);
    expect(result.code).toBe(1);
    expect(result.out).toContain('not taken: strange.json: no-session-id');
    expect((await ran('conformance', '--agent', 'claude')).code).not.toBe(2);
    expect((await ran('conformance', '--agent', 'claud-code')).err).toContain('did you mean claude-code?');
    expect((await ran('conformance', strange)).code).toBe(2);
  });
});
