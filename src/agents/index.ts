/** The registry: one line for each agent. */
import { antigravity } from './antigravity/antigravity.ts';
import { claudeCode } from './claude-code/claude-code.ts';
import { cline } from './cline/cline.ts';
import { codex } from './codex/codex.ts';
import type { Agent } from './contract/contract.ts';
import { copilot } from './copilot/copilot.ts';
import { cursor } from './cursor/cursor.ts';
import { droid } from './droid/droid.ts';
import { geminiCli } from './gemini-cli/gemini-cli.ts';
import { kiro } from './kiro/kiro.ts';
import { openCode } from './opencode/opencode.ts';
import { windsurf } from './windsurf/windsurf.ts';

export const agents: readonly Agent[] = [
  claudeCode,
  codex,
  geminiCli,
  cursor,
  copilot,
  windsurf,
  kiro,
  openCode,
  cline,
  antigravity,
  droid,
];

/** The agent that help texts and the demonstration use as the example. */
export const exampleAgent: Agent = claudeCode;

/** Returns the name of an agent in the Python package `otel-hooks`. */
export const formerNameOf = (id: string): string => agentNamed(id)?.aliases?.[0] ?? id;

/** The agent of an id or an alias, as `--tool` names it. */
export function agentNamed(name: string): Agent | undefined {
  return agents.find(agent => agent.id === name || agent.aliases?.includes(name));
}
