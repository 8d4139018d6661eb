import type { Facts, Fields } from '../../event/event.ts';
import type { Reading } from '../contract/contract.ts';

/** The readings of a hook that an agent calls when it asks the user about a call: the dialog, and the open decision. */
export function permissionQuestion(
  reading: (fields: Fields, reading: Reading) => Reading,
  fields: Fields,
  action: string | undefined,
  toolFacts: Partial<Facts>,
): Reading[] {
  const facts = { ...toolFacts, decision: { source: 'unknown', basis: 'observed' } as const };
  return [
    reading(fields, { event_type: 'Agent.Notification', data: { type: 'ToolPermission' }, facts }),
    reading(fields, {
      event_type: 'Agent.Decision',
      data: { decision: { outcome: 'ask' }, action_name: action },
      facts,
    }),
  ];
}
