/** The collector files beside local.yaml, run with data: the gateway for many machines, and the reader of journals. */
import { execFileSync } from 'node:child_process';
import { randomBytes, randomUUID } from 'node:crypto';
import { chmodSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, inject, test } from 'vitest';
import { selfSigned } from '../certificates.ts';
import { docker, eventually, lines, type StoredSpan, samples, search, tempoSpans } from './backends.ts';
import { besideLabel } from './compose.ts';
import { Machine } from './machine.ts';
import { statedCost, worked } from './working-day.ts';

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
    '--label',
    besideLabel(stack.project),
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

test('two gateways require their token, keep whole traces that match a policy, and sample neither logs nor metrics', async () => {
  const { key, cert } = await selfSigned('localhost', '127.0.0.1');
  writeFileSync(join(folder, 'key.pem'), key);
  writeFileSync(join(folder, 'cert.pem'), cert);
  chmodSync(folder, 0o755);
  const published = [4318, 8888, 13133].flatMap(port => ['-p', `127.0.0.1::${port}`]);
  const peers = ['--network-alias', 'gateways', '-v', `${folder}:/certs:ro`];
  const [gateway = '', other = ''] = [1, 2].map(() =>
    collector('gateway.yaml', [...published, ...peers], {
      OTEL_HOOKS_GATEWAY_TOKEN: 'right',
      OTEL_HOOKS_GATEWAY_PEERS: 'gateways',
      OTEL_HOOKS_GATEWAY_CERT: '/certs/cert.pem',
      OTEL_HOOKS_GATEWAY_KEY: '/certs/key.pem',
    }),
  );
  for (const each of [gateway, other]) {
    await isUp(each);
    // The gateways look up each other every few seconds.
    await eventually(
      () => fetch(`http://127.0.0.1:${portOf(each, 8888)}/metrics`).then(answer => answer.text()),
      text => /^otelcol_loadbalancer_num_backends\S* 2$/m.test(text),
    );
  }
  const through = (door: string, token: string): object => {
    const endpoint = `https://127.0.0.1:${portOf(door, 4318)}`;
    return {
      provider: 'otlp',
      otlp: { endpoint, certificate: join(folder, 'cert.pem'), headers: { Authorization: `Bearer ${token}` } },
    };
  };
  const machineWith = (token: string): Machine => {
    const machine = new Machine(stack.program, through(gateway, token));
    machines.push(machine);
    return machine;
  };

  const stranger = machineWith('wrong');
  stranger.journey('plain-session.journey');
  const refused = await stranger.cli('deliver', '--wait', '8s');
  expect(refused.code).toBe(1);
  expect(`${refused.out}${refused.err}`).toMatch(/401/);
  const [waiting] = (await stranger.books()).destinations;
  expect(waiting?.spans.waiting).toBe(waiting?.spans.produced);

  stranger.configure(JSON.parse(JSON.stringify(through(gateway, 'right')).replace('https:', 'http:')));
  const unsealed = await stranger.cli('deliver', '--wait', '8s');
  expect(unsealed.err).toMatch(/ERR_TLS_EXPECTED.*kept/);
  const [still] = (await stranger.books()).destinations;
  expect(still?.spans).toEqual(waiting?.spans);

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
  // The spans that match a policy arrive at the other gateway: a gateway that saw only half of a trace would keep a
  // fifth of these traces.
  const halved = new Machine(stack.program, through(gateway, 'right'));
  machines.push(halved);
  const halves = of(8, randomUUID);
  const send = (event: string, agoMs: number, fields: object): void => {
    const nowMs = Date.now();
    for (const session_id of halves) {
      const base = { session_id, hook_event_name: event, cwd: halved.home, prompt_id: `p-${session_id}` };
      halved.hook({ ...base, ...fields }, nowMs - agoMs);
    }
  };
  const bash = { tool_name: 'Bash', tool_input: { command: 'npm test' }, duration_ms: 600 };
  send('SessionStart', 9_000, { source: 'startup' });
  send('UserPromptSubmit', 8_000, { prompt: 'go on' });
  for (let i = 0; i < 3; i += 1) {
    send('PreToolUse', 7_000 - 1_000 * i, { ...bash, tool_use_id: `toolu_${i}` });
    send('PostToolUse', 6_500 - 1_000 * i, { ...bash, tool_use_id: `toolu_${i}`, tool_response: { stdout: 'ok' } });
  }
  await halved.deliver();
  halved.configure(through(other, 'right'));
  send('PreToolUse', 4_000, { ...bash, tool_use_id: 'toolu_3' });
  send('PostToolUseFailure', 3_000, { ...bash, tool_use_id: 'toolu_3', error: 'Exit code 1' });
  send('Stop', 2_000, { stop_hook_active: false });
  send('SessionEnd', 1_000, { reason: 'other' });
  await Promise.all([halved.deliver(), machine.deliver()]);
  /** The spans of a trace in Tempo, once they are as many as `show` prints. */
  const whole = async (of: string, from = machine): Promise<StoredSpan[]> => {
    const [[trace, tree] = ['', '']] = await from.trees(of);
    return eventually(
      () => tempoSpans(stack, trace),
      spans => spans.length === tree.split('\n').length,
      60_000,
    );
  };
  for (const each of kept) await whole(each);
  for (const each of halves) await whole(each, halved);
  for (const each of expensive) {
    const root = (await whole(each)).find(({ parentSpanId }) => parentSpanId === undefined);
    expect(root?.attributes['agent_hooks.cost.usd']).toBeGreaterThan(1);
    expect(root?.attributes['gen_ai.usage.output_tokens']).toBeLessThan(20_000);
  }
  // The gateways decided about all of them at about the same time.
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
  // Without a destination, hooks only write a journal.
  const machine = new Machine(stack.program, { enabled: false });
  machines.push(machine);
  const sessions = { 'claude-code': machine.journey('subagents.journey'), opencode: statedCost(machine) };
  await machine.deliver();
  const journal = join(machine.state, 'journal');
  // The journal belongs to another user, so the collector reads it by its only capability.
  execFileSync('chown', ['-R', '1000:1000', journal]);
  const least = ['--cap-drop', 'ALL', '--cap-add', 'DAC_READ_SEARCH'];
  const mount = [...least, '-p', '127.0.0.1::13133', '-v', `${journal}:/journal:ro`];
  await isUp(collector('file-log.yaml', mount, { OTEL_HOOKS_JOURNAL: '/journal/*' }));
  const events = readdirSync(journal)
    .flatMap(file => readFileSync(join(journal, file), 'utf8').trim().split('\n'))
    .map(line => JSON.parse(line) as { event_id: string; source: { tool: string } });
  for (const [agent, session] of Object.entries(sessions)) {
    const ids = events.filter(({ source }) => source.tool === agent).map(({ event_id }) => event_id);
    const found = await eventually(
      () => lines(stack, `{service_name="${agent}"} | session_id="${session}"`),
      all => all.length >= ids.length,
    );
    expect(found.map(({ labels }) => labels.agent_hooks_event_id ?? '').sort()).toEqual(ids.sort());
    expect(found.every(({ labels }) => labels.event_name?.startsWith('agent_hooks.'))).toBe(true);
  }
});

