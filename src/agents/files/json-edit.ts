/**
 * Text edits of a user's JSON or JSONC file: members are appended and removed, and all other bytes stay. Comments,
 * order, indentation, line ends, trailing commas and a byte order mark stay.
 *
 * A removal restores the text before the addition byte for byte, without any record beside the file. Only one fact must
 * be stored, in the layout: whether a container existed before, empty.
 *
 *   A container that we create holds only our member and is formatted as by a formatter.
 *   An empty container that existed gets our member and *one space after it*: `{}` becomes `{ "a": 1 }` with a space
 *   before the brace; its former content stays after that space. A blank file gets its space after the document.
 *
 * A removal that empties a container therefore checks the character after the member. If it is a space, the space is
 * removed and the container stays. Otherwise the container is removed too. If a formatter has removed the space, an
 * empty container of the user is removed as well.
 */
import {
  applyEdits,
  createScanner,
  getNodeValue,
  modify,
  type Node,
  type ParseError,
  parseTree,
  printParseErrorCode,
} from 'jsonc-parser';
import { boundPassed } from '../../lib/json-bounds.ts';

export { getNodeValue, type Node } from 'jsonc-parser';
export type JsonPath = readonly (string | number)[];

export interface Refusal {
  ok: false;
  line: number;
  column: number;
  why: string;
}

/** `root` is undefined for a blank file. */
export type JsonText = { ok: true; root: Node | undefined } | Refusal;

// jsonc-parser recurses, and a project's file comes with a clone. Settings of users stay far below these limits.
const BOUNDS = { depth: 200, parts: 20_000 };

const MARK = ' \t';

// The parser's const enums cannot be imported under isolatedModules.
const token = { comma: 5, lineComment: 12, comment: 13, end: 17 };

/** Module state as a cache: an edit parses the same text several times in a row. It changes no result. */
let latest: { text: string; read: JsonText } | undefined;

/** Parses a text as a JSON object, with comments and trailing commas as editors allow them. */
export function readJson(text: string): JsonText {
  if (latest?.text !== text) latest = { text, read: parsed(text) };
  return latest.read;
}

function parsed(text: string): JsonText {
  const body = withoutBom(text);
  if (isBlank(body)) return { ok: true, root: undefined };
  const passed = boundPassed(body, BOUNDS);
  if (passed !== undefined) return refusal(text, passed.at, passed.why);
  const errors: ParseError[] = [];
  const root = parseTree(body, errors, { allowTrailingComma: true, disallowComments: false });
  const [error] = errors;
  if (error) return refusal(text, error.offset, `not valid JSON: ${spoken(printParseErrorCode(error.error))}`);
  if (root?.type !== 'object') return refusal(text, root?.offset ?? 0, `the file holds ${kindOf(root)}, not an object`);
  return { ok: true, root };
}

/** Returns the value of a text; undefined if it cannot be parsed safely. */
export function jsonValue(text: string): unknown {
  const read = readJson(text);
  return read.ok && read.root !== undefined ? getNodeValue(read.root) : undefined;
}

/** Returns a refusal at an offset of the text. Like offsets of nodes, it does not count the byte order mark. */
export function refusal(text: string, offset: number, why: string): Refusal {
  const before = withoutBom(text).slice(0, offset);
  const lineStart = before.lastIndexOf('\n') + 1;
  return { ok: false, line: before.split('\n').length, column: offset - lineStart + 1, why };
}

/** Returns the second of two members with one key. */
export function duplicateKey(object: Node): Node | undefined {
  const seen = new Set<unknown>();
  return object.children?.find(property => {
    const key = property.children?.[0]?.value;
    if (seen.has(key)) return true;
    seen.add(key);
    return false;
  });
}

export function members(object: Node | undefined): [key: string, value: Node][] {
  if (object?.type !== 'object') return [];
  return (object.children ?? []).flatMap(({ children: [key, value] = [] }) =>
    key && value ? [[String(key.value), value]] : [],
  );
}

export function kindOf(node: Node | undefined): string {
  if (node === undefined) return 'nothing';
  if (node.type === 'null') return 'null';
  return `${/^[aeiou]/.test(node.type) ? 'an' : 'a'} ${node.type}`;
}

