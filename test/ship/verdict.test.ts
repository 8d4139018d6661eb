import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type GrpcName, grpcNames } from '../../src/lib/grpc-codes.ts';
import { grpcStatusOf } from '../../src/ship/grpc-status.ts';
import {
  backoffMs,
  isTooLarge,
  LONGEST_WAIT_MS,
  retryAfterMs,
  type Verdict,
  verdictOf,
} from '../../src/ship/verdict.ts';
import { retryInfo } from '../grpc-collector.ts';

const nowMs = Date.parse('2026-01-01T00:00:00Z');
const empty = new Uint8Array();
const taken: Verdict = { kind: 'taken', rejected: 0, message: '' };
const info = (delay: Parameters<typeof retryInfo>[0]) => ({ 'grpc-status-details-bin': retryInfo(delay) });
const retry = (why: string): Verdict => ({ kind: 'retry', why, afterMs: undefined });

describe('the meaning of an answer', () => {
  it.each<[number, Verdict]>([
    [200, taken],
    [202, taken],
    [204, taken],
    [301, { kind: 'pause', status: 301, scope: 'signal' }],
    [307, { kind: 'pause', status: 307, scope: 'signal' }],
    [400, { kind: 'refused', reason: '400' }],
    [401, { kind: 'pause', status: 401, scope: 'destination' }],
    [403, { kind: 'pause', status: 403, scope: 'destination' }],
    [404, { kind: 'pause', status: 404, scope: 'signal' }],
    [405, { kind: 'pause', status: 405, scope: 'signal' }],
    [408, { kind: 'refused', reason: '408' }],
    [413, { kind: 'refused', reason: '413' }],
    [429, retry('429')],
    [500, { kind: 'refused', reason: '500' }],
    [501, { kind: 'refused', reason: '501' }],
    [502, retry('502')],
    [503, retry('503')],
    [504, retry('504')],
    [505, { kind: 'refused', reason: '505' }],
  ])('%i', (status, verdict) => {
    expect(verdictOf({ status, body: empty }, nowMs)).toEqual(verdict);
  });

  const code = (name: GrpcName, retryMs?: number) =>
    verdictOf({ code: grpcNames.indexOf(name), retryMs, body: empty }, nowMs);

  it.each<[GrpcName, Verdict]>([
    ['OK', taken],
    ['CANCELLED', retry('CANCELLED')],
    ['UNKNOWN', { kind: 'refused', reason: 'grpc-unknown' }],
    ['INVALID_ARGUMENT', { kind: 'refused', reason: 'grpc-invalid-argument' }],
    ['DEADLINE_EXCEEDED', retry('DEADLINE_EXCEEDED')],
    ['NOT_FOUND', { kind: 'pause', status: 5, scope: 'signal' }],
    ['ALREADY_EXISTS', { kind: 'refused', reason: 'grpc-already-exists' }],
    ['PERMISSION_DENIED', { kind: 'pause', status: 7, scope: 'destination' }],
    ['RESOURCE_EXHAUSTED', { kind: 'refused', reason: 'grpc-resource-exhausted' }],
    ['FAILED_PRECONDITION', { kind: 'refused', reason: 'grpc-failed-precondition' }],
    ['ABORTED', retry('ABORTED')],
    ['OUT_OF_RANGE', retry('OUT_OF_RANGE')],
    ['UNIMPLEMENTED', { kind: 'pause', status: 12, scope: 'signal' }],
    ['INTERNAL', { kind: 'refused', reason: 'grpc-internal' }],
    ['UNAVAILABLE', retry('UNAVAILABLE')],
    ['DATA_LOSS', retry('DATA_LOSS')],
    ['UNAUTHENTICATED', { kind: 'pause', status: 16, scope: 'destination' }],
  ])('gRPC %s', (name, verdict) => {
    expect(code(name)).toEqual(verdict);
  });

  it('reads RetryInfo where a server may ask for a pause', () => {
    expect(code('UNAVAILABLE', 7_000)).toMatchObject({ kind: 'retry', afterMs: 7_000 });
    expect(code('RESOURCE_EXHAUSTED', 0)).toEqual({ kind: 'retry', why: 'RESOURCE_EXHAUSTED', afterMs: 0 });
    expect(code('UNAVAILABLE', 1e15)).toMatchObject({ afterMs: LONGEST_WAIT_MS });
    expect(code('INVALID_ARGUMENT', 7_000)).toMatchObject({ kind: 'refused' });
    expect([isTooLarge('413'), isTooLarge('grpc-resource-exhausted'), isTooLarge('400')]).toEqual([true, true, false]);
  });

  it('takes a code that gRPC does not define as UNKNOWN', () => {
    expect(verdictOf({ code: 99, retryMs: undefined, body: empty }, nowMs)).toEqual(code('UNKNOWN'));
  });

  it.each<[string, Record<string, string>, unknown]>([
    ['no status', {}, undefined],
    ['no number', { 'grpc-status': 'fine' }, undefined],
    ['seconds', { 'grpc-status': '14', ...info({ seconds: 7n, nanos: 500_000_000 }) }, { code: 14, retryMs: 7_500 }],
    ['a negative delay', { 'grpc-status': '14', ...info({ seconds: -7n }) }, { code: 14, retryMs: 0 }],
    ['no delay', { 'grpc-status': '8', ...info(undefined) }, { code: 8, retryMs: 0 }],
    ['garbage', { 'grpc-status': '8', 'grpc-status-details-bin': 'GiQKd2hhdD8' }, { code: 8, retryMs: undefined }],
    ['no details', { 'grpc-status': '8' }, { code: 8, retryMs: undefined }],
  ])('reads trailers with %s', (_, trailers, status) => {
    expect(grpcStatusOf(trailers)).toEqual(status);
  });

  it('tries again after a connection that failed in any way', () => {
    expect(verdictOf({ failure: 'ECONNREFUSED' }, nowMs)).toEqual({ kind: 'retry', why: 'ECONNREFUSED' });
  });

  it('takes a 200 as accepted with any body', () => {
    expect(verdictOf({ status: 200, body: Buffer.from('<html>') }, nowMs)).toEqual(taken);
    expect(verdictOf({ status: 200, body: undefined }, nowMs)).toEqual(taken);
  });

  it('cuts the message of a server to a readable length', () => {
    const body = Buffer.from(
      JSON.stringify({ partialSuccess: { rejectedSpans: 1, errorMessage: 'x'.repeat(10_000) } }),
    );
    const verdict = verdictOf({ status: 200, isJson: true, body }, nowMs);
    expect(verdict).toMatchObject({ kind: 'taken', rejected: 1, message: 'x'.repeat(200) });
  });
});

