/**
 * Compares the results of a run with the truth: the responses of the model server, and the expectations of the
 * scenario.
 */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { AgentRun, Driver, Served, Tokens } from './contract.ts';
import type { Performed } from './perform.ts';
import type { Item } from './receiver.ts';
import { drawTree, kindOf, labelOf, type Span, spansOf } from './tree.ts';

export interface Verdict {
  tree: string;
  /** Each fault is a sentence; an empty list means success. */
  faults: string[];
  /** Milliseconds that each hook added to the agent's time. */
  perHookMs: number | undefined;
}

export function judge(driver: Driver, performed: Performed): Verdict {
  const { scenario, seen, otlp } = performed;
  const spans = spansOf(otlp, 'hooks');
  const faults = [
    ...runFaults(performed),
    ...shapeFaults(spans, scenario.expect.open ?? 0),
    ...timeFaults(spans, driver),
    ...tokenFaults(performed, driver, spans),
    ...callFaults(seen.served, spans, scenario.expect.nested !== undefined),
    ...recordFaults(performed, driver, spans),
    ...accountFaults(performed, driver, spans),
    ...contentFaults(performed),
    ...commandFaults(performed, spans),
    ...(seen.isRepeated
      ? []
      : [
          ...showFaults(performed, spans),
          ...importFaults(performed, driver, spans),
          ...seen.settingsLeft.map(each => `disable did not restore ${each.slice(0, 400)}`),
          ...outputFaults(performed, driver),
        ]),
  ];
  const areBeside = scenario.steps.some(({ beside }) => beside === true);
  const tree = drawTree(spans, seen.served, areBeside);
  const hooks = Number(at(seen.status, 'fragments', 'received') ?? 0);
  const took = (runs: AgentRun[]): number => runs.reduce((sum, { tookMs }) => sum + tookMs, 0);
  const perHookMs =
    hooks === 0 || seen.plainRuns.length === 0 ? undefined : (took(seen.runs) - took(seen.plainRuns)) / hooks;
  return { tree, faults, perHookMs };
}

/** The spans of instrumented commands, which the SDK of OpenTelemetry sent to the receiver, are below spans of ours. */
function commandFaults({ scenario, seen, otlp }: Performed, spans: readonly Span[]): string[] {
  const { parentsOfCommands: expected } = scenario.expect;
  if (expected === undefined) return [];
  const sent = spansOf(otlp, 'commands').sort((a, b) => a.startMs - b.startMs);
  const parents = sent
    .filter(({ parentSpanId }) => parentSpanId)
    .map(({ traceId, parentSpanId, startMs, endMs }) => {
      const parent = spans.find(span => span.traceId === traceId && span.spanId === parentSpanId);
      if (parent === undefined) return `no span (${traceId} ${parentSpanId})`;
      const isWithin = parent.startMs <= startMs && endMs <= parent.endMs;
      return isWithin ? kindOf(parent) : `another ${kindOf(parent)} than the one that ran the command`;
    });
  const roots = sent.length - parents.length;
  const plainRoots = seen.plainRuns.length === 0 ? 0 : expected.length;
  return [
    ...(parents.join() === expected.join()
      ? []
      : [`the spans of commands are below ${parents.join() || 'no span'}, not below ${expected}`]),
    ...(roots === plainRoots ? [] : [`${roots} commands without hooks sent a root, not ${plainRoots}`]),
  ];
}

function runFaults({ folder, scenario, seen }: Performed): string[] {
  const { requests = [] } = scenario.expect;
  const bodies = (JSON.parse(readFileSync(join(folder, 'bodies.json'), 'utf8')) as { body: string }[])
    .map(({ body }) => body)
    .join('\n');
  return [
    ...requests.filter(each => !bodies.includes(each)).map(each => `no request contains ${each} (bodies.json)`),
    ...seen.unknownPaths.filter(path => path.startsWith('error')).map(path => `the model server failed: ${path}`),
    ...seen.runs.flatMap(run => {
      const expected = scenario.steps[run.step]?.exit ?? 0;
      return expected === 'any' || String(run.exit) === String(expected)
        ? []
        : [`step ${run.step + 1} ended with ${run.exit}, not ${expected}: ${`${run.stdout}${run.stderr}`.slice(-600)}`];
    }),
  ];
}

