/**
 * The dashboards in the form that Grafana's site publishes: a person who imports one chooses the data sources, and
 * Grafana checks that it has the panels.
 */
import { dashboards, type Written } from './dashboards.ts';

/** The oldest Grafana that the tests run. */
const OLDEST = '10.0.0';

const SOURCES = [
  { uid: 'prometheus', name: 'Prometheus' },
  { uid: 'loki', name: 'Loki' },
  { uid: 'tempo', name: 'Tempo' },
];
const PANELS: { [type: string]: string } = {
  logs: 'Logs',
  stat: 'Stat',
  table: 'Table',
  timeseries: 'Time series',
  traces: 'Traces',
};

export const published = (): Written[] => dashboards().map(each => ({ ...each, json: importable(each.json) }));

function importable(json: string): string {
  const used = SOURCES.filter(({ uid }) => json.includes(`"uid": "${uid}"`));
  let text = json;
  for (const { uid } of used) text = text.replaceAll(`"uid": "${uid}"`, `"uid": "\${DS_${uid.toUpperCase()}}"`);
  const types = [...new Set((JSON.parse(json) as { panels: { type: string }[] }).panels.map(({ type }) => type))]
    .filter(type => type !== 'row')
    .sort();
  const model = {
    __inputs: used.map(({ uid, name }) => ({
      name: `DS_${uid.toUpperCase()}`,
      label: name,
      description: '',
      type: 'datasource',
      pluginId: uid,
      pluginName: name,
    })),
    __elements: {},
    __requires: [
      { type: 'grafana', id: 'grafana', name: 'Grafana', version: OLDEST },
      ...used.map(({ uid, name }) => ({ type: 'datasource', id: uid, name, version: OLDEST })),
      ...types.map(type => ({ type: 'panel', id: type, name: panelName(type), version: '' })),
    ],
    id: null,
    ...(JSON.parse(text) as object),
  };
  return `${JSON.stringify(model, null, 2)}\n`;
}

function panelName(type: string): string {
  const name = PANELS[type];
  if (name === undefined) throw new Error(`no name of the panel ${type}`);
  return name;
}
