/**
 * The public door: the model of Agent Hooks events, the validator, the bridge into an application's own SDK, Base
 * Coat's hooks, and what comes of a hook that has run.
 */

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
export {
  type HookResult,
  outcomeOf as hookInterchangeOutcome,
  type Run as HookRun,
} from './interchange/outcome.ts';
export { VERSION } from './lib/version.ts';
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
} from './library/bridge.ts';
export {
  createHookRunner,
  type HookContext,
  type HookEvent,
  type HookFailure,
  type HookHandler,
  type HookObserver,
  type HookOptions,
  type HookOutcome,
  type HookRunner,
  type HookRunnerOptions,
  type ObservedEvent,
} from './library/hook-runner.ts';
export { validateAgentHooks } from './standards/agent-hooks/agent-hooks-validator.ts';
export type { BaseCoatEvent, BaseCoatResponse } from './standards/base-coat/envelope.ts';
export type { HookPoint } from './standards/base-coat/hook-points.ts';
export type { Finding, Report } from './standards/validation.ts';
