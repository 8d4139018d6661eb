/** Secrets that are generated during the test, so that the repository contains none. */
import { secretKinds } from '../../src/enrich/secrets/kinds.ts';
import { markedKinds } from '../../src/enrich/secrets/marked.ts';

const LETTERS = 'abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789';
const classes: { readonly [name: string]: string } = {
  X: 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567',
  w: LETTERS,
  h: '0123456789abcdef',
  d: '0123456789',
  b: '123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz',
  B: 'QPZRY9X8GF2TVDW0S3JN54KHCE6MUA7L',
  a: 'abcdefghijklmnopqrstuvwxyz',
  A: 'ABCDEFGHIJKLMNOPQRSTUVWXYZ',
};

/** One secret of a kind; `random` returns a whole number below its argument. */
export const secretLike = (like: string, random: (below: number) => number): string => sampleLike(like, random).text;

/** The same with its random parts, which must not stay in a cleaned text. */
function sampleLike(like: string, random: (below: number) => number): { text: string; drawn: string[] } {
  const drawn: string[] = [];
  const text = like.replace(/\{([XwhdaAbB])(\d+)\}/g, (_, name: string, count: string) => {
    const from = classes[name] ?? '';
    const part = Array.from({ length: Number(count) }, () => from[random(from.length)]).join('');
    drawn.push(part);
    return part;
  });
  return { text, drawn };
}

/** Whole numbers below an argument, the same in each run. */
export function randomFrom(seed: number): (below: number) => number {
  let state = seed;
  return below => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((state / 2 ** 32) * below);
  };
}

/** One secret of each kind, the same in each run. */
export function secretsOf(seed: number): { id: string; secret: string }[] {
  const random = randomFrom(seed);
  return secretKinds.map(({ id, like }) => ({ id, secret: secretLike(like, random) }));
}

export interface Sample {
  id: string;
  like: string;
  text: string;
  /** The secret parts of the text. */
  parts: string[];
}

/** One secret of each form of each kind, including secrets that a name or a position marks. */
export function samplesOf(seed: number): Sample[] {
  const random = randomFrom(seed);
  const likes = [
    ...secretKinds.map(({ id, like }) => ({ id, like })),
    ...markedKinds.flatMap(({ id, likes }) => likes.map(like => ({ id, like }))),
  ];
  return likes.map(({ id, like }) => {
    const { text, drawn } = sampleLike(like, random);
    return { id, like, text, parts: drawn.filter(part => part.length >= SHORTEST) };
  });
}

/** Shorter texts may occur elsewhere by chance. */
const SHORTEST = 6;
