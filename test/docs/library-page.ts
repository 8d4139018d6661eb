/** The public interface of the library, read from its declarations by the TypeScript compiler, and the page of it. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { API, type Checker, type Project, type Symbol as TsSymbol } from 'typescript/unstable/sync';

const root = join(import.meta.dirname, '..', '..');

export const entries = { 'otel-hooks': 'index.d.ts', 'otel-hooks/sdk': 'sdk.d.ts' } as const;
export type Entry = keyof typeof entries;

export interface Exported {
  entry: Entry;
  name: string;
  /** A type has no value at run time. */
  isType: boolean;
  about: string;
  /** The code of `@example`, without its fences. */
  examples: string[];
  /** The declaration, under its public name. */
  declaration: string;
}

/** The flags of a symbol that has a value: variable, function, class, enumeration. */
const VALUE = 2 | 16 | 32 | 256;
const ALIAS = 2_097_152;

/** All exports of the built package, in the order of their names. */
export function publicInterface(): Exported[] {
  const folder = mkdtempSync(join(root, 'node_modules', '.interface-'));
  const config = join(folder, 'tsconfig.json');
  const files = Object.values(entries).map(name => join(root, 'dist', 'types', name));
  const compilerOptions = { noEmit: true, module: 'nodenext', target: 'es2022', skipLibCheck: true, types: ['node'] };
  writeFileSync(config, JSON.stringify({ compilerOptions, files }));
  const api = new API({ cwd: folder });
  try {
    const [project] = api.updateSnapshot({ openProject: config }).getProjects();
    if (project === undefined) throw new Error('the declarations could not be opened');
    const all = Object.keys(entries).flatMap(entry => exportsOf(project, entry as Entry));
    const exportedAs = new Map(all.map(({ symbol, name }) => [symbol.name, name]));
    return all.map(({ entry, name, symbol }) => read(project, { entry, name, symbol }, exportedAs));
  } finally {
    api.close();
    rmSync(folder, { recursive: true });
  }
}

interface Found {
  entry: Entry;
  name: string;
  symbol: TsSymbol;
}

function exportsOf({ checker, program }: Project, entry: Entry): Found[] {
  const file = program.getSourceFile(join(root, 'dist', 'types', entries[entry]));
  const module = file && checker.getSymbolAtLocation(file);
  if (module === undefined) throw new Error(`${entry} has no declarations`);
  return checker
    .getExportsOfModule(module)
    .map(each => ({ entry, name: each.name, symbol: targetOf(each, checker) }))
    .sort((a, b) => (a.name < b.name ? -1 : 1));
}

const targetOf = (symbol: TsSymbol, checker: Checker): TsSymbol =>
  (symbol.flags & ALIAS) === 0 ? symbol : checker.getAliasedSymbol(symbol);

function read(project: Project, { entry, name, symbol }: Found, exportedAs: ReadonlyMap<string, string>): Exported {
  const { checker } = project;
  const node = symbol.declarations[0]?.resolve(project);
  if (node === undefined) throw new Error(`${name} of ${entry} has no declaration`);
  const text = node.getSourceFile().text.slice(node.pos, node.end).trim();
  const own = text.replace(/^(\/\*\*[\s\S]*?\*\/\s*)+/, '').replace(/^export (declare )?/, '');
  const isVariable = (symbol.flags & 2) !== 0;
  return {
    entry,
    name,
    isType: (symbol.flags & VALUE) === 0,
    about: checker.getDocumentationCommentOfSymbol(symbol).trim(),
    examples: checker
      .getJsDocTagsOfSymbol(symbol)
      .filter(tag => tag.name === 'example')
      .map(tag => codeIn(textIn(tag.text))),
    declaration: renamed(isVariable ? `const ${own};` : own, exportedAs),
  };
}

/** The text of a tag is a string or a list of parts. */
function textIn(text: unknown): string {
  if (typeof text === 'string') return text;
  return Array.isArray(text) ? text.map(part => String((part as { text?: unknown }).text ?? '')).join('') : '';
}

const codeIn = (text: string): string => /```ts\n([\s\S]*?)\n?```/.exec(text)?.[1] ?? '';

/** Some declarations have another name inside the package. */
function renamed(declaration: string, exportedAs: ReadonlyMap<string, string>): string {
  let text = declaration;
  for (const [inside, outside] of exportedAs)
    if (inside !== outside) text = text.replace(new RegExp(`\\b${inside}\\b`, 'g'), outside);
  return text;
}

export function libraryPage(): string {
  const all = publicInterface();
  const sections = Object.keys(entries).map(entry => {
    const own = all.filter(each => each.entry === entry);
    return [
      `## \`${entry}\``,
      '### Functions, classes and constants',
      ...own.filter(({ isType }) => !isType).map(section),
      '### Types',
      ...own.filter(({ isType }) => isType).map(section),
    ].join('\n\n');
  });
  return `<!-- Written by \`npm run docs\` from the declarations of the package; edit the comments in src. -->

# Library reference

Every export of the two entries. [The library](../library.md) explains how they work together.

${sections.join('\n\n')}
`;
}

function section({ name, about, examples, declaration }: Exported): string {
  const code = [declaration, ...examples].map(text => `\`\`\`ts\n${text}\n\`\`\``);
  return [`#### ${name}`, about.replaceAll('{@link ', '').trim(), ...code].join('\n\n');
}
