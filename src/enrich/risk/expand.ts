/** Words after the shell has expanded variables and braces, as far as the text states their values. */
import type { Word } from './shell.ts';
import { LONGEST_WORD, type Walk } from './walk.ts';
import { paid } from './work.ts';

export const MOST_EXPANDED = 16;

export function expanded(word: Word, walk: Walk): readonly Word[] {
  let texts: readonly string[] = [word.text];
  for (const name of [...new Set(word.variables)].filter(each => walk.variables.has(each)).slice(0, MOST_EXPANDED))
    texts = filledWith(texts, name, walk);
  if (!word.quoted) texts = texts.flatMap(braced).slice(0, MOST_EXPANDED);
  return texts.length === 1 && texts[0] === word.text ? [word] : texts.map(text => ({ ...word, text }));
}

/** Returns each text with each value of a variable; if the account of work cannot pay for them, the texts unchanged. */
function filledWith(texts: readonly string[], name: string, { variables, work }: Walk): readonly string[] {
  const made: string[] = [];
  for (const text of texts) {
    for (const value of variables.get(name) ?? []) {
      if (made.length === MOST_EXPANDED) return made;
      const put = filled(text, name, value);
      if (!paid(work, put.length)) return texts;
      made.push(put);
    }
  }
  return made;
}

/** A value may be long and occur often, so the result is cut to the longest word that the rules match. */
function filled(text: string, name: string, value: string): string {
  const mark = new RegExp(`\\$${name}(?![A-Za-z0-9_])`, 'g');
  const put = value.slice(0, LONGEST_WORD);
  let length = text.length;
  return text.replace(mark, all => {
    if (length + put.length - all.length > Math.max(LONGEST_WORD, text.length)) return all;
    length += put.length - all.length;
    return put;
  });
}

function braced(text: string): string[] {
  const [, before, parts, after] = /^([^{}]{0,256})\{([^{}]{0,1024},[^{}]{0,1024})\}([^{}]{0,256})$/.exec(text) ?? [];
  return parts === undefined ? [text] : parts.split(',').map(part => `${before}${part}${after}`);
}
