/**
 * Every reader of untrusted data gets texts and values that try to break it: hooks and transcripts of each agent,
 * fragments, OTLP answers and bodies, the open standards, manifests and settings files. `npm test` tries a few of each
 * with a new seed in each run; `npm run fuzz` tries many. Each fault that it finds becomes a test of its own beside the
 * other tests of that reader.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type HookCommand, isAbsent, readerFor } from '../../src/agents/contract/contract.ts';
import { agents } from '../../src/agents/index.ts';
import { memoryOver, type Remembered } from '../../src/agents/shared/memory.ts';
import { contentClasses } from '../../src/event/content-classes.ts';
import { decodeFragment, encodeFragment, fragmentName } from '../../src/hook/fragment.ts';
import { judgeManifest } from '../../src/interchange/manifest-validator.ts';
import { isFields } from '../../src/lib/read.ts';
import { itemsIn } from '../../src/receive/items.ts';
import { keeperOf } from '../../src/session/own-content.ts';
import type { ContentSettings } from '../../src/session/session-state.ts';
import { commandFor } from '../../src/setup/commands.ts';
import { standards } from '../../src/standards/standards.ts';
import { decodeRequest } from '../../src/telemetry/otlp-decode.ts';
import { samplesOf } from '../agents/samples.ts';
import { play, START_MS } from '../play.ts';
import { changed, jsonOf, mangled } from './hostile.ts';

const seed = Number(process.env.OTEL_HOOKS_SEED ?? Math.floor(Math.random() * 1_000_000));
const isLong = process.env.OTEL_HOOKS_FUZZ === 'long';
const RUNS = Number(process.env.OTEL_HOOKS_FUZZ_RUNS ?? (isLong ? 2_000 : 20));
const options = { seed, numRuns: RUNS };

/** A reader may refuse any input, but it may not throw, and no object of the program may change. */
function unharmed(read: () => unknown): void {
  const before =
    Object.getOwnPropertyNames(Object.prototype).length + Object.getOwnPropertyNames(Array.prototype).length;
  read();
  const after =
    Object.getOwnPropertyNames(Object.prototype).length + Object.getOwnPropertyNames(Array.prototype).length;
  expect(after).toBe(before);
}

const content: ContentSettings = {
  modes: Object.fromEntries(Object.keys(contentClasses).map(of => [of, 'redacted'])) as ContentSettings['modes'],
  on: 'both',
  longest: 4_096,
  metadata: ['*', 'a', '__proto__', 'constructor'],
  patterns: ['acme-[0-9]+'],
  allow: [],
};
const keeper = keeperOf({ content });

const folderOf = (agent: string): string => join(import.meta.dirname, '../agents', agent);

