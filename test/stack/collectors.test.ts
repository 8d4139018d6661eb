/** The collector files beside local.yaml, run with data: the gateway for many machines, and the reader of journals. */
import { execFileSync } from 'node:child_process';
import { chmodSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, inject, test } from 'vitest';
import { docker, eventually, lines, type StoredSpan, samples, search, tempoSpans } from './backends.ts';
import { Machine } from './machine.ts';
import { worked } from './working-day.ts';

const stack = inject('stack');
const image = 'otel/opentelemetry-collector-contrib:0.158.0';
const configs = join(import.meta.dirname, '..', '..', 'collector-config');
const folder = mkdtempSync(join(tmpdir(), 'otel-hooks-collectors-'));
const containers: string[] = [];
const machines: Machine[] = [];
afterAll(() => {
  if (containers.length > 0) docker('rm', '-f', '-v', ...containers);
  for (const machine of machines) machine.remove();
  rmSync(folder, { recursive: true, force: true });
});

function collector(config: string, more: string[], env: { [name: string]: string }): string {
  const variables = Object.entries(env).flatMap(([name, value]) => ['-e', `${name}=${value}`]);
  const network = ['--network', `${stack.project}_stack`];
  const mount = ['-v', `${join(configs, config)}:/config.yaml:ro`];
  const id = docker(
    'run',
    '-d',
    '-u',
    '0:0',
    ...network,
    ...mount,
    ...variables,
    ...more,
    image,
    '--config=/config.yaml',
  );
  containers.push(id);
  return id;
}
const portOf = (id: string, inner: number): string => docker('port', id, String(inner)).split(':').at(-1) ?? '';
const isUp = (id: string): Promise<unknown> =>
  eventually(
    () => fetch(`http://127.0.0.1:${portOf(id, 13133)}/`, { signal: AbortSignal.timeout(2_000) }),
    ({ ok }) => ok,
  );

test('the gateway asks for its token, keeps what somebody will ask about, and samples neither logs nor metrics', async () => {
  const [key, cert] = [join(folder, 'key.pem'), join(folder, 'cert.pem')];
  const subject = ['-subj', '/CN=localhost', '-addext', 'subjectAltName=DNS:localhost,IP:127.0.0.1'];
  const made = ['req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-days', '2'];
  execFileSync('openssl', [...made, ...subject, '-keyout', key, '-out', cert], { stdio: 'ignore' });
  chmodSync(folder, 0o755);
  const published = ['-p', '127.0.0.1::4318', '-p', '127.0.0.1::13133', '-v', `${folder}:/certs:ro`];
  const gateway = collector('gateway.yaml', published, {
    OTEL_HOOKS_GATEWAY_TOKEN: 'right',
    OTEL_HOOKS_GATEWAY_CERT: '/certs/cert.pem',
    OTEL_HOOKS_GATEWAY_KEY: '/certs/key.pem',
  });
  await isUp(gateway);
  const machineWith = (token: string): Machine => {
    const endpoint = `https://127.0.0.1:${portOf(gateway, 4318)}`;
    const otlp = { endpoint, certificate: cert, headers: { Authorization: `Bearer ${token}` } };
    const machine = new Machine(stack.program, { provider: 'otlp', otlp });
    machines.push(machine);
    return machine;
  };

  const stranger = machineWith('wrong');
  stranger.journey('plain-session.journey');
  const refused = await stranger.cli('deliver', '--wait', '3s');
  expect(refused.code).toBe(1);
  expect(`${refused.out}${refused.err}`).toMatch(/401/);
  const [waiting] = (await stranger.books()).destinations;
  expect(waiting?.spans.waiting).toBe(waiting?.spans.produced);

  const machine = machineWith('right');
  const of = (count: number, make: () => string): string[] => Array.from({ length: count }, make);
  const session = machine.journey('failures.journey');
  const kept = [
    session,
    ...of(4, () => machine.journey('denied-by-classifier.journey')),
    ...of(4, () => worked(machine, { turns: 1, calls: 1, command: 'git push --force origin main' })),
  ];
  const expensive = of(4, () => worked(machine, { turns: 3, calls: 4, model: 'claude-opus-4-1' }));
  const ordinary = of(12, () => worked(machine, { turns: 1, calls: 1 }));
  await machine.deliver();
  /** Its spans in Tempo once they are as many as `show` prints. */
  const whole = async (of: string): Promise<StoredSpan[]> => {
    const { out } = await machine.cli('show', of);
    const [tree = ''] = out.split(/^trace /m).slice(1);
    return eventually(
      () => tempoSpans(stack, tree.slice(0, 32)),
      spans => spans.length === tree.trimEnd().split('\n').length - 1,
      60_000,
    );
  };
  for (const each of kept) await whole(each);
  for (const each of expensive) {
    const root = (await whole(each)).find(({ parentSpanId }) => parentSpanId === undefined);
    expect(root?.attributes['agent_hooks.cost.usd']).toBeGreaterThan(1);
    expect(root?.attributes['gen_ai.usage.output_tokens']).toBeLessThan(20_000);
  }
  // All were decided on at about the same time.
  const found = await Promise.all(ordinary.map(each => search(stack, `{ span.session.id = "${each}" }`)));
  expect(found.filter(traces => traces.length > 0).length).toBeLessThan(ordinary.length);

  const { logs } = (await machine.books()).destinations[0] ?? {};
  const sent = [...kept, ...expensive, ...ordinary].join('|');
  const records = await eventually(
    () => lines(stack, `{service_name="claude-code"} | session_id=~"${sent}"`),
    all => all.length >= (logs?.produced ?? Number.POSITIVE_INFINITY),
  );
  const instance = records[0]?.labels.service_instance_id;
  await eventually(
    () => samples(stack, `sum(agent_hooks_prompt_submitted_total{instance="${instance}"})`),
    ([sum]) => (sum?.value ?? 0) > 0,
  );
}, 240_000);

test('the journal of a machine becomes log records without our delivery', async () => {
  // Nobody to send to: the journal is all that comes of the hooks.
  const machine = new Machine(stack.program, { enabled: false });
  machines.push(machine);
  const session = machine.journey('plain-session.journey');
  await machine.deliver();
  const { out } = await machine.cli('show', session, '--json');
  expect(JSON.parse(out)).toMatchObject({ session });
  const events = Number(
    execFileSync('sh', ['-c', `cat "${machine.state}"/journal/* | grep -c .`], { encoding: 'utf8' }),
  );
  const mount = ['-p', '127.0.0.1::13133', '-v', `${join(machine.state, 'journal')}:/journal:ro`];
  await isUp(collector('file-log.yaml', mount, { OTEL_HOOKS_JOURNAL: '/journal/*' }));
  const found = await eventually(
    () => lines(stack, `{service_name="claude-code"} | session_id="${session}"`),
    all => all.length >= events,
  );
  expect(found.length).toBe(events);
  expect(new Set(found.map(({ labels }) => labels.agent_hooks_event_id)).size).toBe(events);
  expect(found.every(({ labels }) => labels.event_name?.startsWith('agent_hooks.'))).toBe(true);
});
