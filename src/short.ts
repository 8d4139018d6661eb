/**
 * `otel-hooks status --short`, a file of its own: a prompt of a shell runs it each time, so it loads nothing but the
 * search for the state folder.
 */
import { readFileSync, statSync, writeSync } from 'node:fs';
import { homedir } from 'node:os';
import { fileNamed, locateStateFolder } from './hook/state-folder.ts';

/** Prints the line. Returns false for words that only the whole program understands. */
export function short(words: readonly string[]): boolean {
  let stateDir: string | undefined;
  let config: string | undefined;
  for (let i = 0; i < words.length; i += 1) {
    const word = words[i];
    if (word === '--state-dir' || word === '--config') {
      const value = words[i + 1];
      if (value === undefined) return false;
      if (word === '--config') config = value;
      else stateDir = value;
      i += 1;
    } else if (word !== 'status' && word !== '--short') return false;
  }
  const { env, platform } = process;
  const cwd = process.cwd;
  const named = config === undefined ? undefined : fileNamed(config, cwd(), homedir);
  const folder = locateStateFolder(stateDir, { env, platform, home: homedir, cwd, named }, readText);
  const line = lineIn(readText(`${folder}/documents/short.json`));
  if (line === undefined) process.exitCode = 1;
  else writeSync(1, `${line}\n`);
  return true;
}

/** Undefined if there is no line, or if it has characters that a prompt could expand. */
function lineIn(document: string): string | undefined {
  try {
    const { v, value } = JSON.parse(document) as { v?: unknown; value?: { line?: unknown } };
    const line = value?.line;
    return v === 1 && typeof line === 'string' && /^[\w .:,/+-]*$/.test(line) ? line : undefined;
  } catch {
    // The document is missing or damaged: the next round writes it again.
    return undefined;
  }
}

/** The type is checked first: the read of a pipe or a device that a variable names would not end. */
function readText(path: string): string {
  return statSync(path, { throwIfNoEntry: false })?.isFile() ? readFileSync(path, 'utf8') : '';
}
