/**
 * Content modes, over every text of every event of every agent. The test searches for content in all sent and all
 * journaled data: events, spans and records, as bytes.
 */

import { describe, expect, it } from 'vitest';
import { agents } from '../../src/agents/index.ts';
import type { Keeper } from '../../src/enrich/content.ts';
import { withoutSecretsOf } from '../../src/enrich/secrets.ts';
import { type ContentMode, contentClasses, type Modes } from '../../src/event/content-classes.ts';
import { isFields } from '../../src/lib/read.ts';
import { validateAgentHooks } from '../../src/standards/agent-hooks/agent-hooks-validator.ts';
import { encodeBatches } from '../../src/telemetry/batch.ts';
import { resourceOf } from '../../src/telemetry/resource.ts';
import { closedFieldsOf, isIdPath, samplesOf, withTexts } from '../agents/samples.ts';
import { secretsOf } from '../enrich/secret-samples.ts';
import { readableRecordOf, readableSpanOf } from '../otlp.ts';
import { limits, play, START_MS } from '../play.ts';

const keeperIn = (
  mode: ContentMode,
  clean: Keeper['clean'] = (text, name) => withoutSecretsOf(name, text),
): Keeper => ({
  modes: Object.fromEntries(Object.keys(contentClasses).map(of => [of, mode])) as Modes,
  longest: 20_000,
  clean,
});

/** Fields that are sent by design: closed sets, names of tools, models and agents. */
const names =
  /\.(hook_?event_?name|hookName|agent_action_name|event|type|timestamp|tool_?name|tool|mcp_(tool|server)_name|server_name|(subagent_|from_|to_|requested_)?model|model_?name|model\.slug|agent_?type|agent_?name|agent|subagent_type|provider)$|(tool\w*|mcp_server|\.data)\.name$/i;

const MARK = 'qzkvw';
const secrets = secretsOf(11).filter(({ secret }) => !secret.includes('\n'));

/** A word and a secret behind each text. */
function planted(agent: string): { payload: object; secret: string }[] {
  const closed = closedFieldsOf(agent);
  const isName = (path: string): boolean => names.test(path) || closed.has(path.slice(path.lastIndexOf('.') + 1));
  return samplesOf(agent).map(({ payload }, i) => {
    const secret = secrets[i % secrets.length]?.secret ?? '';
    const text = withTexts(payload, (value, path) =>
      isIdPath(path) || isName(path) ? value : `${value} ${MARK} ${secret} ${MARK}`,
    );
    return { payload: text as object, secret };
  });
}

interface Found {
  words: number;
  secrets: string[];
}

function runWith(agent: string, keep: Keeper | undefined, on: 'both' | 'spans' | 'events' = 'both'): Found {
  let words = 0;
  const found = new Set<string>();
  for (const { payload, secret } of planted(agent)) {
    const { events, spans, records } = play(
      [{ atMs: START_MS, payload, header: { tool: agent, cwd: `/srv/${MARK}` } }],
      false,
      undefined,
      keep,
    );
    const facts = { agent, session: 's', provider: undefined, denyAsError: false, limits };
    const content = keep === undefined ? undefined : { modes: keep.modes, on };
    const batches = encodeBatches([
      {
        ...{ spans, records, resource: {} },
        facts: { ...facts, content },
      },
    ]);
    const bytes = Buffer.concat([Buffer.from(JSON.stringify(events)), ...batches.map(batch => batch.bytes)]).toString();
    words += bytes.split(MARK).length - 1;
    if (bytes.includes(secret)) found.add(secret);
  }
  return { words, secrets: [...found] };
}

