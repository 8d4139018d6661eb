/** A collector that is killed and back ends that are away for a while: what was accepted arrives. */
import { afterAll, expect, inject, test } from 'vitest';
import { container, docker, eventually, lines, tempoSpans } from './backends.ts';
import { Machine } from './machine.ts';

const stack = inject('stack');
const machine = new Machine(stack.program, { provider: 'otlp', otlp: { endpoint: stack.collector } });
afterAll(() => machine.remove());

const ready = (base: string, path: string): Promise<unknown> =>
  eventually(
    () => fetch(new URL(path, base), { signal: AbortSignal.timeout(2_000) }),
    ({ ok }) => ok,
  );

test('back ends stopped, collector killed: every span and every record of ten sessions is there afterwards', async () => {
  const [tempo, loki, collector] = [container(stack, 'tempo'), container(stack, 'loki'), container(stack, 'collector')];
  docker('stop', '-t', '2', tempo, loki);
  const sessions = Array.from({ length: 10 }, () => machine.journey('subagents.journey'));
  await machine.deliver();
  docker('kill', collector);
  docker('start', tempo, loki, collector);
  await Promise.all([ready(stack.tempo, '/ready'), ready(stack.loki, '/ready'), ready(stack.collectorHealth, '/')]);

  for (const session of sessions) {
    const { out } = await machine.cli('show', session);
    for (const text of out.split(/^trace /m).slice(1)) {
      const rows = text.trimEnd().split('\n').length - 1;
      const stored = await eventually(
        () => tempoSpans(stack, text.slice(0, 32)),
        // What was on its way when the collector was killed comes again.
        spans => new Set(spans.map(each => each.spanId)).size === rows,
        40_000,
      );
      expect(new Set(stored.map(each => each.attributes['session.id']))).toEqual(new Set([session]));
    }
  }
  const { logs, spans } = (await machine.books()).destinations[0] ?? {};
  expect(spans?.accepted).toBe(spans?.produced);
  const found = await eventually(
    () => lines(stack, `{service_name="claude-code"} | session_id=~"${sessions.join('|')}"`),
    all => all.length >= (logs?.produced ?? Number.POSITIVE_INFINITY),
    40_000,
  );
  expect(found.length).toBe(logs?.produced);
});
