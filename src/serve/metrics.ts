/** The metrics of the server, in the text format of Prometheus. Labels come from closed sets, never from senders. */
import { VERSION } from '../lib/version.ts';

export type Route = 'events' | 'hooks' | 'health' | 'metrics' | 'otlp' | 'none';

export interface Gauges {
  connections: number;
  heldBytes: number;
  waiting: number;
  waitingBytes: number;
  delivering: boolean;
}

export interface Metrics {
  answered(route: Route, status: number, ms: number): void;
  events(accepted: number, rejected: number): void;
  kept(bytes: number): void;
  text(now: Gauges): string;
}

/** Upper bounds in seconds. */
const BOUNDS = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.1, 1, 10] as const;
const P = 'otel_hooks_serve';

export function createMetrics(): Metrics {
  const requests = new Map<string, number>();
  const slots = BOUNDS.map(() => 0);
  const sums = { accepted: 0, rejected: 0, kept: 0, bytes: 0, count: 0, seconds: 0 };
  return {
    answered(route, status, ms) {
      const key = `route="${route}",code="${status}"`;
      requests.set(key, (requests.get(key) ?? 0) + 1);
      sums.count += 1;
      sums.seconds += ms / 1000;
      const slot = BOUNDS.findIndex(bound => ms <= bound * 1000);
      if (slot >= 0) slots[slot] = (slots[slot] ?? 0) + 1;
    },
    events(accepted, rejected) {
      sums.accepted += accepted;
      sums.rejected += rejected;
    },
    kept(bytes) {
      sums.kept += 1;
      sums.bytes += bytes;
    },
    text(now) {
      let below = 0;
      const buckets = BOUNDS.map((bound, i) => {
        below += slots[i] ?? 0;
        return `${P}_request_duration_seconds_bucket{le="${bound}"} ${below}`;
      });
      return `${[
        ...family('requests_total', 'counter', 'Requests by route and answer.'),
        ...[...requests].map(([labels, count]) => `${P}_requests_total{${labels}} ${count}`),
        ...family('request_duration_seconds', 'histogram', 'From the head of a request to its answer.'),
        ...buckets,
        `${P}_request_duration_seconds_bucket{le="+Inf"} ${sums.count}`,
        `${P}_request_duration_seconds_sum ${sums.seconds}`,
        `${P}_request_duration_seconds_count ${sums.count}`,
        ...family('events_total', 'counter', 'Events that were kept, and those that were sent back.'),
        `${P}_events_total{outcome="accepted"} ${sums.accepted}`,
        `${P}_events_total{outcome="rejected"} ${sums.rejected}`,
        ...single('kept_total', 'counter', 'Requests whose events were kept.', sums.kept),
        ...single('kept_bytes_total', 'counter', 'Bytes in them.', sums.bytes),
        ...single('connections', 'gauge', 'Open connections.', now.connections),
        ...single('held_bytes', 'gauge', 'Bodies of requests that are not answered yet.', now.heldBytes),
        ...single(
          'inbox_fragments',
          'gauge',
          'Hooks of all mouths that wait for delivery, as last counted.',
          now.waiting,
        ),
        ...single('inbox_bytes', 'gauge', 'Size of these hooks, estimated.', Math.round(now.waitingBytes)),
        ...single('delivering', 'gauge', 'Whether this process delivers.', now.delivering ? 1 : 0),
        ...family('build_info', 'gauge', 'The version.'),
        `${P}_build_info{version="${VERSION}"} 1`,
        ...single('resident_memory_bytes', 'gauge', 'Memory of the process that answers.', process.memoryUsage.rss()),
      ].join('\n')}\n`;
    },
  };
}

const family = (name: string, type: string, help: string): string[] => [
  `# HELP ${P}_${name} ${help}`,
  `# TYPE ${P}_${name} ${type}`,
];

const single = (name: string, type: string, help: string, value: number): string[] => [
  ...family(name, type, help),
  `${P}_${name} ${value}`,
];