function shapeFaults(spans: readonly Span[], open: number): string[] {
  const faults: string[] = [];
  const byId = new Map(spans.map(span => [`${span.traceId}/${span.spanId}`, span]));
  if (byId.size !== spans.length) faults.push(`${spans.length - byId.size} span ids came twice`);
  const roots = spans.filter(({ parentSpanId }) => !parentSpanId);
  const traces = new Set(spans.map(({ traceId }) => traceId));
  if (spans.length === 0) faults.push('no span came');
  if (roots.length !== traces.size - open)
    faults.push(`${traces.size} traces have ${roots.length} roots, ${open} open`);
  const rooted = new Set(roots.map(({ traceId }) => traceId));
  for (const span of spans) {
    const { parentSpanId, traceId } = span;
    if (parentSpanId && rooted.has(traceId) && !byId.has(`${traceId}/${parentSpanId}`)) {
      faults.push(`${nameOf(span)} is an orphan`);
    }
    for (const link of (span.links as { traceId: string; spanId: string }[] | undefined) ?? []) {
      if (!byId.has(`${link.traceId}/${link.spanId}`) && open === 0)
        faults.push(`a link of ${nameOf(span)} leads nowhere`);
    }
  }
  return faults;
}

/** A span for the sum of a session, for agents that state no tokens for single responses. */
const isSum = (span: Span, { sumsOnly }: Driver): boolean =>
  sumsOnly !== undefined &&
  kindOf(span) === 'chat' &&
  span.plain['gen_ai.response.id'] === undefined &&
  span.plain['error.type'] === undefined;

function timeFaults(spans: readonly Span[], driver: Driver): string[] {
  const faults: string[] = [];
  const byId = new Map(spans.map(span => [span.spanId, span]));
  for (const span of spans) {
    const kind = kindOf(span);
    if (span.endMs < span.startMs) faults.push(`${nameOf(span)} ends before it starts`);
    const isRun =
      kind !== 'action' || ['success', 'failure'].includes(String(span.plain['agent_hooks.action.outcome']));
    if (span.endMs === span.startMs && isRun && kind !== 'plan' && !isSum(span, driver))
      faults.push(`${nameOf(span)} has no duration`);
    const parent = span.parentSpanId === undefined ? undefined : byId.get(span.parentSpanId);
    if (parent === undefined) continue;
    if (span.startMs < parent.startMs - 1) {
      faults.push(
        `${nameOf(span)} starts ${round(parent.startMs - span.startMs)} ms before its parent ${nameOf(parent)}`,
      );
    }
    // A background subagent and its parts continue after their call and after their turn.
    const mayOutlive = kind === 'subagent';
    if (span.endMs > parent.endMs + 1 && !mayOutlive) {
      faults.push(`${nameOf(span)} ends ${round(span.endMs - parent.endMs)} ms after its parent ${nameOf(parent)}`);
    }
  }
  return faults;
}

const round = (ms: number): number => Math.round(ms * 10) / 10;

const classes = {
  input: 'gen_ai.usage.input_tokens',
  output: 'gen_ai.usage.output_tokens',
  cacheRead: 'gen_ai.usage.cache_read.input_tokens',
  cacheWrite: 'gen_ai.usage.cache_write.input_tokens',
  reasoning: 'gen_ai.usage.reasoning.output_tokens',
} as const;
type Class = keyof typeof classes;

const counters: Record<Class, string> = {
  input: 'gen_ai.client.inference.usage.input_tokens',
  output: 'gen_ai.client.inference.usage.output_tokens',
  cacheRead: 'gen_ai.client.inference.usage.cache_read.input_tokens',
  cacheWrite: 'gen_ai.client.inference.usage.cache_write.input_tokens',
  reasoning: 'gen_ai.client.inference.usage.reasoning.output_tokens',
};

/**
 * The numbers on spans: the input contains the caches. Only Anthropic's dialect states tokens that are written to a
 * cache.
 */
