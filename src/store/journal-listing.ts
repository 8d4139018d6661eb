/**
 * The journals of a state folder with their sizes and times, for its owner. A year of work leaves 20,000 of them, and
 * no round may wait until all are looked at. So each call continues for a limited time.
 */
import type { Disk } from './files.ts';
import { type Forms, formsOfJournals, type JournalFile, journalFile, journalKeyOf } from './journal.ts';

const LONGEST_MS = 20;
/** The number of journals between two looks at the clock. */
const AT_ONCE = 64;

interface Change {
  lines: readonly { path: string }[];
  files: readonly { path: string; writtenMs?: number | undefined }[];
  gone: readonly string[];
  quarantine: readonly { from: string }[];
}

export class JournalListing {
  private readonly disk: Disk;
  private readonly files = new Map<string, JournalFile>();
  /** Not looked at yet. */
  private left: [key: string, forms: Forms][] | undefined;

  constructor(disk: Disk) {
    this.disk = disk;
  }

  isWhole(): boolean {
    return this.left?.length === 0;
  }

  /** Continues, and returns all journals; undefined if some are left for the next call. */
  whole(): ReadonlyMap<string, JournalFile> | undefined {
    const { disk, files } = this;
    const untilMs = disk.clock.monotonicMs() + LONGEST_MS;
    this.left ??= [...formsOfJournals(disk)];
    while (this.left.length > 0) {
      for (const [key, forms] of this.left.splice(-AT_ONCE)) {
        // A file that a round made or removed meanwhile is known already.
        const file = files.get(key) ?? journalFile(disk, key, forms);
        if (file !== undefined) files.set(key, file);
      }
      if (disk.clock.monotonicMs() > untilMs) break;
    }
    return this.isWhole() ? files : undefined;
  }

  /** Brings the listing up to date with a round. */
  update({ lines, files, gone, quarantine }: Change): void {
    if (this.left === undefined) return;
    const grown = [...lines, ...files.filter(({ writtenMs }) => writtenMs === undefined)].map(({ path }) => path);
    const others = [...files.map(({ path }) => path), ...gone, ...quarantine.map(({ from }) => from)];
    for (const key of keysOf(others)) this.look(key, undefined);
    for (const key of keysOf(grown)) this.look(key, this.disk.clock.nowMs());
  }

  private look(key: string, writtenMs: number | undefined): void {
    const file = journalFile(this.disk, key);
    if (file === undefined) this.files.delete(key);
    else this.files.set(key, { ...file, writtenMs: writtenMs ?? file.writtenMs });
  }
}

const keysOf = (paths: readonly string[]): Set<string> => new Set(paths.flatMap(path => journalKeyOf(path) ?? []));