describe.each(agents.map(({ id }) => id))('content of %s', id => {
  it('is absent by default, and in the modes off and hash', () => {
    for (const keep of [undefined, keeperIn('off'), keeperIn('hash')])
      expect(runWith(id, keep), keep?.modes.prompt).toEqual({ words: 0, secrets: [] });
  });

  it('has no secrets in the mode redacted, and is complete in the mode full', () => {
    const redacted = runWith(id, keeperIn('redacted'));
    expect(redacted.words).toBeGreaterThan(0);
    expect(redacted.secrets).toEqual([]);
    const full = runWith(id, keeperIn('full'));
    expect(full.words).toBeGreaterThan(0);
    expect(full.secrets.length).toBeGreaterThan(0);
  });

  it('contains secrets if no redaction removes them', () => {
    expect(
      runWith(
        id,
        keeperIn('redacted', text => text),
      ).secrets.length,
    ).toBeGreaterThan(0);
  });
});

const PROMPT = 'Fix the cart. The key is in /home/ada/.env';
const session = [
  { hook_event_name: 'UserPromptSubmit', prompt_id: 'p1', prompt: PROMPT },
  {
    hook_event_name: 'PreToolUse',
    prompt_id: 'p1',
    tool_name: 'Bash',
    tool_use_id: 'toolu_1',
    tool_input: { command: 'curl -u ada:hunter22 https://shop.example', password: 'hunter22', depth: Number.MAX_VALUE },
  },
  { hook_event_name: 'Stop', prompt_id: 'p1', last_assistant_message: 'Done.' },
].map((fields, i) => ({
  atMs: START_MS + i * 1_000,
  payload: { session_id: 's', transcript_path: '/t.jsonl', cwd: '/home/ada/shop', ...fields },
  header: { tool: 'claude-code' },
}));
const modesWith = (modes: Partial<Modes>): Keeper => ({
  ...keeperIn('off'),
  modes: { ...keeperIn('off').modes, ...modes },
});

it('the output of actions is read for every agent that reports it', () => {
  const silent = agents.filter(({ id }) =>
    samplesOf(id).every(({ payload }) =>
      play([{ atMs: START_MS, payload, header: { tool: id } }], false, undefined, keeperIn('full')).events.every(
        event =>
          !(
            'action' in event.data &&
            isFields(event.data.action) &&
            isFields(event.data.action.result) &&
            'output' in event.data.action.result &&
            event.data.action.result.output !== undefined
          ),
      ),
    ),
  );
  // Its hooks report only that a step is over, and how it failed.
  expect(silent.map(({ id }) => id)).toEqual(['antigravity']);
});

