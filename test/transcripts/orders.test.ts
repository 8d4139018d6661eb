/**
 * One session from its hooks and from its transcript, in every order: the same events, once, and the same numbers. The
 * transcript may exist at once, grow between the hooks, be imported first, or be found last; it may be cut anywhere and
 * continue later, and be read again.
 */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { FinishedSpan } from '../../src/assemble/finished.ts';
import { factsOf } from '../../src/event/event.ts';
import { START_MS } from '../play.ts';
import { type House, openHouse, rowsOf, tokensOf } from './house.ts';

const RUNS = process.env.OTEL_HOOKS_TEST_SIZE === undefined ? 3 : 300;

interface Call {
  fate: 'ok' | 'failed' | 'unpaired';
  responses: number;
}
type Turn = Call[];

const turns = fc.array(
  fc.array(
    fc.record({ fate: fc.constantFrom('ok', 'failed', 'unpaired'), responses: fc.integer({ min: 1, max: 3 }) }),
    { maxLength: 4 },
  ),
  { minLength: 1, maxLength: 4 },
) as fc.Arbitrary<Turn[]>;

interface Moment {
  seconds: number;
  rows: string[];
  hook?: [event: string, fields: object];
}

/** The steps in order: rows are written, hooks run. */
function script(session: string, all: Turn[]): Moment[] {
  const rows = rowsOf(session);
  const moments: Moment[] = [];
  let seconds = 0;
  const add = (row?: object, hook?: Moment['hook']): void => {
    seconds += 1;
    moments.push({ seconds, rows: row === undefined ? [] : [`${JSON.stringify(row)}\n`], ...(hook ? { hook } : {}) });
  };
  all.forEach((calls, turn) => {
    const prompt = `p${turn}`;
    add(rows.prompt(seconds + 1, prompt), ['UserPromptSubmit', { prompt_id: prompt, prompt: 'please' }]);
    calls.forEach(({ fate, responses }, number) => {
      const call = `c${turn}-${number}`;
      const id = `m${turn}-${number}`;
      for (let copy = 1; copy < responses; copy += 1)
        add(rows.assistant(seconds + 1, id, rows.text('hm'), 20, 'tool_use'));
      const input = { tool_name: 'Bash', tool_use_id: call, tool_input: { command: 'ls' }, prompt_id: prompt };
      add(rows.assistant(seconds + 1, id, rows.call(call), 20, 'tool_use'), ['PreToolUse', input]);
      const failed = {
        message: {
          role: 'user',
          content: [{ type: 'tool_result', tool_use_id: call, content: 'Exit code 1', is_error: true }],
        },
        toolUseResult: 'Error: Exit code 1',
      };
      if (fate === 'ok')
        add(rows.result(seconds + 1, call, prompt), ['PostToolUse', { ...input, tool_response: {}, duration_ms: 10 }]);
      else if (fate === 'failed')
        add(rows.result(seconds + 1, call, prompt, failed), ['PostToolUseFailure', { ...input, error: 'Exit code 1' }]);
      // No hook reports its end; the transcript does.
      else add(rows.result(seconds + 1, call, prompt, failed));
    });
    add(rows.assistant(seconds + 1, `m${turn}-end`, rows.text('done'), 5, 'end_turn'));
    add(undefined, ['Stop', { prompt_id: prompt }]);
  });
  add(undefined, ['SessionEnd', { reason: 'other' }]);
  return moments;
}

const wanted = (all: Turn[]): { calls: number; input: number; output: number } => {
  const responses = all.reduce((sum, calls) => sum + calls.length + 1, 0);
  return {
    calls: responses,
    input: responses * 3_210,
    output: all.reduce((sum, calls) => sum + calls.length * 20 + 5, 0),
  };
};

/** Ids of events that both sources report, and of responses; the outcome of each action. */
function gist(house: House) {
  const ids = house
    .events()
    .filter(event =>
      ['Action.Before', 'Action.After', 'Model.Responded', 'Prompt.Submitted'].includes(event.event_type),
    )
    .map(event => `${event.event_type} ${factsOf(event)?.call ?? ''} ${event.event_id}`)
    .sort();
  const outcomes = house
    .spans()
    .flatMap(span => (span.kind === 'action' ? [`${span.call} ${span.outcome} ${span.exitCode}`] : []))
    .sort();
  return { ids, outcomes, tokens: tokensOf(house.spans()) };
}

