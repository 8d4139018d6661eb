import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-http';
import { BatchSpanProcessor } from '@opentelemetry/sdk-trace-node';
import { createBridge } from 'otel-hooks';

const bridge = createBridge({
  spanProcessors: [new BatchSpanProcessor(new OTLPTraceExporter())],
});

// Payloads as the agent's hooks send them, each with the id of its session.
const session = { session_id: 'c0ffee00-1111-4222-8333-444455556666', cwd: '/home/dev/shop' };
const bash = { tool_name: 'Bash', tool_use_id: 'toolu_1', tool_input: { command: 'npm test' } };
const payloads = [
  { hook_event_name: 'SessionStart', source: 'startup' },
  { hook_event_name: 'UserPromptSubmit', prompt_id: 'p1', prompt: 'do the tests pass?' },
  { hook_event_name: 'PreToolUse', prompt_id: 'p1', ...bash },
  { hook_event_name: 'PostToolUse', prompt_id: 'p1', ...bash, tool_response: {}, duration_ms: 1200 },
  { hook_event_name: 'Stop', prompt_id: 'p1' },
  { hook_event_name: 'SessionEnd', reason: 'other' },
];
for (const payload of payloads) bridge.ingest({ ...session, ...payload }, { tool: 'claude-code' });

await bridge.shutdown();
const { inputs, spans } = bridge.stats();
console.log(`${inputs.accepted} events, ${spans.exported} spans`);
