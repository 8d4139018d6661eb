import { expect, it } from 'vitest';
import { providerNamed, providerOfModel } from '../../src/agents/shared/providers.ts';

it.each([
  ['anthropic', 'anthropic'],
  ['Anthropic', 'anthropic'],
  ['amazon-bedrock', 'aws.bedrock'],
  ['google-vertex-anthropic', 'gcp.vertex_ai'],
  ['google', 'gcp.gen_ai'],
  ['gemini', 'gcp.gemini'],
  ['OpenRouter', 'openrouter'],
  ['gcp.gen_ai', 'gcp.gen_ai'],
  ['openai-native', 'openai'],
  ['github-copilot', 'github'],
  ['XAI', 'x_ai'],
])('%s is named %s', (native, name) => {
  expect(providerNamed(native)).toBe(name);
});

it('keeps a name that the conventions do not have', () => {
  expect(['openrouter', 'My-Gateway', 'constructor'].map(providerNamed)).toEqual([
    'openrouter',
    'my-gateway',
    'constructor',
  ]);
});

it.each([
  ['claude-sonnet-4-5', 'anthropic'],
  ['gpt-5.2-codex', 'openai'],
  ['o3', 'openai'],
  ['o4-mini', 'openai'],
  ['gemini-3-pro', 'gcp.gen_ai'],
  ['grok-code-fast-1', 'x_ai'],
  ['devstral-medium', 'mistral_ai'],
  ['kimi-k2', 'moonshot_ai'],
  ['sonar', 'perplexity'],
  ['composer-1', undefined],
  ['o5x', undefined],
  ['llama-4', undefined],
])('%s is made by %s', (model, provider) => {
  expect(providerOfModel(model)).toBe(provider);
});