const wireTokens = (tokens: Tokens, dialect: string): Record<Class, number> => ({
  input: tokens.input + tokens.cacheRead + (dialect === 'anthropic' ? tokens.cacheWrite : 0),
  output: tokens.output,
  cacheRead: tokens.cacheRead,
  cacheWrite: dialect === 'anthropic' ? tokens.cacheWrite : 0,
  reasoning: tokens.reasoning,
});

function tokenFaults({ scenario, seen, otlp }: Performed, driver: Driver, spans: readonly Span[]): string[] {
  const { expect } = scenario;
  const dialect = scenario.dialect ?? driver.dialect;
  const faults: string[] = [];
  const paid = seen.served.filter(
    ({ kind, label }) => (kind === 'response' || kind === 'side') && expect.uncounted?.[label] === undefined,
  );
  const chats = spans.filter(span => kindOf(span) === 'chat' && !isSum(span, driver));
  for (const { label, tokens } of paid) {
    const found = chats.filter(chat => labelOf(chat, seen.served) === label);
    if (expect.withoutSpan?.[label] !== undefined) {
      if (found.length > 0) faults.push(`response ${label} has a span, although the scenario says that it has none`);
      continue;
    }
    if (found.length !== 1) faults.push(`response ${label} has ${found.length} spans`);
    for (const chat of driver.sumsOnly === undefined ? found : []) {
      for (const [name, count] of Object.entries(wireTokens(tokens ?? noTokens, dialect))) {
        const told = chat.plain[classes[name as Class]] ?? 0;
        if (told !== count) faults.push(`response ${label}: ${told} ${name} tokens, not ${count}`);
      }
    }
  }
  for (const chat of chats) {
    if (labelOf(chat, seen.served) === undefined && chat.plain['error.type'] === undefined) {
      faults.push(`${nameOf(chat)} (${chat.plain['gen_ai.response.id']}) is no response of the model server`);
    }
  }
  const total = (name: Class): number =>
    paid.reduce((sum, { tokens }) => sum + wireTokens(tokens ?? noTokens, dialect)[name], 0);
  for (const name of Object.keys(classes) as Class[]) {
    const onRoots = spans
      .filter(({ parentSpanId }) => !parentSpanId)
      .reduce((sum, { plain }) => sum + Number(plain[classes[name]] ?? 0), 0);
    if ((expect.open ?? 0) === 0 && onRoots !== total(name)) {
      faults.push(
        `sessions sum up ${onRoots} ${name} tokens, not ${total(name)}: ${explained(onRoots - total(name), paid, name, dialect)}`,
      );
    }
    const counted = sumOfCounter(otlp, counters[name]);
    if (counted !== total(name)) {
      faults.push(
        `metrics count ${counted} ${name} tokens, not ${total(name)}: ${explained(counted - total(name), paid, name, dialect)}`,
      );
    }
  }
  faults.push(...sumFaults(spans));
  const incomplete = spans.filter(({ plain }) => plain['agent_hooks.usage.complete'] === false);
  if (incomplete.length > 0 && expect.incomplete !== true)
    faults.push(`${incomplete.length} spans say usage.complete=false`);
  return faults;
}

const noTokens: Tokens = { input: 0, cacheRead: 0, cacheWrite: 0, cacheWrite1h: 0, output: 0, reasoning: 0 };

/** The sums of turns and subagents equal the sums of the responses directly below them. */
function sumFaults(spans: readonly Span[]): string[] {
  return spans
    .filter(span => ['turn', 'subagent'].includes(kindOf(span)))
    .flatMap(span => {
      const below = spans.filter(
        chat => kindOf(chat) === 'chat' && chat.traceId === span.traceId && chat.parentSpanId === span.spanId,
      );
      return (Object.keys(classes) as Class[]).flatMap(name => {
        const sum = below.reduce((total, { plain }) => total + Number(plain[classes[name]] ?? 0), 0);
        const told = Number(span.plain[classes[name]] ?? 0);
        return told === sum ? [] : [`${nameOf(span)} sums up ${told} ${name} tokens, its responses have ${sum}`];
      });
    });
}

