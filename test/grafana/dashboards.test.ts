/** The dashboards on disk are those of the code, and nothing in them points into the void. `npm run dashboards` writes them. */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { dashboards } from '../../grafana/dashboards.ts';

const folder = join(import.meta.dirname, '..', '..', 'grafana');
const written = dashboards();

interface Panel {
  id: number;
  type: string;
  title: string;
  description?: string;
  datasource?: { uid: string };
  targets?: { refId: string; datasource: { uid: string }; expr?: string; query?: string }[];
}
interface Dashboard {
  uid: string;
  panels: Panel[];
  templating: { list: { name: string }[] };
}
const boards = written.map(({ json }) => JSON.parse(json) as Dashboard);

test.each(written)('$file is what the code writes', async ({ file, json }) => {
  await expect(json).toMatchFileSnapshot(join(folder, 'dashboards', file));
});

test('no dashboard lies there that no code writes', () => {
  expect(readdirSync(join(folder, 'dashboards')).sort()).toEqual(written.map(({ file }) => file).sort());
});

test.each(boards)('$uid: ids, data sources, variables and descriptions', ({ panels, templating }) => {
  const sources = readFileSync(join(folder, 'provisioning', 'datasources', 'otel-hooks.yaml'), 'utf8');
  const known = [...sources.matchAll(/^ {4}uid: (\S+)$/gm)].map(match => match[1]);
  expect(new Set(panels.map(({ id }) => id)).size).toBe(panels.length);
  const variables = new Set(templating.list.map(({ name }) => name));
  for (const panel of panels.filter(({ type }) => type !== 'row')) {
    expect(panel.description, panel.title).toMatch(/\.$/);
    expect(panel.targets?.length, panel.title).toBeGreaterThan(0);
    for (const target of panel.targets ?? []) {
      expect(known).toContain(target.datasource.uid);
      const text = target.expr ?? target.query ?? '';
      expect(text).not.toBe('');
      const used = [...text.matchAll(/\$\{?(\w+)/g)]
        .map(match => match[1] ?? '')
        .filter(name => !name.startsWith('__'));
      for (const name of used) expect(variables, `${panel.title}: $${name}`).toContain(name);
    }
  }
});
