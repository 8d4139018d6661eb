/**
 * Caches the texts and parsed values of sessions and documents for as long as the owner's view lives. Each file is read
 * once and each document parsed once, until a commit replaces it. Values come from the text, never from the objects
 * that callers commit, so they are the values that the next process would read.
 */

const MOST_FILES = 512;
/** A session of thousands of events has a state of some 100 KB. */
const MOST_CHARACTERS = 16 * 1024 * 1024;

interface CachedFile {
  text: string | undefined;
  /** For a document that was read: the parse function that made the value. */
  parsed?: { by: unknown; value: unknown } | undefined;
}

export class FileCache {
  private readonly files = new Map<string, CachedFile>();
  private characters = 0;
  private readonly read: (path: string) => string | undefined;

  constructor(read: (path: string) => string | undefined) {
    this.read = read;
  }

  text(path: string): string | undefined {
    return this.file(path).text;
  }

  /** Undefined where there is no file, or where `parse` returns undefined. */
  parsed<T>(path: string, by: unknown, parse: (text: string) => T | undefined): T | undefined {
    const file = this.file(path);
    if (file.text === undefined) return undefined;
    if (file.parsed?.by !== by) file.parsed = { by, value: parse(file.text) };
    return file.parsed?.value as T | undefined;
  }

  put(path: string, text: string | undefined): CachedFile {
    this.characters += (text?.length ?? 0) - (this.files.get(path)?.text?.length ?? 0);
    if (this.files.size >= MOST_FILES || this.characters > MOST_CHARACTERS) {
      this.files.clear();
      this.characters = text?.length ?? 0;
    }
    const file = { text };
    this.files.set(path, file);
    return file;
  }

  /** The file is read again when it is needed. */
  forget(path: string): void {
    this.characters -= this.files.get(path)?.text?.length ?? 0;
    this.files.delete(path);
  }

  clear(): void {
    this.files.clear();
    this.characters = 0;
  }

  private file(path: string): CachedFile {
    return this.files.get(path) ?? this.put(path, this.read(path));
  }
}
