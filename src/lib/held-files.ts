/**
 * On Windows a virus scanner, an indexer or a backup may hold a file for some hundred milliseconds after it was written.
 * Meanwhile it cannot be opened, renamed or removed, nor can its folder be renamed. Other systems hold no files.
 */

/** A little more than a second in all. */
const PAUSES_MS = [5, 10, 20, 40, 80, 160, 320, 400];

/** `platform`: Windows also states EPERM and EACCES for held files. Elsewhere, both mean missing rights only. */
export interface Patience {
  platform: string;
  pause: (ms: number) => void;
}

export const usualPatience: Patience = { platform: process.platform, pause: sleep };

/** Repeats a call on files while another program holds one of them. Throws the last error if it holds it for longer. */
export function whileHeld<T>(call: () => T, { platform, pause }: Patience = usualPatience): T {
  const codes = platform === 'win32' ? ['EBUSY', 'EPERM', 'EACCES'] : ['EBUSY'];
  for (const ms of PAUSES_MS) {
    try {
      return call();
    } catch (error) {
      if (!(error instanceof Error && 'code' in error && codes.includes(String(error.code)))) throw error;
    }
    pause(ms);
  }
  return call();
}

/** The same functions, which repeat their calls. */
export function patient<T extends object>(functions: T, names: readonly (keyof T)[], patience = usualPatience): T {
  const repeated = names.map(name => {
    const call = functions[name] as (...args: unknown[]) => unknown;
    return [name, (...args: unknown[]) => whileHeld(() => call(...args), patience)];
  });
  return { ...functions, ...Object.fromEntries(repeated) };
}

function sleep(ms: number): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms);
}
