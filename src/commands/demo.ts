import { exampleAgent } from '../agents/index.ts';
import { imbalances } from '../deliver/status-books.ts';
import { type Demonstration, demonstrate } from '../demo/demonstration.ts';
import { pathIn } from '../lib/path-variable.ts';
import { searchPath } from '../setup/search-path.ts';
import { programAt } from '../setup/setup.ts';
import { nodeOf } from '../view/span-node.ts';
import { drawTree, duration } from '../view/tree.ts';
import { flagText, type Io, UsageError, type Words } from './command.ts';
import { distFolder } from './place.ts';
import { problemText, table } from './text.ts';

export async function run(words: Words, io: Io): Promise<number> {
  const passOn = flagText(words, '--otlp');
  if (passOn !== undefined && !/^https?:$/.test(URL.canParse(passOn) ? new URL(passOn).protocol : '')) {
    throw new UsageError(`--otlp takes a URL such as http://127.0.0.1:4318, not ${passOn}`);
  }
  const json = words.flags['--json'] !== undefined;
  const startMs = performance.now();
  if (!json && io.isTerminal) io.err('Playing a session of about two seconds …\n');
  const shown = await demonstrate({
    program: programAt(distFolder(), process.execPath, searchPath(pathIn(io.env), { home: io.home, project: io.cwd })),
    passOn,
    platform: io.platform,
  });
  const unbalanced = imbalances(shown.books);
  if (json) {
    const { receiver, books, session, hookMs, bareMs } = shown;
    io.out(
      `${JSON.stringify({ v: 1, session, spans: receiver.spans, records: receiver.records, points: [...receiver.points.values()], books, hookMs, bareMs, refusals: Object.fromEntries(receiver.refusals) }, null, 2)}\n`,
    );
  } else {
    io.out(textOf(shown, io, performance.now() - startMs));
    if (passOn !== undefined && !shown.receiver.refusals.has('/v1/traces')) io.out(passedOn(shown, passOn));
  }
  for (const account of unbalanced) io.err(problemText({ code: 'books-unbalanced', account }));
  for (const [path, status] of shown.receiver.refusals) {
    io.err(`otel-hooks: ${passOn}${path} did not take it (${status}).\n`);
  }
  if (shown.receiver.refusals.size > 0)
    io.err(
      '  next: see that a collector takes OTLP over HTTP there, usually at port 4318; the session above was played all the same.\n',
    );
  return unbalanced.length > 0 || shown.receiver.refusals.has('/v1/traces') ? 1 : 0;
}

function textOf({ receiver, books, hookMs, bareMs, commands }: Demonstration, io: Io, tookMs: number): string {
  const [root] = receiver.spans.filter(span => span.parentSpanId === undefined);
  const metrics = [...receiver.points.values()]
    .map(point => [
      `${point.name}${attributesOf(point.attributes)}`,
      point.count === undefined
        ? String(point.value)
        : `${point.count} × ${point.unit === 's' ? duration((point.value / point.count) * 1000) : Number((point.value / point.count).toPrecision(3))}`,
    ])
    .sort(([a = ''], [b = '']) => (a < b ? -1 : 1));
  const { fragments, destinations } = books;
  const [destination] = destinations;
  const levels = Object.entries(
    receiver.records.reduce<{ [level: string]: number }>((all, { severity }) => {
      all[severity] = (all[severity] ?? 0) + 1;
      return all;
    }, {}),
  );
  const hook = median(hookMs);
  const bare = median(bareMs);
  return [
    `Trace ${root?.traceId ?? ''}, as an OTLP receiver in this process took it`,
    '',
    drawTree(receiver.spans.map(nodeOf), { color: io.color, columns: io.columns, unicode: io.unicode }),
    `Metrics (${receiver.points.size} series)`,
    table(metrics.map(([name = '', value = '']) => [`  ${name}`, value])),
    `Log records: ${receiver.records.length} (${levels.map(([level, count]) => `${count} ${level}`).join(', ')}), for example`,
    ...receiver.records
      .filter(record => record.severity === 'WARN')
      .slice(0, 3)
      .map(record => `  ${record.severity} ${record.body}`),
    '',
    'Books',
    table([
      [
        '  hooks',
        `${fragments.received} received = ${fragments.journaled} journaled + ${fragments.waiting} waiting + ${fragments.quarantined} quarantined + ${total(fragments.dropped)} dropped`,
      ],
      ...(['spans', 'logs', 'metrics'] as const).map(kind => {
        const account = destination?.[kind];
        return [
          `  ${kind}`,
          `${account?.produced} produced = ${account?.accepted} accepted + ${account?.waiting} waiting + ${total(account?.rejected)} rejected + ${total(account?.dropped)} dropped`,
        ];
      }),
    ]),
    `Cost: ${hookMs.length} hook processes, median ${hook.toFixed(1)} ms; a Node process that does nothing takes ${bare.toFixed(1)} ms here (${(hook / bare).toFixed(2)}×).`,
    `      ${receiver.bodies} requests, ${receiver.bytes} bytes on the wire. All in ${(tookMs / 1000).toFixed(1)} s.`,
    '',
    `What an agent runs for a hook: ${(commands.get('PreToolUse')?.posix ?? commands.get('PreToolUse')?.windows ?? '').replace(/'[^']*\/hook\.sh'/g, "'…/hook.sh'")}`,
    '',
    'On your own machine:',
    `  otel-hooks enable --tool ${exampleAgent.id} --global --endpoint http://127.0.0.1:4318`,
    '',
  ].join('\n');
}

function passedOn({ session }: Demonstration, url: string): string {
  return `Sent to ${url} as well. In Grafana (Tempo) or Jaeger look for session.id = ${session}\n`;
}

const attributesOf = (attributes: { [name: string]: string }): string => {
  const pairs = Object.entries(attributes).map(([name, value]) => `${name.split('.').slice(-2).join('.')}=${value}`);
  return pairs.length > 0 ? `{${pairs.join(', ')}}` : '';
};

const total = (counts: Readonly<Record<string, number>> | undefined): number =>
  Object.values(counts ?? {}).reduce((all, each) => all + each, 0);

function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.floor(sorted.length / 2)] ?? 0;
}