/**
 * Appends `value` to the array at `path`, whose keys lead through objects; missing containers are created. `text` is
 * undefined or blank if there is no document yet. The caller has checked that the path leads through objects to an
 * array.
 */
export function appendTo(text: string | undefined, path: readonly string[], value: unknown): string {
  if (text === undefined) return `${canonical(nested(path, [value]))}\n`;
  const bom = text.slice(0, text.length - withoutBom(text).length);
  const body = withoutBom(text);
  const root = rootOf(text);
  if (root === undefined) return `${bom}${canonical(nested(path, [value]))} ${body}`;

  let container = root;
  for (const [depth, key] of path.entries()) {
    const child = members(container).find(([name]) => name === key)?.[1];
    if (child === undefined) return bom + append(body, root, container, nested(path.slice(depth + 1), [value]), key);
    container = child;
  }
  return bom + append(body, root, container, value);
}

/**
 * Adds a member to the object of the file. A space and a tab before its value mark it as ours (`isMarked`), so that a
 * removal of our entries may remove it too. Without this mark, it looks like a member of the user.
 */
export function addMarked(text: string | undefined, key: string, value: string | number): string {
  if (text === undefined) return `{\n  ${JSON.stringify(key)}:${MARK}${JSON.stringify(value)}\n}\n`;
  const body = withoutBom(text);
  const bom = text.slice(0, text.length - body.length);
  const root = rootOf(text);
  if (root === undefined) return `${bom}{\n  ${JSON.stringify(key)}:${MARK}${JSON.stringify(value)}\n} ${body}`;
  const style = { ...styleOf(body, root), colon: `:${MARK}` };
  return bom + append(body, root, root, value, key, style);
}

/** Adds a member to the object of the file, without a mark: the value itself shows that it is ours. */
export function addMember(text: string, key: string, value: unknown): string {
  const body = withoutBom(text);
  const bom = text.slice(0, text.length - body.length);
  const root = rootOf(text);
  if (root === undefined) return `${bom}${canonical({ [key]: value })} ${body}`;
  return bom + append(body, root, root, value, key);
}

/** Returns the text of a node as it stands in the file. */
export const sourceOf = (text: string, { offset, length }: Node): string =>
  withoutBom(text).slice(offset, offset + length);

/** Puts another JSON text in the place of a node. */
export function replaceNode(text: string, { offset, length }: Node, json: string): string {
  const body = withoutBom(text);
  const bom = text.slice(0, text.length - body.length);
  return bom + body.slice(0, offset) + json + body.slice(offset + length);
}

export function isMarked(text: string, key: string): boolean {
  const property = find(rootOf(text), [key])?.parent;
  const [name, value] = property?.children ?? [];
  return name !== undefined && value !== undefined && withoutBom(text).slice(endOf(name), value.offset) === `:${MARK}`;
}

/** Sets the values of members of the file's object and of objects in it. */
export function setValues(
  text: string | undefined,
  values: readonly (readonly [path: string[], value: unknown])[],
): { ok: true; text: string; changed: boolean } | Refusal {
  const read = readJson(text ?? '');
  if (!read.ok) return read;
  for (const [path] of values) {
    let container = read.root;
    for (const [depth, key] of path.entries()) {
      const [first, second] = members(container).filter(([name]) => name === key);
      if (second) return refusal(text ?? '', second[1].parent?.offset ?? 0, `"${key}" occurs twice`);
      container = first?.[1];
      if (depth < path.length - 1 && container !== undefined && container.type !== 'object')
        return refusal(text ?? '', container.offset, `"${key}" is ${kindOf(container)}, not an object`);
    }
  }
  const body = read.root === undefined ? '{}\n' : withoutBom(text ?? '');
  const bom = (text ?? '').slice(0, (text ?? '').length - withoutBom(text ?? '').length);
  const unit = read.root === undefined ? '  ' : styleOf(body, read.root).unit;
  const formattingOptions = { insertSpaces: !unit.includes('\t'), tabSize: unit.length };
  const edited = values.reduce(
    (each, [path, value]) => applyEdits(each, modify(each, path, value, { formattingOptions })),
    body,
  );
  return { ok: true, text: bom + edited, changed: bom + edited !== text };
}

