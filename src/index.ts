/** The public door: the model of Agent Hooks events, the validator, and the bridge into an application's own SDK. */
export {
  type About,
  type Bridge,
  type BridgeBooks,
  type BridgeLoggerProvider,
  type BridgeMeterProvider,
  type BridgeOptions,
  type BridgeSpan,
  type BridgeSpanExporter,
  type BridgeSpanProcessor,
  createBridge,
  type Handled,
} from './bridge.ts';
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
