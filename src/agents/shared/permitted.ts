/**
 * Returns the source that allowed a call which ran, for agents that report questions but not this. The rules are in
 * docs/who-decided.md: if the user was asked, the user; if the agent was in a mode that does not ask, the mode;
 * otherwise the configuration (a rule, a hook, the agent's own list).
 */
import type { Facts } from '../../event/event.ts';

export const permitted = (wasAsked: boolean, isByMode: boolean): NonNullable<Facts['decision']> => ({
  source: wasAsked ? 'user' : isByMode ? 'mode' : 'config',
  basis: 'inferred',
});
