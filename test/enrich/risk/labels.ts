/** Reads the labelled actions; labels/README.md explains their form. */
import { readFileSync } from 'node:fs';
import type { Action } from '../../../src/event/event.ts';

export interface Label {
  line: string;
  factor: string | undefined;
  action: Action;
}

export function labelsOf(set: 'seen' | 'unseen' | 'later' | 'fourth' | 'fifth' | 'sixth'): Label[] {
  const text = readFileSync(new URL(`labels/${set}.labels`, import.meta.url), 'utf8');
  const entries: string[] = [];
  for (const line of text.split('\n')) {
    const more = /^ {2}\| ?(.*)$/.exec(line)?.[1];
    if (more !== undefined) entries.push(`${entries.pop()}\n${more}`);
    else if (line !== '' && !line.startsWith('#')) entries.push(line);
  }
  return entries.map(labelOf);
}

function labelOf(line: string): Label {
  const [, factor, sign, rest = ''] = /^(?:risky ([A-Z_]+)|fine) ([$@]) ([\s\S]*)$/.exec(line) ?? [];
  if (sign === '$') return { line, factor, action: { name: 'shell', input: { command: rest } } };
  const [, name, input = ''] = /^(\S+) (\{.*\})$/.exec(rest) ?? [];
  if (sign === undefined || name === undefined) throw new Error(`no label: ${line}`);
  return { line, factor, action: { name, input: JSON.parse(input) } };
}
