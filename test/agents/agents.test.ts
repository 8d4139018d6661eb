/**
 * One suite for every agent of the registry. A sample is a native payload (JSON, on one line or several) and, below
 * `---- events`, the expected events, one per line. `UPDATE=1 npx vitest run test/agents` rewrites that part.
 */
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { type Agent, isAbsent } from '../../src/agents/contract/contract.ts';
import { agentNamed, agents } from '../../src/agents/index.ts';
import { type Event, FACTS, factsOf } from '../../src/event/event.ts';
import { validateAgentHooks } from '../../src/standards/agent-hooks/agent-hooks-validator.ts';
import { play, START_MS } from '../play.ts';
import { closedFieldsOf, isIdPath, samplesOf, withTexts } from './samples.ts';

function lineOf(event: Event): string {
  const { v: _v, seq: _seq, time, native: _native, ...facts } = factsOf(event) ?? { v: 1, seq: 0, time: 'arrival' };
  const who = [event.actor?.type, event.agent_mode, event.parent_session_id && `subagent ${event.session_id}`];
  return `${event.event_type} [${who.filter(Boolean).join(', ')}; ${time}] ${JSON.stringify(event.data)} ${JSON.stringify(facts)}\n`;
}

test('ids are folder names, and no two agents share a name', () => {
  const names = agents.flatMap(agent => [agent.id, ...(agent.aliases ?? [])]);
  expect(new Set(names).size).toBe(names.length);
  for (const agent of agents) {
    expect(existsSync(join(import.meta.dirname, '../../src/agents', agent.id)), `src/agents/${agent.id}`).toBe(true);
    expect(agentNamed(agent.id)).toBe(agent);
  }
});

