/** The decisions of a lane, as values: no store, no server, no clock. */
import { describe, expect, it } from 'vitest';
import {
  type Group,
  halvesOf,
  joinable,
  metricsOutcome,
  replaced,
  type Sent,
  settledOutcome,
  type WaitingBody,
  waitOutcome,
} from '../../src/ship/lanes.ts';
import { laneOf, noStanding, type Standing, waitMs } from '../../src/ship/standing.ts';
import { destinationAt } from './memory-store.ts';
import { namedSpans, traces } from './samples.ts';

const destination = destinationAt('http://collector:4318');
const heir = { ...destination, id: 'fedcba9876543210' };
const of = { destination, signal: 'traces' as const };
const nowMs = 1_760_000_000_000;
const body = (name: string, items: number): WaitingBody => ({ name, signal: 'traces', items, sizeBytes: 10 });

function sentOf(items: number, more: Partial<Sent> = {}): Sent {
  const bytes = traces(namedSpans(items, 0));
  return { ...of, group: { bodies: [body('b1', items)] }, bytes, items, tookMs: 20, ...more };
}

describe('the bodies of a request', () => {
  it('are the oldest of their signal, up to 512 items', () => {
    const queue = [body('a', 300), { ...body('l', 1), signal: 'logs' as const }, body('b', 200), body('c', 100)];
    expect(joinable(queue, 'traces').map(({ name }) => name)).toEqual(['a', 'b']);
  });

  it('include the first one, with any size', () => {
    expect(joinable([body('a', 5_000), body('b', 1)], 'traces').map(({ name }) => name)).toEqual(['a']);
  });

  it('are halved between bodies first, then within one, and not below one item', () => {
    const bodies = [body('a', 2), body('b', 2), body('c', 4)];
    const bytes = traces(namedSpans(8, 0));
    const names = halvesOf('traces', { bodies }, bytes, 8)?.map(half => half.bodies.map(({ name }) => name));
    expect(names).toEqual([['a', 'b'], ['c']]);
    const [within, none] = halvesOf('traces', sentOf(3).group, sentOf(3).bytes, 3) ?? [];
    expect([within?.cut?.length, none]).toEqual([2, undefined]);
    expect(halvesOf('traces', sentOf(1).group, sentOf(1).bytes, 1)).toBeUndefined();
  });

  it('that cannot be counted are not halved', () => {
    expect(halvesOf('traces', sentOf(4).group, Buffer.from('no request'), 4)).toBeUndefined();
  });

  it('continue as the groups that replace their group, in its place', () => {
    const [a, b, c, d]: Group[] = ['a', 'b', 'c', 'd'].map(name => ({ bodies: [body(name, 1)] }));
    if (a === undefined || b === undefined || c === undefined || d === undefined) throw new Error('four groups');
    expect(replaced([a, b], b, [c, d])).toEqual([a, c, d]);
    expect(replaced([a], b, [c])).toEqual([c, a]);
  });
});

describe('the outcome of an answer', () => {
  const failing: Standing = {
    ...noStanding,
    lanes: { [`${destination.id}/traces`]: { failures: 3, refused: 0, why: '503', untilMs: nowMs + 5_000 } },
    pauses: { [destination.id]: { status: 401, untilMs: nowMs + 5_000 } },
  };

  it('that accepted all settles the bodies, and the lane is in good health', () => {
    const outcome = settledOutcome(sentOf(3), { kind: 'taken', rejected: 0, message: '' }, failing, nowMs);
    expect(outcome).toMatchObject({ settled: ['b1'], accepted: 3, tookMs: 20, rejected: {}, quarantine: [] });
    expect(outcome.standing).toMatchObject({ lanes: {}, pauses: {}, taken: { [destination.id]: nowMs } });
  });

  it('that accepted all changes no document a second later', () => {
    const standing = { ...noStanding, taken: { [destination.id]: nowMs } };
    const verdict = { kind: 'taken', rejected: 0, message: '' } as const;
    expect(settledOutcome(sentOf(3), verdict, standing, nowMs + 1_000).standing).toBeUndefined();
  });

  it('that accepted a part counts the rest as rejected', () => {
    const outcome = settledOutcome(sentOf(3), { kind: 'taken', rejected: 2, message: 'no' }, noStanding, nowMs);
    expect(outcome).toMatchObject({ accepted: 1, rejected: { partial: 2 } });
    expect(outcome.problems).toMatchObject([{ code: 'delivery-partial', items: 2, message: 'no' }]);
  });

  it('that refused one item sets it aside and keeps the other parts of its body', () => {
    const parts = [traces(namedSpans(1, 0)), traces(namedSpans(2, 1))];
    const [first] = parts;
    if (first === undefined) throw new Error('two parts');
    const sent = sentOf(1, { group: { bodies: [body('b1', 3)], cut: parts }, bytes: first });
    const outcome = settledOutcome(sent, { kind: 'refused', reason: '400' }, noStanding, nowMs);
    expect(outcome).toMatchObject({ settled: ['b1'], accepted: 0, rejected: { '400': 1 }, parts: [{ items: 2 }] });
    expect(outcome.quarantine).toMatchObject([{ reason: '400', label: '0123456789abcdef-traces' }]);
    expect(outcome.tookMs).toBeUndefined();
  });

  it('after 16 refused items in a row is a wait that grows', () => {
    let standing = noStanding;
    const waits: number[] = [];
    for (let i = 0; i < 18; i += 1) {
      standing = settledOutcome(sentOf(1), { kind: 'refused', reason: '400' }, standing, nowMs).standing ?? standing;
      waits.push(waitMs(standing, of, nowMs));
    }
    expect(waits.slice(14)).toEqual([0, 300_000, 600_000, 1_200_000]);
  });

  it('has no duration when the clock was set back meanwhile', () => {
    const verdict = { kind: 'taken', rejected: 0, message: '' } as const;
    expect(settledOutcome(sentOf(1, { tookMs: -5 }), verdict, noStanding, nowMs).tookMs).toBeUndefined();
  });
});