/** Removes the member at `path`, and containers above it that were created for it. */
export function cut(text: string, path: JsonPath): string {
  const bom = text.slice(0, text.length - withoutBom(text).length);
  let body = withoutBom(text);
  for (let length = path.length; length > 0; length--) {
    const result = cutMember(body, path.slice(0, length));
    body = result.body;
    if (!result.emptied || result.wasThere) break;
  }
  return bom + body;
}

/**
 * Returns the text that remains after the last member is removed: undefined if the file was created for it, the blank
 * text if it was blank. Any other file keeps its object.
 */
export function cutLast(text: string, path: JsonPath): string | undefined {
  const root = rootOf(text);
  const rest = cut(text, path);
  const emptied = rootOf(rest);
  if (!root || !emptied || emptied.children?.length !== 0) return rest;
  const body = withoutBom(text);
  const document = body.slice(root.offset, root.offset + root.length);
  if (document.replace(`:${MARK}`, ': ') !== canonical(getNodeValue(root)) || root.offset > 0) return rest;
  const behind = body.slice(root.length);
  if (!isBlank(behind)) return rest;
  return behind.startsWith(' ') ? text.slice(0, text.length - body.length) + behind.slice(1) : undefined;
}

const canonical = (value: unknown): string => JSON.stringify(value, null, 2);

function nested(keys: readonly string[], value: unknown): unknown {
  return keys.reduceRight<unknown>((inner, key) => ({ [key]: inner }), value);
}

function append(
  body: string,
  root: Node,
  container: Node,
  value: unknown,
  key?: string,
  style = styleOf(body, root),
): string {
  const last = container.children?.at(-1);
  const close = container.offset + container.length - 1;
  const gap = gapOf(body, last ? endOf(last) : container.offset + 1, close);

  if (last === undefined) {
    const indent = lineIndent(body, container.offset) + style.unit;
    const separator = style.isMultiline || gap.endsInLineComment ? style.eol + indent : '';
    const member = printed(value, key, style, indent);
    return insert(body, gap.end, `${separator}${member} `);
  }

  const run = body.slice(runBefore(body, last.offset), last.offset);
  const newline = run.lastIndexOf('\n');
  let separator = run;
  let indent = lineIndent(body, last.offset);
  if (newline !== -1) {
    indent = run.slice(newline + 1);
    separator = style.eol + indent;
  } else if (gap.endsInLineComment) separator = style.eol + indent;
  else if (run === '' && style.isMultiline) separator = ' ';

  const member = separator + printed(value, key, style, indent);
  if (gap.comma !== undefined) return insert(body, gap.end, `${member},`);
  return insert(insert(body, gap.end, member), endOf(last), ',');
}

function cutMember(body: string, path: JsonPath): { body: string; emptied: boolean; wasThere: boolean } {
  const node = find(rootOf(body), path);
  const member = node?.parent?.type === 'property' ? node.parent : node;
  const container = member?.parent;
  const index = member ? (container?.children?.indexOf(member) ?? -1) : -1;
  if (!member || !container || index === -1) throw new RangeError(`no member at ${path.join('/')}`);

  const end = endOf(member);
  const next = container.children?.[index + 1];
  const previous = container.children?.[index - 1];
  const lead = gapOf(body, previous ? endOf(previous) : container.offset + 1, member.offset);
  // Blanks at the end of a comment belong to the comment.
  const start = Math.max(runBefore(body, member.offset), lead.end);
  const gap = gapOf(body, end, next?.offset ?? container.offset + container.length - 1);
  const stays = { emptied: false, wasThere: true };
  // Text that moves up behind a line comment must not become a part of the comment.
  const joined = (before: string, after: string): string =>
    before +
    (lead.endsInLineComment && !/^\r?\n/.test(after) ? (/\r?\n/.exec(body.slice(start))?.[0] ?? '') : '') +
    after;

  if (gap.comma !== undefined) {
    const between = body.slice(end, gap.comma);
    const kept = isBlank(between) ? '' : between;
    // A comma after the only member was written by the user. A comment may follow it.
    return { body: joined(body.slice(0, start), kept + body.slice(gap.comma + 1)), ...stays };
  }
  if (previous) {
    const comma = lead.comma ?? start;
    return { body: joined(body.slice(0, comma) + body.slice(comma + 1, start), body.slice(end)), ...stays };
  }
  const wasThere = body[end] === ' ';
  const inside = body.slice(container.offset + 1, start) + body.slice(end, container.offset + container.length - 1);
  return {
    body: joined(body.slice(0, start), body.slice(wasThere ? end + 1 : end)),
    emptied: isBlank(inside),
    wasThere,
  };
}

