/** Grafana's own interfaces: those that an anonymous visitor's page calls, and those of an admin. */
import { ADMIN, type Stack } from './compose.ts';

interface Frame {
  schema: { fields: { name: string; type?: string; labels?: { [name: string]: string } }[] };
  data: { values: unknown[][] };
}

export interface Target {
  refId: string;
  datasource: { uid: string; type?: string };
  expr?: string;
  query?: string;
  queryType?: string;
  instant?: boolean;
  range?: boolean;
  format?: string;
}

/** The frames that one query of a panel returns. */
export async function framesOf({ grafana }: Stack, target: Target, expr: string): Promise<Frame[]> {
  const now = Date.now();
  const response = await fetch(`${grafana}/api/ds/query`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({
      from: String(now - 3_600_000),
      to: String(now + 5_000),
      queries: [{ ...target, expr, intervalMs: 60_000, maxDataPoints: 120, maxLines: 100 }],
    }),
    signal: AbortSignal.timeout(20_000),
  });
  const answer = (await response.json()) as {
    message?: string;
    results?: { [refId: string]: { error?: string; frames?: Frame[] } };
  };
  const { error, frames = [] } = answer.results?.[target.refId] ?? {};
  if (!response.ok || error !== undefined) throw new Error(`${expr}: ${response.status} ${error ?? answer.message}`);
  return frames;
}

/** The numbers in frames, `NaN` left out. */
export const numbersIn = (frames: readonly Frame[]): number[] =>
  frames.flatMap(({ schema, data }) =>
    schema.fields.flatMap(({ type }, i) =>
      type === 'number' ? (data.values[i] ?? []).filter((value): value is number => Number.isFinite(value)) : [],
    ),
  );

/** The number of rows in frames. */
export const rowsIn = (frames: readonly Frame[]): number =>
  frames.reduce((sum, { data }) => sum + (data.values[0]?.length ?? 0), 0);

/** The ids of the traces that a TraceQL query finds, through the proxy of the data source. */
export async function tracesFound({ grafana }: Stack, query: string): Promise<string[]> {
  const now = Math.floor(Date.now() / 1_000);
  const url = new URL('/api/datasources/proxy/uid/tempo/api/search', grafana);
  for (const [name, value] of Object.entries({ q: query, start: now - 3_600, end: now + 60, limit: 50 }))
    url.searchParams.set(name, String(value));
  const response = await fetch(url, { signal: AbortSignal.timeout(20_000) });
  if (!response.ok) throw new Error(`${query}: ${response.status} ${await response.text()}`);
  const { traces = [] } = (await response.json()) as { traces?: { traceID: string }[] };
  return traces.map(({ traceID }) => traceID);
}

export async function asAdmin<T>({ grafana }: Stack, method: string, path: string, body?: object): Promise<T> {
  const authorization = `Basic ${Buffer.from(`${ADMIN.user}:${ADMIN.password}`).toString('base64')}`;
  const response = await fetch(`${grafana}${path}`, {
    method,
    headers: { authorization, 'content-type': 'application/json' },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    signal: AbortSignal.timeout(20_000),
  });
  const text = await response.text();
  if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${text.slice(0, 500)}`);
  return (text === '' ? undefined : JSON.parse(text)) as T;
}

export interface RuleState {
  name: string;
  state: string;
  health: string;
  lastError?: string;
  alerts?: { state: string; annotations: { [name: string]: string } }[];
}

/** The states of Grafana's own alert rules, by group. */
export async function ruleStates(stack: Stack): Promise<{ name: string; rules: RuleState[] }[]> {
  const path = '/api/prometheus/grafana/api/v1/rules';
  const { data } = await asAdmin<{ data: { groups: { name: string; rules: RuleState[] }[] } }>(stack, 'GET', path);
  return data.groups;
}
