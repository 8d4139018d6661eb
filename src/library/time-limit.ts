/** A time limit for promises of other libraries. */

export class TimeoutError extends Error {
  override readonly name = 'TimeoutError';
}

/** Calls `run`. Rejects when it throws, rejects, or takes longer than `ms`. */
export async function within<T>(ms: number, run: () => T | PromiseLike<T>): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const over = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new TimeoutError(`no answer within ${ms} ms`)), ms);
  });
  try {
    return await Promise.race([run(), over]);
  } finally {
    clearTimeout(timer);
  }
}
