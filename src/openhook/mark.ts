/**
 * The document of a dispatched session: how much of its journal is done. The round that opens the session creates it.
 */
import { isFields, number, text } from '../lib/read.ts';
import { noOpenHook, type OpenHookState } from '../standards/openhook/to-openhook.ts';

export interface Mark {
  v: 1;
  cwd: string;
  /** The configuration file that the session's hooks or the delivery use. */
  config?: string | undefined;
  /** Arrival time of the session's first hook. */
  sinceMs: number;
  /** Bytes of the journal that are done. */
  at: number;
  state: OpenHookState;
  /** Jobs that a delivery returned when it handed over to another one. They run first. */
  left?: Left[] | undefined;
}

export interface Left {
  /** Hash of the file that the user agreed to, and number of the hook in it. */
  hash: string;
  hook: number;
  input: string;
}

export const parseMark = (value: unknown): Mark | undefined =>
  isFields(value) &&
  value.v === 1 &&
  text(value.cwd) !== undefined &&
  number(value.at) !== undefined &&
  isFields(value.state)
    ? (value as unknown as Mark)
    : undefined;

export const newMark = (cwd: string, config: string | undefined, sinceMs: number): Mark => ({
  v: 1,
  cwd,
  ...(config === undefined ? {} : { config }),
  sinceMs,
  at: 0,
  state: noOpenHook(),
});
