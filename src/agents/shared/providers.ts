/**
 * The providers of models. Agents use different names; the semantic conventions (1.45) define the names that back
 * ends and price tables know (`gen_ai.provider.name`). A name without an entry stays as the agent states it, in lower
 * case: the list of the conventions is open.
 */
import { own } from '../../lib/read.ts';

/**
 * By the agents' names in lower case: ids of models.dev (OpenCode), of Cline, of Codex' `model_provider`; 2026-11-18.
 */
const names: Readonly<Record<string, string>> = {
  claude: 'anthropic',
  'claude-code': 'anthropic',
  'anthropic-vertex': 'gcp.vertex_ai',
  'openai-native': 'openai',
  'openai-codex': 'openai',
  'openai-chatgpt': 'openai',
  chatgpt: 'openai',
  gemini: 'gcp.gemini',
  'gemini-cli': 'gcp.gemini',
  // The name does not show which of Google's services it is.
  google: 'gcp.gen_ai',
  vertex: 'gcp.vertex_ai',
  vertexai: 'gcp.vertex_ai',
  vertex_ai: 'gcp.vertex_ai',
  'google-vertex': 'gcp.vertex_ai',
  'google-vertex-anthropic': 'gcp.vertex_ai',
  bedrock: 'aws.bedrock',
  'amazon-bedrock': 'aws.bedrock',
  'aws-bedrock': 'aws.bedrock',
  azure: 'azure.ai.openai',
  'azure-openai': 'azure.ai.openai',
  azure_openai: 'azure.ai.openai',
  'azure-cognitive-services': 'azure.ai.openai',
  'azure-foundry': 'azure.ai.inference',
  xai: 'x_ai',
  grok: 'x_ai',
  mistral: 'mistral_ai',
  moonshot: 'moonshot_ai',
  moonshotai: 'moonshot_ai',
  kimi: 'moonshot_ai',
  'moonshotai-cn': 'moonshot_ai',
  watsonx: 'ibm.watsonx.ai',
  'perplexity-agent': 'perplexity',
  'github-copilot': 'github',
  'github-copilot-enterprise': 'github',
  'github-models': 'github',
  copilot: 'github',
};

export function providerNamed(name: string): string {
  const lower = name.toLowerCase();
  return own(names, lower) ?? lower;
}

/** Prefixes of model names that only one provider uses. */
const families: readonly (readonly [begins: RegExp, provider: string])[] = [
  [/^claude-/, 'anthropic'],
  [/^(gpt|chatgpt|codex)-|^o[134](-|$)/, 'openai'],
  [/^gemini-/, 'gcp.gen_ai'],
  [/^grok-/, 'x_ai'],
  [/^(mistral|ministral|magistral|codestral|devstral|pixtral)-/, 'mistral_ai'],
  [/^deepseek-/, 'deepseek'],
  [/^(kimi|moonshot)-/, 'moonshot_ai'],
  [/^command-/, 'cohere'],
  [/^sonar(-|$)/, 'perplexity'],
];

/**
 * Returns the provider of a model by its name, if neither the event nor the agent states one. The conventions ask for
 * the best knowledge.
 */
export const providerOfModel = (model: string): string | undefined =>
  families.find(([begins]) => begins.test(model))?.[1];

/** Names of the table of prices (genai-prices 0.1.8) where they differ from the names of the conventions. */
const listed: Readonly<Record<string, string>> = {
  'gcp.gemini': 'google',
  'gcp.vertex_ai': 'google',
  'gcp.gen_ai': 'google',
  'aws.bedrock': 'aws',
  'azure.ai.openai': 'azure',
  'azure.ai.inference': 'azure',
  mistral_ai: 'mistral',
  x_ai: 'x-ai',
  moonshot_ai: 'moonshotai',
  github: 'github-copilot',
};

export const listedAs = (provider: string): string => own(listed, provider) ?? provider;
