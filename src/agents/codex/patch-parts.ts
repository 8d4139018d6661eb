/** The parts of a patch of Codex: one for each file. */
import type { Fields } from '../../event/event.ts';
import { text } from '../../lib/read.ts';
import type { Call } from '../contract/dialect.ts';

export interface Part {
  readonly call: Call;
  /** Its lines in the patch. */
  readonly text: string;
}

const HEAD = /^\*\*\* (Add|Update|Delete) File: (.*)$/;

export function partsOf(patch: string): readonly Part[] {
  const parts: { verb: string; path: string; lines: string[] }[] = [];
  for (const line of patch.split('\n')) {
    const [, verb, path] = HEAD.exec(line) ?? [];
    if (verb !== undefined && path !== undefined) parts.push({ verb, path: path.trim(), lines: [line] });
    else if (!/^\*\*\* (Begin|End) Patch\s*$/.test(line)) parts.at(-1)?.lines.push(line);
  }
  return parts.flatMap(({ verb, path, lines }) => {
    const whole = `${lines.join('\n').replace(/\n+$/, '')}\n`;
    const nativeTool = 'apply_patch';
    if (verb === 'Add') {
      const content = lines.slice(1).flatMap(line => (line.startsWith('+') ? [line.slice(1)] : []));
      const input = { path, content: content.map(line => `${line}\n`).join('') };
      return [{ call: { tool: 'file_write', nativeTool, input }, text: whole }];
    }
    const side = (sign: string): string =>
      lines
        .slice(1)
        .flatMap(line => (line.startsWith(sign) || line.startsWith(' ') ? [line.slice(1)] : []))
        .join('\n');
    const input = { path, old_text: side('-'), new_text: side('+') };
    const changed = [{ call: { tool: 'file_edit', nativeTool, input }, text: whole }];
    const moved = lines.map(line => /^\*\*\* Move to: (.*)$/.exec(line)?.[1]?.trim()).find(to => to !== undefined);
    // The new place is a second file: a guard of paths must see it. It has no lines of its own.
    return moved === undefined
      ? changed
      : [...changed, { call: { tool: 'file_write', nativeTool, input: { path: moved } }, text: '' }];
  });
}

/** The lines of a part with another input; undefined if a patch cannot express it. */
export function patchOf({ tool }: Call, input: Fields): string | undefined {
  const path = text(input.path);
  if (path === undefined || /[\r\n]/.test(path)) return undefined;
  if (tool === 'file_write') {
    const content = text(input.content);
    if (content === undefined) return undefined;
    return `*** Add File: ${path}\n${signed('+', content)}`;
  }
  const before = text(input.old_text);
  const after = text(input.new_text);
  if (before === undefined || after === undefined) return undefined;
  return `*** Update File: ${path}\n@@\n${signed('-', before)}${signed('+', after)}`;
}

const signed = (sign: string, content: string): string =>
  content === ''
    ? ''
    : content
        .replace(/\n$/, '')
        .split('\n')
        .map(line => `${sign}${line}\n`)
        .join('');
