/**
 * Loads the OpenTelemetry packages of `otel-hooks/sdk` at the start. They belong to the application, so they are not
 * bundled. SDK 3 has no `sdk-trace-node`, so its `sdk-trace` is used. The build makes the CommonJS copy of this file by
 * replacing `await import` with `require`.
 */

const missing: unknown[] = [];

async function optional<T>(load: () => T | Promise<T>): Promise<T | undefined> {
  try {
    return await load();
  } catch (error) {
    missing.push(error);
    return undefined;
  }
}

const node = await optional(async () => await import('@opentelemetry/sdk-trace-node'));
const plain = node ?? (await optional(async () => await import('@opentelemetry/sdk-trace')));
const api = await optional(async () => await import('@opentelemetry/api'));
const logsApi = await optional(async () => await import('@opentelemetry/api-logs'));
const logs = await optional(async () => await import('@opentelemetry/sdk-logs'));
const metrics = await optional(async () => await import('@opentelemetry/sdk-metrics'));
const traceExporter = await optional(async () => await import('@opentelemetry/exporter-trace-otlp-http'));
const logExporter = await optional(async () => await import('@opentelemetry/exporter-logs-otlp-http'));
const metricExporter = await optional(async () => await import('@opentelemetry/exporter-metrics-otlp-http'));

/** Undefined members are not installed, or could not be loaded. */
export const packages = { node, plain, api, logsApi, logs, metrics, traceExporter, logExporter, metricExporter };

/** The errors of packages that could not be loaded. */
export const loadErrors: readonly unknown[] = missing;
