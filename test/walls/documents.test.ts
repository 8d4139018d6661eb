/** The documents have every command, flag and message, and they name no others. */
import { existsSync, readFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { describe, expect, it } from 'vitest';
import { globalFlags } from '../../src/commands/command.ts';
import { commands } from '../../src/commands/registry.ts';
import { problemCodes } from '../../src/problems/problem.ts';
import { tooLong } from '../docs/wrap.ts';
import { filesBelow, root } from './sources.ts';

/** Flags of every command. */
const everywhere = globalFlags.map(flag => flag.name);

describe('docs/commands.md', () => {
  const sections = sectionsOf('docs/commands.md');

  it('has a section for each command, and no other', () => {
    expect(Object.keys(sections).sort()).toEqual(commands.map(command => command.name).sort());
  });

  it.each(commands.map(command => [command.name, command] as const))(
    '%s: every flag, and no other',
    (name, command) => {
      const documented = flagsIn(sections[name] ?? '');
      const existing = command.flags.map(flag => flag.name);
      expect(existing.filter(flag => !documented.includes(flag))).toEqual([]);
      expect(documented.filter(flag => !existing.includes(flag) && !everywhere.includes(flag))).toEqual([]);
    },
  );
});

const documents = filesBelow('.').filter(file => /^(docs\/.*|bench\/NOTES|[A-Z]+)\.md$/.test(file));

it('users, contributors and reporters of vulnerabilities each have a document', () => {
  const needed = ['ARCHITECTURE.md', 'CHANGELOG.md', 'CONTRIBUTING.md', 'LICENSE', 'README.md', 'SECURITY.md'];
  expect(needed.filter(file => !existsSync(join(root, file)))).toEqual([]);
});

describe.each(documents)('%s', file => {
  const text = readFileSync(join(root, file), 'utf8');

  it('calls only commands that exist, with flags that they have', () => {
    // Lines of a shown change belong to a user's file.
    const calls = codeIn(text).flatMap(code => [
      ...withoutComments(code)
        .replace(/^[+-].*$/gm, '')
        .matchAll(/(?<![\w/.-])otel-hooks ([a-z][a-z-]*)([^|;&#\n]*)/g),
    ]);
    const wrong = calls.flatMap(([, name = '', rest = '']) => {
      const command = commands.find(({ name: known }) => known === name);
      if (command === undefined) return name === 'help' ? [] : [`otel-hooks ${name}`];
      const known = [...everywhere, ...command.flags.map(flag => flag.name)];
      return flagsIn(rest)
        .filter(flag => !known.includes(flag))
        .map(flag => `otel-hooks ${name} ${flag}`);
    });
    expect(wrong).toEqual([]);
  });

  it('wraps its lines at 120 characters', () => {
    expect(tooLong(text)).toEqual([]);
  });

  it('links only to files that exist', () => {
    const folder = join(root, file, '..');
    expect(linksIn(text).filter(link => !existsSync(join(folder, link)))).toEqual([]);
  });
});

it('docs/README.md leads to every page of docs', () => {
  const reached = new Set(['docs/README.md']);
  for (const page of reached)
    for (const link of linksIn(readFileSync(join(root, page), 'utf8'))) {
      const target = relative(root, join(root, page, '..', link));
      if (/^docs\/.*\.md$/.test(target)) reached.add(target);
    }
  expect(documents.filter(file => file.startsWith('docs/') && !reached.has(file))).toEqual([]);
});

it('ARCHITECTURE.md names only files that exist, in the folders that it names', () => {
  const files = filesBelow('.').map(file => file.replaceAll('\\', '/'));
  const missing = readFileSync(join(root, 'ARCHITECTURE.md'), 'utf8')
    .split('\n')
    .flatMap(line => {
      // In a row of the code map, files belong to the folder of the row unless they have a path.
      const folder = /^\| `(src\/[\w-]+)` \|/.exec(line)?.[1] ?? '';
      const named = [...line.matchAll(/`([\w./-]+\.ts)`/g)].map(([, name = '']) => name);
      return named.filter(
        name =>
          !files.some(
            file => file === name || (file.startsWith(name.includes('/') ? '' : folder) && file.endsWith(`/${name}`)),
          ),
      );
    });
  expect(missing).toEqual([]);
});

it('ARCHITECTURE.md calls src/deliver/deliver.ts one page, and it has at most 150 lines', () => {
  const file = 'src/deliver/deliver.ts';
  expect(readFileSync(join(root, 'ARCHITECTURE.md'), 'utf8')).toMatch(/`src\/deliver\/deliver\.ts`: [^.]*on one page/);
  expect(readFileSync(join(root, file), 'utf8').split('\n').length).toBeLessThanOrEqual(151);
});

it('links to headings that exist', () => {
  const wrong = documents.flatMap(file =>
    [...readFileSync(join(root, file), 'utf8').matchAll(/\]\((?!https?:|mailto:)([^)#\s]*)#([^)\s]+)\)/g)]
      .filter(([, path = '', anchor = '']) => {
        const target = path === '' ? file : join(file, '..', path);
        return !anchorsIn(readFileSync(join(root, target), 'utf8')).includes(anchor);
      })
      .map(([link]) => `${file} ${link}`),
  );
  expect(wrong).toEqual([]);
});

describe('docs/problems.md', () => {
  it('explains each code of a problem under a heading of its own, and no other', () => {
    expect(Object.keys(sectionsOf('docs/problems.md')).sort()).toEqual(problemCodes().sort());
  });
});

/** The names under which code hosts link to headings. */
function anchorsIn(text: string): string[] {
  const prose = text.replace(/^```[\s\S]*?^```/gm, '');
  return [...prose.matchAll(/^#+ (.*)$/gm)].map(([, title = '']) =>
    title
      .toLowerCase()
      .replace(/[^\w\- ]/g, '')
      .replaceAll(' ', '-'),
  );
}

/** The paths of links to other files. */
function linksIn(text: string): string[] {
  return [...text.matchAll(/\]\((?!https?:|#|mailto:)([^)#\s]+)[^)]*\)/g)].map(match => match[1] ?? '');
}

/** Text below each heading of the second level, by the heading's first word without backticks. */
function sectionsOf(file: string): Record<string, string> {
  const [, ...sections] = readFileSync(join(root, file), 'utf8').split(/^## /m);
  return Object.fromEntries(
    sections.map(section => [/^`?(?:otel-hooks )?([\w-]+)/.exec(section)?.[1] ?? section, section]),
  );
}

function flagsIn(text: string): string[] {
  return [...new Set([...text.matchAll(/(?<![\w-])--[a-z][a-z-]*/g)].map(match => match[0]))];
}

/** Text that is set as code: blocks, and pieces within a line. */
function codeIn(text: string): string[] {
  const blocks = [...text.matchAll(/^```[^\n]*\n([\s\S]*?)^```/gm)].map(match => match[1] ?? '');
  const pieces = [...text.replace(/^```[\s\S]*?^```/gm, '').matchAll(/`([^`\n]+)`/g)].map(match => match[1] ?? '');
  return [...blocks, ...pieces];
}

/** Comments of a program are prose. */
function withoutComments(code: string): string {
  return code.replace(/\/\*\*[\s\S]*?\*\//g, '').replace(/^\s*\/\/.*$/gm, '');
}
