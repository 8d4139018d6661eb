/**
 * The table of docs/hook-interchange.md: the provider of each agent, the place of its hooks, and how it finds tools.
 */
import { isAbsent } from '../../src/agents/contract/contract.ts';
import { agents } from '../../src/agents/index.ts';
import { interchanges } from '../../src/agents/interchange.ts';
import type { Provider } from '../../src/interchange/provider.ts';
import { registryVersions } from '../../src/interchange/vocabulary.ts';

/** The page with its generated part updated. */
export function withProviders(page: string): string {
  const part = /(<!-- providers: written by `npm run docs` -->\n)[\s\S]*?(<!-- \/providers -->)/;
  if (!part.test(page)) throw new Error('docs/hook-interchange.md has no place for the providers');
  return page.replace(part, (_, begin: string, end: string) => `${begin}\n${table()}\n\n${end}`);
}

function table(): string {
  const rows = agents.flatMap(({ id, title }) => {
    const known = interchanges[id];
    if (known === undefined) return [];
    if (isAbsent(known)) return [row(title, `none: ${known.absent}`, '', '', '', '')];
    return (known as readonly Provider[]).map(provider => rowOf(title, provider));
  });
  const head = row('agent', 'provider', 'layouts', 'finds tools by', 'timeouts', 'in the registries of');
  return [head, row(...Array(6).fill('---')), ...rows].join('\n');
}

function rowOf(agent: string, { slug, layouts, split, registry }: Provider): string {
  const [first] = Object.values(layouts);
  const how = { expression: 'an expression', each: 'an entry for each', none: 'nothing' };
  const finds = split === undefined ? how[first?.matching.how ?? 'none'] : 'its events';
  const timeout = first?.fields.timeout;
  const unit = timeout === undefined ? 'none' : timeout.isWhole ? `whole ${timeout.unit}` : timeout.unit;
  const files = Object.entries(layouts).map(([name, { file, title }]) => `\`${name}\`: ${title}, \`${file}\``);
  const versions = registryVersions.filter(version => registry[version] !== undefined);
  return row(agent, `\`${slug}\``, files.join('; '), finds, unit, versions.join(', '));
}

const row = (...cells: string[]): string => `| ${cells.map(cell => cell.replaceAll('|', '\\|')).join(' | ')} |`;
