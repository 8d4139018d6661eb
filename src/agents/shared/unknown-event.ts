/**
 * The counter of hooks with a name that the agent's table does not have: this prefix, the agent and the name. They are
 * recorded as vendor events.
 */
export const UNKNOWN_EVENT = 'unknown_event.';
