/** Hostile payloads, rows and texts: real ones, changed in one or a few places. */
import fc from 'fast-check';

/** One place of a value, or a text, becomes one of these. */
const values: readonly unknown[] = [
  ...['constructor', '__proto__', 'toString', 'hasOwnProperty', 'valueOf', 'then', 'length', 'toJSON'],
  ...[
    '',
    ' ',
    '\0',
    'a\0b',
    '\n',
    '\r\n',
    '\ud800',
    'x\udfff',
    '\u202e',
    '\u2066\u2069',
    '\ufeff',
    '\u001b[2J\u001b]0;x\u0007',
  ],
  ...['../../../../etc/passwd', '/etc/shadow', '/dev/zero', '~', '.', '..', 'C:\\x', 'file:///etc/passwd', '%2e%2e'],
  ...[
    'x'.repeat(300),
    'x'.repeat(70_000),
    '{"a":'.repeat(200),
    '['.repeat(2_000),
    '1e999',
    'NaN',
    '-0',
    '9007199254740993',
  ],
  ...['9999-99-99T99:99:99Z', '+275760-09-13T00:00:00.001Z', '-1', '0x10', 'true', 'null', '{}', '[]', '"', '\\'],
  ...[0, -0, -1, 1.5, 1e308, -1e308, 5e-324, 2 ** 53, 8.64e15 + 1, -8.64e15 - 1, 4_294_967_296],
  ...[null, true, false, [], {}, [[]], [null], [{}], [[[[[[]]]]]], { a: { a: { a: {} } } }, ['a', 1, null, {}]],
];

/** Deep enough to overflow the stack of a recursive reader. */
function nested(depth: number, isList: boolean): unknown {
  let value: unknown = 1;
  for (let i = 0; i < depth; i += 1) value = isList ? [value] : { a: value };
  return value;
}

const hostileValue: fc.Arbitrary<unknown> = fc.oneof(
  { weight: 8, arbitrary: fc.constantFrom(...values) },
  {
    weight: 1,
    arbitrary: fc
      .tuple(fc.constantFrom(100, 3_000, 20_000), fc.boolean())
      .map(([depth, isList]) => nested(depth, isList)),
  },
  { weight: 2, arbitrary: fc.jsonValue() },
  { weight: 1, arbitrary: fc.string({ unit: 'binary', maxLength: 200 }) },
);

type Path = readonly (string | number)[];

function pathsOf(value: unknown, path: Path = [], found: Path[] = []): Path[] {
  if (path.length > 0) found.push(path);
  if (Array.isArray(value)) for (const [i, item] of value.entries()) pathsOf(item, [...path, i], found);
  else if (typeof value === 'object' && value !== null)
    for (const [name, item] of Object.entries(value)) pathsOf(item, [...path, name], found);
  return found;
}

/** Puts a value at a place as a JSON parser does: `__proto__` is a name like any other. */
function withAt(value: unknown, [first, ...rest]: Path, put: unknown): unknown {
  if (first === undefined) return put;
  if (Array.isArray(value)) return value.map((item, i) => (i === first ? withAt(item, rest, put) : item));
  if (typeof value !== 'object' || value === null) return value;
  const entries = Object.entries(value).map(
    ([name, item]) => [name, name === first ? withAt(item, rest, put) : item] as const,
  );
  return fromEntries(
    Object.hasOwn(value, first) ? entries : [...entries, [String(first), withAt(undefined, rest, put)]],
  );
}

function fromEntries(entries: readonly (readonly [string, unknown])[]): unknown {
  const made: { [name: string]: unknown } = {};
  for (const [name, value] of entries)
    Object.defineProperty(made, name, { value, enumerable: true, writable: true, configurable: true });
  return made;
}

const names = fc.constantFrom('__proto__', 'constructor', 'toString', 'toJSON', '', '\0', 'a'.repeat(1_000));

/** A value like this one, with a few of its places changed. */
export const changed = (value: unknown): fc.Arbitrary<unknown> => {
  const paths = pathsOf(value);
  const place = fc.oneof(
    { weight: 4, arbitrary: fc.constantFrom<Path>(...(paths.length > 0 ? paths : [[]])) },
    {
      weight: 1,
      arbitrary: fc.tuple(fc.constantFrom<Path>([], ...paths), names).map(([path, name]) => [...path, name]),
    },
  );
  return fc
    .array(fc.tuple(place, hostileValue), { minLength: 1, maxLength: 4 })
    .map(changes => changes.reduce((made, [path, put]) => withAt(made, path, put), value));
};

/** A text like this one: cut, doubled, or with foreign characters in it. */
export const mangled = (text: string): fc.Arbitrary<string> =>
  fc
    .array(
      fc.tuple(
        fc.nat({ max: Math.max(0, text.length) }),
        fc.nat({ max: 40 }),
        fc.oneof(
          fc.constantFrom(
            '',
            '\0',
            '"',
            '{',
            '[',
            ']',
            '}',
            ',',
            ':',
            '\\',
            '\n',
            '\u202e',
            '\ud800',
            '\u001b[0m',
            '__proto__',
          ),
          fc.string({ unit: 'binary', maxLength: 8 }),
        ),
      ),
      { minLength: 1, maxLength: 6 },
    )
    .map(edits => edits.reduce((made, [at, length, put]) => made.slice(0, at) + put + made.slice(at + length), text));

/** JSON as in a file; a value that is too deep for JSON is returned unchanged. */
export function jsonOf(value: unknown): string {
  try {
    return JSON.stringify(value) ?? 'null';
  } catch {
    return '['.repeat(50_000);
  }
}
