/** How far a session's journal was dispatched: a document, made in the round that opens the session. */
import { noOpenHook, type OpenHookState } from '../standards/openhook/out.ts';

export const PREFIX = 'openhook-';
export const openHookDocument = (key: string): string => `${PREFIX}${key}`;

export interface Mark {
  v: 1;
  cwd: string;
  /** When its first hook arrived. */
  sinceMs: number;
  /** Bytes of its journal that are done. */
  at: number;
  state: OpenHookState;
}

export const newMark = (cwd: string, sinceMs: number): Mark => ({ v: 1, cwd, sinceMs, at: 0, state: noOpenHook() });
