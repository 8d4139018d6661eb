/** Wraps the prose of a Markdown page at 120 characters. Tables, code blocks, headings and comments stay as they are. */

export const WIDTH = 120;

export function wrapped(page: string): string {
  const lines: string[] = [];
  let block: Block | undefined;
  const close = (): void => {
    if (block !== undefined) lines.push(...filled(block));
    block = undefined;
  };
  for (const { text, fixed } of linesOf(page)) {
    const item = /^(\s*(?:[*-]|\d+\.) +)(.*)$/.exec(text);
    if (fixed || text.trim() === '') {
      close();
      lines.push(text);
    } else if (item) {
      close();
      const [, mark = '', rest = ''] = item;
      block = { first: mark, others: ' '.repeat(mark.length), text: rest };
    } else if (block === undefined) {
      const indent = /^\s*/.exec(text)?.[0] ?? '';
      block = { first: indent, others: indent, text: text.trim() };
    } else {
      block.text += ` ${text.trim()}`;
    }
  }
  close();
  return lines.join('\n');
}

/** Numbers and texts of the lines of prose that are too long. A single word, such as an address, may be. */
export function tooLong(page: string): string[] {
  return linesOf(page).flatMap(({ text, fixed }, i) =>
    !fixed && text.length > WIDTH && wordsOf(text).length > 1 ? [`${i + 1}: ${text}`] : [],
  );
}

type Block = { first: string; others: string; text: string };

function linesOf(page: string): { text: string; fixed: boolean }[] {
  let isCode = false;
  return page.split('\n').map(text => {
    const isFence = /^\s*(```|~~~)/.test(text);
    if (isFence) isCode = !isCode;
    return { text, fixed: isFence || isCode || /^\s*(\||<!--|#{1,6} |!\[)/.test(text) };
  });
}

function filled({ first, others, text }: Block): string[] {
  const lines: string[] = [];
  let line = first;
  for (const word of unbreakable(wordsOf(text))) {
    const isEmpty = line === first || line === others;
    if (isEmpty) line += word;
    else if (`${line} ${word}`.length <= WIDTH) line += ` ${word}`;
    else {
      lines.push(line);
      line = others + word;
    }
  }
  return [...lines, line];
}

/** A piece of code is one word, because the checks of commands read it from one line. */
const wordsOf = (text: string): string[] => text.match(/(?:`[^`]*`|[^\s`])+/g) ?? [];

/** Joins a word that must not start a line with the word before it. */
function unbreakable(words: string[]): string[] {
  const joined: string[] = [];
  for (const word of words) {
    if (joined.length > 0 && startsBlock(word)) joined.push(`${joined.pop()} ${word}`);
    else joined.push(word);
  }
  return joined;
}

/** At the start of a line such a word would begin a list, a heading, a quotation or a table. */
const startsBlock = (word: string): boolean => /^([*+-]|\d+[.)]|#{1,6}|>.*|\|.*)$/.test(word);