interface Style {
  eol: string;
  unit: string;
  isMultiline: boolean;
  colon: string;
  comma: string;
}

function styleOf(body: string, root: Node): Style {
  const first = root.children?.[0];
  const run = first ? body.slice(runBefore(body, first.offset), first.offset) : '';
  const newline = body.indexOf('\n');
  const key = first?.children?.[0];
  const value = first?.children?.[1];
  const isSpaced = !key || !value || /\s/.test(body.slice(endOf(key), value.offset));
  return {
    eol: newline > 0 && body[newline - 1] === '\r' ? '\r\n' : '\n',
    unit: run.includes('\n') ? run.slice(run.lastIndexOf('\n') + 1) || '  ' : '  ',
    isMultiline: first === undefined || body.slice(root.offset, root.offset + root.length).includes('\n'),
    colon: isSpaced ? ': ' : ':',
    comma: isSpaced ? ', ' : ',',
  };
}

function printed(value: unknown, key: string | undefined, style: Style, indent: string): string {
  const text = style.isMultiline
    ? JSON.stringify(value, null, style.unit).replaceAll('\n', style.eol + indent)
    : oneLine(value, style);
  return key === undefined ? text : JSON.stringify(key) + style.colon + text;
}

function oneLine(value: unknown, style: Style): string {
  if (Array.isArray(value)) return `[${value.map(item => oneLine(item, style)).join(style.comma)}]`;
  if (typeof value !== 'object' || value === null) return JSON.stringify(value);
  const inner = Object.entries(value).map(([key, item]) => JSON.stringify(key) + style.colon + oneLine(item, style));
  return `{${inner.join(style.comma)}}`;
}

/** The text between two members, or between the last one and the bracket: blanks, comments, at most one comma. */
function gapOf(body: string, from: number, to: number): { comma?: number; end: number; endsInLineComment: boolean } {
  const scanner = createScanner(body.slice(from, to), false);
  const gap: { comma?: number; end: number; endsInLineComment: boolean } = { end: from, endsInLineComment: false };
  for (let kind: number = scanner.scan(); kind !== token.end; kind = scanner.scan()) {
    if (kind === token.comma) gap.comma = from + scanner.getTokenOffset();
    if (kind !== token.comma && kind !== token.lineComment && kind !== token.comment) continue;
    gap.end = from + scanner.getTokenOffset() + scanner.getTokenLength();
    gap.endsInLineComment = kind === token.lineComment;
  }
  return gap;
}

function find(root: Node | undefined, path: JsonPath): Node | undefined {
  return path.reduce<Node | undefined>(
    (node, key) =>
      typeof key === 'number' ? node?.children?.[key] : members(node).find(([name]) => name === key)?.[1],
    root,
  );
}

function rootOf(text: string): Node | undefined {
  const read = readJson(text);
  return read.ok ? read.root : undefined;
}

const insert = (body: string, at: number, text: string): string => body.slice(0, at) + text + body.slice(at);
const endOf = (node: Node): number => node.offset + node.length;
/** Blanks of JSON only: `trim` removes more, such as a second byte order mark. */
const isBlank = (text: string): boolean => /^[ \t\r\n]*$/.test(text);
const withoutBom = (text: string): string => (text.charCodeAt(0) === 0xfeff ? text.slice(1) : text);

function runBefore(body: string, offset: number): number {
  let start = offset;
  while (start > 0 && /[ \t\r\n]/.test(body[start - 1] ?? '')) start--;
  return start;
}

function lineIndent(body: string, offset: number): string {
  const line = body.slice(body.lastIndexOf('\n', offset - 1) + 1, offset);
  return /^[ \t]*/.exec(line)?.[0] ?? '';
}

function spoken(code: string): string {
  return code.replace(/([a-z])([A-Z])/g, (_, a, b) => `${a} ${b.toLowerCase()}`).toLowerCase();
}
