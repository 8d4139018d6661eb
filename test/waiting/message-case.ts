/** A message that is provoked, and the advice that is followed. */
import { explain, type Problem } from '../../src/problems/problem.ts';
import type { Ran } from '../commands/ran.ts';
import type { House } from './house.ts';

export interface Case {
  /** The words of the advice that are followed. */
  advice: RegExp;
  provoke(): unknown;
  follow(): unknown;
  /** Runs the command that prints the message; `status` by default. */
  shown?(): Promise<Message[]>;
  /** Only root can make a file of another user. */
  needsRoot?: true;
}

export type Cases = { readonly [code: string]: (house: House) => Case };

export interface Message {
  code: string;
  next: string;
}

/** The problems in the JSON of `status`, `deliver`, `enable` and `doctor`. */
export function messagesIn({ out }: Ran): Message[] {
  const { problems, findings } = JSON.parse(out) as { problems: Problem[]; findings?: { problem?: Problem }[] };
  const all = findings === undefined ? problems : findings.flatMap(each => each.problem ?? []);
  return all.map(each => ({ code: each.code, next: explain(each).next }));
}

/** The sentences on standard error. The code of each is found by a comparison with the table of problems. */
export function messagesOn({ err }: Ran): Message[] {
  return err.split(/^(?=otel-hooks: )/m).map(text => {
    const [what = '', next = ''] = text.replace(/^otel-hooks: /, '').split('\n  next: ');
    return { code: codeOf(what), next: next.trimEnd() };
  });
}

/** Words that only the sentence of this code has. */
const sentences: readonly (readonly [code: string, words: RegExp])[] = [
  ['settings-absent', /cannot be set up \(/],
  ['settings-refused', /\(line \d+, column \d+\); nothing was changed/],
  ['settings-outside', /leads out of the project/],
  ['settings-file', /cannot be used \(.*\); nothing was changed/],
  ['serve-address', /nothing can be received at/],
  ['serve-open', /a token would travel there in the clear/],
  ['serve-tls', /cannot be used for TLS/],
  ['token-unsafe', /cannot be used as the token/],
];

const codeOf = (what: string): string => sentences.find(([, words]) => words.test(what))?.[0] ?? '';
