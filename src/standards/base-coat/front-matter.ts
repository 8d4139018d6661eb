/**
 * Reads the front matter of an agent's page: YAML between two lines of dashes. It registers the hooks that run while
 * this agent is active.
 */
import { LineCounter, parseDocument } from 'yaml';
import type { Position } from '../../lib/json-position.ts';
import { isObject, kindOf, plain } from '../wording.ts';
import { judgeHooks } from './registration.ts';
import type { Remark } from './rules.ts';

/** Real front matter is shorter. Without a limit, parsing a hostile one would take very long. */
const MOST_CHARACTERS = 256 * 1024;
/** The message of the parser quotes the text, so it is shortened. */
const LONGEST_WHY = 200;

type Found = Remark & { at: Position };

export function frontMatter(): { write(piece: string): void; found(): Found[] } {
  let text = '';
  return {
    write(piece) {
      text += piece.slice(0, Math.max(0, MOST_CHARACTERS + 1 - text.length));
    },
    found: () => judgePage(text),
  };
}

function judgePage(text: string): Found[] {
  const odd = (rule: 'file/yaml' | 'file/empty', why: string): Found[] => [
    { rule, path: [], why, at: { line: 1, column: 1 } },
  ];
  const head = /^\ufeff?---[ \t]*\r?\n/.exec(text)?.[0];
  if (head === undefined) return odd('file/empty', 'begins with no front matter');
  const end = /^(?:---|\.\.\.)[ \t]*\r?$/m.exec(text.slice(head.length));
  if (end === null && text.length > MOST_CHARACTERS)
    return odd('file/yaml', `longer than ${MOST_CHARACTERS} characters`);
  if (end === null) return odd('file/yaml', 'the front matter does not end');
  return judgeYaml(text.slice(head.length, head.length + end.index));
}

function judgeYaml(yaml: string): Found[] {
  const lines = new LineCounter();
  // The front matter begins on the second line.
  const at = (offset: number): Position => {
    const { line, col } = lines.linePos(offset);
    return { line: line + 1, column: col };
  };
  try {
    const page = parseDocument(yaml, { lineCounter: lines, prettyErrors: false });
    const broken = page.errors.map(
      ({ message, pos }): Found => ({ rule: 'file/yaml', path: [], why: plain(message, LONGEST_WHY), at: at(pos[0]) }),
    );
    if (broken.length > 0) return broken;
    const value: unknown = page.toJS({ maxAliasCount: 10 });
    const placed = (path: Remark['path']): Position => {
      for (let length = path.length; length > 0; length -= 1) {
        const node = page.getIn(path.slice(0, length), true);
        if (typeof node === 'object' && node !== null && 'range' in node && Array.isArray(node.range))
          return at(Number(node.range[0]));
      }
      return at(0);
    };
    if (!isObject(value))
      return [{ rule: 'file/type', path: [], why: `the front matter is ${kindOf(value)}, not an object`, at: at(0) }];
    if (!('hooks' in value)) return [{ rule: 'file/empty', path: [], why: 'registers no hooks', at: at(0) }];
    return judgeHooks(value.hooks, 'agent page').map(remark => ({ ...remark, at: placed(remark.path) }));
  } catch (error) {
    // The YAML is nested too deeply or made of aliases.
    const why = error instanceof Error ? plain(error.message, LONGEST_WHY) : 'cannot be read';
    return [{ rule: 'file/yaml', path: [], why, at: at(0) }];
  }
}
