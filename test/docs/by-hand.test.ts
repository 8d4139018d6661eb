/** Checks hand-written documents against the code. */
import { execFileSync } from 'node:child_process';
import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import manifest from '../../package.json' with { type: 'json' };
import { agents } from '../../src/agents/index.ts';
import { secretKinds } from '../../src/enrich/secrets/kinds.ts';
import { withoutSecrets } from '../../src/enrich/secrets.ts';
import { contentClasses, defaultModes } from '../../src/event/content-classes.ts';

const root = join(import.meta.dirname, '..', '..');
const read = (file: string): string => readFileSync(join(root, file), 'utf8');

it('ARCHITECTURE.md gives the purpose of every dependency', () => {
  const text = read('ARCHITECTURE.md');
  const section = text.slice(text.indexOf('## Dependencies'), text.indexOf('## Where to change what'));
  const named = [...section.matchAll(/`((?:@[\w-]+\/)?[\w.-]+)`(?=[^|\n]*\|)/g)].map(match => match[1] ?? '');
  expect(named.sort()).toEqual(Object.keys(manifest.devDependencies).sort());
});

it('each picture is in a document, and is smaller than 300 kB', () => {
  const folder = join(root, 'docs', 'images');
  const shown = [
    'README.md',
    ...readdirSync(join(root, 'docs'))
      .filter(file => file.endsWith('.md'))
      .map(file => `docs/${file}`),
  ].flatMap(file =>
    [...read(file).matchAll(/!\[[^\]]+\]\((?:docs\/)?images\/([\w.-]+)\)/g)].map(match => match[1] ?? ''),
  );
  expect([...new Set(shown)].sort()).toEqual(readdirSync(folder).sort());
  for (const file of readdirSync(folder)) expect(statSync(join(folder, file)).size, file).toBeLessThan(300_000);
});

it('docs/README.md links every decision', () => {
  const linked = [...read('docs/README.md').matchAll(/\(decisions\/([\w-]+\.md)/g)].map(match => match[1] ?? '');
  expect(linked.sort()).toEqual(readdirSync(join(root, 'docs', 'decisions')).sort());
});

it('docs/privacy.md names every class of content with its default, and every kind of secret', () => {
  const page = read('docs/privacy.md');
  const text = page.replace(/\s+/g, ' ');
  for (const [of, what] of Object.entries(contentClasses)) {
    const mode = defaultModes[of as keyof typeof defaultModes];
    expect(text).toMatch(new RegExp(`\\| \`content\\.${of}\` \\| ${what}.* \\| \`${mode}\` \\|`));
  }
  for (const { id, what } of secretKinds) expect(text).toContain(`${what} (\`${id}\`)`);
  const command = /process\.command_line = (.*hunter22.*)/.exec(page)?.[1] ?? '';
  expect(page).toContain(`process.command_line = ${withoutSecrets(command)}`);
});

it('README.md has at most 160 lines and names every agent', () => {
  const text = read('README.md');
  expect(text.trimEnd().split('\n').length).toBeLessThanOrEqual(160);
  const flowing = text.replace(/\s+/g, ' ');
  expect(agents.filter(({ title }) => !flowing.includes(title)).map(({ id }) => id)).toEqual([]);
});

it('the first session of README is the one that the demonstration plays, and it shows every kind of span', () => {
  const printed = execFileSync(process.execPath, [join(root, 'dist', 'otel-hooks.cjs'), 'demo'], {
    encoding: 'utf8',
    env: { ...process.env, LC_ALL: 'C.UTF-8' },
  });
  expect(spansIn(/^session [\s\S]*?\n\n/m.exec(printed)?.[0])).toEqual(
    spansIn(/```\n(session [\s\S]*?)```/.exec(read('README.md'))?.[1]),
  );
  expect(shown.filter(each => !printed.includes(each))).toEqual([]);
});

/** The content of the demonstration: each kind of span, decisions, costs, risks and loops. */
const shown = [
  ...['session claude-code', 'invoke_agent claude-code', 'invoke_agent Explore', 'plan ', 'chat ', 'execute_tool '],
  ...[
    'allowed (user',
    'allowed (mode',
    'denied (classifier)',
    'waited',
    'risk critical',
    'attempt 2',
    'loop, aborted',
    'budget',
  ],
  ...['agent_hooks.decisions', 'agent_hooks.decision.wait', 'agent_hooks.risk.score', 'agent_hooks.cost.computed'],
  ...['agent_hooks.retry.loops', 'agent_hooks.retry.triggered', 'agent_hooks.budget.thresholds'],
  ...['agent_hooks.context.utilization', 'agent_hooks.context.compactions', 'agent_hooks.context.tokens_removed'],
  ...['agent_hooks.context.compression', 'retry.state=aborted', 'agent_hooks.policy.events'],
  ...['gen_ai.client.inference.usage.input_tokens', 'gen_ai.client.inference.duration', 'gen_ai.execute_tool.duration'],
  ...['Agent.Plan.Start', 'Agent.Plan.End', 'Model.Responded', 'Context.UntilCompaction', 'Context.Compaction'],
  ...[
    'Retry.Triggered',
    'Retry.Loop.Detected',
    'Retry.Loop.Aborted',
    'Policy.Blocked',
    'Policy.Violation',
    'Agent.Decision',
  ],
];

/**
 * Each span with its depth. Times differ from run to run, and so do columns and the order of spans that began together.
 */
function spansIn(tree = ''): string[] {
  return tree
    .split('\n')
    .filter(line => line.trim() !== '')
    .map(line => line.replace(/[├└─│]/g, ' ').replace(/\+?\b\d+(\.\d+)?m?s\b/g, 'T'))
    .map(line => `${line.search(/\S/)} ${line.trim().replace(/ +/g, ' ')}`)
    .sort();
}
