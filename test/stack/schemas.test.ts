/**
 * The dashboards against the types that Grafana publishes for its versions 11, 12 and 13 as `@grafana/schema`. The compiler
 * refuses each field and each value that a version does not know. Required fields may be missing: Grafana fills them in.
 */
import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { expect, test } from 'vitest';
import { dashboards } from '../../grafana/dashboards.ts';

const root = join(import.meta.dirname, '..', '..');
const PANELS = ['logs', 'stat', 'table', 'timeseries'];
/** Panels without published types, and parts that the types leave open. */
const UNTYPED = ['row', 'traces'];

interface Panel {
  type: string;
  title: string;
  options?: object;
  fieldConfig?: { defaults?: { custom?: object } };
  targets?: { datasource: { type: string } }[];
}

/**
 * Copies the declarations of a version. A string enum becomes a union of its values, since JSON has values and not members
 * of enums. Returns the path of a declaration without its extension.
 */
function declarations(version: string, folder: string): (part: string) => string {
  const types = join(root, 'node_modules', `grafana-schema-${version}`, 'dist', version === '11' ? 'esm' : 'types');
  const copied: string[] = [];
  for (const entry of readdirSync(types, { recursive: true, encoding: 'utf8' })) {
    if (!/\.d\.m?ts$/.test(entry) || entry.startsWith('schema')) continue;
    const text = readFileSync(join(types, entry), 'utf8').replace(
      /export declare enum (\w+) \{([^}]*)\}/g,
      (_, name: string, members: string) =>
        `export type ${name} = ${[...members.matchAll(/= ("[^"]*"|-?\d+)/g)].map(match => match[1]).join(' | ')};`,
    );
    mkdirSync(dirname(join(folder, entry)), { recursive: true });
    writeFileSync(join(folder, entry), text);
    copied.push(entry);
  }
  return part => {
    const found = copied.find(entry => entry.startsWith(part) && entry.endsWith('.gen.d.ts'));
    if (found === undefined) throw new Error(`Grafana ${version} publishes no types of ${part}`);
    return `./${found.replace(/\.d\.ts$/, '')}`;
  };
}

/** The problems that the compiler finds in a program of assignments, one for each part of a dashboard. */
function problems(version: string, change: (panel: Panel) => void = () => undefined): string[] {
  const folder = mkdtempSync(join(tmpdir(), `otel-hooks-schema-${version}-`));
  try {
    const at = declarations(version, folder);
    const lines = [
      `import type { Dashboard } from '${at('raw/dashboard/x/')}';`,
      ...PANELS.map(type => `import type * as ${type} from '${at(`raw/composable/${type}/panelcfg/`)}';`),
      'type Part<T> = T extends (infer E)[] ? Part<E>[] : T extends object ? { [K in keyof T]?: Part<T[K]> } : T;',
    ];
    // Version 13 publishes the queries with their plugins, so only the older versions have their types here.
    const queries = version === '13' ? [] : ['loki', 'tempo'];
    for (const type of queries)
      lines.push(`import type * as ${type} from '${at(`raw/composable/${type}/dataquery/`)}';`);
    const assign = (type: string, value: unknown): void => {
      lines.push(`export const part${lines.length}: Part<${type}> = ${JSON.stringify(value)};`);
    };
    for (const { json } of dashboards()) {
      const model = JSON.parse(json) as { panels: Panel[] };
      for (const panel of model.panels) {
        change(panel);
        const { type, options = {}, fieldConfig, targets = [] } = panel;
        if (!UNTYPED.includes(type)) assign(`${type}.Options`, options);
        const custom = fieldConfig?.defaults?.custom;
        if (custom !== undefined) assign(`${type}.FieldConfig`, custom);
        for (const target of targets)
          if (queries.includes(target.datasource.type)) assign(queryType(target.datasource.type), target);
      }
      assign('Dashboard', model);
    }
    writeFileSync(join(folder, 'check.ts'), `${lines.join('\n')}\n`);
    const options = {
      noEmit: true,
      strict: true,
      skipLibCheck: true,
      lib: ['es2020'],
      types: [],
      module: 'esnext',
      moduleResolution: 'bundler',
      paths: { '@grafana/schema': ['./index.d.ts'] },
    };
    writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify({ compilerOptions: options, files: ['check.ts'] }));
    try {
      execFileSync(join(root, 'node_modules', '.bin', 'tsc'), ['-p', folder], { encoding: 'utf8', cwd: folder });
      return [];
    } catch (error) {
      const { stdout = '' } = error as { stdout?: string };
      return stdout.trim().split('\n');
    }
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

const queryType = (type: string): string => (type === 'loki' ? 'loki.LokiDataQuery' : 'tempo.TempoQuery');

test.each(['11', '12', '13'])('each dashboard is a dashboard of Grafana %s', version => {
  expect(problems(version)).toEqual([]);
});

test('the compiler refuses what a version does not know', () => {
  const found = problems('13', panel => {
    if (panel.title === 'Sessions') panel.options = { colorMode: 'rainbow', isShiny: true };
  });
  expect(found.join('\n')).toMatch(/rainbow/);
});
