/**
 * Writes protobuf messages in one pass into a growing buffer, without an object per field. The length of a message is
 * written when the message is closed. Attributes of OTLP have a special function, because most fields are attributes,
 * and most of them are equal to those of the previous item.
 */
import type { AttributeValue } from '@opentelemetry/api';
import type { AnyValue } from '@opentelemetry/api-logs';

export type Value = AttributeValue | AnyValue | undefined;

/** A name as an encoded field, and the position of the last written attribute with this name. */
interface KnownName {
  field: Uint8Array;
  tag: number;
  value: string | undefined;
  edition: number;
  from: number;
  to: number;
}

/** Names come from a small set, so their bytes are kept. Users choose some of the names, so the number is bounded. */
const MOST_NAMES = 1_024;
const FIRST_BYTES = 64 * 1024;

export class ProtobufBuffer {
  /** It grows to the largest request and keeps that size. */
  private bytes = Buffer.allocUnsafe(FIRST_BYTES);
  private at = 0;
  /** Positions of written attributes are valid for one edition: until the next request, or until bytes were moved. */
  private edition = 0;
  private readonly names = new Map<string, KnownName>();

  /** Begins a request. */
  begin(): void {
    this.at = 0;
    this.edition += 1;
  }

  /** Returns a copy of the bytes since `begin`. */
  written(): Uint8Array {
    return Uint8Array.prototype.slice.call(this.bytes, 0, this.at);
  }

  /** Writes a tag of two bytes, and a number of 32 bits. */
  longTagFixed32Field(first: number, second: number, number: number): void {
    this.need(1);
    this.bytes[this.at++] = first;
    this.fixed32Field(second, number);
  }

  attributes(tag: number, of: { readonly [name: string]: Value }): void {
    for (const name in of) this.attribute(tag, name, of[name]);
  }

  /** Writes an attribute. Most texts are equal to those of the previous item: the session, its agent, its turn. */
  attribute(tag: number, name: string, of: Value): void {
    const known = this.knownName(name);
    if (typeof of === 'string' && known.value === of && known.edition === this.edition && known.tag === tag) {
      this.repeat(known.from, known.to);
      return;
    }
    const start = this.open(tag, 1);
    this.blit(known.field);
    const inner = this.open(0x12, 1);
    this.value(of);
    this.close(inner, 1);
    this.close(start, 1);
    if (typeof of !== 'string') return;
    known.value = of;
    known.edition = this.edition;
    known.tag = tag;
    known.from = start - 2;
    known.to = this.at;
  }

  knownName(name: string): KnownName {
    const known = this.names.get(name);
    if (known !== undefined) return known;
    const start = this.at;
    this.textField(0x0a, name);
    const field = Uint8Array.prototype.slice.call(this.bytes, start, this.at);
    this.at = start;
    const made = { field, tag: 0, value: undefined, edition: 0, from: 0, to: 0 };
    if (this.names.size < MOST_NAMES) this.names.set(name, made);
    return made;
  }

  repeat(from: number, to: number): void {
    this.need(to - from);
    const here = this.bytes;
    let end = this.at;
    for (let i = from; i < to; i += 1) here[end++] = here[i] as number;
    this.at = end;
  }

  blit(field: Uint8Array): void {
    const { length } = field;
    this.need(length);
    const here = this.bytes;
    const start = this.at;
    for (let i = 0; i < length; i += 1) here[start + i] = field[i] as number;
    this.at = start + length;
  }

  value(of: Value): void {
    if (typeof of === 'string') this.textField(0x0a, of);
    else if (typeof of === 'boolean') this.varintField(0x10, of ? 1 : 0);
    else if (typeof of === 'number') {
      if (Number.isInteger(of) && of >= -(2 ** 63) && of < 2 ** 63) this.varintField(0x18, of);
      else {
        this.need(9);
        this.bytes[this.at++] = 0x21;
        this.at = this.bytes.writeDoubleLE(of, this.at);
      }
    } else if (of instanceof Uint8Array) {
      this.need(6 + of.length);
      this.bytes[this.at++] = 0x3a;
      this.varint(of.length);
      this.bytes.set(of, this.at);
      this.at += of.length;
    } else if (Array.isArray(of)) {
      const start = this.open(0x2a, 1);
      for (const item of of) {
        const each = this.open(0x0a, 1);
        this.value(item as Value);
        this.close(each, 1);
      }
      this.close(start, 1);
    } else if (typeof of === 'object' && of !== null) {
      const start = this.open(0x32, 1);
      this.attributes(0x0a, of as { readonly [name: string]: Value });
      this.close(start, 1);
    }
  }

