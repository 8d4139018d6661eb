import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-http';
import { BatchSpanProcessor } from '@opentelemetry/sdk-trace-node';
import { createBridge, createHookRunner, type HookHandler } from 'otel-hooks';

const bridge = createBridge({ spanProcessors: [new BatchSpanProcessor(new OTLPTraceExporter())] });
const hooks = createHookRunner();

// The policy runs first, at priority 10. Handlers without a priority run at 50. The telemetry is this one line, at 90.
const noDeploys: HookHandler = ({ tool }) =>
  tool?.name === 'deploy' ? { action: 'block', reason: 'Deploys are done by hand.' } : undefined;
const redact: HookHandler = ({ output }) => ({
  action: 'modify',
  modifiedOutput: String(output).replace(/token=\w+/g, 'token=...'),
});
hooks.register('PreToolUse', noDeploys, { priority: 10 });
hooks.register('PostToolUse', redact);
hooks.observe(event => bridge.ingest(event, { tool: 'my-runtime' }));

// In the runtime: pass the event of a hook point, and use the answer.
const session = { sessionId: 'run-1', agent: 'backend-dev' };
await hooks.run({ hook: 'SessionStart', ...session });
for (const name of ['read_file', 'deploy']) {
  const before = await hooks.run({ hook: 'PreToolUse', ...session, tool: { name }, input: { path: 'notes.txt' } });
  if (before.action === 'block') {
    console.log(`${name}: ${before.reason}`);
    continue;
  }
  const tool = { name, success: true, durationMs: 12 };
  const after = await hooks.run({ hook: 'PostToolUse', ...session, tool, output: 'see token=f00ba4' });
  console.log(`${name}: ${after.modifiedOutput ?? 'as it was'}`);
}
await hooks.run({ hook: 'SessionEnd', ...session });
await bridge.shutdown();
