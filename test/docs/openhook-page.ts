/** The table of levels in docs/openhook.md: the result of `otel-hooks conformance` for each agent. */
import type { Agent } from '../../src/agents/contract/contract.ts';
import { agents } from '../../src/agents/index.ts';
import { samplesFrom } from '../../src/commands/conformance.ts';
import { type Conformance, conformanceOf, type Requirement } from '../../src/pipeline/replay-samples.ts';
import { textsOf } from '../agents/samples.ts';

export const withLevels = (page: string): string =>
  filled(page, [...types, 'file.write', 'transcript_path'], each =>
    each.state === 'met' && each.by !== undefined
      ? [each.by.hooks.length > 0 ? 'hook' : '', each.by.transcript ? 'transcript' : ''].filter(Boolean).join(', ')
      : each.state === 'unavailable'
        ? `no: ${each.how}`
        : (words[each.state] ?? each.how),
  );

const types = ['session.end', 'session.start', 'prompt.submit', 'tool.start', 'tool.end'];
const words: Partial<Record<Requirement['state'], string>> = { concluded: 'after an hour of silence', missing: 'no' };

/** The page with its generated part updated. */
function filled(page: string, asked: readonly string[], cell: (requirement: Requirement) => string): string {
  const part = /(<!-- levels: written by `npm run docs` -->\n)[\s\S]*?(<!-- \/levels -->)/;
  if (!part.test(page)) throw new Error('the page has no place for the levels');
  const rows = agents.map(agent => {
    const { level, requirements } = conformanceFor(agent).openhook;
    const of = (what: string): string =>
      requirements
        .filter(({ asks }) => asks === what)
        .map(cell)
        .join('');
    return row(agent.title, String(level), ...asked.map(of));
  });
  const head = row('agent', 'level', ...asked.map(what => `\`${what}\``));
  const table = [head, row('---', '---', ...asked.map(() => '---')), ...rows].join('\n');
  return page.replace(part, (_, begin: string, end: string) => `${begin}\n${table}\n\n${end}`);
}

const known = new Map<string, Conformance>();

function conformanceFor(agent: Agent): Conformance {
  const conformance = known.get(agent.id) ?? conformanceOf(agent, samplesFrom(textsOf(agent.id)));
  known.set(agent.id, conformance);
  return conformance;
}

const row = (...cells: string[]): string => `| ${cells.map(cell => cell.replaceAll('|', '\\|')).join(' | ')} |`;
