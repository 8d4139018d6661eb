/**
 * The alert rules in Grafana's own form, for a Prometheus that cannot load our rules. They are generated from the rules
 * for Prometheus; recorded expressions are written out.
 */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse, stringify } from 'yaml';

interface Rule {
  record?: string;
  alert?: string;
  expr: string;
  for?: string;
  labels?: { [name: string]: string };
  annotations?: { [name: string]: string };
}
interface Group {
  name: string;
  interval?: string;
  rules: Rule[];
}

const SOURCE = 'prometheus';
const HEAD = `# Written by \`npm run dashboards\` from rules/agents.yaml; edit there. Copy it to provisioning/alerting of your Grafana;
# \`datasourceUid\` is the uid of your Prometheus.
`;

export function alertRules(): Group[] {
  return (parse(readFileSync(join(import.meta.dirname, 'rules', 'agents.yaml'), 'utf8')) as { groups: Group[] }).groups;
}

export function alerting(): string {
  const groups = alertRules();
  const recorded = new Map(
    groups.flatMap(({ rules }) => rules.flatMap(({ record, expr }) => (record === undefined ? [] : [[record, expr]]))),
  );
  const made = groups.flatMap(({ name, rules }) => {
    const alerts = rules.filter(rule => rule.alert !== undefined);
    if (alerts.length === 0) return [];
    return [{ orgId: 1, name, folder: 'otel-hooks', interval: '1m', rules: alerts.map(rule => own(rule, recorded)) }];
  });
  return HEAD + stringify({ apiVersion: 1, groups: made }, { lineWidth: 120 });
}

/** Returns the rule of Grafana for a rule of Prometheus. */
export function own(
  { alert = '', expr, for: lasting = '0s', labels, annotations = {} }: Rule,
  recorded: ReadonlyMap<string, string>,
) {
  return {
    uid: `otel-hooks-${alert.replace(/(?<!^)([A-Z])/g, '-$1').toLowerCase()}`,
    title: alert,
    condition: 'C',
    for: lasting,
    // Agents are idle most of the time.
    noDataState: 'OK',
    execErrState: 'Error',
    labels,
    annotations: Object.fromEntries(Object.entries(annotations).map(([name, text]) => [name, templated(text)])),
    data: [
      step('A', SOURCE, { expr: writtenOut(expr, recorded), instant: true }),
      step('B', '__expr__', { type: 'reduce', expression: 'A', reducer: 'last' }),
      // The expression itself compares, so each value that it returns fires, a zero included.
      step('C', '__expr__', { type: 'math', expression: 'is_number($B) || is_inf($B)' }),
    ],
  };
}

const step = (refId: string, datasourceUid: string, model: object) => ({
  refId,
  ...(datasourceUid === SOURCE ? { relativeTimeRange: { from: 600, to: 0 } } : {}),
  datasourceUid,
  model: { refId, ...model },
});

/** A range over a recorded series becomes a range over its expression. */
const writtenOut = (expr: string, recorded: ReadonlyMap<string, string>): string =>
  expr.replace(/agents:\w+:\w+(\[\w+)?/g, (found, range: string | undefined) => {
    const name = range === undefined ? found : found.slice(0, -range.length);
    const inner = recorded.get(name);
    if (inner === undefined) throw new Error(`nothing records ${name}`);
    return range === undefined ? `(${inner})` : `(${inner})${range}:5m`;
  });

/**
 * Grafana replaces no variables of the environment in the model and the annotations of a rule, so a dollar sign stays
 * single there. Without data there is no `$values.B`, and a template that reads its value would fail.
 */
const templated = (text: string): string =>
  text.replace(/\{\{ \$value \| humanize \}\}/g, '{{ with $values.B }}{{ humanize .Value }}{{ end }}');
