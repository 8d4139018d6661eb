/** The tables of docs/run-hook.md. */
import type { Effect } from '../../src/agents/contract/dialect.ts';
import { dialects } from '../../src/agents/dialects.ts';

const effects: readonly Effect[] = [
  'deny',
  'ask',
  'allow',
  'reason',
  'context',
  'updated_input',
  'continue',
  'suppress_output',
  'system_message',
];

/** Replaces the table of the effects by event and agent. */
export function withEffects(page: string): string {
  const part = /(<!-- effects: written by `npm run docs` -->\n)[\s\S]*?(<!-- \/effects -->)/;
  const rows = dialects.flatMap(({ title, takes }) =>
    Object.entries(takes).map(([event, honoured]) => {
      const list = effects.filter(each => honoured.includes(each)).map(each => `\`${each}\``);
      return `| ${title} | \`${event}\` | ${list.join(', ')} |`;
    }),
  );
  const table = ['| agent | event | honours |', '| --- | --- | --- |', ...rows].join('\n');
  return page.replace(part, (_, start: string, end: string) => `${start}\n${table}\n\n${end}`);
}
