/** The tables of docs/conformance.md: every check of every standard. */

import { standards } from '../../src/standards/standards.ts';
import type { Standard } from '../../src/standards/validation.ts';

/** The page with its generated part updated. */
export function withChecks(page: string): string {
  const part = /(<!-- checks: written by `npm run docs` -->\n)[\s\S]*?(<!-- \/checks -->)/;
  if (!part.test(page)) throw new Error('docs/conformance.md has no place for the checks');
  return page.replace(part, (_, begin: string, end: string) => `${begin}\n${tables()}\n${end}`);
}

const tables = (): string => Object.values(standards).map(table).join('\n');

function table({ title, version, rules }: Standard): string {
  const rows = Object.entries(rules).map(([id, { level, asks, clause }]) => row(`\`${id}\``, level, asks, clause));
  return [
    `### Checks of ${title}`,
    '',
    `Version ${version}, ${rows.length} checks.`,
    '',
    row('check', 'severity', 'asks for', 'where that stands'),
    row('---', '---', '---', '---'),
    ...rows,
    '',
  ].join('\n');
}

const row = (...cells: string[]): string => `| ${cells.map(cell => cell.replaceAll('|', '\\|')).join(' | ')} |`;
