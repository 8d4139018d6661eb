/** The types of the bridge's input and of its results. */
import type { AgentId } from '../agents/agent-id.ts';
import type { Event } from '../event/event.ts';
import type { BaseCoatEvent } from '../standards/base-coat/envelope.ts';

/**
 * An event of Agent Hooks 0.1.
 *
 * @example
 * ```ts
 * const event: AgentHooksEvent = {
 *   spec_version: SPEC_VERSION,
 *   event_id: '5f0c62a4-93d1-4a3e-8b57-0d2f6c1e9b70',
 *   event_type: 'Session.Start',
 *   timestamp: '2026-11-18T09:00:00.000Z',
 *   source: { tool: 'my-agent' },
 *   session_id: 'first',
 *   data: { start_reason: 'new' },
 * };
 * ```
 */
export type AgentHooksEvent = Event;

/**
 * An event of OpenHook 0.1.
 *
 * @example
 * ```ts
 * const started: OpenHookEvent = {
 *   openhook: '0.1',
 *   id: '1',
 *   source: 'my-agent',
 *   type: 'session.start',
 *   time: '2026-11-18T09:00:00Z',
 *   session_id: 'first',
 * };
 * ```
 */
export interface OpenHookEvent {
  openhook: string;
  id: string;
  source: string;
  type: string;
  /** RFC 3339. */
  time: string;
  session_id: string;
  data?: object | undefined;
  context?: string | undefined;
  extensions?: object | undefined;
}

/**
 * A CloudEvent whose data is one of the other events.
 *
 * @example
 * ```ts
 * const sent: CloudEventOf<AgentHooksEvent> = { specversion: '1.0', id: '1', source: '/me', type: 'dev.agent-hooks.event', data: event };
 * ```
 */
export interface CloudEventOf<Data = AgentHooksEvent | OpenHookEvent | BaseCoatEvent> {
  specversion: '1.0';
  id: string;
  source: string;
  type: string;
  time?: string | undefined;
  subject?: string | undefined;
  datacontenttype?: string | undefined;
  dataschema?: string | undefined;
  data: Data;
}

/**
 * An event of an open standard.
 *
 * @example
 * ```ts
 * const take = (input: StandardEvent): IngestResult => bridge.ingest(input);
 * ```
 */
export type StandardEvent = AgentHooksEvent | OpenHookEvent | BaseCoatEvent | CloudEventOf;

/**
 * An event of an open standard, its text, or the text of several events: a list, or one event per line.
 *
 * @example
 * ```ts
 * const input: BridgeInput = '{"openhook":"0.1","id":"1","source":"me","type":"session.start","time":"2026-11-18T09:00:00Z","session_id":"s"}';
 * ```
 */
export type BridgeInput = StandardEvent | string;

/**
 * The payload of an agent's own hook.
 *
 * @example
 * ```ts
 * const payload: HookPayload = { hook_event_name: 'Stop', session_id: 'first' };
 * ```
 */
export type HookPayload = { readonly [field: string]: unknown };

/**
 * Facts that the input itself does not state.
 *
 * @example
 * ```ts
 * const meta: IngestMeta = { tool: 'claude-code', timeMs: Date.now() };
 * ```
 */
export interface IngestMeta {
  /** The agent. Without it, a payload is recognized by its fields. */
  tool?: AgentId | (string & Record<never, never>) | undefined;
  /** The name of the event, for payloads without one. */
  event?: string | undefined;
  /** The working folder. */
  cwd?: string | undefined;
  /** The time of the event, in Unix ms. Now by default. */
  timeMs?: number | undefined;
  /** A W3C traceparent. Only the one of a session's first event counts. Without it, the active span counts. */
  traceparent?: string | undefined;
}

/**
 * The reason why an input was refused.
 *
 * @example
 * ```ts
 * const isBusy = (reason: RefusalReason): boolean => reason === 'queue-full';
 * ```
 */
export type RefusalReason =
  | 'bad-session-id'
  | 'erased'
  | 'empty'
  | 'invalid-event'
  | 'no-event-name'
  | 'no-session-id'
  | 'not-an-object'
  | 'not-json'
  | 'too-many-events'
  | 'too-many-values'
  | 'unknown-agent'
  | 'disabled'
  | 'failed'
  | 'invalid-time'
  | 'invalid-value'
  | 'queue-full'
  | 'shut-down'
  | 'too-large';

/**
 * An input, or one event of a list, that was refused.
 *
 * @example
 * ```ts
 * const textOf = ({ reason, rule, line }: Refusal): string => `${line ?? 1}: ${rule ?? reason}`;
 * ```
 */
export interface Refusal {
  reason: RefusalReason;
  /** The rule that the input breaks, for example `agent-hooks/required`. */
  rule?: string | undefined;
  message: string;
  /** Position in the text of the input, from 1. */
  line?: number | undefined;
  column?: number | undefined;
  /** JSON pointer to the field. */
  field?: string | undefined;
}

/**
 * The result of an input.
 *
 * @example
 * ```ts
 * const result: IngestResult = bridge.ingest(event);
 * if (result.status === 'refused') console.warn(result.message);
 * ```
 */
export type IngestResult =
  | {
      status: 'accepted';
      /** Events of a list that were refused, while others were accepted. */
      refused: readonly Refusal[];
    }
  | { status: 'duplicate' }
  | ({ status: 'refused' } & Refusal);
