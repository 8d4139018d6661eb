import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { countItems, cutBody, joinBodies } from '../../src/ship/otlp-body.ts';
import { decodeRequest, type JsonObject } from '../../src/telemetry/otlp-decode.ts';
import { logs, metrics, namedSpans, record, resourceB, sums, traces } from './samples.ts';

const namesIn = (bytes: Uint8Array): string[] => {
  const names: string[] = [];
  JSON.stringify(decodeRequest('traces', bytes), (key, value) => {
    if (key === 'spans') for (const each of value as JsonObject[]) names.push(String(each.name));
    return value;
  });
  return names;
};

describe('cutting and joining requests', () => {
  it('counts spans, records and metrics', () => {
    expect(countItems(traces(namedSpans(7)))).toBe(7);
    expect(countItems(logs([record('a'), record('b')]))).toBe(2);
    expect(
      countItems(
        metrics(
          sums([
            ['a', 1],
            ['b', 2],
            ['c', 3],
          ]),
        ),
      ),
    ).toBe(3);
    expect(countItems(new Uint8Array())).toBe(0);
  });

  it('joins requests end to end into one request', () => {
    const joined = joinBodies([traces(namedSpans(4)), traces(namedSpans(3, 4))]);
    expect(countItems(joined)).toBe(7);
    expect(namesIn(joined).sort()).toEqual(['n0', 'n1', 'n2', 'n3', 'n4', 'n5', 'n6']);
  });

  it('makes the same bytes from the same items, for any number of bodies', () => {
    fc.assert(
      fc.property(
        fc.array(fc.integer({ min: 1, max: 5 }), { minLength: 1, maxLength: 6 }),
        fc.boolean(),
        (sizes, isMixed) => {
          const of = (i: number) => (isMixed && i % 2 === 1 ? { resource: resourceB } : {});
          const records = sizes.map((size, i) => Array.from({ length: size }, (_, k) => record(`r${i}.${k}`, of(i))));
          const body = joinBodies(records.map(each => logs(each)));
          if (!isMixed) expect(body.equals(logs(records.flat()))).toBe(true);
          expect(joinBodies(records.flat().map(each => logs([each]))).equals(body)).toBe(true);
          // One frame for each run of records with the same frame; the order does not change.
          expect(decodeRequest('logs', body)?.resourceLogs).toHaveLength(isMixed ? sizes.length : 1);
          expect(JSON.stringify(decodeRequest('logs', body)).match(/r\d\.\d/g)).toEqual(
            records.flat().map(({ eventName }) => eventName),
          );
        },
      ),
      { numRuns: 40 },
    );
  });

  it('joins bodies with unknown fields between their items unchanged', () => {
    const body = traces(namedSpans(1));
    const odd = Buffer.from([0x0a, 0x0a, 0x12, 0x02, 0x12, 0x00, 0x18, 0x01, 0x12, 0x02, 0x12, 0x00]);
    expect(countItems(odd)).toBe(2);
    expect(joinBodies([body, odd, odd]).equals(Buffer.concat([body, odd, odd]))).toBe(true);
  });

  it('cuts a joined request back into the original bytes', () => {
    for (const body of [
      traces(namedSpans(20)),
      logs([record('a'), record('b', { resource: resourceB })]),
      metrics(sums([['a', 1]], resourceB)),
    ]) {
      expect(cutBody(body, 0, countItems(body) ?? 0).equals(body)).toBe(true);
    }
  });

  it('cuts at any item so that each side has its items, whole and in order, under their own resource', () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 40 }), fc.nat(40), (count, place) => {
        const body = joinBodies([traces(namedSpans(count)), traces(namedSpans(3, count))]);
        const at = Math.min(place, count + 3);
        const [left, right] = [cutBody(body, 0, at), cutBody(body, at, count + 3)];
        expect(countItems(left)).toBe(at);
        expect(countItems(right)).toBe(count + 3 - at);
        expect([...namesIn(left), ...namesIn(right)]).toEqual(namesIn(body));
        // A second cut at the same place finds nothing to cut.
        expect(cutBody(left, 0, at).equals(left)).toBe(true);
      }),
      { numRuns: 60 },
    );
  });

  it('keeps unknown fields with their frame', () => {
    const body = traces(namedSpans(2));
    // Field 99 of the resource message, behind all others.
    const extra = Buffer.from([0x9a, 0x06, 0x01, 0x2a]);
    const length = body[1] ?? 0;
    const grown =
      length < 120
        ? Buffer.concat([Buffer.from([0x0a, length + extra.length]), body.subarray(2), extra])
        : Buffer.concat([
            Buffer.from([0x0a]),
            Buffer.from([((length & 0x7f) + extra.length) | 0x80, body[2] ?? 0]),
            body.subarray(3),
            extra,
          ]);
    expect(countItems(grown)).toBe(2);
    expect(cutBody(grown, 0, 1).includes(extra)).toBe(true);
    expect(cutBody(grown, 1, 2).includes(extra)).toBe(true);
  });

  it('reports that other bytes are not a request', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 200 }), bytes => {
        const count = countItems(bytes);
        expect(count === undefined || count >= 0).toBe(true);
        decodeRequest('traces', bytes);
        decodeRequest('metrics', bytes);
        decodeRequest('logs', bytes);
      }),
    );
    expect(countItems(traces(namedSpans(5)).subarray(0, 100))).toBeUndefined();
    expect(countItems(Buffer.from('<html>not found</html>'))).toBeUndefined();
  });
});
