/**
 * Finds the agent of a payload without a name: over all samples of the project, and over the recorded payloads if they
 * are beside the project.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import type { Agent } from '../../src/agents/contract/contract.ts';
import { agents } from '../../src/agents/index.ts';

import { recognize, SURE } from '../../src/receive/recognize.ts';
import { overShared, sharedPath } from '../shared.ts';
import { samplesOf } from './samples.ts';

type Payload = Record<string, unknown>;

const idOf = (payload: Payload, word = {}): string | undefined => recognize(payload, word, agents)?.agent.id;

describe.each(agents.map(agent => [agent.id, agent] as const))('%s', (id, agent) => {
  const samples = samplesOf(id);

  test('every sample is recognized', () => {
    const wrong = samples.filter(({ payload }) => idOf(payload) !== id);
    expect(wrong.map(({ file, payload }) => `${file} is taken for ${idOf(payload)}`)).toEqual([]);
  });

  test('a payload without half of its fields is recognized, uncertain or unknown, and never assigned to another agent with certainty', () => {
    const wrong = samples.flatMap(({ file, payload }) =>
      cuttings(payload).flatMap(cut => {
        const found = recognize(cut, {}, agents);
        return found === undefined || found.agent === agent || found.certainty < SURE
          ? []
          : [`${file}, cut to ${Object.keys(cut)}: ${found.agent.id}`];
      }),
    );
    expect(wrong).toEqual([]);
  });

  test('the name in the flag or the variable counts', () => {
    for (const { payload } of samples) {
      for (const word of [{ flag: id }, { variable: id }, ...(agent.aliases ?? []).map(flag => ({ flag }))]) {
        expect(recognize(payload, word, agents)).toEqual({ agent, certainty: 1 });
      }
      expect(recognize({ ...payload, source_tool: id }, {}, agents)).toEqual({ agent, certainty: 1 });
    }
  });
});

test('a payload that clearly matches another agent overrides the flag', () => {
  // Two agents read the settings file of a third one, and run the command in it.
  const shared = ['cursor', 'copilot'].flatMap(id =>
    samplesOf(id).filter(({ payload }) => certaintyOf(payload) >= 0.9),
  );
  expect(shared.length).toBeGreaterThan(10);
  for (const { payload, file } of shared) expect(idOf(payload, { flag: 'claude-code' }), file).toBe(idOf(payload));
});

const certaintyOf = (payload: Payload): number => recognize(payload, {}, agents)?.certainty ?? 0;

test('an unknown name in the flag is a mistake, an unknown name in the variable is ignored', () => {
  const payload = samplesOf('claude-code')[0]?.payload ?? {};
  expect(idOf(payload, { flag: 'nobody' })).toBeUndefined();
  expect(idOf(payload, { variable: 'nobody' })).toBe('claude-code');
  expect(idOf({ ...payload, source_tool: 'nobody' })).toBe('claude-code');
});

test.each([
  [
    'codex',
    'a thread without a rollout, in a subagent',
    {
      session_id: '019f0000-aaaa-7000-8000-000000000001',
      transcript_path: null,
      cwd: '/w',
      model: 'gpt-5.5',
      permission_mode: 'default',
      hook_event_name: 'SubagentStop',
      turn_id: 't',
      agent_id: 'a',
      agent_type: 'explorer',
      stop_hook_active: false,
    },
  ],
  [
    'codex',
    'an early payload with little in it',
    { session_id: 's-1', hook_event_name: 'UserPromptSubmit', prompt: 'x', model: 'gpt-5', turn_id: 't' },
  ],
  [
    'claude-code',
    'a configuration folder of another name',
    { session_id: 's-1', transcript_path: '/data/cfg/projects/-w/s-1.jsonl', cwd: '/w', hook_event_name: 'SessionEnd' },
  ],
])('%s, with certainty: %s', (id, _, payload) => {
  expect(recognize(payload, {}, agents)?.agent.id).toBe(id);
  expect(certaintyOf(payload)).toBeGreaterThanOrEqual(SURE);
});

test('a payload that no agent sends is not recognized', () => {
  for (const payload of [{}, { hello: 1 }, { session_id: 's' }, { hook_event_name: 'Stop' }, { type: 'x', id: 'y' }]) {
    expect(idOf(payload)).toBeUndefined();
  }
});

test('files in the form of another agent, in an unknown folder, give no certainty', () => {
  const like = { session_id: 's', transcript_path: '/h/.another/tmp/w/chats/session-1.jsonl', cwd: '/w' };
  for (const name of ['SessionStart', 'PreToolUse', 'BeforeTool']) {
    const payload = { ...like, timestamp: '2026-11-01T10:00:00Z', hook_event_name: name };
    expect(recognize(payload, {}, agents)?.certainty ?? 0, name).toBeLessThan(SURE);
  }
});

test('equal signs of two agents give no certainty', () => {
  const twin = (id: string): Agent => ({ ...(agents[0] as Agent), id, signs: () => 0.9 });
  expect(recognize({}, {}, [twin('a'), twin('b')])?.certainty).toBeLessThan(SURE);
});

// ---------------------------------------------------------------- recorded payloads

overShared('fixtures', 'recorded payloads', () => {
  const recorded = agents.map(agent => [agent.id, payloadsOf(agent.id)] as const);

  test.each(recorded)('every payload of %s is recognized', (id, payloads) => {
    expect(payloads.length, 'payloads that were found').toBeGreaterThan(0);
    const wrong = payloads.filter(({ payload }) => idOf(payload) !== id);
    expect(wrong.map(({ from, payload }) => `${from}: ${idOf(payload)} (${Object.keys(payload)})`)).toEqual([]);
  });
});

/** Files of hooks: one payload, a list of them, or lines; each bare or beside facts about its arrival. */
function payloadsOf(agent: string): { from: string; payload: Payload }[] {
  const folder = join(sharedPath('fixtures'), agent);
  return readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter(name => /(payloads|v2-events)[\\/][^\\/]+\.jsonl?$/.test(name))
    .flatMap(name => {
      const text = readFileSync(join(folder, name), 'utf8');
      const values: unknown[] = name.endsWith('.jsonl')
        ? text
            .split('\n')
            .filter(line => line.trim() !== '')
            .map(line => JSON.parse(line))
        : [JSON.parse(text)].flat();
      return values.map((value, i) => {
        const { payload, stdin } = value as { payload?: Payload; stdin?: Payload };
        return { from: `${name}#${i}`, payload: payload ?? stdin ?? (value as Payload) };
      });
    });
}

/** The payload without each of its fields, with every second one, with the first half. */
function cuttings(payload: Payload): Payload[] {
  const all = Object.entries(payload);
  return [
    ...all.map((_, i) => all.filter((_each, at) => at !== i)),
    all.filter((_, i) => i % 2 === 0),
    all.filter((_, i) => i % 2 === 1),
    all.slice(0, Math.ceil(all.length / 2)),
  ].map(entries => Object.fromEntries(entries));
}
