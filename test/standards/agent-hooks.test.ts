import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { eventTypes } from '../../src/event/event.ts';
import { agentHooks, validateAgentHooks } from '../../src/standards/agent-hooks/agent-hooks-validator.ts';
import { dataSchemas, isDateTime } from '../../src/standards/agent-hooks/schema.ts';
import type { Report } from '../../src/standards/validation.ts';

// Each sample has its findings beside it, one per line, for readers. `UPDATE=1` rewrites them.
const folder = new URL('agent-hooks/', import.meta.url);
const samples = readdirSync(folder).filter(name => /\.jsonl?$/.test(name));

describe('samples', () => {
  it.each(samples)('%s has the expected findings', name => {
    const report = validateAgentHooks(readFileSync(new URL(name, folder), 'utf8'), name);
    const golden = new URL(name.replace(/\.jsonl?$/, '.findings'), folder);
    if (process.env.UPDATE) writeFileSync(golden, printed(report));
    expect(printed(report)).toBe(readFileSync(golden, 'utf8'));
  });

  it('hold every type of the taxonomy', () => {
    const types = readFileSync(new URL('every-type.jsonl', folder), 'utf8')
      .trim()
      .split('\n')
      .map(line => JSON.parse(line).event_type);
    expect(eventTypes.filter(type => !types.includes(type))).toEqual([]);
    expect(Object.keys(dataSchemas)).toEqual([...eventTypes]);
  });
});

describe('detection of streams', () => {
  const one = readFileSync(new URL('minimal.json', folder), 'utf8');
  const line = JSON.stringify(JSON.parse(one));
  const cases: [string, string, string, Report['format'], number][] = [
    ['one event over several lines', one, 'x.json', 'json', 1],
    ['one event on one line', line, '-', 'json', 1],
    ['two lines without a telling name', `${line}\n${line}\n`, '-', 'jsonl', 2],
    ['two lines in a file named .json', `${line}\r\n\r\n${line}`, 'x.json', 'jsonl', 2],
    ['an array', `[${line},\n${line}]`, 'x.json', 'json-array', 2],
    ['an array whose name says stream is one wrong line', `[${line},${line}]`, 'x.jsonl', 'jsonl', 1],
    ['blank lines', `\n\n${line}\n   \n\n`, 'x.jsonl', 'jsonl', 1],
  ];
  it.each(cases)('%s', (_, text, name, format, events) => {
    const report = validateAgentHooks(text, name);
    expect([report.format, report.events]).toEqual([format, events]);
  });

  it('reports a text without events', () => {
    expect(printed(validateAgentHooks('', 'x.jsonl'))).toContain('warning 1:1 stream/empty');
    expect(printed(validateAgentHooks(' [ ] ', 'x.json'))).toContain('warning 1:1 stream/empty');
    expect(printed(validateAgentHooks('', 'x.json'))).toContain('error 1:1 json/syntax');
  });

  it('names text after the array, and an array that does not end', () => {
    expect(printed(validateAgentHooks('[] x', '-'))).toContain('error 1:4 json/syntax');
    expect(printed(validateAgentHooks(`[${line}`, '-'))).toContain(`error 1:${line.length + 2} json/syntax`);
    expect(printed(validateAgentHooks(`[${line},]`, '-'))).toContain('json/syntax');
    expect(printed(validateAgentHooks(`[${line};${line}]`, '-'))).toContain('json/syntax');
  });
});

describe('a text that comes in pieces', () => {
  it.each(samples)('%s is judged like the whole text, for every cut', name => {
    const text = readFileSync(new URL(name, folder), 'utf8');
    const whole = validateAgentHooks(text, name);
    for (const size of [1, 7, 1000]) {
      const validation = agentHooks.validation(name, {});
      for (let at = 0; at < text.length; at += size) validation.write(text.slice(at, at + size));
      expect(validation.end(), `in pieces of ${size}`).toEqual(whole);
    }
  });

  it('are detected without the name of the file', () => {
    const text = readFileSync(new URL('errors.jsonl', folder), 'utf8');
    const validation = agentHooks.validation('-', {});
    for (const character of text) validation.write(character);
    expect(validation.end()).toEqual(validateAgentHooks(text, '-'));
  });

  it('may come event by event', () => {
    const event = JSON.stringify(JSON.parse(readFileSync(new URL('minimal.json', folder), 'utf8')));
    for (const [name, open, between, close] of [
      ['x.jsonl', '', '\n', ''],
      ['x.json', '[', ',', ']'],
    ] as const) {
      const validation = agentHooks.validation(name, {});
      validation.write(open);
      for (let at = 0; at < 500; at += 1) validation.write(`${at === 0 ? '' : between}${event}`);
      validation.write(close);
      expect(validation.end()).toMatchObject({ events: 500, valid: 500, errors: 0 });
    }
  });
});

