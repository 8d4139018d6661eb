/** Reads the status of a gRPC answer from its trailers. */
import type { IncomingHttpHeaders } from 'node:http2';
import { type Field, fieldsIn, NotProtobuf, varintAt } from '../telemetry/wire.ts';

export interface GrpcStatus {
  code: number;
  /** The wait that the server demands. Undefined without RetryInfo. */
  retryMs: number | undefined;
}

/** Returns undefined if these are not the trailers of a gRPC answer. */
export function grpcStatusOf(trailers: IncomingHttpHeaders): GrpcStatus | undefined {
  const text = trailers['grpc-status'];
  if (typeof text !== 'string' || !/^\d{1,4}$/.test(text)) return undefined;
  const details = trailers['grpc-status-details-bin'];
  return { code: Number(text), retryMs: typeof details === 'string' ? retryMsIn(details) : undefined };
}

const RETRY_INFO = 'type.googleapis.com/google.rpc.RetryInfo';
/** Details are small. A larger text is not read. */
const LARGEST_DETAILS = 64 * 1024;

/** Reads the delay of the first RetryInfo in a google.rpc.Status. A RetryInfo without a delay demands no wait. */
function retryMsIn(base64: string): number | undefined {
  if (base64.length > LARGEST_DETAILS) return undefined;
  const bytes = Buffer.from(base64, 'base64');
  try {
    for (const detail of fieldsOf(bytes, 0, bytes.length, 3)) {
      const [type] = fieldsOf(bytes, detail.from, detail.end, 1);
      const [info] = fieldsOf(bytes, detail.from, detail.end, 2);
      if (type === undefined || bytes.toString('utf8', type.from, type.end) !== RETRY_INFO) continue;
      const [delay] = info === undefined ? [] : fieldsOf(bytes, info.from, info.end, 1);
      return delay === undefined ? 0 : durationMs(bytes, delay);
    }
  } catch (error) {
    // Details that cannot be read count as absent. The code decides alone.
    if (!(error instanceof NotProtobuf)) throw error;
  }
  return undefined;
}

/** The length-delimited fields with this number. */
function fieldsOf(bytes: Buffer, from: number, end: number, number: number): Field[] {
  return [...fieldsIn(bytes, from, end)].filter(field => field.number === number && field.wire === 2);
}

/** Negative numbers have ten bytes and are too large for a wait, so they count as none. */
function durationMs(bytes: Buffer, duration: Field): number {
  let ms = 0;
  for (const { number, wire, from, end } of fieldsIn(bytes, duration.from, duration.end)) {
    if (wire !== 0) continue;
    const { value } = varintAt(bytes, from, end);
    if (value >= 2 ** 62) return 0;
    if (number === 1) ms += value * 1_000;
    if (number === 2) ms += value / 1e6;
  }
  return ms;
}
