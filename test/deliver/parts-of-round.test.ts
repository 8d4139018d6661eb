import { expect, it } from 'vitest';
import { type RoundPart, smallerParts } from '../../src/deliver/parts-of-round.ts';
import type { Fragment } from '../../src/hook/fragment.ts';

const fragments = (...names: string[]): Fragment[] => names.map(name => ({ name }) as Fragment);
const reject = { name: 'torn-one', reason: 'torn' };
const shown = (parts: RoundPart[] | undefined) =>
  parts?.map(({ fragments: some, rejects, due }) => ({
    fragments: some.map(({ name }) => name).join(''),
    rejects: rejects.map(({ name, reason }) => `${name} ${reason}`).join(),
    due: JSON.stringify(due),
  }));
const nothing = { fragments: '', rejects: '', due: '{}' };

it('a round that fails is processed without the sessions that it only looked at, then with each of them alone', () => {
  const due = { silent: ['s'], waiting: ['w'], undecided: ['u'], excess: ['e'] };
  expect(shown(smallerParts({ fragments: fragments('a', 'b'), rejects: [reject], due }))).toEqual([
    { fragments: 'ab', rejects: 'torn-one torn', due: '{}' },
    { ...nothing, due: '{"silent":["s"]}' },
    { ...nothing, due: '{"waiting":["w"]}' },
    { ...nothing, due: '{"undecided":["u"]}' },
    { ...nothing, due: '{"excess":["e"]}' },
  ]);
});

it('a session that fails alone is left out', () => {
  expect(smallerParts({ fragments: [], rejects: [], due: { waiting: ['w'] } })).toEqual([]);
});

it('fragments are halved in their order, and rejected files stay with the first half', () => {
  expect(shown(smallerParts({ fragments: fragments('a', 'b', 'c'), rejects: [reject], due: {} }))).toEqual([
    { fragments: 'ab', rejects: 'torn-one torn', due: '{}' },
    { fragments: 'c', rejects: '', due: '{}' },
  ]);
});

it('a fragment that fails alone is rejected', () => {
  expect(shown(smallerParts({ fragments: fragments('a'), rejects: [reject], due: {} }))).toEqual([
    { fragments: '', rejects: 'torn-one torn,a failed', due: '{}' },
  ]);
});

it('a round without fragments and sessions has no smaller parts', () => {
  expect(smallerParts({ fragments: [], rejects: [reject], due: {} })).toBeUndefined();
});