describe('the outcome of a failure', () => {
  const why = { kind: 'retry', why: '503' } as const;

  it('is a wait of the lane that doubles, and no body leaves', () => {
    const first = waitOutcome(of, why, noStanding, { nowMs, random: 1 });
    const second = waitOutcome(of, why, first.standing ?? noStanding, { nowMs, random: 1 });
    expect([first, second].map(({ standing }) => standing && waitMs(standing, of, nowMs))).toEqual([2_000, 4_000]);
    expect(second).toMatchObject({ settled: [], accepted: 0, failed: '503' });
  });

  it('is as long as the server asks', () => {
    const { standing } = waitOutcome(of, { ...why, afterMs: 70_000 }, noStanding, { nowMs, random: 0 });
    expect(standing && waitMs(standing, of, nowMs)).toBe(70_000);
  });

  it('of credentials pauses all signals of the destination that refused them', () => {
    const refused = { kind: 'pause', status: 401, scope: 'destination' } as const;
    const own = waitOutcome(of, refused, noStanding, { nowMs, random: 0 }).standing;
    expect(own && waitMs(own, { ...of, signal: 'logs' }, nowMs)).toBe(300_000);
    const taken = waitOutcome({ ...of, heir }, refused, noStanding, { nowMs, random: 0 }).standing;
    expect(Object.keys(taken?.pauses ?? {})).toEqual([heir.id]);
  });

  it('restarts for a destination that takes over the lane', () => {
    const first = waitOutcome(of, why, noStanding, { nowMs, random: 1 }).standing ?? noStanding;
    const { standing } = waitOutcome({ ...of, heir }, why, first, { nowMs, random: 1 });
    expect(standing && laneOf(standing, of)).toMatchObject({ failures: 1, by: heir.id });
  });

  it('does not change the standing that it was given', () => {
    const frozen = Object.freeze({ ...noStanding, lanes: Object.freeze({}), pauses: Object.freeze({}) });
    expect(() => waitOutcome(of, why, frozen, { nowMs, random: 0 })).not.toThrow();
    expect(frozen).toEqual(noStanding);
  });
});

describe('the outcome of metrics', () => {
  const answers = { superseded: 2, problems: [], documents: [] };

  it('that were accepted counts one version, and the older ones as superseded', () => {
    const outcome = metricsOutcome(destination, { ...answers, refused: undefined }, noStanding, nowMs);
    expect(outcome).toMatchObject({ accepted: 1, rejected: {}, dropped: { superseded: 2 } });
    expect(outcome.standing).toMatchObject({
      metrics: { [destination.id]: nowMs },
      taken: { [destination.id]: nowMs },
    });
  });

  it('that were refused count as sent, but not as accepted', () => {
    const outcome = metricsOutcome(destination, { ...answers, refused: '400' }, noStanding, nowMs);
    expect(outcome).toMatchObject({ accepted: 0, rejected: { '400': 1 } });
    expect(outcome.standing).toMatchObject({ metrics: { [destination.id]: nowMs }, taken: {} });
  });
});