/** Names the responses that a wrong sum misses or counts twice: their outputs are powers of two. */
function explained(difference: number, paid: readonly Served[], name: Class, dialect: string): string {
  if (name !== 'output') return '';
  const involved = paid.filter(({ tokens }) => {
    const output = wireTokens(tokens ?? noTokens, dialect).output;
    return output > 0 && (Math.abs(difference) & output) === output;
  });
  return `${difference < 0 ? 'missing' : 'too many'} ${involved.map(({ label }) => label).join(', ')}`;
}

/** The newest value of each series. */
function sumOfCounter(otlp: readonly Item[], name: string): number {
  const series = new Map<string, number>();
  for (const item of otlp) {
    if (item.signal !== 'metrics' || item.way !== 'hooks' || item.name !== name) continue;
    for (const point of (at(item, 'sum', 'dataPoints') as Record<string, unknown>[] | undefined) ?? []) {
      const key = JSON.stringify([item.resource, point.attributes]);
      series.set(key, Number(point.asInt ?? point.asDouble ?? 0));
    }
  }
  return [...series.values()].reduce((sum, value) => sum + value, 0);
}

/** Each call of the script is one action. */
function callFaults(served: readonly Served[], spans: readonly Span[], hasNested: boolean): string[] {
  const actions = spans.filter(span => kindOf(span) === 'action');
  const labels = actions.map(action => labelOf(action, served));
  return [
    ...served
      .filter(({ kind }) => kind === 'response')
      .flatMap(({ calls }) => calls)
      .flatMap(({ label, name }) => {
        const count = labels.filter(each => each === label).length;
        return count === 1 ? [] : [`call ${label} (${name}) has ${count} actions`];
      }),
    ...actions.flatMap((action, i) =>
      labels[i] === undefined && !hasNested ? [`${nameOf(action)} was called by no response`] : [],
    ),
  ];
}

function recordFaults({ scenario, otlp }: Performed, driver: Driver, spans: readonly Span[]): string[] {
  const faults: string[] = [];
  const records = otlp.filter(item => item.signal === 'logs' && item.way === 'hooks');
  const ids = new Set(spans.map(span => `${span.traceId}/${span.spanId}`));
  const open = (scenario.expect.open ?? 0) > 0;
  const seenIds = new Set<unknown>();
  const vendor = new Set<string>();
  for (const record of records) {
    const name = `the record ${record.plain['agent_hooks.event.type']} (${record.plain['agent_hooks.event.native'] ?? ''})`;
    if (!open && !ids.has(`${record.traceId}/${record.spanId}`)) faults.push(`${name} names a span that never came`);
    const key = `${record.plain['agent_hooks.event.id']} ${record.plain['event.name']}`;
    if (seenIds.has(key)) faults.push(`${name} came twice`);
    seenIds.add(key);
    const type = String(record.plain['agent_hooks.event.type']);
    if (type.startsWith('vendor.')) vendor.add(type.split('.').slice(2).join('.'));
  }
  const known = [...(driver.vendor ?? []), ...(scenario.expect.vendor ?? [])];
  for (const name of vendor) if (!known.includes(name)) faults.push(`the event ${name} is unknown`);
  for (const name of scenario.expect.vendor ?? []) if (!vendor.has(name)) faults.push(`the event ${name} did not come`);
  return faults;
}

function accountFaults({ scenario, seen, otlp }: Performed, driver: Driver, spans: readonly Span[]): string[] {
  const faults: string[] = [];
  const { status, doctor, late, commands } = seen;
  if (at(status, 'balanced') !== true) faults.push('status does not balance');
  const fragments = at(status, 'fragments') as Record<string, unknown> | undefined;
  // The event of a hook may have been read from the transcript before.
  const dropped = Object.keys(fragments?.dropped ?? {}).filter(reason => reason !== 'duplicate');
  if (fragments?.waiting !== seen.killedHooks || fragments?.quarantined !== 0 || dropped.length > 0) {
    faults.push(`status of fragments: ${JSON.stringify(fragments)}`);
  }
  const records = otlp.filter(item => item.signal === 'logs' && item.way === 'hooks').length;
  for (const destination of (at(status, 'destinations') as Record<string, unknown>[] | undefined) ?? []) {
    for (const [signal, count] of [
      ['spans', spans.length],
      ['logs', records],
    ] as const) {
      const row = destination[signal] as Record<string, unknown>;
      if (row.accepted !== count || row.produced !== count) {
        faults.push(`status of ${signal}: ${JSON.stringify(row)}, but ${count} came`);
      }
    }
  }
  if (late > 0) faults.push(`${late} spans and records came only after \`otel-hooks deliver\``);
  const problems = seen.isRepeated ? [] : (scenario.expect.doctor ?? driver.doctor ?? []);
  if (problems.length === 0 && doctor.exit !== 0) faults.push(`doctor: ${doctor.output}`);
  for (const word of problems) {
    if (!doctor.output.includes(word)) faults.push(`doctor does not say "${word}": ${doctor.output}`);
  }
  for (const { words, exit, stderr } of commands) {
    if (exit !== 0 && words[0] !== 'doctor') faults.push(`otel-hooks ${words.join(' ')} ended with ${exit}: ${stderr}`);
  }
  return faults;
}