for (const agent of agents) {
  describe(agent.id, () => {
    const samples = samplesOf(agent.id);
    const closedFields = closedFieldsOf(agent.id);

    test('every known event has a sample', () => {
      const sampled = new Set(samples.map(({ payload }) => nameOf(agent, payload)));
      expect(Object.keys(agent.events).filter(name => !sampled.has(name))).toEqual([]);
    });

    test.each(samples.map(sample => [sample.file, sample] as const))('%s', (_, sample) => {
      const { events, fates } = play([{ atMs: START_MS, payload: sample.payload, header: { tool: agent.id } }]);
      expect(fates).toEqual(['journaled']);
      const actual = events
        .filter(event => !event.event_type.startsWith('vendor.otel-hooks.'))
        .map(lineOf)
        .join('');
      if (process.env.UPDATE) writeFileSync(sample.path, `${sample.head}---- events\n${actual}`);
      else expect(actual).toBe(sample.expected);
    });

    test.each(samples.map(sample => [sample.file, sample] as const))(
      'recognizes %s with the highest certainty of all agents',
      (_, { payload }) => {
        const mine = agent.signs(payload);
        expect(mine).toBeGreaterThanOrEqual(0.4);
        for (const other of agents) if (other !== agent) expect(other.signs(payload)).toBeLessThan(mine);
      },
    );

    test.each(samples.map(sample => [sample.file, sample] as const))(
      '%s becomes valid Agent Hooks events',
      (_, { payload }) => {
        const { events } = play([{ atMs: START_MS, payload, header: { tool: agent.id } }]);
        const lines = events.map(event => JSON.stringify(event));
        const report = validateAgentHooks(lines.length === 0 ? '[]' : lines.join('\n'), 'journal');
        expect(report.findings.filter(finding => finding.level === 'error')).toEqual([]);
      },
    );

    test('no content of a payload reaches an event', () => {
      for (const { payload, file } of samples) {
        const planted = plant(payload, file, closedFields);
        const { events } = play([{ atMs: START_MS, payload: planted.payload, header: { tool: agent.id } }]);
        const json = JSON.stringify(events);
        for (const canary of planted.canaries) expect(json, `${file}: ${canary}`).not.toContain(canary);
      }
    });

    test('only ids and names of the result of a call reach an event, in fields of any name', () => {
      for (const { payload, file } of samples) {
        const canaries = new Map<string, string>();
        const planted = withTexts(payload, (text, path) => {
          if (!/response|result|output/i.test(path) || isIdPath(path) || /\.(name|finishReason)$/.test(path))
            return text;
          // The canary is one word, so that no text is dropped because it is a sentence.
          const canary = `canary-${canaries.size}-sk9xQ`;
          canaries.set(canary, path);
          return canary;
        });
        const { events } = play([{ atMs: START_MS, payload: planted as object, header: { tool: agent.id } }]);
        const json = JSON.stringify(events);
        expect([...canaries].filter(([canary]) => json.includes(canary)).map(([, path]) => `${file}: ${path}`)).toEqual(
          [],
        );
      }
    });

    test('the canaries appear without redaction', () => {
      const seen = samples.some(({ payload, file }) => {
        const planted = plant(payload, file, closedFields);
        const name = nameOf(agent, payload) ?? '';
        const readings =
          agent.events[name]?.read(planted.payload, {
            likeness: () => '',
            recall: () => undefined,
            remember() {},
            forget() {},
            list: () => [],
          }) ?? [];
        return planted.canaries.some(canary => JSON.stringify(readings).includes(canary));
      });
      expect(seen).toBe(true);
    });

    test('an unknown event is kept under its own name', () => {
      const [sample] = samples;
      const name = agent.eventName(sample?.payload ?? {});
      const json = JSON.stringify(sample?.payload);
      const text = name === undefined ? json : json.replaceAll(`"${name}"`, '"NobodyKnowsThis"');
      // If the payload does not name its event, the command names it.
      const named: Record<string, string> = name === undefined ? { event: 'NobodyKnowsThis' } : {};
      const { events } = play([{ atMs: START_MS, payload: text, header: { tool: agent.id, ...named } }]);
      expect(events.map(event => event.event_type)).toContain(`vendor.${agent.id}.NobodyKnowsThis`);
      expect(events[0]?.metadata?.[FACTS]?.native).toBe('NobodyKnowsThis');
    });

    test('the neutral answer contains no decision', () => {
      expect(agent.reply.stdout).not.toMatch(/allow|deny|block|approve|decision|continue/i);
    });

    test('its page states the verified versions, the set-up and the known facts', () => {
      const page = readFileSync(join(import.meta.dirname, `../../docs/agents/${agent.id}.md`), 'utf8');
      expect(page).toContain(`# ${agent.title}\n\nVerified against `);
      expect(page).toContain(`otel-hooks enable --tool ${agent.id}\n`);
      expect(page).toMatch(/^## What is known\n\n\* /m);
    });

    test('a missing part states its reason', () => {
      for (const part of [agent.transcript, agent.settings])
        if (isAbsent(part)) expect(part.absent.length).toBeGreaterThan(10);
    });
  });
}

const nameOf = (agent: Agent, payload: Record<string, unknown>): string | undefined =>
  agent.eventName(payload) ?? agent.eventByShape?.(payload);

/** Fields that agents fill with closed sets, ids and names: everything else is content and gets a canary. */
const closed =
  /^(session_id|turn_id|thread-id|turn-id|server_name|agent_name|finishReason|hook_event_name|tool_name|tool_use_id|prompt_id|agent_id|agent_type|permission_mode|source|reason|trigger|notification_type|error|level|model|status|agentId|subagent_type|type|mode|action|expansion_type|command_source|memory_type|load_reason|event|from_model|to_model|requested_model|task_id|name)$/;

function plant(
  payload: Record<string, unknown>,
  seed: string,
  closedHere: ReadonlySet<string>,
): { payload: Record<string, unknown>; canaries: string[] } {
  const canaries: string[] = [];
  const visit = (value: unknown, key: string): unknown => {
    if (Array.isArray(value)) return value.map(item => visit(item, key));
    if (typeof value === 'object' && value !== null) {
      return Object.fromEntries(Object.entries(value).map(([name, item]) => [name, visit(item, name)]));
    }
    if (typeof value !== 'string' || closed.test(key) || closedHere.has(key) || key === 'transcript_path') return value;
    const canary = `canary-${seed.length}-${canaries.length}-sk9xQ`;
    canaries.push(canary);
    return `${value} ${canary}`;
  };
  return { payload: visit(payload, '') as Record<string, unknown>, canaries };
}
