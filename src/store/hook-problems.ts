/** Signs that hooks leave when a step failed: one file for each code. */
import { at, type Disk, names, readBytes, unlinkIfThere } from './files.ts';

export function readHookProblems(disk: Disk): { code: string; atMs: number; times?: number }[] {
  return names(disk, 'problems').map(code => {
    const { mtimeMs } = disk.fs.lstatSync(at(disk, `problems/${code}`));
    const [, times] = /^(\d{1,9})\n$/.exec(readBytes(disk, `problems/${code}`)?.toString('latin1', 0, 16) ?? '') ?? [];
    return { code, atMs: mtimeMs, ...(times === undefined ? {} : { times: Number(times) }) };
  });
}

export function forgetHookProblems(disk: Disk): void {
  for (const code of names(disk, 'problems')) unlinkIfThere(disk, `problems/${code}`);
}
