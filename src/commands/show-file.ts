/** `show SESSION --html FILE` and `--svg FILE`: a session as a file that a reader opens without otel-hooks. */
import { randomBytes } from 'node:crypto';
import { renameSync, rmSync, writeFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { agentNamed } from '../agents/index.ts';
import { sessionIndex } from '../journal/session-index.ts';
import { asShown } from '../lib/shown.ts';
import { VERSION } from '../lib/version.ts';
import type { PageSpan, Snapshot } from '../page/data.ts';
import type { Store } from '../store/store.ts';
import { htmlFile } from '../view/html-file.ts';
import { redactedSnapshot } from '../view/redacted-snapshot.ts';
import { snapshotOf, spansOf } from '../view/snapshot.ts';
import { svgFile } from '../view/svg-file.ts';
import { drawTree } from '../view/tree.ts';
import { flagText, type Io, UsageError, type Words } from './command.ts';
import { pageFiles } from './page-files.ts';
import { countOf } from './text.ts';

export interface FileAsked {
  format: 'html' | 'svg';
  file: string;
}

export function fileAsked(words: Words): FileAsked | undefined {
  const [html, svg] = [flagText(words, '--html'), flagText(words, '--svg')];
  if (html !== undefined && svg !== undefined) throw new UsageError('--html and --svg are for one file each; give one');
  const file = html ?? svg;
  if (file === undefined) {
    const alone = ['--redact', '--force'].find(flag => words.flags[flag] !== undefined);
    if (alone !== undefined) throw new UsageError(`${alone} is for --html FILE or --svg FILE`);
    return undefined;
  }
  if (words.rest[0] === undefined)
    throw new UsageError('--html and --svg take a SESSION: otel-hooks show SESSION --html FILE');
  if (file === '-' && words.flags['--json'])
    throw new UsageError('--json is not possible with a file on standard output');
  return { format: html === undefined ? 'svg' : 'html', file };
}

/** Writes the session of this journal. Returns the exit code. */
export function writeSessionFile({ format, file }: FileAsked, store: Store, key: string, words: Words, io: Io): number {
  const isRedacted = words.flags['--redact'] !== undefined;
  const whole = snapshotOf(store, sessionIndex(store), key, noteOf(isRedacted, io));
  if (whole === undefined) {
    io.err('otel-hooks: the session was removed in the meantime.\n  next: otel-hooks show\n');
    return 1;
  }
  const isOwnTool = (agent: string, tool: string): boolean => Object.hasOwn(agentNamed(agent)?.actions ?? {}, tool);
  const snapshot = isRedacted ? redactedSnapshot(whole, isOwnTool) : whole;
  const files = format === 'html' ? pageFiles() : undefined;
  if (format === 'html' && files === undefined) {
    io.err('otel-hooks: the file of the page is missing beside this program.\n  next: otel-hooks doctor\n');
    return 1;
  }
  const text = files === undefined ? svgFile(snapshot) : htmlFile(snapshot, files, treeOf(snapshot));
  if (file === '-') {
    io.out(text);
    return 0;
  }
  const path = resolve(io.cwd, file);
  const failed = written(path, text, words.flags['--force'] !== undefined);
  if (failed !== undefined) {
    io.err(`otel-hooks: ${asShown(path)} was not written: ${failed.what}.\n  next: ${failed.next}\n`);
    return 1;
  }
  const content = [...new Set(snapshot.part.journals.flatMap(each => each.content))].sort();
  const bytes = Buffer.byteLength(text);
  const spans = spansOf(snapshot).length;
  if (words.flags['--json'])
    io.out(`${JSON.stringify({ v: 1, file: path, format, bytes, spans, redacted: isRedacted, content }, null, 2)}\n`);
  else
    io.out(
      `Wrote ${asShown(path)}: ${countOf(spans, 'span', 'spans')}, ${Math.ceil(bytes / 1_000)} kB. ${holds(content, isRedacted)}\n`,
    );
  return 0;
}

function holds(content: readonly string[], isRedacted: boolean): string {
  if (content.length > 0) return `It holds content of these classes: ${content.join(', ')}; --redact leaves it out.`;
  return isRedacted
    ? 'It holds no content, and no names but those of the agent, its models and its own tools.'
    : 'It holds no content. --redact also leaves out names.';
}

function noteOf(isRedacted: boolean, io: Io): string {
  const made = `Made by otel-hooks ${VERSION} on ${new Date(io.now()).toISOString().slice(0, 16).replace('T', ' ')} UTC.`;
  return isRedacted ? `${made} Names and content were removed.` : made;
}

/** The tree as text, for readers without scripts. */
function treeOf(snapshot: Snapshot): string {
  const node = (span: PageSpan) => ({
    ...{ id: span.id, parent: span.parent, name: span.name, startMs: span.startMs, endMs: span.endMs },
    error: span.error,
    notes: span.isOpen ? [...span.notes, 'open'] : span.notes,
  });
  return drawTree(spansOf(snapshot).map(node), { color: false, columns: 120, unicode: true });
}

interface Failed {
  what: string;
  next: string;
}

/** A file is never half written, and never replaced without being asked. */
function written(path: string, text: string, isForced: boolean): Failed | undefined {
  const beside = `${path}.${randomBytes(6).toString('hex')}`;
  try {
    if (!isForced) {
      writeFileSync(path, text, { flag: 'wx', mode: 0o600 });
      return undefined;
    }
    writeFileSync(beside, text, { flag: 'wx', mode: 0o600 });
    renameSync(beside, path);
    return undefined;
  } catch (error) {
    rmSync(beside, { force: true });
    const { code = String(error) } = error as NodeJS.ErrnoException;
    if (code === 'EEXIST') return { what: 'it exists', next: 'give another name, or add --force' };
    return { what: code, next: 'give a file in a folder that exists and that you may write to' };
  }
}
