/** The field in which the Python package names the event (src/python). It is here because it contains an agent's name. */
export const PYTHON_EVENT_FIELD = 'opencode_event_type';
