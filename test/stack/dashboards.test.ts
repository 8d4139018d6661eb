/** Every query of every panel, run against back ends that hold some sessions: it must answer, and with data. */
import { afterAll, beforeAll, expect, inject, test } from 'vitest';
import { dashboards } from '../../grafana/dashboards.ts';
import { eventually, lines, samples, search } from './backends.ts';
import { Machine } from './machine.ts';

const stack = inject('stack');
const machine = new Machine(stack.program, { provider: 'otlp', otlp: { endpoint: stack.collector } });
let session = '';
afterAll(() => machine.remove());
beforeAll(async () => {
  for (const file of ['subagents', 'failures', 'compaction', 'permission-granted', 'denied-by-classifier']) {
    session = machine.journey(`${file}.journey`);
  }
  // A hook that nobody can read, and one that came twice.
  machine.hook(['no object'], Date.now());
  await machine.deliver();
});

/** What a normal day of sessions without transcripts does not have. */
const mayBeEmpty: { [title: string]: string } = {
  'Read from cache': 'the journeys have no transcripts, so no tokens',
  Input: 'the journeys have no transcripts, so no tokens',
  Output: 'the journeys have no transcripts, so no tokens',
  'Input by model': 'the journeys have no transcripts, so no tokens',
  'Output by model': 'the journeys have no transcripts, so no tokens',
  'Output tokens by agent and model': 'the journeys have no transcripts, so no tokens',
  Responses: 'the journeys have no transcripts, so no tokens',
  Refused: 'nothing was refused',
  Dropped: 'nothing was dropped',
  'Losses by reason': 'nothing was dropped',
};

interface Panel {
  title: string;
  targets?: { datasource: { uid: string }; expr?: string; query?: string }[];
}
const queries = dashboards().flatMap(({ uid, json }) =>
  (JSON.parse(json) as { panels: Panel[] }).panels.flatMap(({ title, targets = [] }) =>
    targets.map(target => ({ uid, title, source: target.datasource.uid, text: target.expr ?? target.query ?? '' })),
  ),
);

const filled = (text: string): string =>
  text
    .replaceAll('$__range', '1h')
    .replaceAll('$__interval', '5m')
    .replaceAll('$agent', '.+')
    .replaceAll('$session', session);

test.each(queries)('$uid, $title', async ({ title, source, text }) => {
  const query = filled(text);
  const count = async (): Promise<number> => {
    if (source === 'prometheus')
      return (await samples(stack, query)).filter(({ value }) => !Number.isNaN(value)).length;
    if (source === 'loki') return (await lines(stack, query)).length;
    return (await search(stack, query)).length;
  };
  // An error of the back end fails in any case.
  if (title in mayBeEmpty) await count();
  else expect(await eventually(count, found => found > 0), query).toBeGreaterThan(0);
});
