/**
 * The steps of CONTRIBUTING.md for a new agent, tried with the template in a copy of the sources: copy the template, rename
 * it, add it to the registry, write the expected events, run the shared suites and write the tables of the docs.
 */
import { spawnSync } from 'node:child_process';
import {
  cpSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';

const root = join(import.meta.dirname, '..', '..');
const copy = mkdtempSync(join(tmpdir(), 'otel-hooks-new-agent-'));

/** The template's name as an id, an identifier and a title, and a name for the trial. */
const names = [
  ['your-agent', 'quillby'],
  ['your_agent', 'quillby'],
  ['yourAgent', 'quillby'],
  ['Your Agent', 'Quillby'],
] as const;
const renamed = (text: string): string => names.reduce((all, [from, to]) => all.replaceAll(from, to), text);

/** Suites that cover every agent of the registry, and the tests of them that concern one agent or the registry. */
const suites = [
  'test/agents/agents.test.ts',
  'test/agents/recognition.test.ts',
  'test/agents/transcripts.test.ts',
  'test/agents/together.test.ts',
  'test/setup/agents-settings.test.ts',
  'test/setup/corpus.test.ts',
  'test/walls/agents-names.test.ts',
  // With `--update` it writes the tables of the docs.
  'test/docs/reference.test.ts',
];
const chosen = ['quillby', 'names no agent', 'has a word', 'ids are folder names'];
const pages = ['docs/agents.md', 'docs/setting-up.md', 'docs/who-decided.md', 'docs/hook-interchange.md'];

beforeAll(() => {
  for (const folder of ['src', 'test', 'docs']) cpSync(join(root, folder), join(copy, folder), { recursive: true });
  for (const file of readdirSync(root, { withFileTypes: true })) {
    if (file.isFile()) cpSync(join(root, file.name), join(copy, file.name));
  }
  symlinkSync(join(root, 'node_modules'), join(copy, 'node_modules'));
  // The suites above start no process of the program, so nothing has to be built.
  writeFileSync(
    join(copy, 'vitest.config.ts'),
    `export default { define: { __VERSION__: '"0"' }, test: { pool: 'forks', maxWorkers: 1, isolate: false, experimental: { fsModuleCache: true } } };\n`,
  );
});
afterAll(() => rmSync(copy, { recursive: true, force: true }));

function vitest(words: readonly string[], env: NodeJS.ProcessEnv = {}): { code: number | null; output: string } {
  const program = join(root, 'node_modules', 'vitest', 'vitest.mjs');
  const done = spawnSync(process.execPath, [program, 'run', ...words], {
    cwd: copy,
    encoding: 'utf8',
    env: { ...process.env, NO_COLOR: '1', CI: '', ...env },
  });
  return { code: done.status, output: done.stdout + done.stderr };
}

it('adds an agent by its folders and one entry of the registry', { timeout: 120_000 }, () => {
  const template = join(root, 'test', 'new-agent', 'template');
  cpSync(template, copy, { recursive: true });
  for (const entry of readdirSync(template, { recursive: true, withFileTypes: true }).filter(each => each.isFile())) {
    const path = join(copy, entry.parentPath.slice(template.length), entry.name);
    writeFileSync(path, renamed(readFileSync(path, 'utf8')));
    renameSync(path, join(copy, entry.parentPath.slice(template.length), renamed(entry.name)));
  }
  for (const folder of ['src/agents', 'test/agents']) {
    renameSync(join(copy, folder, 'your-agent'), join(copy, folder, 'quillby'));
  }
  const registry = join(copy, 'src', 'agents', 'index.ts');
  const entries = readFileSync(registry, 'utf8').replace(/^\];$/m, '  quillby,\n];');
  writeFileSync(registry, `import { quillby } from './quillby/quillby.ts';\n${entries}`);

  const expected = vitest(['test/agents/agents.test.ts', '-t', 'quillby'], { UPDATE: '1' });
  expect(expected.code, expected.output).toBe(0);
  const sample = readFileSync(join(copy, 'test/agents/quillby/call-ended.sample'), 'utf8');
  expect(sample).toContain('Action.After [ai_agent; native] {"action":{"name":"shell","result":{"success":false');

  const suite = vitest([...suites, '--update', '--reporter=dot', '-t', [...chosen, ...pages].join('|')]);
  expect(suite.code, suite.output).toBe(0);
  expect(Number(/Tests +(\d+) passed/.exec(suite.output)?.[1])).toBeGreaterThan(300);
  for (const page of pages) expect(readFileSync(join(copy, page), 'utf8')).toContain('| Quillby |');
});
