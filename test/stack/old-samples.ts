/** Samples of the past, in the text that `promtool tsdb create-blocks-from openmetrics` reads. */
export interface Series {
  metric: string;
  labels: { [name: string]: string };
  /** The value at a number of minutes before the reference time. */
  at: (minutes: number) => number;
}

/** One sample a minute, from `from` to `to` minutes before `nowMs`. */
export function metricsText(all: readonly Series[], from: number, to: number, nowMs = Date.now()): string {
  const lines = all.flatMap(({ metric, labels, at }) => {
    const pairs = Object.entries(labels).map(([name, value]) => `${name}="${value}"`);
    return Array.from({ length: from - to + 1 }, (_, i) => {
      const minutes = from - i;
      return `${metric}{${pairs.join(',')}} ${at(minutes)} ${Math.floor(nowMs / 1_000) - minutes * 60}`;
    });
  });
  return `${lines.join('\n')}\n# EOF\n`;
}