describe('requirements beyond the standard', () => {
  it('strict: warnings are errors', () => {
    const text = readFileSync(new URL('warnings.jsonl', folder), 'utf8');
    const { warnings } = validateAgentHooks(text, 'x.jsonl');
    const strict = agentHooks.validation('x.jsonl', { strict: true });
    strict.write(text);
    expect(strict.end()).toMatchObject({ ok: false, errors: warnings, warnings: 0 });
  });
});

describe('hostile texts', () => {
  const line = JSON.stringify(JSON.parse(readFileSync(new URL('minimal.json', folder), 'utf8')));

  it.each([
    ['arrays', '['.repeat(1_000_000)],
    ['objects', '{"a":'.repeat(1_000_000)],
    ['a whole event', `${line.slice(0, -1)},"data":${'['.repeat(1_000_000)}${']'.repeat(1_000_000)}}`],
  ])('a million levels of %s are one finding', (_, text) => {
    const report = validateAgentHooks(text, 'x.jsonl');
    expect(report.findings.map(({ rule }) => rule)).toEqual(['limit/depth']);
  });

  it('an event of 20 MB is not judged, and its neighbours are', () => {
    const big = line.replace('"s-1"', `"${'x'.repeat(20 << 20)}"`);
    const report = validateAgentHooks(`${line}\n${big}\n{"a"\n`, 'x.jsonl');
    expect(report.findings.map(({ line: at, rule }) => [at, rule])).toEqual([
      [2, 'limit/size'],
      [3, 'json/syntax'],
    ]);
  });

  it('16 MB of events give no more findings than the limit', () => {
    const text = `${line}\n`.repeat(Math.ceil((16 << 20) / (line.length + 1)));
    const report = validateAgentHooks(text, 'x.jsonl');
    expect(report.findings).toHaveLength(1000);
    expect(report.warnings).toBe(report.events - 1);
    expect(report.omitted).toBe(report.events - 1 - 1000);
    expect(report.ok).toBe(true);
  });

  it('100 MB without a line end are one finding', () => {
    const report = validateAgentHooks('x'.repeat(100 << 20), 'x.jsonl');
    expect(report.findings.map(({ rule }) => rule)).toEqual(['limit/size']);
  });

  it('prints no control characters', () => {
    const text = line.replace('Session.Start', '\\u001b[31mred\\u202e').replace('"s-1"', '{"\\u001b[2J":1}');
    const report = validateAgentHooks(`${text}\n{\u001b}`, 'x.jsonl');
    expect(report.findings.map(({ why, field }) => why + field).join('')).not.toMatch(/[\u0000-\u001f\u202e]/);
  });

  it('never throws, and accepts the same JSON texts as JSON.parse', () => {
    fc.assert(
      fc.property(
        fc.oneof(fc.json(), fc.string(), fc.string({ unit: fc.constantFrom(...'{}[]",:\\u0e-1. \ntrnul') })),
        text => {
          const report = validateAgentHooks(text, 'x.json');
          if (report.format !== 'json') return;
          const isJson = !report.findings.some(({ rule }) => rule === 'json/syntax');
          expect(isJson).toBe(parses(text));
        },
      ),
      { numRuns: 2000 },
    );
  });
});

describe('date-time', () => {
  it.each([
    ['2026-02-08T19:22:11.123Z', true],
    ['2026-02-08t19:22:11z', true],
    ['2024-02-29T00:00:00-00:00', true],
    ['2016-12-31T23:59:60Z', true],
    ['2026-02-08T19:22:11.123456789+05:30', true],
    ['2026-02-29T00:00:00Z', false],
    ['2026-13-01T00:00:00Z', false],
    ['2026-02-08T24:00:00Z', false],
    ['2026-02-08T19:22:60Z', false],
    ['2026-02-08T19:22:11', false],
    ['2026-02-08 19:22:11Z', false],
    ['2026-02-08T19:22Z', false],
    ['2026-02-08T19:22:11+0530', false],
    ['2026-02-08T19:22:11.Z', false],
  ])('%s: %s', (text, valid) => {
    expect(isDateTime(text)).toBe(valid);
  });
});

function printed(report: Report): string {
  const { format, ok, events, valid, errors, warnings, omitted } = report;
  const head = `${format}, ${ok ? 'ok' : 'not ok'}: ${valid} of ${events} events valid, ${errors} errors, ${warnings} warnings, ${omitted} omitted`;
  const lines = report.findings.map(
    ({ level, line, column, rule, field, why }) => `${level} ${line}:${column} ${rule} ${field || '(event)'} ${why}`,
  );
  return `${[head, ...lines].join('\n')}\n`;
}

function parses(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false; // the answer, not a failure
  }
}
