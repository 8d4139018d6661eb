import { standardActions } from '../event/action-names.ts';
import type { DecisionFacts, RiskLevel } from '../event/event.ts';
import { type Increment, type Known, one } from './increments.ts';
import { development, ours } from './names.ts';
import type { Plain } from './resource.ts';

/** Our own name beside those of the standard: a loop of compactions. */
const COMPACTION = 'compaction';

/** A name of the standard or of an agent. Any other name becomes `custom`. */
export function actionOnMetrics(name: string | undefined, known: Known): string | undefined {
  if (name === undefined) return undefined;
  if (name.startsWith('mcp:')) return 'mcp';
  return name === COMPACTION || standardActions.has(name) || known(name) ? name : 'custom';
}

/** The tool of an MCP server can have any name, so it is `mcp`. */
export const toolOnMetrics = (tool: string, mcp: boolean, known: Known): string =>
  mcp ? 'mcp' : standardActions.has(tool) || known(tool) ? tool : 'custom';

export interface Acted {
  name: string | undefined;
  tool: string | undefined;
  isMcp: boolean;
}

/** The standard's name and the agent's name of an action. */
export const acted = ({ name, tool, isMcp }: Acted, known: Known): Plain => ({
  [ours.actionName]: isMcp ? 'mcp' : (actionOnMetrics(name, known) ?? 'custom'),
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