/** `show` has the spans of the wire, with the same times and parents. */
function showFaults({ seen }: Performed, spans: readonly Span[]): string[] {
  const line = (kind: string, startMs: number, endMs: number): string => `${kind} ${startMs} to ${endMs}`;
  const shown = seen.shows
    .flatMap(
      ({ tree }) => (JSON.parse(tree) as { finished: { kind: string; startMs: number; endMs: number }[] }).finished,
    )
    .map(({ kind, startMs, endMs }) => line(kind, Math.round(startMs), Math.round(endMs)));
  const wired = spans.map(span => line(kindOf(span), Math.round(span.startMs), Math.round(span.endMs)));
  return differencesOf(shown, wired).map(each => each.replace('<', 'show only:').replace('>', 'wire only:'));
}

function differencesOf(left: readonly string[], right: readonly string[]): string[] {
  const rest = [...right];
  const only = left.filter(each => {
    const i = rest.indexOf(each);
    if (i >= 0) rest.splice(i, 1);
    return i < 0;
  });
  return [...only.map(each => `< ${each}`), ...rest.map(each => `> ${each}`)];
}

/** Attributes that differ by the nature of the sources: a hook arrives, a row has a time. */
const bySource = ['agent_hooks.duration.source', 'agent_hooks.action.wait_ms', 'agent_hooks.turn.wait_ms'];

/** Differences that every agent may have. */
const alwaysAllowed = [
  // An import cannot detect that the session is over; its root is sent when the file was silent for long enough.
  /^session .* is missing$/,
  // The event that closed a turn or a subagent comes from a hook in one run and from a row in the other.
  /^(turn|subagent|session) .*: agent_hooks\.event\.id /,
  // The start hook states its reason, and the repository is read while the session runs.
  /^session .*: (agent_hooks\.(actor\.type|agent\.mode|session\.start_reason)|vcs\.)/,
];

function importFaults({ scenario, seen, otlp }: Performed, driver: Driver, spans: readonly Span[]): string[] {
  const { expect } = scenario;
  if (expect.notImported !== undefined) return [];
  const imported = spansOf(otlp, 'import');
  const faults: string[] = [];
  const added = at(
    seen.commands.find(({ words }) => words[0] === 'import' && !words.includes('--state-dir')),
    'stdout',
  );
  const beside = (JSON.parse(String(added || '{}')) as { sessions?: { events: number }[] }).sessions ?? [];
  const events = beside.reduce((sum, { events }) => sum + events, 0);
  if (events > 0 && (expect.open ?? 0) === 0) faults.push(`an import beside the hooks added ${events} events`);
  const again = otlp.filter(item => item.way === 'again' && item.signal !== 'metrics').length;
  if (again > 0) faults.push(`a second import sent ${again} spans and records`);
  const byId = new Map(imported.map(span => [span.spanId, span]));
  const lines: string[] = [];
  for (const span of spans) {
    const other = byId.get(span.spanId);
    byId.delete(span.spanId);
    const name = `${nameOf(span)}${labelOf(span, seen.served) === undefined ? '' : ` ${labelOf(span, seen.served)}`}`;
    if (other === undefined) {
      lines.push(`${name} is missing`);
      continue;
    }
    if (other.parentSpanId !== span.parentSpanId) lines.push(`${name} has another parent`);
    for (const key of new Set([...Object.keys(span.plain), ...Object.keys(other.plain)])) {
      const [left, right] = [JSON.stringify(span.plain[key]), JSON.stringify(other.plain[key])];
      if (left !== right && !bySource.includes(key)) lines.push(`${name}: ${key} is ${right}, with hooks ${left}`);
    }
  }
  for (const span of byId.values()) lines.push(`${nameOf(span)} is new`);
  const stated = [...Object.keys(driver.importDiffers ?? {}), ...Object.keys(expect.importDiffers ?? {})];
  const allowed = [...alwaysAllowed, ...stated.map(each => new RegExp(each))];
  faults.push(...lines.filter(line => !allowed.some(pattern => pattern.test(line))).map(line => `import: ${line}`));
  return faults;
}

