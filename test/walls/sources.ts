/** The sources for the wall tests: parsed, without comments, each with its imports. */
import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseSync } from 'oxc-parser';

export const root = fileURLToPath(new URL('../..', import.meta.url));

export interface Node {
  readonly type: string;
  readonly [field: string]: unknown;
}

export interface Source {
  /** Path below src, with forward slashes. */
  readonly path: string;
  /** First folder below src; a file directly in src is its own name. */
  readonly room: string;
  readonly text: string;
  readonly program: Node;
  /** Own files, as paths below src. */
  readonly imports: readonly string[];
  /** Other imports: packages and node: modules. */
  readonly packages: readonly string[];
}

export function sources(): Source[] {
  const files = filesBelow('src').filter(file => file.endsWith('.ts'));
  if (files.length === 0) throw new Error('no sources were found');
  return files.map(read).sort((a, b) => (a.path < b.path ? -1 : 1));
}

const read = (file: string): Source => sourceOf(file, readFileSync(join(root, file), 'utf8'));

/** A text as if it stood in that file. */
export function sourceOf(file: string, text: string): Source {
  const { program, errors } = parseSync(file, text);
  if (errors[0] !== undefined) throw new Error(`${file}: ${errors[0].message}`);
  const path = slashes(relative('src', file));
  const tree = program as unknown as Node;
  const specifiers = nodes(tree).flatMap(importedBy);
  const imports = specifiers
    .filter(specifier => specifier.startsWith('.'))
    .map(specifier => slashes(join(dirname(path), specifier)).replace(/\.js$/, '.ts'));
  const packages = specifiers.filter(specifier => !specifier.startsWith('.'));
  return { path, room: path.split('/')[0] ?? path, text, program: tree, imports, packages };
}

/** All nodes of a tree. */
export function nodes(tree: Node): Node[] {
  const found: Node[] = [];
  const waiting: unknown[] = [tree];
  for (let value = waiting.pop(); value !== undefined; value = waiting.pop()) {
    if (Array.isArray(value)) waiting.push(...value.filter(item => item !== undefined));
    else if (isNode(value)) {
      found.push(value);
      waiting.push(...Object.values(value).filter(item => typeof item === 'object' && item !== null));
    }
  }
  return found;
}

export function isNode(value: unknown): value is Node {
  return typeof value === 'object' && value !== null && 'type' in value && typeof value.type === 'string';
}

/** The name of an identifier or a private name, the text of a string or a piece of a template. */
export function wordOf(node: Node): string | undefined {
  if (node.type === 'Identifier' || node.type === 'PrivateIdentifier') return String(node.name);
  return textOf(node);
}

export function textOf(node: Node): string | undefined {
  if (node.type === 'Literal' && typeof node.value === 'string') return node.value;
  if (node.type === 'Literal' && isRegExp(node)) return String(node.raw);
  if (
    node.type === 'TemplateElement' &&
    typeof node.value === 'object' &&
    node.value !== null &&
    'cooked' in node.value
  ) {
    return String(node.value.cooked);
  }
  return undefined;
}

function isRegExp(node: Node): boolean {
  return typeof node.regex === 'object' && node.regex !== null;
}

/** Static and dynamic imports, type imports, re-exports and require. */
function importedBy(node: Node): string[] {
  const isImport = /^(Import(Declaration|Expression)|Export(Named|All)Declaration|TSImportType)$/.test(node.type);
  const isRequire =
    node.type === 'CallExpression' && isNode(node.callee) && /^require$/.test(wordOf(node.callee) ?? '');
  const source = isRequire && Array.isArray(node.arguments) ? node.arguments[0] : (node.source ?? node.argument);
  if (!(isImport || isRequire) || !isNode(source)) return [];
  const specifier = textOf(source);
  return specifier === undefined ? [] : [specifier];
}

/** The project's own files: those of a clone, without the files that installation or build add. */
export function filesBelow(folder: string): string[] {
  return readdirSync(join(root, folder), { withFileTypes: true }).flatMap(entry => {
    if (/^(node_modules|dist|coverage|\.git)$/.test(entry.name)) return [];
    const path = join(folder, entry.name);
    if (entry.isDirectory()) return filesBelow(path);
    return entry.isFile() ? [path] : [];
  });
}

function slashes(path: string): string {
  return path.replaceAll('\\', '/');
}
