import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  decodeFragment,
  encodeFragment,
  encodeHeader,
  fragmentName,
  readFragmentName,
} from '../../src/hook/fragment.ts';

const unique = '6f1c1f5e-0000-4000-8000-00000000abcd';
const name = fragmentName('81b9e0a2', '4099.49', 11203, unique);
const bytes = (text: string): Buffer => Buffer.from(text);
const decode = (content: Buffer) => decodeFragment(name, content, 1_700_000_000_123);

describe('a fragment', () => {
  test('is read back unchanged for all values and payloads', () => {
    const key = fc.stringMatching(/^[A-Za-z_][A-Za-z0-9_]{0,30}$/);
    const value = fc.string({ unit: 'binary', minLength: 1, maxLength: 300 });
    fc.assert(
      fc.property(fc.dictionary(key, value), fc.uint8Array({ maxLength: 2_000 }), (header, payload) => {
        const decoded = decode(encodeFragment(unique, header, payload));
        if (!decoded.ok) throw new Error(decoded.why);
        // A lone surrogate has no UTF-8; everything else is the same.
        const kept = Object.fromEntries(Object.entries(header).map(([k, v]) => [k, Buffer.from(v).toString()]));
        expect({ ...decoded.fragment.header }).toEqual(kept);
        expect(decoded.fragment.payload.equals(payload)).toBe(true);
      }),
    );
  });

  test('cut anywhere is torn, never a shorter event', () => {
    const whole = encodeFragment(unique, { tool: 'a', cwd: '/x\ny' }, bytes(`{"a":"\n${unique}"}`));
    for (let length = 0; length < whole.length; length++) {
      expect(decode(whole.subarray(0, length))).toEqual({ ok: false, why: 'torn' });
    }
  });

  test('with any one byte changed is refused or keeps its payload', () => {
    const payload = bytes('{"a":1}');
    const whole = encodeFragment(unique, { tool: 'a-tool', event: 'b' }, payload);
    const headEnd = whole.indexOf('\n') + 1;
    fc.assert(
      fc.property(fc.nat(headEnd - 1), fc.integer({ min: 0, max: 255 }), (at, byte) => {
        const damaged = Buffer.from(whole);
        damaged[at] = byte;
        const decoded = decode(damaged);
        if (decoded.ok) expect(decoded.fragment.payload.toString()).toBe(payload.toString());
      }),
    );
  });

  const cases: [says: string, content: Buffer, result: string][] = [
    ['an empty file is torn', bytes(''), 'torn'],
    ['another payload cannot end it', bytes(`otel-hooks/1 tool=1:a\n{}\n${unique.replace('6', '7')}\n`), 'torn'],
    ['foreign text with our trailer has a damaged header', bytes(`hello\n{}\n${unique}\n`), 'header'],
    ['version 0 does not exist', bytes(`otel-hooks/0 tool=1:a\n{}\n${unique}\n`), 'header'],
    ['a later version is kept unchanged', bytes(`otel-hooks/2 tool=1:a\n{}\n${unique}\n`), 'newer'],
    ['a later version may look as it likes', bytes('otel-hooks/12 \0\0'), 'newer'],
    ['a length beyond the header is damage', bytes(`otel-hooks/1 tool=99999999:a\n{}\n${unique}\n`), 'header'],
    ['a length that reaches into the trailer is damage', bytes(`otel-hooks/1 a=2:x\n${unique}\n`), 'header'],
    ['a key must be a word', bytes(`otel-hooks/1 to ol=1:a\n{}\n${unique}\n`), 'header'],
    ['an unknown key is kept', bytes(`otel-hooks/1 later_key=1:a\n{}\n${unique}\n`), 'ok'],
    ['no key at all is a header', bytes(`otel-hooks/1\n{}\n${unique}\n`), 'ok'],
    ['an empty payload is a payload', bytes(`otel-hooks/1\n\n${unique}\n`), 'ok'],
  ];
  test.each(cases)('%s', (_says, content, result) => {
    const decoded = decode(content);
    expect(decoded.ok ? 'ok' : decoded.why).toBe(result);
  });

  test('a key such as __proto__ is only a key', () => {
    const decoded = decode(encodeFragment(unique, JSON.parse('{"__proto__":"x","tool":"a"}'), bytes('{}')));
    expect(decoded.ok && Object.keys(decoded.fragment.header)).toEqual(['__proto__', 'tool']);
    expect(({} as Record<string, unknown>).x).toBeUndefined();
  });

  test('has its arrival from its own clock, otherwise from the time of its file', () => {
    const at = (header: Record<string, string>) => {
      const decoded = decode(encodeFragment(unique, header, bytes('{}')));
      return decoded.ok && decoded.fragment.atMs;
    };
    expect(at({ at: '1750000000000' })).toBe(1_750_000_000_000);
    expect(at({})).toBe(1_700_000_000_123);
    expect(at({ at: 'yesterday' })).toBe(1_700_000_000_123);
  });

  test('leaves empty values out of its header', () => {
    expect(encodeHeader({ tool: '', event: 'é' })).toBe('otel-hooks/1 event=2:é\n');
  });
});

describe('a fragment’s name', () => {
  test('holds boot, kernel clock, process and a unique part', () => {
    expect(readFragmentName(name)).toEqual({ boot: '81b9e0a2', upMs: 4_099_490, pid: 11203, unique });
  });
  test('has no clock without /proc', () => {
    expect(readFragmentName(fragmentName('', '', 7, '6.0'))).toEqual({ pid: 7, unique: '6.0' });
  });
  test.each(['', '.', '..', 'a', '../x-1-2-3', 'a-b-c-d', `${name}\n`, 'x'.repeat(300)])('%j is not a name', other => {
    expect(readFragmentName(other)).toBeUndefined();
  });
});
