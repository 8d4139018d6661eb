/** The headers that a request can have. */
import { validateHeaderName, validateHeaderValue } from 'node:http';

/**
 * otel-hooks sets the headers about the length and the form of the body. A line break in a value would begin another
 * header.
 */
const ownHeaders = ['host', 'content-length', 'content-type', 'content-encoding', 'transfer-encoding', 'connection'];

/** HTTP/2 has no such header, or gRPC gives it a meaning. */
const notOverGrpc = /^(grpc-.*|te|upgrade|keep-alive|proxy-connection|http2-settings)$/i;

/** Returns why a request cannot have this header. */
export function badHeader(name: string, value: string, isGrpc = false): string | undefined {
  if (ownHeaders.includes(name.toLowerCase())) return 'otel-hooks sets itself';
  if (isGrpc && notOverGrpc.test(name)) return 'gRPC does not allow';
  try {
    validateHeaderName(name);
    validateHeaderValue(name, value);
    return undefined;
  } catch {
    // Both functions throw for an invalid header. Their messages contain the value, so they are not shown.
    return 'HTTP does not allow';
  }
}
