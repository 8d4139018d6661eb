/** Secrets made when a test runs, so that none stands in the repository. */
import { secretKinds } from '../../src/enrich/secrets.ts';

const LETTERS = 'abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789';
const classes: { readonly [name: string]: string } = {
  X: 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567',
  w: LETTERS,
  h: '0123456789abcdef',
  d: '0123456789',
};

/** One secret of a kind; `random` gives a whole number below its argument. */
export const secretLike = (like: string, random: (below: number) => number): string =>
  like.replace(/\{([Xwhd])(\d+)\}/g, (_, name: string, count: string) => {
    const from = classes[name] ?? '';
    return Array.from({ length: Number(count) }, () => from[random(from.length)]).join('');
  });

/** Of each kind one, the same in each run. */
export function secretsOf(seed: number): { id: string; secret: string }[] {
  let state = seed;
  const random = (below: number): number => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((state / 2 ** 32) * below);
  };
  return secretKinds.map(({ id, like }) => ({ id, secret: secretLike(like, random) }));
}
