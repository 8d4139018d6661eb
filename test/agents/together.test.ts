/**
 * One session of each agent, from its hooks and from its transcript, in every order: the same facts, each once.
 */
import { readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, describe, expect, test } from 'vitest';
import { isAbsent } from '../../src/agents/contract/contract.ts';
import { agents } from '../../src/agents/index.ts';
import { type Event, factsOf } from '../../src/event/event.ts';
import { type House, tokensOf } from '../transcripts/house.ts';
import { hooksOf, isHook, rowsOf, type Stage, scriptIn, stage, whole } from './session-script.ts';

const IS_SMALL = process.env.OTEL_HOOKS_TEST_SIZE === undefined;
const CUTS = IS_SMALL ? 1 : 200;

const last = 'what is written down comes last';
const imported = 'it is imported first';
const again = 'it is imported afterwards, twice';
const tellable = ['Action.Before', 'Action.After', 'Model.Responded'];

/** Each order must have the same result in the end. */
const ways: { [name: string]: (on: Stage) => void } = {
  'both grow together': on => {
    for (const [number, each] of on.script.moments.entries()) {
      if (isHook(each)) on.hook(each);
      else on.write(each);
      if (number % 3 === 2) on.round();
    }
  },
  [last]: on => {
    for (const each of hooksOf(on)) on.hook(each);
    on.round();
    for (const each of rowsOf(on)) on.write(each);
    on.round();
    on.import();
  },
  [imported]: on => {
    for (const each of rowsOf(on)) on.write(each);
    on.import();
    for (const each of hooksOf(on)) on.hook(each);
    on.round();
  },
  [again]: on => {
    whole(on);
    on.import();
    on.import(300);
  },
};

/** The files are cut at the same share of each, and read in between. */
function cut(on: Stage, share: number): void {
  for (const each of hooksOf(on)) on.hook(each);
  const rows = rowsOf(on);
  const names = [...new Set(rows.map(({ to }) => to))];
  const whole = new Map(names.map(name => [name, rows.filter(({ to }) => to === name)]));
  for (const part of [0, 1]) {
    for (const moments of whole.values()) {
      const [first] = moments;
      if (first === undefined) continue;
      const text = moments.map(each => `${on.said(each)}\n`).join('');
      const at = Math.floor(share * text.length);
      if (moments.some(each => each.isWhole)) {
        const last = Math.floor(share * (moments.length - 1));
        on.write((part === 0 ? moments[last] : moments.at(-1)) ?? first);
      } else on.write({ ...(moments.at(-1) ?? first) }, part === 0 ? text.slice(0, at) : text.slice(at));
    }
    on.round();
  }
}

const idOf = (event: Event): string => `${event.event_type} ${factsOf(event)?.call ?? ''} ${event.event_id}`;

/** The events that both sources report, the outcomes of calls, and the used tokens. */
function gist({ house, script }: Stage) {
  const events = house.events();
  const shared = events.filter(({ event_type: type }) => script.shares.includes(type));
  return {
    shared: shared.map(idOf).sort(),
    tokens: tokensOf(house.spans()),
    calls: house
      .spans()
      .flatMap(span => (span.kind === 'action' ? [`${span.tool} ${span.outcome}`] : []))
      .sort(),
  };
}

/** Checks rules that hold for every order of the sources. `isLate`: the spans of hooks have been sent with their times. */
function check({ house }: Stage, isLate: boolean): void {
  const spans = house.spans();
  const ids = house.events().map(event => event.event_id);
  expect(new Set(ids).size, 'no event is recorded twice').toBe(ids.length);
  const names = spans.map(span => JSON.stringify([span.trace, span.key]));
  expect(new Set(names).size, 'no span leaves twice').toBe(names.length);
  const byKey = new Map(spans.map(span => [JSON.stringify(span.key), span]));
  for (const span of spans) {
    expect(span.endMs).toBeGreaterThanOrEqual(span.startMs);
    expect(span.clamped, `${span.kind} the wrong way round`).toBe(false);
    const parent = span.parent && byKey.get(JSON.stringify(span.parent));
    if (span.kind === 'session') continue;
    if (parent === undefined) expect(span.parent?.kind, 'only what is open still may be missing').toBe('session');
    else if (!isLate) {
      expect(span.startMs, `${span.kind} begins in its ${parent.kind}`).toBeGreaterThanOrEqual(parent.startMs);
      expect(span.endMs - span.startMs, `${span.kind} in ${parent.kind}`).toBeLessThanOrEqual(
        parent.endMs - parent.startMs,
      );
    }
  }
  const { transcripts } = house.ledger();
  expect(transcripts.read).toBe(transcripts.journaled + transcripts.duplicate);
}

let open: House | undefined;
afterEach(() => {
  open?.close();
  open = undefined;
});

for (const agent of agents) {
  if (isAbsent(agent.transcript)) continue;
  const folder = join(import.meta.dirname, agent.id);
  const files = readdirSync(folder).filter(file => file.endsWith('.session'));

  test(`${agent.id} has a sample session`, () => expect(files).not.toEqual([]));

  describe.each(files)(`${agent.id}/%s`, file => {
    const path = join(folder, file);
    const script = scriptIn(path);
    const played = (way: (on: Stage) => void, isLate = way === ways[last]): Stage => {
      open?.close();
      const on = stage(agent.id, folder, script);
      open = on.house;
      way(on);
      on.silence();
      check(on, isLate);
      return on;
    };

    let known: ReturnType<typeof gist> | undefined;
    const wholeGist = (): ReturnType<typeof gist> => {
      known ??= gist(played(whole));
      return known;
    };

    test('hooks and files make one tree', () => {
      const on = played(whole);
      known = gist(on);
      const { calls, input, output } = tokensOf(on.house.spans());
      const actual = `${on.house.tree()}${calls} responses, ${input} in, ${output} out\n`;
      if (process.env.UPDATE) writeFileSync(path, `${script.head}---- expected\n${actual}`);
      else expect(actual).toBe(script.expected);
    });

    test('any order of hooks and files gives the same events, each once', () => {
      const wanted = wholeGist();
      for (const type of script.shares) expect(wanted.shared.join('\n')).toContain(type);
      for (const [name, way] of Object.entries(ways)) {
        if (IS_SMALL && name === again) continue;
        // Without a shared id, only the first source reports the event.
        if (name === imported && !tellable.every(type => script.shares.includes(type))) continue;
        const result = gist(played(way));
        // The outcome of a call may become known too late for a span that was sent.
        const calls = name === last ? wanted.calls : result.calls;
        expect({ ...result, calls }, name).toEqual(wanted);
      }
    });

    test('a cut at any place adds no wrong event', () => {
      const wanted = wholeGist();
      for (let number = 1; number <= CUTS; number += 1) {
        const share = (number * 0.618_034) % 1;
        const result = gist(played(on => cut(on, share), true));
        expect(result.shared, `cut at ${share}`).toEqual(wanted.shared);
        expect(result.tokens, `cut at ${share}`).toEqual(wanted.tokens);
      }
    }, 600_000);
  });
}
