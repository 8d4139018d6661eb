/** The part of protobuf's wire format that OTLP uses. Positions are offsets into the buffer that is read. */

/**
 * Bytes from a disk or a server may not be protobuf. Readers throw this error, and their exported callers return a
 * value for it.
 */
export class NotProtobuf extends Error {}

export interface Field {
  number: number;
  /** 0 varint, 1 eight bytes, 2 length-delimited, 5 four bytes. */
  wire: number;
  /** The offset of the tag. */
  start: number;
  /** The offset of the value; for length-delimited fields, the offset after the length. */
  from: number;
  end: number;
}

export function* fieldsIn(bytes: Uint8Array, from: number, end: number): Generator<Field> {
  let at = from;
  while (at < end) {
    const start = at;
    const tag = varintAt(bytes, at, end);
    at = tag.end;
    const number = Math.floor(tag.value / 8);
    const wire = tag.value % 8;
    if (number < 1 || number > 0x1fffffff) throw new NotProtobuf(`no field number at ${start}`);
    let valueFrom = at;
    if (wire === 0) at = varintAt(bytes, at, end).end;
    else if (wire === 1) at += 8;
    else if (wire === 5) at += 4;
    else if (wire === 2) {
      const length = varintAt(bytes, at, end);
      valueFrom = length.end;
      at = length.end + length.value;
    } else throw new NotProtobuf(`wire type ${wire} at ${start}`);
    if (at > end) throw new NotProtobuf(`a field runs over the end at ${start}`);
    yield { number, wire, start, from: valueFrom, end: at };
  }
}

/** Exact up to 2^53. Tags and lengths are never larger; `bigVarintAt` reads 64-bit numbers. */
export function varintAt(bytes: Uint8Array, from: number, end: number): { value: number; end: number } {
  let value = 0;
  let scale = 1;
  for (let at = from; at < end && at < from + 10; at += 1) {
    const byte = bytes[at] ?? 0;
    value += (byte & 0x7f) * scale;
    if (byte < 0x80) return { value, end: at + 1 };
    scale *= 128;
  }
  throw new NotProtobuf(`an endless number at ${from}`);
}

export function bigVarintAt(bytes: Uint8Array, from: number, end: number): { value: bigint; end: number } {
  let value = 0n;
  for (let at = from; at < end && at < from + 10; at += 1) {
    const byte = bytes[at] ?? 0;
    value |= BigInt(byte & 0x7f) << BigInt(7 * (at - from));
    if (byte < 0x80) return { value: BigInt.asUintN(64, value), end: at + 1 };
  }
  throw new NotProtobuf(`an endless number at ${from}`);
}

export function varint(value: number): Uint8Array {
  const bytes: number[] = [];
  let rest = value;
  while (rest >= 128) {
    bytes.push((rest % 128) | 0x80);
    rest = Math.floor(rest / 128);
  }
  bytes.push(rest);
  return Uint8Array.from(bytes);
}
