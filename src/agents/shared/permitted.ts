/**
 * Returns the source that allowed a call which ran, for agents that report questions but not the source of a
 * permission. The rules are in docs/who-decided.md. If the user was asked, it is the user. If the agent was in a mode
 * that does not ask, it is the mode. Otherwise it is the configuration (a rule, a hook, the agent's own list).
 */
import type { Facts } from '../../event/event.ts';

export const permitted = (wasAsked: boolean, isByMode: boolean): NonNullable<Facts['decision']> => ({
  source: wasAsked ? 'user' : isByMode ? 'mode' : 'config',
  basis: 'inferred',
});