  need(more: number): void {
    if (this.at + more <= this.bytes.length) return;
    const grown = Buffer.allocUnsafe(Math.max(this.bytes.length * 2, this.at + more));
    this.bytes.copy(grown, 0, 0, this.at);
    this.bytes = grown;
  }

  /**
   * Begins a message, with `room` bytes for its length. `close` writes the length, and moves the content if the length
   * needs a different number of bytes.
   */
  open(tag: number, room: number): number {
    this.need(1 + room);
    this.bytes[this.at++] = tag;
    this.at += room;
    return this.at;
  }

  close(start: number, room: number): void {
    const length = this.at - start;
    const size = length < 0x80 ? 1 : length < 0x4000 ? 2 : length < 0x200000 ? 3 : length < 0x10000000 ? 4 : 5;
    if (size !== room) {
      this.edition += 1;
      this.need(4);
      this.bytes.copyWithin(start - room + size, start, this.at);
      this.at += size - room;
    }
    let rest = length;
    let to = start - room;
    for (; rest > 0x7f; rest >>>= 7) this.bytes[to++] = (rest & 0x7f) | 0x80;
    this.bytes[to] = rest;
  }

  varint(number: number): void {
    this.need(10);
    if (number >= 0 && number <= 0xffffffff) {
      let rest = number >>> 0;
      for (; rest > 0x7f; rest >>>= 7) this.bytes[this.at++] = (rest & 0x7f) | 0x80;
      this.bytes[this.at++] = rest;
      return;
    }
    let rest = BigInt.asUintN(64, BigInt(number));
    for (; rest > 0x7fn; rest >>= 7n) this.bytes[this.at++] = Number(rest & 0x7fn) | 0x80;
    this.bytes[this.at++] = Number(rest);
  }

  varintField(tag: number, number: number): void {
    this.need(1);
    this.bytes[this.at++] = tag;
    this.varint(number);
  }

  fixed64Field(tag: number, number: number): void {
    this.need(1);
    this.bytes[this.at++] = tag;
    this.fixed64(number);
  }

  /** Writes a count: an integer that is not negative. */
  fixed64(number: number): void {
    this.need(8);
    this.at = this.bytes.writeUInt32LE(number % 0x100000000, this.at);
    this.at = this.bytes.writeUInt32LE(Math.floor(number / 0x100000000), this.at);
  }

  doubleField(tag: number, number: number): void {
    this.need(1);
    this.bytes[this.at++] = tag;
    this.double(number);
  }

  double(number: number): void {
    this.need(8);
    this.at = this.bytes.writeDoubleLE(number, this.at);
  }

  fixed32Field(tag: number, number: number): void {
    this.need(5);
    this.bytes[this.at++] = tag;
    this.at = this.bytes.writeUInt32LE(number >>> 0, this.at);
  }

  /** Writes seconds and nanoseconds as one 64-bit number of nanoseconds, in two halves, which are both exact. */
  timeField(tag: number, [seconds, nanos]: readonly [number, number]): void {
    this.need(9);
    this.bytes[this.at++] = tag;
    // seconds * 1e9 + nanos = (high * 2^16 + low) * 1e9 + nanos
    const high = Math.floor(seconds / 0x10000) * 1e9;
    const low = (seconds % 0x10000) * 1e9 + nanos;
    const sum = (high % 0x10000) * 0x10000 + (low % 0x100000000);
    this.at = this.bytes.writeUInt32LE(sum % 0x100000000, this.at);
    const rest = Math.floor(high / 0x10000) + Math.floor(low / 0x100000000) + Math.floor(sum / 0x100000000);
    this.at = this.bytes.writeUInt32LE(rest % 0x100000000, this.at);
  }

  hexField(tag: number, hex: string): void {
    const length = hex.length >> 1;
    this.need(2 + length);
    const here = this.bytes;
    let end = this.at;
    here[end++] = tag;
    here[end++] = length;
    for (let i = 0; i < hex.length; i += 2)
      here[end++] = (digit(hex.charCodeAt(i)) << 4) | digit(hex.charCodeAt(i + 1));
    this.at = end;
  }

  textField(tag: number, text: string): void {
    const { length } = text;
    // A character has at most three bytes, the length at most five.
    this.need(6 + length * 3);
    const here = this.bytes;
    here[this.at++] = tag;
    if (length < 0x80) {
      const start = this.at + 1;
      for (let i = 0; i < length; i += 1) {
        const code = text.charCodeAt(i);
        if (code > 0x7f) {
          this.longText(text);
          return;
        }
        here[start + i] = code;
      }
      here[this.at] = length;
      this.at = start + length;
    } else this.longText(text);
  }

  longText(text: string): void {
    this.varint(Buffer.byteLength(text));
    this.at += this.bytes.write(text, this.at);
  }
}

const digit = (code: number): number => (code & 0xf) + (code >> 6) * 9;
