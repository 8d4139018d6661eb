/** `doctor` reads its own data back from the real back ends. */
import { afterAll, expect, inject, test } from 'vitest';
import { Machine } from './machine.ts';

const stack = inject('stack');
const machines: Machine[] = [];
afterAll(() => {
  for (const machine of machines) machine.remove();
});
const machine = (config: object): Machine => {
  const made = new Machine(stack.program, config);
  machines.push(made);
  return made;
};

interface Report {
  problems: number;
  findings: { check: string; of?: string; state: string; says: string; code?: string }[];
}
const backs = ({ findings }: Report) =>
  findings
    .filter(({ check }) => check === 'read back')
    .map(({ of, state, code }) => [of?.split(' ')[0], code ?? state]);

test('a trace, a record and a metric come back through the collector', async () => {
  const { tempo, loki, prometheus } = stack;
  const one = machine({
    provider: 'otlp',
    otlp: { endpoint: stack.collector },
    read_back: { tempo, loki, prometheus },
  });
  const { code, out, err } = await one.cli('doctor', '--json');
  const report = JSON.parse(out) as Report;
  expect(backs(report), `${out}${err}`).toEqual([
    ['Tempo', 'fine'],
    ['Loki', 'fine'],
    ['Prometheus', 'fine'],
  ]);
  expect([code, report.problems]).toEqual([0, 0]);
});

test('Jaeger has the trace, and does not store logs and metrics', async () => {
  const one = machine({ provider: 'otlp', otlp: { endpoint: stack.jaegerOtlp }, read_back: { jaeger: stack.jaeger } });
  const report = JSON.parse((await one.cli('doctor', '--json')).out) as Report;
  expect(backs(report)).toContainEqual(['Jaeger', 'fine']);
  expect(report.findings.filter(({ code }) => code === 'delivery-endpoint').length).toBe(2);
});
