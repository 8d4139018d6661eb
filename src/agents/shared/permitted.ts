/**
 * Who let a call run that ran, where the agent tells of its questions and not of this. docs/who-decided.md has the rules: a person
 * was asked, so it was the person; the agent was in a mode that does not ask, so it was the mode; else what is configured let
 * it pass: a rule, a hook, the agent's own list.
 */
import type { Facts } from '../../event/event.ts';

export const permitted = (wasAsked: boolean, isByMode: boolean): NonNullable<Facts['decision']> => ({
  source: wasAsked ? 'user' : isByMode ? 'mode' : 'config',
  basis: 'inferred',
});
