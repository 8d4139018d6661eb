import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { resolve } from '../src/config/config.ts';
import { costSettings, priceOf, TABLE } from '../src/session/prices.ts';
import { newSession } from '../src/session/session-state.ts';

const manifest = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8')) as {
  devDependencies: { [name: string]: string };
};

const used = { input_tokens: 1_000_000, output_tokens: 0 };
const atMs = Date.parse('2026-11-01T12:00:00Z');

function costWith(settings: object, { model, provider, agent = 'x', isSum = false }: Asked) {
  const text = JSON.stringify({ cost: settings });
  const config = resolve({ global: { file: '/c.json', text }, env: {}, home: '/h', cwd: '/w' });
  expect(config.problems).toEqual([]);
  const pinned = {
    destinations: [],
    resource: {},
    denyAsError: false,
    caller: undefined,
    sampler: config.sampler,
    limits: config.limits,
    cost: costSettings(config),
  };
  const settles = { action: 'hook', turn: 'hook', subagent: 'hook', session: 'hook' } as const;
  const state = newSession({ agent: { id: agent, settles }, session: 's', key: 'k' }, pinned);
  return priceOf(state, { model, provider, used, isSum, atMs });
}

interface Asked {
  model: string | undefined;
  provider?: string | undefined;
  agent?: string;
  isSum?: boolean;
}

describe('prices', () => {
  it('come from the table of the built-in version', () => {
    expect(TABLE).toBe(`genai-prices ${manifest.devDependencies['@pydantic/genai-prices']}`);
    expect(costWith({}, { model: 'claude-opus-4-7', provider: 'anthropic' })).toEqual({ usd: 5, prices: TABLE });
  });

  it.each([
    ['gcp.gemini', 'gemini-2.5-flash'],
    ['gcp.vertex_ai', 'gemini-2.5-pro'],
    ['aws.bedrock', 'anthropic.claude-haiku-4-5-20251001-v1:0'],
    ['azure.ai.openai', 'gpt-5.1'],
    ['mistral_ai', 'mistral-large-latest'],
    ['x_ai', 'grok-4'],
    ['moonshot_ai', 'kimi-k2.5'],
    ['github', 'claude-haiku-4.5'],
    ['deepseek', 'deepseek-chat'],
  ])('are found by the conventions name of the provider: %s', (provider, model) => {
    expect(costWith({}, { model, provider })?.usd).toBeGreaterThan(0);
  });

  it('come from the provider that serves the agent, otherwise from the maker of the model', () => {
    expect(costWith({}, { model: 'opus', agent: 'claude-code' })).toEqual({ prices: TABLE });
    expect(costWith({}, { model: 'gpt-5.1', agent: 'codex' })?.usd).toBe(1.25);
    expect(costWith({}, { model: 'gpt-5.1' })?.usd).toBe(1.25);
  });

  it('are not guessed: without a price there is no amount', () => {
    for (const model of [undefined, '', 'nobody-1', 'constructor', '__proto__'])
      expect(costWith({}, { model, provider: 'openai' })).toEqual({ prices: TABLE });
    expect(costWith({}, { model: 'gpt-5.1', provider: 'my-proxy' })).toEqual({ prices: TABLE });
  });

  it('of the user come first, and the most exact one of them counts', () => {
    const prices = {
      'gpt-*': { input_mtok: 1, output_mtok: 1 },
      'gpt-5*': { input_mtok: 2, output_mtok: 1 },
      'gpt-5.1': { input_mtok: 3, output_mtok: 1 },
      'openai/gpt-5.1': { input_mtok: 4, output_mtok: 1 },
      'in-house/*': { input_mtok: 0, output_mtok: 0 },
    };
    const usd = (provider: string | undefined, model: string) => costWith({ prices }, { provider, model })?.usd;
    expect(usd('openai', 'gpt-5.1')).toBe(4);
    expect(usd('other', 'gpt-5.1')).toBe(3);
    expect(usd('openai', 'gpt-5.2')).toBe(2);
    expect(usd(undefined, 'gpt-4')).toBe(1);
    expect(usd('in-house', 'llama')).toBe(0);
    expect(usd('anthropic', 'claude-opus-4-7')).toBe(5);
    expect(costWith({ prices }, { model: 'gpt-4' })?.prices).toMatch(/^config [0-9a-f]{8}$/);
  });

  it('of another provider apply if a setting names it', () => {
    const prices = { 'my-proxy/*': 'openai' };
    expect(costWith({ prices }, { model: 'gpt-5.1', provider: 'my-proxy' })).toEqual({ usd: 1.25, prices: TABLE });
  });

  it('do not exist if they are turned off', () => {
    expect(costWith({ enabled: false }, { model: 'gpt-5.1' })).toBeUndefined();
  });
});
