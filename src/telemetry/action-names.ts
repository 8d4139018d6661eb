import type { DecisionFacts, RiskLevel } from '../event/event.ts';
import { type Increment, type Known, one } from './increments.ts';
import { development, ours } from './names.ts';
import type { Plain } from './resource.ts';

/** The standard's name of an action. Any other name becomes `custom`. */
export function actionOnMetrics(name: string | undefined): string | undefined {
  if (name === undefined) return undefined;
  return name.startsWith('mcp:') ? 'mcp' : standardActions.has(name) ? name : 'custom';
}

const standardActions = new Set(['shell', 'read_file', 'write_file', 'web_search', 'code_edit', 'compaction']);

export const toolOnMetrics = (tool: string, mcp: boolean, known: Known): string =>
  mcp ? 'mcp' : known(tool) ? tool : 'custom';

export interface Acted {
  name: string | undefined;
  tool: string | undefined;
  isMcp: boolean;
}

/** The standard's name and the agent's name of an action. */
export const acted = ({ name, tool, isMcp }: Acted, known: Known): Plain => ({
  [ours.actionName]: isMcp ? 'mcp' : (actionOnMetrics(name) ?? 'custom'),
  [development.toolName]: tool === undefined ? 'custom' : toolOnMetrics(tool, isMcp, known),
});

export function decided(
  outcome: string,
  origin: DecisionFacts | undefined,
  about: Acted,
  known: Known,
  risk: RiskLevel | undefined,
): Increment {
  return one('decisions', {
    [ours.decisionOutcome]: outcome,
    [ours.decisionSource]: origin?.source ?? 'unknown',
    ...(origin?.reason === undefined ? {} : { [ours.decisionReasonType]: origin.reason }),
    ...(origin?.scope === undefined ? {} : { [ours.decisionScope]: origin.scope }),
    ...(origin?.grant === undefined ? {} : { [ours.decisionGrant]: origin.grant }),
    ...acted(about, known),
    ...(risk === undefined ? {} : { [ours.riskLevel]: risk }),
  });
}
