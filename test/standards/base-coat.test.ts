import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { baseCoat } from '../../src/standards/base-coat/base-coat-validator.ts';
import type { BaseCoatResponse } from '../../src/standards/base-coat/envelope.ts';
import { rules } from '../../src/standards/base-coat/rules.ts';
import { toBaseCoat } from '../../src/standards/base-coat/to-base-coat.ts';
import type { Report } from '../../src/standards/validation.ts';
import { play, START_MS } from '../play.ts';
import { needsShared, sharedPath } from '../shared.ts';

const judged = (text: string, name: string): Report => {
  const validation = baseCoat.validation(name, {});
  validation.write(text);
  return validation.end();
};

// Each sample has its findings in `findings.txt`, for readers. `UPDATE=1` rewrites them.
const folder = new URL('base-coat/', import.meta.url);
const golden = new URL('findings.txt', folder);
const samples = readdirSync(folder).filter(name => name !== 'findings.txt');
const reports = samples.map(name => judged(readFileSync(new URL(name, folder), 'utf8'), name));

describe('samples', () => {
  it('have the expected findings', () => {
    const text = reports.map(printed).join('\n');
    if (process.env.UPDATE) writeFileSync(golden, text);
    expect(text).toBe(readFileSync(golden, 'utf8'));
  });

  it('have no findings if they are not named after a rule', () => {
    const good = reports.filter(({ name }) => /^(session|mcp|hooks|guard)\./.test(name));
    expect(good.map(({ name, errors, warnings }) => [name, errors, warnings])).toEqual([
      ['guard.agent.md', 0, 0],
      ['hooks.json', 0, 0],
      ['mcp.json', 0, 0],
      ['session.jsonl', 0, 0],
    ]);
  });

  it('cover every rule except the common rules for texts', () => {
    const named = new Set(reports.flatMap(({ findings }) => findings.map(({ rule }) => rule)));
    expect(Object.keys(rules).filter(rule => !named.has(rule))).toEqual([
      'json/bom',
      'limit/depth',
      'limit/size',
      'stream/empty',
    ]);
  });
});

it('every text gives a report', () => {
  const value = fc.jsonValue({ maxDepth: 4 });
  const odd = fc.record(
    { hook: value, hooks: value, action: value, version: value, tool: value },
    { requiredKeys: [] },
  );
  const page = fc.string().map(text => `---\n${text}\n---\n`);
  fc.assert(
    fc.property(
      fc.oneof(
        odd.map(each => JSON.stringify(each)),
        page,
      ),
      fc.constantFrom('x.json', 'x.agent.md'),
      (text, name) => {
        expect(judged(text, name).standard).toBe('base-coat');
      },
    ),
    { numRuns: 150 },
  );
  expect(judged(`---\nhooks: ${'['.repeat(20_000)}\n---\n`, 'deep.md').findings[0]?.rule).toBe('file/yaml');
  expect(judged(`---\n${'a: b # '.repeat(60_000)}`, 'long.md').findings[0]?.why).toContain('longer than');
  expect(judged('---\n\u001b[2Ja: [\n---\n', 'escape.md').findings[0]?.why).not.toContain('\u001b');
  const bomb = `---\na: &a [1, 2]\nb: &b [*a, *a, *a, *a, *a, *a]\nc: [*b, *b, *b, *b, *b, *b]\n---\n`;
  expect(judged(bomb, 'bomb.md').errors).toBe(1);
});

it('the envelopes that otel-hooks writes for a session have no findings', () => {
  const session = [
    'SessionStart',
    'UserPromptSubmitted',
    'PreToolUse',
    'PostToolUse',
    'OnBudgetExceeded',
    'SessionEnd',
  ];
  const response: BaseCoatResponse = { action: 'block', reason: 'no' };
  const payloads = session.map((hook, i) => ({
    ...{ hook, sessionId: 's', timestamp: new Date(START_MS + i * 1000).toISOString() },
    ...(hook.endsWith('ToolUse') ? { tool: { name: 'ls', success: true } } : {}),
    ...(hook === 'OnBudgetExceeded' ? { budget: { usedTokens: 90, effectiveLimit: 100 } } : {}),
  }));
  const denied = { ...payloads[2], tool: { name: 'rm' }, response };
  const { events } = play(
    [...payloads.slice(0, 3), denied, ...payloads.slice(3)].map(payload => ({ atMs: START_MS, payload })),
  );
  const known = new Map();
  const text = events
    .flatMap(event => toBaseCoat(event, known))
    .map(each => JSON.stringify(each))
    .join('\n');
  expect(judged(text, 'x.jsonl')).toMatchObject({ events: 7, findings: [] });
});

it("the document's own examples keep its rules, with known exceptions", context => {
  needsShared(context, 'seeds');
  const name = readdirSync(sharedPath('seeds')).find(file => file.startsWith('004')) ?? '';
  const found = examplesIn(readFileSync(sharedPath(`seeds/${name}`), 'utf8')).map(text => judged(text, 'x.json'));
  const kinds = found.map(({ format, findings }) => [format, ...findings.map(({ rule }) => rule)].join(' '));
  // The document spells events of one file in two ways, and shows a part of mcp.json without its context.
  expect(kinds.sort()).toEqual([
    'file',
    'file file/part',
    'file file/turn-end file/dialects',
    'file file/turn-end file/dialects',
    ...Array(6).fill('json'),
  ]);
});

/** Every JSON object of a text that parses, outermost first. */
function examplesIn(text: string): string[] {
  const found: string[] = [];
  for (let from = text.indexOf('{\n'); from >= 0; from = text.indexOf('{\n', from + 1)) {
    for (let to = text.indexOf('\n}', from); to >= 0 && to - from < 4_000; to = text.indexOf('\n}', to + 1)) {
      const object = text.slice(from, to + 2);
      try {
        JSON.parse(object);
      } catch {
        continue; // Not yet its end.
      }
      found.push(object);
      from = to;
      break;
    }
  }
  return found;
}

function printed({ name, format, ok, events, valid, findings }: Report): string {
  const head = `${name}: ${ok ? 'ok' : 'not ok'}, ${format === 'file' ? 'a file' : `${valid} of ${events} (${format})`}`;
  const lines = findings.map(
    ({ level, line, column, rule, field, why }) => `  ${level} ${line}:${column} ${rule} ${field || '(all)'} ${why}`,
  );
  return `${[head, ...lines].join('\n')}\n`;
}
