/** Requests to the server that sent this page. */
import { useEffect, useState } from 'preact/hooks';
import type { Snapshot } from './data.ts';

/** A request that got no data: the sentence, and the command to run next. */
export class Failure extends Error {
  readonly next: string | undefined;
  readonly isGone: boolean;

  constructor(message: string, next: string | undefined, isGone = false) {
    super(message);
    this.next = next;
    this.isGone = isGone;
  }
}

/** The session in this file, if the page is a file of `show --html` and has no server. */
export const snapshot = ((): Snapshot | undefined => {
  const text = document.getElementById('snapshot')?.textContent;
  return text ? (JSON.parse(text) as Snapshot) : undefined;
})();

function inSnapshot({ part, details }: Snapshot, path: string): object {
  const id = new URLSearchParams(path.slice(path.indexOf('?'))).get('id');
  if (id === null) return part;
  return details[id] ?? { v: 1, attributes: [], links: [], records: [] };
}

export async function request<T>(path: string, method = 'GET'): Promise<T> {
  if (snapshot !== undefined) return inSnapshot(snapshot, path) as T;
  let response: Response;
  try {
    response = await fetch(path, { method });
  } catch {
    throw new Failure(
      'The server of this page has stopped. The page shows the last data that it received.',
      VIEW,
      true,
    );
  }
  const body = await response.json().catch(() => ({}));
  if (!response.ok) throw new Failure(String(body.error ?? response.statusText), body.next, response.status === 401);
  return body as T;
}

const VIEW = 'otel-hooks view';

/**
 * Calls `load` now, and after each change on the disk. Changes that arrive while `load` works lead to one more call.
 */
export function useLive(key: string | undefined, load: () => Promise<void>): Failure | undefined {
  const [failure, setFailure] = useState<Failure>();
  useEffect(() => {
    let isOver = false;
    let isBusy = false;
    let isAsked = false;
    const work = async (): Promise<void> => {
      isAsked = true;
      if (isBusy) return;
      isBusy = true;
      while (isAsked && !isOver) {
        isAsked = false;
        try {
          await load();
          if (!isOver) setFailure(undefined);
        } catch (error) {
          if (!isOver) setFailure(error as Failure);
        }
      }
      isBusy = false;
    };
    void work();
    if (snapshot !== undefined) return;
    const source = new EventSource(`/api/live${key === undefined ? '' : `?key=${encodeURIComponent(key)}`}`);
    source.addEventListener('open', () => void work());
    source.addEventListener('changed', () => void work());
    // EventSource reconnects automatically. A plain request gets the reason for the failure, which the page shows.
    source.addEventListener('error', () => void work());
    return () => {
      isOver = true;
      source.close();
    };
  }, [key]);
  return failure;
}
