/** The answers of hooks that speak the Hook Interchange Format itself. */
import { isFields, text } from '../../lib/read.ts';
import type { Ended, Heard } from '../contract/dialect.ts';
import { answered, decisionOf, fault, heardByCode, json } from './dialect.ts';

export function heardAsFormat(ended: Ended): Heard {
  const byCode = heardByCode(ended);
  if (byCode !== undefined) return byCode.kind === 'denial' ? { ...byCode, reason: ended.stderr.trim() } : byCode;
  if (ended.stdout.trim() === '') return answered({});
  const output = json(ended.stdout);
  if (!isFields(output)) return fault(`its output is no JSON object: ${ended.stdout.trim().slice(0, 200)}`);
  const { decision, updated_input: input } = output;
  if (decision !== undefined && !['allow', 'deny', 'ask'].includes(decision as string))
    return fault(`its decision is unknown: ${JSON.stringify(decision)}`);
  if (input !== undefined && !isFields(input)) return fault('its updated_input is no object');
  return answered({
    decision: decisionOf(decision),
    reason: text(output.reason),
    ...(output.continue === false ? { continue: false } : {}),
    context: text(output.context),
    updated_input: input,
    ...(output.suppress_output === true ? { suppress_output: true } : {}),
    system_message: text(output.system_message),
  });
}
