/** The public door: the model of Agent Hooks events, and the validator. */
export {
  type Body,
  type DataOf,
  type Envelope,
  type Event,
  type EventType,
  eventTypes,
  type Facts,
  factsOf,
  rootSessionOf,
  SPEC_VERSION,
} from './event/event.ts';
export { VERSION } from './lib/version.ts';
export { validateAgentHooks } from './standards/agent-hooks/validate.ts';
export type { Finding, Report } from './standards/report.ts';