describe('Retry-After', () => {
  it.each<[string, string | undefined, number | undefined]>([
    ['seconds', '7', 7_000],
    ['no time at all', '0', 0],
    ['a date', 'Thu, 01 Jan 2026 00:00:30 GMT', 30_000],
    ['a date that is over', 'Wed, 31 Dec 2025 00:00:00 GMT', 0],
    ['a century', 'Thu, 01 Jan 2126 00:00:00 GMT', LONGEST_WAIT_MS],
    ['more seconds than numbers have', '9'.repeat(400), LONGEST_WAIT_MS],
    ['a negative number', '-5', undefined],
    ['words', 'soon', undefined],
    ['an ISO date, which HTTP does not have', '2026-01-01T00:00:30Z', undefined],
    ['nothing', '', undefined],
    ['no header', undefined, undefined],
  ])('%s', (_, text, expected) => {
    expect(retryAfterMs(text, nowMs)).toBe(expected);
  });
});

it('backs off between one second and five minutes', () => {
  fc.assert(
    fc.property(fc.nat(1_000), fc.double({ min: 0, max: 1, noNaN: true }), (failures, random) => {
      const ms = backoffMs(failures, random);
      expect(ms).toBeGreaterThanOrEqual(1_000);
      expect(ms).toBeLessThanOrEqual(Math.min(300_000, Math.max(1_000, 1_000 * 2 ** failures)));
    }),
  );
});
