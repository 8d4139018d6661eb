/**
 * A service (Fastify) that runs agents and sends their telemetry with its own.
 *
 * `startAgentTelemetry` starts the official SDK with its OTLP exporters: the standard `OTEL_*` variables, or
 * `endpoint`, set the receiver. The service posts the hooks of its agents to itself; it could also call
 * `telemetry.ingest` directly.
 */
import Fastify, { type FastifyInstance } from 'fastify';
import { type AgentTelemetry, type AgentTelemetryOptions, startAgentTelemetry } from 'otel-hooks/sdk';

export interface Service {
  app: FastifyInstance;
  telemetry: AgentTelemetry;
}

export function createService(options: AgentTelemetryOptions = {}): Service {
  const app = Fastify();
  const telemetry = startAgentTelemetry({
    resource: { 'service.name': 'agent-service' },
    onError: error => app.log.warn({ code: error.code, err: error }, 'telemetry of agents'),
    ...options,
  });

  app.post<{ Params: { agent: string } }>('/hooks/:agent', async (request, reply) => {
    const payload = request.body;
    if (typeof payload !== 'object' || payload === null) return reply.code(400).send({ error: 'not an object' });
    const result = telemetry.ingest({ ...payload }, { tool: request.params.agent });
    if (result.status !== 'refused') return reply.code(200).send({ status: result.status });
    // The exporter is slower than the agents: the sender retries.
    if (result.reason === 'queue-full') return reply.code(503).header('retry-after', 1).send({ error: result.message });
    return reply.code(400).send({ error: result.message, rule: result.rule });
  });

  app.get('/stats', () => telemetry.stats().spans);

  // Ends open sessions and exports everything before the process ends.
  app.addHook('onClose', async () => {
    const { ok, waiting } = await telemetry.shutdown({ timeoutMs: 5_000 });
    if (!ok) app.log.error({ waiting }, 'spans were not exported');
  });
  return { app, telemetry };
}
