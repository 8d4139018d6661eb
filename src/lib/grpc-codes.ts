/** The status codes of gRPC. They are smaller than those of HTTP, so that one number can hold either. */

export const grpcNames = [
  'OK',
  'CANCELLED',
  'UNKNOWN',
  'INVALID_ARGUMENT',
  'DEADLINE_EXCEEDED',
  'NOT_FOUND',
  'ALREADY_EXISTS',
  'PERMISSION_DENIED',
  'RESOURCE_EXHAUSTED',
  'FAILED_PRECONDITION',
  'ABORTED',
  'OUT_OF_RANGE',
  'UNIMPLEMENTED',
  'INTERNAL',
  'UNAVAILABLE',
  'DATA_LOSS',
  'UNAUTHENTICATED',
] as const;

export type GrpcName = (typeof grpcNames)[number];

/** A code that gRPC does not define means the same as UNKNOWN. */
export const grpcNameOf = (code: number): GrpcName => grpcNames[code] ?? 'UNKNOWN';

/** The status of an answer for people: the number of HTTP, or the name of gRPC. */
export const shownStatus = (status: number): string => (status < 100 ? `gRPC ${grpcNameOf(status)}` : String(status));
