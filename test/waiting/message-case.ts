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
