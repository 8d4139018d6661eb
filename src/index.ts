/**
 * The public API: the model of Agent Hooks events, the validator, the bridge into an application's own SDK, Base Coat's
 * hooks, and the results of hooks.
 */

export type { AgentId } from './agents/agent-id.ts';
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
  type Bridge,
  createBridge,
  type FlushOptions,
  type FlushResult,
  type JournalResult,
} from './library/bridge.ts';
export {
  BridgeError,
  type BridgeErrorCode,
  type BridgeLimits,
  type BridgeOptions,
  type ContentOptions,
  type Late,
} from './library/bridge-options.ts';
export {
  type HookCommandEntry,
  type HookFileOptions,
  type HookFileResult,
  registerHookFile,
} from './library/hook-files.ts';
export {
  type BudgetGuardOptions,
  budgetGuard,
  type LoopGuardOptions,
  loopGuard,
  redactor,
} from './library/hook-handlers.ts';
export {
  createHookRunner,
  type HookChange,
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
export type {
  AgentHooksEvent,
  BridgeInput,
  CloudEventOf,
  HookPayload,
  IngestMeta,
  IngestResult,
  OpenHookEvent,
  Refusal,
  RefusalReason,
  StandardEvent,
} from './library/input-types.ts';
export type { JournalSource } from './library/journal-lines.ts';
export type {
  BridgeAttributes,
  BridgeAttributeValue,
  BridgeLink,
  BridgeLoggerProvider,
  BridgeMeterProvider,
  BridgeResource,
  BridgeSampler,
  BridgeSpan,
  BridgeSpanContext,
  BridgeSpanExporter,
  BridgeSpanProcessor,
  BridgeTime,
  BridgeTracer,
  BridgeTracerProvider,
  BridgeTracerSpan,
} from './library/otel-interfaces.ts';
export { type IdGenerator, SessionIdGenerator } from './library/session-id-generator.ts';
export type {
  BridgeStats,
  DropReason,
  InputStats,
  MeasurementStats,
  RecordStats,
  SessionStats,
  SpanStats,
} from './library/stats.ts';
export { validateAgentHooks } from './standards/agent-hooks/agent-hooks-validator.ts';
export type { BaseCoatEvent, BaseCoatResponse } from './standards/base-coat/envelope.ts';
export type { HookPoint } from './standards/base-coat/hook-points.ts';
export type { Finding, Report } from './standards/validation.ts';