test('a secret that reaches the collector is masked before it is stored', async () => {
  const secrets = [`sk-${'a1'.repeat(16)}`, `ghp_${'b2'.repeat(18)}`, `AKIA${'C3'.repeat(8)}`];
  const [traceId, spanId] = [randomBytes(16).toString('hex'), randomBytes(8).toString('hex')];
  const nanos = `${Date.now()}000000`;
  const attributes = secrets.map((secret, i) => ({ key: `said.${i}`, value: { stringValue: `it is ${secret}.` } }));
  const resource = { attributes: [{ key: 'service.name', value: { stringValue: 'careless' } }] };
  const span = { traceId, spanId, name: 'told', kind: 1, startTimeUnixNano: nanos, endTimeUnixNano: nanos, attributes };
  const body = { stringValue: secrets.join(' ') };
  const record = { traceId, spanId, timeUnixNano: nanos, observedTimeUnixNano: nanos, body, attributes };
  const post = async (signal: string, request: object): Promise<void> => {
    const headers = { 'content-type': 'application/json' };
    const url = new URL(`/v1/${signal}`, stack.collector);
    expect((await fetch(url, { method: 'POST', headers, body: JSON.stringify(request) })).status).toBe(200);
  };
  await post('traces', { resourceSpans: [{ resource, scopeSpans: [{ spans: [span] }] }] });
  await post('logs', { resourceLogs: [{ resource, scopeLogs: [{ logRecords: [record] }] }] });
  const stored = await eventually(
    () => tempoSpans(stack, traceId),
    spans => spans.length === 1,
  );
  const found = await eventually(
    () => lines(stack, `{service_name="careless"} | trace_id="${traceId}"`),
    all => all.length === 1,
  );
  expect(stored[0]?.attributes['said.0']).toBe('it is ****.');
  expect(found[0]?.line).toBe('**** **** ****');
  for (const secret of secrets) expect(JSON.stringify([stored, found])).not.toContain(secret);
});