function checkSpans(spans: readonly FinishedSpan[]): void {
  const names = spans.map(span => JSON.stringify([span.trace, span.key]));
  expect(new Set(names).size, 'no span leaves twice').toBe(names.length);
  for (const span of spans) expect(span.endMs).toBeGreaterThanOrEqual(span.startMs);
}

const settle = (house: House): void => {
  house.round({ due: { waiting: house.store.sessions() } });
  const { transcripts } = house.ledger();
  expect(transcripts.read).toBe(transcripts.journaled + transcripts.duplicate);
};

type Way = (house: House, moments: Moment[]) => void;

const ways: { [name: string]: Way } = {
  'the transcript is whole before the first hook is read': (house, moments) => {
    for (const { rows } of moments) house.write(house.main, ...rows);
    for (const { seconds, hook } of moments) if (hook) house.hook(seconds, ...hook);
    house.round();
  },
  'both grow together, a round for each': (house, moments) => {
    for (const { seconds, rows, hook } of moments) {
      house.write(house.main, ...rows);
      if (hook) house.hook(seconds, ...hook);
      house.round();
    }
  },
  'the transcript comes last': (house, moments) => {
    for (const { seconds, hook } of moments) if (hook) house.hook(seconds, ...hook);
    house.round();
    for (const { rows } of moments) house.write(house.main, ...rows);
    house.hook(5_000, 'SessionEnd', { reason: 'other' });
    house.round();
    house.import();
  },
  'it is imported first': (house, moments) => {
    for (const { rows } of moments) house.write(house.main, ...rows);
    house.import({ nowMs: START_MS + 100_000_000 });
    for (const { seconds, hook } of moments) if (hook) house.hook(seconds, ...hook);
    house.round();
  },
  'it is imported afterwards, twice': (house, moments) => {
    for (const { rows } of moments) house.write(house.main, ...rows);
    for (const { seconds, hook } of moments) if (hook) house.hook(seconds, ...hook);
    house.round();
    house.import();
    house.import({ bytes: 500 });
  },
};

test('in every order of the sources the events are the same', () => {
  fc.assert(
    fc.property(turns, all => {
      const gists = Object.entries(ways).map(([name, way]) => {
        const house = openHouse();
        try {
          way(house, script(house.session, all));
          settle(house);
          checkSpans(house.spans());
          const { ids, outcomes, tokens } = gist(house);
          expect(new Set(ids).size, `${name}: once`).toBe(ids.length);
          expect(tokens, name).toEqual(wanted(all));
          // If the transcript came after the actions were sent, actions without an end stay without one.
          return { ids, outcomes: name.includes('comes last') ? undefined : outcomes };
        } finally {
          house.close();
        }
      });
      const [first] = gists;
      for (const each of gists) {
        expect(each.ids).toEqual(first?.ids);
        if (each.outcomes) expect(each.outcomes).toEqual(first?.outcomes);
      }
    }),
    { numRuns: RUNS },
  );
}, 600_000);

test('a reading that is cut at any byte and continued adds no wrong event', () => {
  fc.assert(
    fc.property(
      turns,
      fc.array(fc.double({ min: 0, max: 1, noNaN: true }), { minLength: 1, maxLength: 4 }),
      (all, cuts) => {
        const house = openHouse();
        try {
          const moments = script(house.session, all);
          const text = moments.flatMap(({ rows }) => rows).join('');
          const places = cuts.map(cut => Math.floor(cut * text.length)).sort((a, b) => a - b);
          let written = 0;
          for (const { seconds, hook } of moments) if (hook) house.hook(seconds, ...hook);
          for (const place of [...places, text.length]) {
            house.write(house.main, text.slice(written, place));
            written = place;
            house.round({ due: { waiting: house.store.sessions() } });
          }
          settle(house);
          checkSpans(house.spans());
          expect(tokensOf(house.spans())).toEqual(wanted(all));
        } finally {
          house.close();
        }
      },
    ),
    { numRuns: RUNS },
  );
}, 600_000);
