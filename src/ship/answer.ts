/** The answer of a server, over HTTP or gRPC. */
import { promisify } from 'node:util';
import { gunzip, inflate } from 'node:zlib';

/**
 * An answer of HTTP, an answer of gRPC, or the reason why there is none. `body` is undefined if it is too large,
 * incomplete, or does not match its headers.
 */
export type Answer =
  | { status: number; retryAfter?: string | undefined; isJson?: boolean | undefined; body: Uint8Array | undefined }
  | { code: number; retryMs: number | undefined; body: Uint8Array | undefined }
  | { failure: string };

/** The limit of the protocol, after decompression. */
export const LARGEST_ANSWER_BYTES = 4 * 1024 * 1024;

export async function decompressed(body: Buffer, encoding: string | undefined): Promise<Buffer | undefined> {
  const limit = { maxOutputLength: LARGEST_ANSWER_BYTES };
  try {
    if (encoding === 'gzip') return await promisify(gunzip)(body, limit);
    if (encoding === 'deflate') return await promisify(inflate)(body, limit);
    return encoding === undefined || encoding === 'identity' ? body : undefined;
  } catch {
    // The body is too large or not in this encoding. Only the status counts.
    return undefined;
  }
}
