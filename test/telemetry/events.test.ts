/**
 * Each type of event, alone in a small session: the input, and the data that is sent. `UPDATE=1 npx vitest run
 * test/telemetry/events.test.ts` rewrites the lower part.
 */

import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { type Event, eventTypes } from '../../src/event/event.ts';
import { incrementsOf } from '../../src/telemetry/increments.ts';
import { metrics } from '../../src/telemetry/names.ts';
import { resourceOf } from '../../src/telemetry/resource.ts';
import { readableRecordOf } from '../otlp.ts';
import { limits, mapped, type Played, type PlayedHook, play, START_MS } from '../play.ts';

const folder = join(import.meta.dirname, 'events');
const AGENT = 'goose';
const SESSION = 'session-1';
/** Attributes that are the same on every span and record; docs/telemetry.md lists them. */
const everywhere =
  /^(?:session\.id|gen_ai\.conversation\.id|event\.name|agent_hooks\.(?:event\.(?:id|type|native)|spec\.version|actor\.type|agent\.mode|turn\.id|duration\.source))$/;

const files = readdirSync(folder).sort();

test('each type of Agent Hooks and OpenHook, a vendor event and an unknown event have a case', () => {
  const openHook = ['session.start', 'session.end', 'prompt.submit', 'tool.start', 'tool.end', 'file.write'];
  const expected = [...eventTypes, ...openHook.map(type => `openhook.${type}`), 'vendor', 'unknown'];
  expect(files).toEqual(expected.map(type => `${type}.golden`).sort());
});

for (const file of files) {
  test(file, () => {
    const path = join(folder, file);
    const [head = '', expected] = readFileSync(path, 'utf8').split(/^---- leaves\n/m);
    const actual = leaves(head);
    if (process.env.UPDATE) writeFileSync(path, `${head}---- leaves\n${actual}`);
    else expect(actual).toBe(expected);
  });
}

/** Lines of JSON; the line of the event under test begins with `>`. */
function leaves(head: string): string {
  const lines = head.split('\n').filter(line => /^[>{]/.test(line));
  const hooks = lines.map((line, i) => hookOf(line.replace(/^> ?/, ''), i));
  const at = lines.findIndex(line => line.startsWith('>'));
  const before = play(hooks.slice(0, at)).events.length;
  const upTo = play(hooks.slice(0, at + 1)).events.length;
  const played = play(hooks);
  const about = played.events.slice(before, upTo).filter(event => !event.event_type.startsWith('vendor.otel-hooks.'));
  return [spansOf(played), recordsOf(played, about), metricsOf(played, about)].join('');
}

function hookOf(line: string, i: number): PlayedHook {
  const stated = JSON.parse(line) as { [name: string]: unknown };
  const time = new Date(START_MS + i * 1_000).toISOString();
  const id = `${String(i).padStart(8, '0')}-0000-4000-8000-000000000000`;
  const isOpenHook = 'openhook' in stated;
  const payload = isOpenHook
    ? { id, time, session_id: SESSION, ...stated }
    : {
        spec_version: '0.1.0',
        event_id: id,
        timestamp: time,
        source: { tool: AGENT },
        session_id: SESSION,
        actor: { type: 'ai_agent' },
        ...stated,
      };
  return { atMs: START_MS + i * 1_000, payload };
}

function spansOf({ spans }: Played): string {
  const shown = mapped(spans).map(span => {
    const ms = span.duration[0] * 1_000 + span.duration[1] / 1e6;
    return `  ${span.name} ${ms}ms${span.status.code === 2 ? ' ERROR' : ''}\n${attributesIn(span.attributes)}`;
  });
  return `spans\n${shown.join('')}`;
}

function recordsOf({ records }: Played, about: readonly Event[]): string {
  const shown = records
    .filter(({ event }) => about.some(({ event_id }) => event_id === event.event_id))
    .map(record => {
      const { trace } = record;
      const from = { agent: trace.agent, session: trace.session, provider: undefined, denyAsError: false, limits };
      const { severityText, eventName, body, attributes } = readableRecordOf(record, from, resourceOf({}));
      const line = String(body).replace(/ [0-9a-f]{8}$/, '');
      return `  ${severityText} ${eventName} in ${record.span.kind}: ${line}\n${attributesIn(attributes)}`;
    });
  return `records\n${shown.join('')}`;
}

function metricsOf({ spans }: Played, about: readonly Event[]): string {
  const ofSpans = incrementsOf([], spans, 'custom', () => false);
  const shown = [...incrementsOf(about, [], 'custom', () => false), ...ofSpans].map(
    ({ metric, attributes, value }) => `  ${metrics[metric].name} ${JSON.stringify(attributes)} ${value}\n`,
  );
  return `metrics\n${[...new Set(shown)].sort().join('')}`;
}

const attributesIn = (attributes: object): string =>
  Object.entries(attributes)
    .filter(([name]) => !everywhere.test(name))
    .map(([name, value]) => `    ${name} = ${JSON.stringify(value)}\n`)
    .join('');
