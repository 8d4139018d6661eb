import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { eventTypes } from '../../src/event/event.ts';
import { validateAgentHooks } from '../../src/standards/agent-hooks/agent-hooks-validator.ts';
import * as schema from '../../src/standards/agent-hooks/schema.ts';
import { overShared, sharedPath } from '../shared.ts';

// The standard's own text is outside of the repository. If it is there, every JSON block of it is checked.
overShared('seeds', 'the text of Agent Hooks 0.1', () => {
  const file = readdirSync(sharedPath('seeds')).find(name => name.startsWith('000')) ?? '';
  const standard = readFileSync(join(sharedPath('seeds'), file), 'utf8');
  const blocks = jsonBlocks(standard);
  const of = (test: (block: Block) => boolean) => blocks.filter(test);
  const full = of(({ value }) => 'spec_version' in value);
  const fragments = of(({ value }) => 'event_type' in value && !('spec_version' in value));
  const metadata = of(({ value }) => Object.keys(value).join() === 'metadata');
  const envelope = full[0]?.value ?? {};

  it('holds one schema, six full events, twelve data examples, one of metadata and one of configuration', () => {
    const rest = blocks.filter(block => ![...full, ...fragments, ...metadata].includes(block));
    expect([full.length, fragments.length, metadata.length]).toEqual([6, 12, 1]);
    expect(rest.map(({ value }) => Object.keys(value)[0])).toEqual(['$schema', 'hooks']);
  });

  it.each(full.map(({ line, text, value }) => [line, value.event_type, text]))(
    'line %i: the full %s is valid',
    (_line, type, text) => {
      const report = validateAgentHooks(String(text), 'example.json');
      expect(report.findings.filter(({ level }) => level === 'error')).toEqual([]);
      // The warnings are about the e-mail addresses that the examples use against clause 9.
      const warned = type === 'Session.Start' ? [] : ['privacy/user'];
      expect(report.findings.map(({ rule }) => rule)).toEqual(warned);
    },
  );

  it.each(fragments.map(({ line, text, value }) => [line, value.event_type, text, value]))(
    'line %i: the data example of %s lacks nothing but the envelope',
    (_line, _type, text) => {
      const report = validateAgentHooks(String(text), 'example.json');
      const missing = report.findings.filter(({ rule }) => rule === 'envelope/required').map(({ field }) => field);
      expect(missing.sort()).toEqual(['/event_id', '/session_id', '/source', '/spec_version', '/timestamp']);
      const others = report.findings.filter(({ rule }) => rule !== 'envelope/required');
      expect(others.every(({ rule }) => rule === 'data/placeholder')).toBe(true);
    },
  );

  it.each(fragments.map(({ line, value }) => [line, value.event_type, value]))(
    'line %i: the data example of %s is valid in an envelope, for each word of its lists',
    (_line, _type, value) => {
      for (const choice of choices(value as Values)) {
        const report = validateAgentHooks(JSON.stringify({ ...envelope, ...choice }), 'example.json');
        expect(report.findings, JSON.stringify(choice)).toEqual([]);
      }
    },
  );

  it('reports a list of alternatives that was copied unchanged', () => {
    const listing = fragments.filter(({ text }) => text.includes(' | '));
    expect(listing.map(({ value }) => value.event_type)).toEqual([
      'Session.Start',
      'Session.End',
      'Agent.Plan.Start',
      'Agent.Notification',
      'Agent.Error',
    ]);
    for (const { value } of listing) {
      const report = validateAgentHooks(JSON.stringify({ ...envelope, ...value }), 'example.json');
      expect(report.findings.map(({ rule }) => rule)).toEqual(['data/placeholder']);
    }
  });

  it('accepts its metadata example and its vendor types', () => {
    const types = [...new Set(standard.match(/^vendor\.\S+$/gm))];
    expect(types).toHaveLength(2);
    for (const event of [...metadata.map(({ value }) => value), ...types.map(type => ({ event_type: type }))]) {
      expect(validateAgentHooks(JSON.stringify({ ...envelope, ...event }), 'example.json').findings).toEqual([]);
    }
  });

  it('has the required fields and word lists that our schema has', () => {
    const root = blocks.find(({ value }) => '$schema' in value)?.value as Values;
    const enums: [string, readonly string[]][] = [
      ['properties.agent_mode', schema.agentModes],
      ['$defs.actor.properties.type', schema.actorTypes],
      ['$defs.risk.properties.level', schema.riskLevels],
      ['$defs.decision.properties.outcome', schema.outcomes],
      ['$defs.context.properties.trigger', schema.triggers],
    ];
    for (const [path, words] of enums) {
      expect((at(root, path) as Values).enum, path).toEqual(words);
    }
    const found = validateAgentHooks('{"source":{}}', 'x.json').findings.map(({ field }) => field.slice(1));
    const wanted = (root.required as string[]).map(field => (field === 'source' ? 'source/tool' : field));
    expect(found.sort()).toEqual(wanted.sort());
  });

  it('has the 23 types that the model has, in its order', () => {
    const appendix = standard.slice(standard.indexOf('A. Complete Event Type Reference'), standard.indexOf('B. Full'));
    const types = appendix.match(/^[A-Z][a-zA-Z]+(\.[A-Z][a-zA-Z]+)+$/gm);
    expect(types).toEqual([...eventTypes]);
  });
});

type Values = { [key: string]: unknown };
interface Block {
  line: number;
  text: string;
  value: Values;
}

/** Blocks from a line `{` to a line `}` that are JSON. */
function jsonBlocks(text: string): Block[] {
  return [...text.matchAll(/^\{\n[\s\S]*?^\}$/gm)].map(match => ({
    line: text.slice(0, match.index).split('\n').length,
    text: match[0],
    value: JSON.parse(match[0]) as Values,
  }));
}

/** Each event that a fragment with `a | b` stands for. */
function choices(value: Values): Values[] {
  const data = value.data as Values;
  const field = Object.keys(data).find(key => String(data[key]).includes(' | '));
  if (field === undefined) return [value];
  return String(data[field])
    .split(' | ')
    .map(word => ({ ...value, data: { ...data, [field]: word } }));
}

function at(value: unknown, path: string): unknown {
  return path.split('.').reduce<unknown>((inner, key) => (inner as Values)[key], value);
}
