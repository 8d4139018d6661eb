/**
 * How much each agent sends: the sample session of hooks and files of each agent goes through rounds to a destination,
 * and the bodies in its outbox are measured.
 */
import { join } from 'node:path';
import { isAbsent } from '../../src/agents/contract/contract.ts';
import { agents } from '../../src/agents/index.ts';
import { documents } from '../../src/documents/documents.ts';
import type { MetricState } from '../../src/telemetry/metric-state.ts';
import { metrics } from '../../src/telemetry/names.ts';
import { scriptIn, stage, whole } from '../agents/session-script.ts';
import { withTable } from './agents-tables.ts';

/** The actions of the hour that the table is about. */
const ACTIONS = 200;

interface Volume {
  title: string;
  hooks: number;
  actions: number;
  spans: number;
  records: number;
  traceBytes: number;
  logBytes: number;
  series: number;
}

/** docs/sampling.md with its table of volumes. */
export const withVolumes = (page: string): string => withTable(page, 'volumes', volumeTable());

function volumeTable(): string[] {
  const row = (...cells: (string | number)[]): string => `| ${cells.join(' | ')} |`;
  return [
    row('agent', 'hooks', 'spans', 'records', 'traces', 'logs', 'series in Prometheus'),
    row('---', '--:', '--:', '--:', '--:', '--:', '--:'),
    ...volumes().map(({ title, actions, series, ...each }) => {
      const hourly = (count: number): number => Number(((count * ACTIONS) / actions).toPrecision(2));
      const size = (bytes: number): string => `${hourly(bytes / 1_000)} kB`;
      const counts = [each.hooks, each.spans, each.records].map(hourly);
      return row(title, ...counts, size(each.traceBytes), size(each.logBytes), series);
    }),
  ];
}

const volumes = (): Volume[] =>
  agents.filter(({ transcript }) => !isAbsent(transcript)).map(({ id, title }) => ({ title, ...volumeOf(id) }));

function volumeOf(agent: string): Omit<Volume, 'title'> {
  const folder = join(import.meta.dirname, '..', 'agents', agent);
  const script = scriptIn(join(folder, 'hooks-and-files.session'));
  const on = stage(agent, folder, script, { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:4318' });
  try {
    whole(on);
    on.silence();
    const { store } = on.house;
    const [destination = ''] = store.destinations();
    const bodies = store.next(destination);
    const sumOf = (signal: string, of: 'items' | 'sizeBytes'): number =>
      bodies.reduce((sum, body) => sum + (body.signal === signal ? body[of] : 0), 0);
    return {
      hooks: script.moments.filter(({ to }) => to === 'hook').length,
      actions: on.house.spans().filter(({ kind }) => kind === 'action').length,
      spans: sumOf('traces', 'items'),
      records: sumOf('logs', 'items'),
      traceBytes: sumOf('traces', 'sizeBytes'),
      logBytes: sumOf('logs', 'sizeBytes'),
      series: seriesOf(store.read(documents.metrics.of(destination))),
    };
  } finally {
    on.house.close();
  }
}

/** A histogram has a series for each bucket, one for all, a sum and a count. */
function seriesOf(state: MetricState | undefined): number {
  let count = 0;
  for (const { series } of Object.values(state?.resources ?? {}))
    for (const { metric } of Object.values(series)) {
      const of = metrics[metric];
      count += 'bounds' in of ? of.bounds.length + 3 : 1;
    }
  return count;
}