/** The tags of the prompts are canaries: transcripts repeat them in prompts, requests and summaries. */
function contentFaults({ scenario, otlp }: Performed): string[] {
  const sent = JSON.stringify(otlp);
  return Object.keys(scenario.model).flatMap(tag =>
    sent.includes(`[[${tag}]]`) ? [`content left the machine: a prompt with the tag ${tag}`] : [],
  );
}

/** The agent's output and its requests, with hooks and without. */
function outputFaults({ folder, scenario, seen }: Performed, driver: Driver): string[] {
  const { expect } = scenario;
  if (expect.notCompared !== undefined) return [];
  const left = [
    ...(driver.notices ?? []).map(({ line }) => line),
    ...Object.keys(expect.output ?? {}).map(each => new RegExp(each)),
  ];
  const lines = (text: string): string[] =>
    text
      .split('\n')
      .filter(line => !left.some(pattern => pattern.test(line)))
      .map(line => plainOf(driver.plain?.(line) ?? line));
  const faults = seen.runs.flatMap((run, i) => {
    const plainRun = seen.plainRuns[i];
    return (['stdout', 'stderr'] as const).flatMap(stream =>
      differencesOf(lines(plainRun?.[stream] ?? ''), lines(run[stream])).map(
        each => `${stream} of step ${run.step + 1} differs from the run without hooks: ${each.slice(0, 300)}`,
      ),
    );
  });
  const read = (name: string): string[] =>
    (JSON.parse(readFileSync(join(folder, name), 'utf8')) as { label: string; body: string }[])
      .map(({ label, body }) => `${label} ${plainOf(driver.plain?.(body) ?? body)}`)
      .sort();
  const [plainBodies, bodies] = [read('bodies-plain.json'), read('bodies.json')];
  return [
    ...faults,
    ...differencesOf(plainBodies, bodies)
      .slice(0, 2)
      .map(each => `a request differs from the run without hooks: ${each.slice(0, 200)} (bodies.json)`),
  ];
}

/** Ids, times and durations are different in every run. */
function plainOf(line: string): string {
  return (
    line
      .replaceAll(/[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/g, '<id>')
      .replaceAll(/\b[0-9a-f]{16,}\b/g, '<id>')
      // The model server numbers its responses, and those of parallel agents mix in any order.
      .replaceAll(/\b((?:msg|resp|toolu|call|req)_[A-Za-z0-9_]+|(?:chatcmpl|gem)-[A-Za-z0-9_]+)_\d+\b/g, '$1_<n>')
      .replaceAll(/\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z?/g, '<time>')
      .replaceAll(/\b1[78]\d{11}\b/g, '<time>')
      .replaceAll(/\b\d+(\.\d+)? ?(ms|s|seconds)\b/g, '<duration>')
      .replaceAll(
        /("(?:[a-z_]*duration[a-z_]*|[a-z_]*_ms|[a-zA-Z]*Ms|elapsed[a-zA-Z_]*)": ?)\d+(\.\d+)?/gi,
        '$1<duration>',
      )
  );
}

export const nameOf = (span: Span): string => `${kindOf(span)} ${span.name}`;

function at(value: unknown, ...path: string[]): unknown {
  let here = value;
  for (const key of path) here = (here as Record<string, unknown> | undefined)?.[key];
  return here;
}
