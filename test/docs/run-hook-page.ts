/** The tables of docs/run-hook.md. */
import type { Effect } from '../../src/agents/contract/dialect.ts';
import { dialects } from '../../src/agents/dialects.ts';
import { providers } from '../../src/agents/interchange.ts';
import type { Way } from '../real/guards/cases.ts';
import { type GuardResult, readGuards } from '../real/guards/results.ts';

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

const ways: readonly Way[] = ['exit code', 'JSON', 'updated input', 'ask', 'context', 'continue'];
const titles: Readonly<Record<Way, string>> = {
  'exit code': 'denies by exit code',
  JSON: 'denies by JSON',
  'updated input': 'updated input',
  ask: '`ask`, unattended',
  context: '`context`',
  continue: '`continue: false`',
};

/** Replaces the table of the guards that ran in real agents. */
export function withGuards(page: string): string {
  const part = /(<!-- guards: written by `npm run docs` -->\n)[\s\S]*?(<!-- \/guards -->)/;
  const results = readGuards();
  const rows = dialects.map(({ slug, title, takes }) => {
    const own = results.filter(each => each.slug === slug);
    const [first] = own;
    const checked = providers.find(each => each.slug === slug)?.checked ?? '';
    const cells = ways.map(way =>
      first === undefined
        ? notRun(way, takes.before_tool_execute ?? [], checked)
        : cellOf(own.filter(each => each.way === way)),
    );
    return `| ${[first === undefined ? title : `${title} ${first.version}`, ...cells].join(' | ')} |`;
  });
  const head = `| agent | ${ways.map(way => titles[way]).join(' | ')} |`;
  const table = [
    head,
    `| ${Array(ways.length + 1)
      .fill('---')
      .join(' | ')} |`,
    ...rows,
  ].join('\n');
  return page.replace(part, (_, start: string, end: string) => `${start}\n${table}\n\n${end}`);
}

/** The worst result counts; the cell names the things and dialects that were run. */
function cellOf(results: readonly GuardResult[]): string {
  const failed = results.find(({ result }) => result === 'failed');
  const degraded = results.find(({ result }) => result === 'degraded');
  const things = [...new Set(results.map(({ thing }) => thing))].sort().join(', ');
  const dialects = new Set(results.map(({ source }) => source)).size;
  const how = results.map(each => each.how).find(each => each !== undefined);
  const what = `${things}; ${dialects} ${dialects === 1 ? 'dialect' : 'dialects'}`;
  if (results.length === 0) return 'not run';
  if (failed !== undefined) return `fails (${failed.thing}, ${failed.source})`;
  return `${degraded === undefined ? 'works' : 'degraded'}${how === undefined ? '' : `: ${how}`} (${what})`;
}

function notRun(way: Way, takes: readonly Effect[], checked: string): string {
  const effects: Readonly<Record<Way, Effect>> = {
    ...{ 'exit code': 'deny', JSON: 'deny', 'updated input': 'updated_input' },
    ...{ ask: 'ask', context: 'context', continue: 'continue' },
  };
  const claim = takes.includes(effects[way])
    ? 'works'
    : way === 'context'
      ? 'impossible: a warning'
      : 'impossible: denied';
  return `not run; ${claim}, as its documents of ${checked} say`;
}
