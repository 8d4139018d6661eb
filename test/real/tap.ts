/**
 * Copies the fragments that hooks write, before deliver removes them: the payloads in the agent's own form. A fragment
 * that deliver removes first is missing from the copy, so the copy shows which fields exist, never how many hooks fired.
 */
import { existsSync, type FSWatcher, mkdirSync, readdirSync, readFileSync, watch } from 'node:fs';
import { join } from 'node:path';
import { decodeFragment } from '../../src/hook/fragment.ts';

export interface Tapped {
  event: string;
  payload: unknown;
}

export interface Tap {
  tapped: Tapped[];
  close(): void;
}

export function tapInbox(state: string): Tap {
  const inbox = join(state, 'inbox');
  if (!existsSync(inbox)) mkdirSync(inbox, { recursive: true, mode: 0o700 });
  const done = new Set<string>();
  const tapped: Tapped[] = [];
  const read = (name: string): void => {
    if (done.has(name)) return;
    try {
      const decoded = decodeFragment(name, readFileSync(join(inbox, name)), 0);
      if (!decoded.ok) return;
      done.add(name);
      const payload = JSON.parse(decoded.fragment.payload.toString('utf8')) as unknown;
      tapped.push({ event: decoded.fragment.header.event ?? '', payload });
    } catch {
      // Deliver removed the fragment, or its payload is not JSON.
    }
  };
  const watcher: FSWatcher = watch(inbox, () => {
    for (const name of readdirSync(inbox)) read(name);
  });
  return { tapped, close: () => watcher.close() };
}
