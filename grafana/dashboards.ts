/**
 * The dashboards, as code. `npm run dashboards` writes them as JSON, in the model that each Grafana since 10 reads from a
 * folder.
 */
import { decisions } from './boards/decisions.ts';
import { fleet } from './boards/fleet.ts';
import { loops } from './boards/loops.ts';
import { pipeline } from './boards/pipeline.ts';
import { session } from './boards/session.ts';
import { teams } from './boards/teams.ts';
import { tokens } from './boards/tokens.ts';
import { tools } from './boards/tools.ts';
import type { Board } from './panels.ts';
import { agentVariable, environmentVariable, teamVariable } from './queries.ts';
import { dashboard } from './sdk.ts';

export const boards: readonly Board[] = [fleet, session, tokens, teams, decisions, tools, loops, pipeline];

export interface Written {
  file: string;
  uid: string;
  json: string;
}

export const dashboards = (): Written[] => boards.map(written);

function written({ uid, title, description, variables = [], rows }: Board): Written {
  const built = new dashboard.DashboardBuilder(title)
    .uid(uid)
    .description(description)
    .tags(['otel-hooks'])
    .readonly()
    .time({ from: 'now-24h', to: 'now' })
    .refresh('30s')
    .timezone('browser')
    .tooltip(dashboard.DashboardCursorSync.Crosshair)
    .link(
      // Not a menu, although the links fill two lines: the menu does not open in Grafana 10.0.
      new dashboard.DashboardLinkBuilder('Other dashboards')
        .type(dashboard.DashboardLinkType.Dashboards)
        .tags(['otel-hooks'])
        .asDropdown(false)
        .keepTime(true)
        .includeVars(true),
    );
  for (const variable of [agentVariable, teamVariable, environmentVariable, ...variables]) built.withVariable(variable);
  for (const { title: row, panels } of rows) {
    built.withRow(new dashboard.RowBuilder(row));
    for (const panel of panels) built.withPanel(panel.built);
  }
  const model = built.build();
  model.panels?.forEach((panel, i) => {
    panel.id = i + 1;
  });
  withoutDefaults(model);
  return { file: `${uid}.json`, uid, json: `${JSON.stringify(model, null, 2)}\n` };
}

/**
 * Removes what the SDK adds and the types of some Grafana do not know (test/stack/schemas.test.ts). `placement` would
 * also hide the links of a dashboard in a menu of Grafana 13.
 */
function withoutDefaults(model: dashboard.Dashboard): void {
  const without = (of: object | undefined, ...names: string[]): void => {
    for (const name of names) Reflect.deleteProperty(of ?? {}, name);
  };
  for (const variable of model.templating?.list ?? []) without(variable, 'auto', 'auto_min', 'auto_count');
  for (const link of model.links ?? []) without(link, 'placement');
  for (const panel of (model.panels ?? []) as dashboard.Panel[]) {
    without(panel.options, 'footer');
    for (const link of panel.links ?? []) without(link, 'placement');
  }
}