describe('content that was requested', () => {
  const journaled = (keep: Keeper | undefined) => play(session, false, undefined, keep).events;

  it('gives no event another id, time or place', () => {
    const frame = (keep: Keeper | undefined) =>
      journaled(keep).map(({ event_id, timestamp, event_type }) => [event_id, timestamp, event_type]);
    for (const mode of ['hash', 'redacted', 'full'] as const) expect(frame(keeperIn(mode))).toEqual(frame(undefined));
  });

  it('is in the journal at the place of Agent Hooks, by its own class only', () => {
    const data = (modes: Partial<Modes>) => journaled(modesWith(modes)).map(event => event.data);
    expect(data({ prompt: 'redacted' })[0]).toMatchObject({ prompt: 'Fix the cart. The key is in ~/.env' });
    expect(data({ prompt: 'full' })[0]).toMatchObject({ prompt: PROMPT });
    expect(JSON.stringify(data({ prompt: 'full' }).slice(1))).not.toMatch(/hunter22|Done/);
    expect(data({ response: 'redacted' })[2]).toMatchObject({ response: 'Done.' });
    expect(data({ arguments: 'redacted' })[1]).toMatchObject({
      action: {
        input: {
          command: 'curl -u ada:[redacted:password] https://shop.example',
          password: '[redacted:secret]',
        },
      },
    });
    const facts = journaled(modesWith({ commands: 'redacted' })).map(event => event.metadata?.['dev.otel-hooks']);
    expect(facts[1]).toMatchObject({ command: 'curl -u ada:[redacted:password] https://shop.example' });
  });

  it('is valid Agent Hooks for any value', () => {
    const lines = journaled(keeperIn('full')).map(event => JSON.stringify(event));
    expect(validateAgentHooks(lines.join('\n'), 'journal').findings.filter(each => each.level === 'error')).toEqual([]);
  });

  it('is sent as structured values on records and as JSON text on spans', () => {
    const keep = keeperIn('redacted');
    const { spans, records } = play(session, false, undefined, keep);
    const facts = { agent: 'claude-code', session: 's', provider: undefined, denyAsError: false, limits };
    const attributes = (on: 'both' | 'spans' | 'events') => {
      const content = { modes: keep.modes, on };
      return {
        records: records.map(each => readableRecordOf(each, { ...facts, content }, resourceOf({})).attributes),
        spans: spans.map(each => readableSpanOf(each, { ...facts, content }, resourceOf({})).attributes),
      };
    };
    const text = 'Fix the cart. The key is in ~/.env';
    const prompt = [{ role: 'user', parts: [{ type: 'text', content: text }] }];
    const answer = [{ role: 'assistant', parts: [{ type: 'text', content: 'Done.' }], finish_reason: 'stop' }];
    const both = attributes('both');
    expect(both.records[0]?.['gen_ai.input.messages']).toEqual(prompt);
    expect(both.records[1]?.['gen_ai.tool.call.arguments']).toMatchObject({ password: '[redacted:secret]' });
    expect(both.records[2]?.['gen_ai.output.messages']).toEqual(answer);
    const turn = both.spans.find(each => each['gen_ai.operation.name'] === 'invoke_agent');
    expect(JSON.parse(String(turn?.['gen_ai.input.messages']))).toEqual(prompt);
    expect(JSON.parse(String(turn?.['gen_ai.output.messages']))).toEqual(answer);
    expect(JSON.stringify(attributes('spans').records)).not.toContain(text);
    expect(JSON.stringify(attributes('events').spans)).not.toContain(text);
  });

  it('is the same on spans for every division into rounds', () => {
    const call = { tool_name: 'Bash', tool_use_id: 'a', tool_input: { command: 'ls' }, prompt_id: 'p1' };
    const hooks = [
      { hook_event_name: 'UserPromptSubmit', prompt_id: 'p1', prompt: 'look' },
      { hook_event_name: 'PreToolUse', ...call },
      { hook_event_name: 'PostToolUse', ...call, tool_response: { stdout: 'cart.ts' } },
      { hook_event_name: 'PreToolUse', ...call, tool_use_id: 'b' },
      { hook_event_name: 'PermissionDenied', ...call, tool_use_id: 'b', reason: 'not now' },
      { hook_event_name: 'Stop', prompt_id: 'p1', last_assistant_message: 'Done.' },
    ].map((fields, i) => ({
      atMs: START_MS + i * 1_000,
      payload: { session_id: 's', transcript_path: '/t.jsonl', cwd: '/', ...fields },
      header: { tool: 'claude-code' },
    }));
    const keep = keeperIn('full');
    const content = { modes: keep.modes, on: 'both' as const };
    const facts = { agent: 'claude-code', session: 's', provider: undefined, denyAsError: false, limits, content };
    const left = (stored: boolean) =>
      play(hooks, stored, undefined, keep).spans.map(each => readableSpanOf(each, facts, resourceOf({})).attributes);
    expect(left(true)).toEqual(left(false));
    const [listed, refused] = left(false).filter(each => each['gen_ai.operation.name'] === 'execute_tool');
    expect(listed?.['gen_ai.tool.call.result']).toBe('{"stdout":"cart.ts"}');
    expect(refused?.['agent_hooks.decision.reason']).toBe('not now');
  });

  it('includes the name of a skill, a file of OpenHook and an address only if its class is requested', () => {
    const hook = { session_id: 's', transcript_path: '/t.jsonl', cwd: '/', hook_event_name: 'PreToolUse' };
    const openHook = { openhook: '0.1', source: 'goose', session_id: 's', context: 'https://docs.example/page/7' };
    const hooks = [
      { ...hook, tool_name: 'Skill', tool_use_id: 'a', tool_input: { skill: 'acme-tax' } },
      { ...openHook, type: 'session.start', data: {} },
      { ...openHook, type: 'file.write', data: { path: 'src/cart.ts', operation: 'update', start_line: 3 } },
    ].map((payload, i) => ({ atMs: START_MS + i, payload }));
    const value = (keep: Keeper | undefined) => {
      const facts = { agent: 'x', session: 's', provider: undefined, denyAsError: false, limits };
      const content = keep && { modes: keep.modes, on: 'both' as const };
      return play(hooks, false, undefined, keep).records.map(each => {
        const { attributes } = readableRecordOf(each, { ...facts, content }, resourceOf({}));
        return [attributes['gen_ai.skill.name'], attributes['agent_hooks.context_uri'], attributes['file.path']];
      });
    };
    const none = [undefined, undefined, undefined];
    expect(value(undefined)).toEqual([['custom', undefined, undefined], none, none]);
    expect(value(keeperIn('full'))).toEqual([
      ['acme-tax', undefined, undefined],
      [undefined, 'https://docs.example/page/7', undefined],
      [undefined, undefined, 'src/cart.ts'],
    ]);
    expect(JSON.stringify(play(hooks).events)).not.toMatch(/acme|docs\.example|cart/);
    const [, , written] = play(hooks, false, undefined, modesWith({ paths: 'hash' })).events;
    expect(written?.metadata?.['dev.otel-hooks']?.content?.path?.hash).toMatch(/^hmac-sha256:/);
  });

  it('is within the limits of Loki and Tempo for any value', () => {
    const input = Object.fromEntries(
      Array.from({ length: 400 }, (_, i) => [
        `field ${i} ${'n'.repeat(300)}`,
        '\uD800漢"\n'.repeat(i % 50 === 0 ? 20_000 : 3),
      ]),
    );
    const deep = Array.from({ length: 3_000 }).reduce<object>(inner => ({ inner }), {});
    const long = '漢字"\u0000'.repeat(20_000);
    const events = [
      { hook_event_name: 'UserPromptSubmit', prompt_id: 'p1', prompt: long },
      { hook_event_name: 'PreToolUse', prompt_id: 'p1', tool_name: 'Bash', tool_use_id: 'a', tool_input: input },
      { hook_event_name: 'PreToolUse', prompt_id: 'p1', tool_name: 'Bash', tool_use_id: 'b', tool_input: { deep } },
      { hook_event_name: 'Stop', prompt_id: 'p1', last_assistant_message: long },
    ].map((fields, i) => ({
      atMs: START_MS + i,
      payload: { session_id: 's', transcript_path: '/t.jsonl', cwd: '/', ...fields },
      header: { tool: 'claude-code' },
    }));
    const { spans, records } = play(events, false, undefined, keeperIn('full'));
    const content = { modes: keeperIn('full').modes, on: 'both' as const };
    const facts = { agent: 'claude-code', session: 's', provider: undefined, denyAsError: false, limits, content };
    expect(records.length).toBeGreaterThanOrEqual(4);
    for (const each of records) {
      const { attributes, body } = readableRecordOf(each, facts, resourceOf({}));
      expect(Buffer.byteLength(JSON.stringify(attributes))).toBeLessThan(64 * 1024);
      expect(leavesOf(attributes)).toBeLessThan(128);
      expect(Buffer.byteLength(String(body))).toBeLessThanOrEqual(1_024);
    }
    for (const each of spans)
      for (const value of Object.values(readableSpanOf(each, facts, resourceOf({})).attributes))
        expect(Buffer.byteLength(String(value))).toBeLessThanOrEqual(2_048);
    for (const event of play(events, false, undefined, keeperIn('full')).events)
      expect(JSON.stringify(event).length).toBeLessThan(200_000);
  });
});

/** The limits of Loki: each field of an object counts separately, a list counts as one. */
const leavesOf = (value: unknown): number =>
  typeof value === 'object' && value !== null && !Array.isArray(value)
    ? Object.values(value).reduce<number>((sum, each) => sum + leavesOf(each), 0)
    : 1;
