/** A case that provokes a message and follows its advice. */
import { explain, type Problem } from '../../src/problems/problem.ts';
import type { Ran } from '../commands/ran.ts';
import type { House } from './house.ts';

export interface Case {
  /** The part of the advice that the case follows. */
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

/** Words that occur only in the sentence of this code. */
const sentences: readonly (readonly [code: string, words: RegExp])[] = [
  ['settings-absent', /cannot be set up \(/],
  ['settings-refused', /\(line \d+, column \d+\); nothing was changed/],
  ['settings-outside', /is a link out of the project/],
  ['settings-file', /cannot be used \(.*\); nothing was changed/],
  ['serve-address', /nothing can be received at/],
  ['serve-open', /a token would be sent there in cleartext/],
  ['serve-tls', /cannot be used for TLS/],
  ['token-unsafe', /cannot be used as the token/],
];

const codeOf = (what: string): string => sentences.find(([, words]) => words.test(what))?.[0] ?? '';
