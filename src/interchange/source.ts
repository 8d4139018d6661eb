/**
 * Reads and writes the text of a manifest: JSON or YAML. YAML is read with its core schema, in which `no` and `on` are
 * strings. Duplicate keys, a second document, and aliases that multiply are refused.
 */
import { LineCounter, parseDocument, stringify } from 'yaml';
import {
  BOM,
  type Parsed,
  type Path,
  type Position,
  parseJson,
  placeOf,
  positionsIn,
  skipBlank,
} from '../lib/json-position.ts';
import { plain } from '../standards/wording.ts';

/** Real manifests are shorter. Without a limit, parsing a hostile one would take very long. */
export const MOST_CHARACTERS = 1024 * 1024;
/** The message of the parser quotes the text, so it is shortened. */
const LONGEST_WHY = 200;
const MAX_DEPTH = 512;

export type Source =
  | { ok: true; value: unknown; at(path: Path): Position }
  | { ok: false; errors: { rule: 'json/syntax' | 'file/yaml' | 'limit/size'; why: string; at: Position }[] };

/**
 * The name decides, otherwise the first character: a manifest is an object, and YAML rarely writes an object in braces.
 */
export function isYaml(text: string, name: string): boolean {
  if (/\.ya?ml$/i.test(name)) return true;
  const first = text[skipBlank(text, text.charCodeAt(0) === BOM ? 1 : 0)];
  return !/\.jsonc?$/i.test(name) && first !== undefined && first !== '{' && first !== '[' && first !== '"';
}

export function readSource(text: string, name: string): Source {
  const start = { line: 1, column: 1 };
  if (text.length > MOST_CHARACTERS)
    return {
      ok: false,
      errors: [{ rule: 'limit/size', why: `longer than ${MOST_CHARACTERS} characters`, at: start }],
    };
  return isYaml(text, name) ? readYaml(text) : readJson(text);
}

function readJson(text: string): Source {
  const at = positionsIn(text);
  const broken = (offset: number, why: string): Source => ({
    ok: false,
    errors: [{ rule: 'json/syntax', why, at: at(offset) }],
  });
  const read: Parsed = parseJson(text, {
    start: text.charCodeAt(0) === BOM ? 1 : 0,
    maxDepth: MAX_DEPTH,
    places: true,
  });
  if (!read.ok) return broken(read.offset, read.why);
  const [twice] = read.duplicates;
  if (twice !== undefined) return broken(twice.offset, `'${plain(String(twice.path.at(-1)), 60)}' occurs twice`);
  const rest = skipBlank(text, read.end);
  if (rest < text.length) return broken(rest, 'more text after the manifest');
  return { ok: true, value: read.value, at: path => at(placeOf(read, path)) };
}

export function readYaml(text: string): Source {
  const lines = new LineCounter();
  const at = (offset: number): Position => {
    const { line, col } = lines.linePos(offset);
    return { line: Math.max(1, line), column: Math.max(1, col) };
  };
  const broken = (why: string, place: Position): Source => ({
    ok: false,
    errors: [{ rule: 'file/yaml', why: plain(why, LONGEST_WHY), at: place }],
  });
  try {
    const page = parseDocument(text, { lineCounter: lines, prettyErrors: false, schema: 'core', version: '1.2' });
    const [error] = page.errors;
    if (error !== undefined) return broken(error.message, at(error.pos[0]));
    const value: unknown = page.toJS({ maxAliasCount: 10 });
    return {
      ok: true,
      value,
      at(path) {
        for (let length = path.length; length > 0; length -= 1) {
          const node = page.getIn(path.slice(0, length), true);
          if (typeof node === 'object' && node !== null && 'range' in node && Array.isArray(node.range))
            return at(Number(node.range[0]));
        }
        return at(0);
      },
    };
  } catch (error) {
    // The YAML is nested too deeply or made of aliases.
    return broken(error instanceof Error ? error.message : 'it cannot be read', at(0));
  }
}

export const jsonText = (value: unknown): string => `${JSON.stringify(value, null, 2)}\n`;

export const yamlText = (value: unknown): string =>
  stringify(value, { schema: 'core', version: '1.2', aliasDuplicateObjects: false, lineWidth: 0 });
