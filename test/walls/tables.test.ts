/**
 * A table whose keys may be any word is read through `own`, or behind `Object.hasOwn`: every object literal inherits a
 * `constructor`, a `toString` and a `__proto__`, and such words come in payloads. Where a table's type lists its keys,
 * the compiler already refuses any other; a cast of the key switches that check off, so a cast counts as any word.
 */
import { expect, it } from 'vitest';
import { isNode, type Node, nodes, type Source, sourceOf, sources } from './sources.ts';

const all = sources();

it('tables with untrusted keys are read only through their own properties', () => {
  expect(all.flatMap(unsafeReads)).toEqual([]);
});

it('sees an unsafe read of a table', () => {
  const text = [
    'const open: { readonly [name: string]: number } = { a: 1 };',
    'const record: Readonly<Record<string, number>> = { a: 1 };',
    'const closed = { a: 1 } as const;',
    'export const bad = (word: string) => open[word];',
    'export const worse = (word: string) => record[word.trim()];',
    'export const cast = (word: string) => closed[word as keyof typeof closed];',
    'export const good = (word: string) => (Object.hasOwn(open, word) ? open[word] : undefined);',
    "export const fixed = () => open['a'];",
  ].join('\n');
  expect(unsafeReads(sourceOf('src/made.ts', text))).toEqual([
    'made.ts:4 open[word]',
    'made.ts:5 record[word.trim()]',
    'made.ts:6 closed[word as keyof typeof closed]',
  ]);
});

function unsafeReads(source: Source): string[] {
  const tree = nodes(source.program);
  const tables = new Map(tree.flatMap(tableIn));
  const written = new Set(tree.flatMap(writtenBy));
  return tree
    .filter(node => node.type === 'MemberExpression' && node.computed === true && !written.has(node))
    .flatMap(node => {
      const table = plain(node.object);
      const key = node.property;
      if (table.type !== 'Identifier' || !isNode(key) || !tables.has(String(table.name))) return [];
      if (plain(key).type === 'Literal') return [];
      if (tables.get(String(table.name)) === 'closed' && !/^TS(As|TypeAssertion)/.test(key.type)) return [];
      const value = source.text.slice(at(node.start), at(node.end));
      const asked = `Object.hasOwn(${table.name}, ${source.text.slice(at(plain(key).start), at(plain(key).end))})`;
      // The check is in the same expression, or in a line close above.
      if (source.text.slice(Math.max(0, at(node.start) - 240), at(node.start)).includes(asked)) return [];
      return [`${source.path}:${source.text.slice(0, at(node.start)).split('\n').length} ${value}`];
    })
    .sort();
}

/** An assignment or a deletion is not a read. */
function writtenBy(node: Node): Node[] {
  if (node.type === 'AssignmentExpression' && (node.operator === '=' || node.operator === '??='))
    return [plain(node.left)];
  return node.type === 'UnaryExpression' && node.operator === 'delete' ? [plain(node.argument)] : [];
}

/** Constants that hold an object literal with entries: by name, and whether their keys may be any word. */
function tableIn(node: Node): [name: string, keys: 'any' | 'closed'][] {
  if (node.type !== 'VariableDeclarator' || !isNode(node.id) || node.id.type !== 'Identifier' || !isNode(node.init))
    return [];
  const value = plain(node.init);
  if (value.type !== 'ObjectExpression' || !Array.isArray(value.properties) || value.properties.length === 0) return [];
  return [[String(node.id.name), isOpen(node.id.typeAnnotation) ? 'any' : 'closed']];
}

/** `{ [name: string]: … }` or `Record<string, …>`, also inside `Readonly`. */
function isOpen(annotation: unknown): boolean {
  if (!isNode(annotation)) return false;
  const type =
    annotation.type === 'TSTypeAnnotation' && isNode(annotation.typeAnnotation)
      ? annotation.typeAnnotation
      : annotation;
  if (type.type === 'TSTypeLiteral')
    return Array.isArray(type.members) && type.members.some(member => isNode(member) && isOpenSignature(member));
  if (type.type !== 'TSTypeReference' || !isNode(type.typeName)) return false;
  const [first] =
    isNode(type.typeArguments) && Array.isArray(type.typeArguments.params) ? type.typeArguments.params : [];
  if (type.typeName.name === 'Readonly' || type.typeName.name === 'Partial') return isOpen(first);
  return type.typeName.name === 'Record' && isNode(first) && first.type === 'TSStringKeyword';
}

const isOpenSignature = (member: Node): boolean =>
  member.type === 'TSIndexSignature' && nodes(member).some(part => part.type === 'TSStringKeyword');

/** Without casts and parentheses around it. */
function plain(value: unknown): Node {
  let node = value as Node;
  while (/^(TSAs|TSSatisfies|TSNonNull|Parenthesized|Chain)Expression$/.test(node.type) && isNode(node.expression))
    node = node.expression;
  return node;
}

const at = (place: unknown): number => Number(place);
