/**
 * The registry of what agents say in the words of the Hook Interchange Format: one line for each agent. It stands apart from the agents'
 * own registry, because delivery, which starts for every hook, has no use for it.
 */
import type { Provider } from '../interchange/provider.ts';
import { interchange as claudeCode } from './claude-code/interchange.ts';
import { interchange as cline } from './cline/interchange.ts';
import { interchange as codex } from './codex/interchange.ts';
import { type Absent, absent, isAbsent } from './contract/contract.ts';
import { copilotCli, vsCodeCopilot } from './copilot/interchange.ts';
import { interchange as cursor } from './cursor/interchange.ts';
import { interchange as droid } from './droid/interchange.ts';
import { interchange as geminiCli } from './gemini-cli/interchange.ts';
import { interchange as kiro } from './kiro/interchange.ts';
import { interchange as openCode } from './opencode/interchange.ts';
import { interchange as windsurf } from './windsurf/interchange.ts';

/** By agent, the providers that it is there. */
export const interchanges: Readonly<Record<string, readonly Provider[] | Absent>> = {
  'claude-code': [claudeCode],
  codex: [codex],
  'gemini-cli': [geminiCli],
  cursor: [cursor],
  copilot: [copilotCli, vsCodeCopilot],
  windsurf: [windsurf],
  kiro: [kiro],
  opencode: [openCode],
  cline: [cline],
  antigravity: absent('no registry of the format knows it'),
  droid: [droid],
};

export const providers: readonly Provider[] = Object.values(interchanges).flatMap(each =>
  isAbsent(each) ? [] : (each as readonly Provider[]),
);

/** A provider by its name there, or by ours of the agent. */
export function providerNamed(name: string): Provider | undefined {
  const ofAgent = Object.hasOwn(interchanges, name) ? interchanges[name] : undefined;
  const [first] = ofAgent === undefined || isAbsent(ofAgent) ? [] : (ofAgent as readonly Provider[]);
  return providers.find(({ slug }) => slug === name) ?? first;
}