describe(`readers throw for no input (seed ${seed}; npm run fuzz -- --seed ${seed} repeats it)`, {
  timeout: 3_600_000,
}, () => {
  it.each(agents.filter(agent => samplesOf(agent.id).length > 0).map(agent => [agent.id] as const))(
    'hooks of %s',
    agent => {
      const payload = fc.constantFrom(...samplesOf(agent)).chain(sample => changed(sample.payload));
      fc.assert(
        fc.property(fc.array(payload, { minLength: 1, maxLength: 4 }), payloads => {
          unharmed(() => {
            const hooks = payloads.map((each, i) => ({
              atMs: START_MS + i,
              payload: jsonOf(each),
              header: { tool: agent },
            }));
            // Once with the default settings, once with all content that may be kept.
            const { fates, events } = play(hooks, true);
            expect(play(hooks, true, undefined, keeper).fates).toEqual(fates);
            expect(fates).toHaveLength(payloads.length);
            for (const event of events)
              expect(JSON.parse(JSON.stringify(event))).toMatchObject({ spec_version: '0.1.0' });
          });
        }),
        options,
      );
    },
  );

  const transcripts = agents.flatMap(agent => {
    if (isAbsent(agent.transcript)) return [];
    const { transcript } = agent;
    return readdirSync(folderOf(agent.id))
      .filter(file => file.endsWith('.transcript'))
      .map(file => ({ name: `${agent.id} ${file}`, transcript, path: join(folderOf(agent.id), file) }));
  });

  it.each(transcripts.map(each => [each.name, each] as const))('transcript of %s', (_, { transcript, path }) => {
    const [text = ''] = readFileSync(path, 'utf8').split(/^---- expected\n/m);
    const named = (word: string): string | undefined => new RegExp(`^# ${word}: (.+)$`, 'm').exec(text)?.[1];
    const file = { path: named('path') ?? '', root: named('root') ?? 's-1', companions: [] };
    const reader = readerFor(transcript, file.path);
    const body = text.replace(/^#.*$/gm, '').trim();
    const newMemory = (): ReturnType<typeof memoryOver> => memoryOver({} as Remembered, content => content.slice(0, 8));
    if (reader.format === 'document') {
      const document = fc.oneof(changed(JSON.parse(body)).map(jsonOf), mangled(body));
      fc.assert(
        fc.property(document, json => {
          const bytes = Buffer.from(json);
          const whole = {
            sizeBytes: bytes.length,
            slice: (at: number, length: number) => bytes.subarray(at, at + length),
            json: () => parsed(json),
          };
          unharmed(() => reader.document(whole, file));
        }),
        options,
      );
      return;
    }
    const rows = body
      .split('\n')
      .map(line => JSON.parse(line) as unknown)
      .filter(isFields);
    const row = fc.constantFrom(...rows).chain(each => fc.oneof(fc.constant<unknown>(each), changed(each)));
    fc.assert(
      fc.property(fc.array(row, { minLength: 1, maxLength: 12 }), some => {
        const memory = newMemory();
        unharmed(() => {
          for (const each of some) {
            const fields = parsed(jsonOf(each));
            if (!isFields(fields)) continue;
            reader.at?.(fields);
            reader.origin?.(fields);
            reader.version?.(fields, undefined);
            reader.isBrief?.(fields);
            reader.row(fields, memory, file);
          }
          reader.rest?.(memory, file);
          transcript.sessions(
            { path: file.path },
            { rows: some.map(each => parsed(jsonOf(each))).filter(isFields), document: undefined },
          );
        });
      }),
      options,
    );
  });

  it('fragments', () => {
    const name = fragmentName('abcdef01', '1000.00', 7, 'u1');
    const whole = encodeFragment('u1', { tool: 'x', at: '1', cwd: '/w' }, Buffer.from('{"a":1}')).toString('latin1');
    fc.assert(
      fc.property(
        fc.oneof(mangled(whole), fc.string({ unit: 'binary' })),
        mangled(name),
        fc.boolean(),
        (text, other, isNamed) => {
          unharmed(() => decodeFragment(isNamed ? name : other, Buffer.from(text, 'latin1'), START_MS));
        },
      ),
      { ...options, numRuns: RUNS * 5 },
    );
  });

  it('OTLP bodies', () => {
    const signal = fc.constantFrom('traces', 'metrics', 'logs');
    // Lengths and numbers of fields that are almost valid reach more code than random bytes.
    const field = fc.tuple(
      fc.constantFrom(10, 18, 26, 34, 42, 8, 9, 13, 255),
      fc.nat({ max: 255 }),
      fc.uint8Array({ maxLength: 12 }),
    );
    const body = fc.oneof(
      fc.uint8Array({ maxLength: 300 }),
      fc
        .array(field, { maxLength: 30 })
        .map(fields => Uint8Array.from(fields.flatMap(([tag, length, bytes]) => [tag, length, ...bytes]))),
      fc
        .nat({ max: 3_000 })
        .map(depth => Uint8Array.from(Array.from({ length: depth }, (_, i) => (i % 2 === 0 ? 10 : 127)))),
    );
    fc.assert(
      fc.property(signal, body, (kind, bytes) => unharmed(() => decodeRequest(kind, bytes))),
      { ...options, numRuns: RUNS * 10 },
    );
  });

  const time = '2026-03-02T09:00:00Z';
  const events: readonly object[] = [
    {
      openhook: '0.1',
      id: '1',
      source: 'acme',
      type: 'tool.call',
      time,
      session_id: 's',
      data: { tool: 'x', tool_call_id: 'c' },
    },
    {
      spec_version: '0.1.0',
      event_id: '6f0b7c1e-0000-4000-8000-000000000001',
      event_type: 'Action.Before',
      timestamp: time,
      source: { tool: 'acme' },
      session_id: 's',
      actor: { type: 'ai_agent' },
      data: { action: { name: 'shell', input: { command: 'ls' } } },
    },
    {
      specversion: '1.0',
      id: '1',
      source: '/acme',
      type: 'dev.agenthooks.event',
      time,
      data: {
        spec_version: '0.1.0',
        event_type: 'Session.Start',
        timestamp: time,
        session_id: 's',
        data: { start_reason: 'new' },
      },
    },
    {
      hook: 'BeforeTool',
      event_id: 'e',
      session_id: 's',
      timestamp: time,
      platform: 'acme',
      data: { tool_name: 'x', tool_input: {} },
    },
    {
      spec: 'hooks/0.1',
      hooks: [{ event: 'before_tool_execute', matcher: 'shell', handler: { type: 'command', command: 'x' } }],
    },
  ];

  it('events of standards, as the drain and as their validators read them', () => {
    const event = fc
      .constantFrom(...events)
      .chain(changed)
      .map(jsonOf);
    const text = fc.oneof(
      event,
      fc.array(event, { maxLength: 4 }).map(all => `[${all.join()}]`),
      fc.array(event, { maxLength: 4 }).map(all => all.join('\n')),
      fc.constantFrom(...events).chain(each => mangled(jsonOf(each))),
    );
    fc.assert(
      fc.property(text, word => {
        unharmed(() => {
          itemsIn(Buffer.from(word));
          play([{ atMs: START_MS, payload: word }]);
          const value = parsed(word);
          if (value !== undefined) judgeManifest(value);
          for (const standard of Object.values(standards)) {
            const validation = standard.validation('stdin', {});
            validation.write(word);
            validation.end();
          }
        });
      }),
      { ...options, numRuns: RUNS * 3 },
    );
  });

  const places = { home: '/home/me', project: '/shop', env: {}, platform: 'linux' };
  const settings = agents.flatMap(agent => {
    if (isAbsent(agent.settings)) return [];
    const { scopes, files } = agent.settings;
    const found = scopes.flatMap(scope =>
      files(
        scope,
        places,
        () => undefined,
        () => ['mine.json'],
      ),
    );
    return found.map(file => ({ name: `${agent.id} ${file.path}`, agent, file }));
  });

  it.each(settings.map(each => [each.name, each] as const))('settings of %s', (_, { agent, file }) => {
    const { reply, settings: own } = agent;
    if (isAbsent(own)) throw new Error('it has settings');
    const commandOf = (event: string): HookCommand =>
      commandFor({
        ...{ tool: agent.id, event, edge: false, provider: undefined, reply: reply.stdout, runs: own.runs },
        ...{ platform: 'linux', isShared: false, data: '/home/me/.local/share/otel-hooks' },
        ...{ node: '/usr/bin/node', bin: '/usr/lib/otel-hooks.cjs' },
      });
    const events = Object.entries(agent.events).filter(
      ([, { register }]) => register !== false && register !== 'status-line',
    );
    const commands = new Map(events.slice(0, 3).map(([event]) => [event, commandOf(event)]));
    const made = file.add?.(undefined, commands);
    const base = made?.ok === true && made.text !== undefined ? made.text : '{"hooks":{"Stop":[{"command":"x"}]}}';
    const value = parsed(base);
    const text = fc.oneof(mangled(base), value === undefined ? mangled(base) : changed(value).map(jsonOf));
    fc.assert(
      fc.property(text, before => {
        unharmed(() => {
          file.entries(before);
          file.others?.(before);
          file.remove(before);
          const added = file.add?.(before, commands);
          if (added?.ok !== true || added.text === undefined) return;
          // The added entries are found, and adding them again changes nothing.
          expect(file.add?.(added.text, commands)).toMatchObject({ ok: true, changed: false });
        });
      }),
      options,
    );
  });
});

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
