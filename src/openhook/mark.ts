/** How far a session's journal was dispatched: a document, made in the round that opens the session. */
import { noOpenHook, type OpenHookState } from '../standards/openhook/to-openhook.ts';

export const PREFIX = 'openhook-';
export const openHookDocument = (key: string): string => `${PREFIX}${key}`;

export interface Mark {
  v: 1;
  cwd: string;
  /** The configuration file that its hooks or the delivery named. */
  config?: string | undefined;
  /** When its first hook arrived. */
  sinceMs: number;
  /** Bytes of its journal that are done. */
  at: number;
  state: OpenHookState;
  /** What a delivery had taken on and gave back, because another one was to deliver: it comes first. */
  left?: Left[] | undefined;
}

export interface Left {
  /** Of the file that was agreed to, and the place of the hook in it. */
  hash: string;
  hook: number;
  input: string;
}

export const newMark = (cwd: string, config: string | undefined, sinceMs: number): Mark => ({
  v: 1,
  cwd,
  ...(config === undefined ? {} : { config }),
  sinceMs,
  at: 0,
  state: noOpenHook(),
});
