/** Comments, documents and test names use plain words: the subject of a sentence is a thing that has a name. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseSync } from 'oxc-parser';
import { expect, it } from 'vitest';
import { filesBelow, isNode, type Node, nodes, root } from './sources.ts';

/** Words that stand for a thing without its name, archaic words, and verbs that have a technical word. */
const unclear = [
  /\b(who|what)ever\b/i,
  /\b(no|some|any)body\b/i,
  /\b(lest|whence|thence|hitherto|albeit|wherein|therein|thereof|whereby|thereby)\b/i,
  /\b(is|are|was|were|be|being|been|had|has) told\b/i,
  /\bof (its|their) own accord\b/i,
  /\bis no (news|more)\b/i,
  /\bwhat (came|comes|stood|stands|is to be|was to be|it said)\b/i,
  /\bwho (said|says|asks|asked|wants|wanted)\b/i,
  /\b(gives|gave) back\b/i,
  /\b(so|such) that it be\b/i,
  /\b(that|which|what) (is|are|was|were) no\b(?! (longer|more than|less than))/i,
];

interface Sentence {
  readonly place: string;
  readonly text: string;
}

it.each([
  ['a comment', commentsAndNames],
  ['a document', documents],
])('%s has no unclear words', (_, sentences) => {
  const found = sentences().flatMap(({ place, text }) =>
    unclear.flatMap(pattern => pattern.exec(text)?.[0] ?? []).map(word => `${place}: "${word}" in "${text.trim()}"`),
  );
  expect(found.join('\n')).toBe('');
});

it('finds such words in comments and in test names', () => {
  const text = "// A file that nobody reads.\nit.each([1])('gives back the bytes', () => {});\nconst nobody = 1;\n";
  expect(sentencesOf('a.ts', text).filter(({ text }) => unclear.some(pattern => pattern.test(text)))).toEqual([
    { place: 'a.ts:1', text: ' A file that nobody reads.' },
    { place: 'a.ts:2', text: 'gives back the bytes' },
  ]);
});

function commentsAndNames(): Sentence[] {
  return ['src', 'test', 'bench', 'scripts', 'examples', 'grafana', 'collector-config', 'kubernetes', '.github']
    .flatMap(filesBelow)
    .concat('docker-compose.yml', 'Dockerfile')
    .flatMap(file => {
      const isHash = /\.(ya?ml|sh|tf)$|Dockerfile$/.test(file);
      if (!isHash && !/\.m?ts$|\.mjs$/.test(file)) return [];
      const text = readFileSync(join(root, file), 'utf8');
      // A text without such a word anywhere is not parsed, which saves most of the time.
      if (!unclear.some(pattern => pattern.test(text))) return [];
      return isHash ? hashComments(file, text) : sentencesOf(file, text);
    });
}

function documents(): Sentence[] {
  const pages = ['README.md', 'ARCHITECTURE.md', 'CONTRIBUTING.md', 'SECURITY.md', 'CHANGELOG.md'];
  return [...pages, ...filesBelow('docs').filter(file => file.endsWith('.md'))].flatMap(file => {
    let isCode = false;
    return linesOf(file, readFileSync(join(root, file), 'utf8')).filter(({ text }) => {
      const isFence = /^\s*```/.test(text);
      if (isFence) isCode = !isCode;
      return !isCode && !isFence;
    });
  });
}

/** The comments of a TypeScript or JavaScript file, and the names of its tests. */
function sentencesOf(file: string, text: string): Sentence[] {
  const { comments, program } = parseSync(file, text);
  const lineOf = (offset: number): number => text.slice(0, offset).split('\n').length;
  return [
    ...comments.map(({ value, start }) => ({ place: `${file}:${lineOf(start)}`, text: value })),
    ...testNames(program as unknown as Node).map(({ name, start }) => ({
      place: `${file}:${lineOf(start)}`,
      text: name,
    })),
  ];
}

/** The first argument of calls such as `it(...)`, `test.each(...)(...)` and `describe(...)`. */
function testNames(program: Node): { name: string; start: number }[] {
  return nodes(program).flatMap(node => {
    const [first] = node.type === 'CallExpression' && Array.isArray(node.arguments) ? node.arguments : [];
    if (!isNode(first) || !isTestFunction(node.callee)) return [];
    const name = first.type === 'Literal' && typeof first.value === 'string' ? first.value : undefined;
    return name === undefined ? [] : [{ name, start: Number(first.start) }];
  });
}

function isTestFunction(callee: unknown): boolean {
  if (!isNode(callee)) return false;
  if (callee.type === 'Identifier') return /^(it|test|describe)$/.test(String(callee.name));
  return isTestFunction(callee.type === 'MemberExpression' ? callee.object : callee.callee);
}

const hashComments = (file: string, text: string): Sentence[] =>
  linesOf(file, text).filter(({ text }) => /^\s*#(?!!)/.test(text));

const linesOf = (file: string, text: string): Sentence[] =>
  text.split('\n').map((text, index) => ({ place: `${file}:${index + 1}`, text }));
