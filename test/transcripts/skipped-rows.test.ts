/**
 * Rows that hold nothing we need are skipped by their first bytes. Here another reading of JSON removes these rows before
 * the import, and the result must be the same: the same lines, the same counts, the same damage.
 */
import { utimesSync } from 'node:fs';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { isSkipped } from '../../src/transcripts/lines.ts';
import { openHouse, rowsOf } from './house.ts';

const WORDS = ['api-request', 'tools-used', 'last-prompt', 'atis-latch'];

/** Reads the first member of an object, character by character. */
function firstMember(line: string): [name: string, value: string] | undefined {
  let at = 0;
  const spaces = (): void => {
    while (' \t\r'.includes(line[at] ?? 'end')) at += 1;
  };
  const sign = (expected: string): boolean => {
    spaces();
    at += 1;
    return line[at - 1] === expected;
  };
  const string = (): string | undefined => {
    if (!sign('"')) return undefined;
    const start = at;
    while (at < line.length && line[at] !== '"') at += line[at] === '\\' ? 2 : 1;
    at += 1;
    try {
      return JSON.parse(`"${line.slice(start, at - 1)}"`) as string;
    } catch {
      return undefined;
    }
  };
  const name = sign('{') ? string() : undefined;
  const value = name !== undefined && sign(':') ? string() : undefined;
  return name === undefined || value === undefined ? undefined : [name, value];
}

function isRemoved(line: string): boolean {
  const [name, value] = firstMember(line) ?? [];
  return name === 'type' && WORDS.some(word => value?.startsWith(word));
}

const spelled = (word: string, escaped: readonly number[]): string =>
  `"${[...word].map((letter, i) => (escaped.includes(i) ? `\\u00${letter.charCodeAt(0).toString(16)}` : letter)).join('')}"`;

const space = fc.constantFrom('', '', '', ' ', '\t', '\r ');
const type = fc.constantFrom(
  ...WORDS,
  'api-request-blob',
  'api-reques',
  'user',
  'assistant',
  'system',
  'cost-state',
  '',
);
const escapes = fc.oneof(fc.constant([]), fc.array(fc.nat(4), { maxLength: 2 }));
/** A row whose first member is nearly, or really, one of the types that are skipped. */
const first = fc
  .tuple(
    space,
    fc.constantFrom('type', 'type', 'type', 'types', 'Type', 'uuid', ''),
    escapes,
    space,
    space,
    type,
    escapes,
  )
  .map(([a, name, inName, b, c, value, inValue]) => `${a}{${spelled(name, inName)}${b}:${c}${spelled(value, inValue)}`);
const text = fc.constantFrom(
  'x',
  '\\"',
  '\\\\',
  '"type":"user"',
  '{"type":"api-request"',
  '\\u0022,\\"type\\":\\"user\\"',
);
const rest = fc.oneof(
  fc.constantFrom(
    '}',
    ',"type":"user"}',
    ',"type":"api-request"}',
    ',"message":{"type":"api-request"}}',
    '',
    ',',
    ' x}',
  ),
  fc.array(text, { maxLength: 4 }).map(texts => `,"text":"${texts.join('').replaceAll('"', '\\"')}"}`),
  fc.array(text, { maxLength: 4 }).map(texts => `,"text":"${texts.join('')}"}`),
  fc.constant(`,"timestamp":"2026-09-21T12:00:03.000Z","sessionId":"other","version":"9.9.9"}`),
);
const adversarial = fc.tuple(first, rest).map(([start, end]) => `${start}${end}`);

test('the decision by the first bytes is that of a reading of JSON', () => {
  fc.assert(
    fc.property(adversarial, line => {
      expect(isSkipped(Buffer.from(line), WORDS)).toBe(isRemoved(line));
    }),
    { numRuns: 5_000 },
  );
});

test('an import of a transcript is that of the transcript without the rows that are skipped', () => {
  fc.assert(
    fc.property(fc.array(fc.tuple(fc.nat(8), adversarial), { maxLength: 12 }), strange => {
      const lines = conversation();
      for (const [place, line] of strange) lines.splice(place, 0, line);
      expect(imported(lines)).toEqual(imported(lines.filter(line => !isRemoved(line))));
    }),
    { numRuns: 20 },
  );
});

const SESSION = '5e550000-0000-4000-8000-000000000001';
const rows = rowsOf(SESSION);
const WRITTEN = new Date(Date.UTC(2026, 8, 22));

const conversation = (): string[] =>
  [
    rows.prompt(1, 'p1'),
    rows.assistant(2, 'm1', rows.text('one'), 7, 'end_turn'),
    rows.prompt(4, 'p2'),
    rows.assistant(5, 'm2', rows.text('two'), 9, 'end_turn'),
  ].map(row => JSON.stringify(row));

function imported(lines: readonly string[]): unknown {
  const house = openHouse('claude-code', SESSION);
  try {
    house.write(house.main, `${lines.join('\n')}\n`);
    // A row without a time of its own gets the one of the file.
    utimesSync(house.main, WRITTEN, WRITTEN);
    house.import();
    const { transcripts, counters } = house.ledger();
    expect(transcripts.journaled).toBeGreaterThanOrEqual(4);
    return { events: house.events(), transcripts, counters };
  } finally {
    house.close();
  }
}
