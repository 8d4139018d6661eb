/** A test of an application that checks the spans of an agent, without a collector. */
import { InMemorySpanExporter } from '@opentelemetry/sdk-trace-node';
import { createBridge } from 'otel-hooks';

/** The names of the spans of one session, in the order in which they ended. */
export async function spansOfSession(): Promise<string[]> {
  const exporter = new InMemorySpanExporter();
  // No provider is registered globally, so parallel tests do not see each other's spans.
  const bridge = createBridge({ spanExporters: [exporter], loggerProvider: false, meterProvider: false });
  const session = { session_id: 'test-session', cwd: '/shop' };
  const action = { tool_name: 'Bash', tool_use_id: 'toolu_1', tool_input: { command: 'npm test' } };
  const hooks = [
    { hook_event_name: 'SessionStart', source: 'startup' },
    { hook_event_name: 'UserPromptSubmit', prompt_id: 'p1', prompt: 'do the tests pass?' },
    { hook_event_name: 'PreToolUse', prompt_id: 'p1', ...action },
    { hook_event_name: 'PostToolUse', prompt_id: 'p1', ...action, tool_response: {} },
    { hook_event_name: 'Stop', prompt_id: 'p1' },
    { hook_event_name: 'SessionEnd', reason: 'other' },
  ];
  for (const hook of hooks) {
    const result = bridge.ingest({ ...session, ...hook }, { tool: 'claude-code' });
    if (result.status !== 'accepted') throw new Error(`${hook.hook_event_name} was not accepted`);
  }
  // `forceFlush` keeps the finished spans in the exporter. `shutdown` of the exporter would remove them.
  await bridge.forceFlush();
  const { produced, exported } = bridge.stats().spans;
  if (produced !== exported) throw new Error(`${exported} of ${produced} spans were exported`);
  return exporter.getFinishedSpans().map(({ name }) => name);
}
