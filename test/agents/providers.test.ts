import { expect, it } from 'vitest';
import { providerNamed } from '../../src/agents/providers.ts';

it.each([
  ['anthropic', 'anthropic'],
  ['Anthropic', 'anthropic'],
  ['amazon-bedrock', 'aws.bedrock'],
  ['google-vertex-anthropic', 'gcp.vertex_ai'],
  ['google', 'gcp.gemini'],
  ['gcp.gen_ai', 'gcp.gen_ai'],
  ['openai-native', 'openai'],
  ['github-copilot', 'github'],
  ['XAI', 'x_ai'],
])('%s is named %s', (said, name) => {
  expect(providerNamed(said)).toBe(name);
});

it('leaves what the conventions have no name for', () => {
  expect(['openrouter', 'My-Gateway', 'constructor'].map(providerNamed)).toEqual([
    'openrouter',
    'My-Gateway',
    'constructor',
  ]);
});
