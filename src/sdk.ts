/**
 * `otel-hooks/sdk`: the bridge with everything that it needs, on the official OpenTelemetry packages, in one call. The
 * application installs these packages.
 */

export {
  type AgentTelemetry,
  type AgentTelemetryOptions,
  type Disposable as ShutDown,
  startAgentTelemetry,
} from './library/agent-telemetry.ts';
export { SessionIdGenerator } from './library/session-id-generator.ts';
