/**
 * Cuts and joins serialized OTLP requests without decoding the items.
 *
 * The requests of all three signals have the same shape: resources (field 1) contain scopes (field 2), which contain
 * items (field 2). An item is a span, a record or a metric. All other fields of a resource or scope describe the origin
 * of the items: they are the frame. So a part of a request consists of the bytes of the chosen items within their
 * frame. Concatenated requests are one request, because protobuf appends repeated fields. If a request ends with the
 * same frame with which the next one begins, the frame is written once. So the same items give the same bytes,
 * independent of the number of rounds.
 */
import { type Field, fieldsIn, NotProtobuf, varint } from '../telemetry/wire.ts';

const RESOURCE = 1;
const SCOPE = 2;
const ITEM = 2;

/** Returns undefined if the bytes are not a valid request. */
export function countItems(bytes: Uint8Array): number | undefined {
  try {
    let count = 0;
    for (const resource of fieldsIn(bytes, 0, bytes.length)) {
      if (resource.number !== RESOURCE || resource.wire !== 2) continue;
      for (const scope of fieldsIn(bytes, resource.from, resource.end)) {
        if (scope.number !== SCOPE || scope.wire !== 2) continue;
        for (const item of fieldsIn(bytes, scope.from, scope.end)) {
          if (item.number === ITEM && item.wire === 2) count += 1;
        }
      }
    }
    return count;
  } catch (error) {
    if (error instanceof NotProtobuf) return undefined;
    throw error;
  }
}

/** Each body must be a valid request, as `countItems` checks. */
export function joinBodies(bodies: readonly Uint8Array[]): Buffer {
  if (bodies.length < 2) return Buffer.concat(bodies);
  const resources: (Uint8Array | Frame)[] = [];
  for (const bytes of bodies)
    for (const resource of fieldsIn(bytes, 0, bytes.length)) add(resources, bytes, resource, [SCOPE, ITEM]);
  return Buffer.concat(resources.map(framed).flatMap(flat));
}

/** The fields of a resource or scope before and after its items. */
interface Frame {
  field: number;
  head: Uint8Array;
  inside: (Uint8Array | Frame)[];
  tail: Uint8Array;
}

function add(to: (Uint8Array | Frame)[], bytes: Uint8Array, field: Field, [held = ITEM, ...deeper]: number[]): void {
  const run = runOf(bytes, field, held);
  if (run === undefined) {
    to.push(bytes.subarray(field.start, field.end));
    return;
  }
  const head = bytes.subarray(field.from, run.from);
  const tail = bytes.subarray(run.end, field.end);
  const before = to.at(-1);
  const isSame =
    before !== undefined &&
    !(before instanceof Uint8Array) &&
    before.field === field.number &&
    Buffer.compare(before.head, head) === 0 &&
    Buffer.compare(before.tail, tail) === 0;
  const frame = isSame ? before : { field: field.number, head, inside: [], tail };
  if (!isSame) to.push(frame);
  if (deeper.length === 0) frame.inside.push(bytes.subarray(run.from, run.end));
  else for (const each of fieldsIn(bytes, run.from, run.end)) add(frame.inside, bytes, each, deeper);
}

/**
 * Returns the range of the adjacent fields with this number; undefined if there is none, or if others separate them.
 */
function runOf(bytes: Uint8Array, { wire, from, end }: Field, held: number): { from: number; end: number } | undefined {
  let run: { from: number; end: number } | undefined;
  if (wire !== 2) return undefined;
  for (const field of fieldsIn(bytes, from, end)) {
    if (field.number !== held || field.wire !== 2) continue;
    if (run !== undefined && field.start !== run.end) return undefined;
    run = { from: run?.from ?? field.start, end: field.end };
  }
  return run;
}

const framed = (part: Uint8Array | Frame): Piece =>
  part instanceof Uint8Array ? part : wrap(part.field, [part.head, ...part.inside.map(framed), part.tail]);

/** Returns a request with the items [from, to). `bytes` must be a valid request, as `countItems` checks. */
export const cutBody = (bytes: Uint8Array, from: number, to: number): Buffer =>
  chosenOf({ bytes, passed: 0, isChosen: at => at >= from && at < to });

/** Returns the request without the items that the function selects. `bytes` must be valid, as `countItems` checks. */
export const bodyWithout = (bytes: Uint8Array, isLeftOut: (item: Field) => boolean): Buffer =>
  chosenOf({ bytes, passed: 0, isChosen: (_, item) => item === undefined || !isLeftOut(item) });

function chosenOf(cut: Cut): Buffer {
  const { bytes } = cut;
  const resources: Piece[] = [];
  for (const resource of fieldsIn(bytes, 0, bytes.length)) {
    if (resource.number !== RESOURCE || resource.wire !== 2) continue;
    const inside = scopesOf(cut, resource);
    if (inside !== undefined) resources.push(wrap(RESOURCE, inside));
  }
  return Buffer.concat(resources.flatMap(flat));
}

interface Cut {
  bytes: Uint8Array;
  /** The number of items so far. */
  passed: number;
  /** Returns true if the part contains the item with this number or, without an item, an empty scope at this number. */
  isChosen(at: number, item?: Field): boolean;
}

/** Returns a resource with the chosen items of its scopes; undefined if none of its items is chosen. */
function scopesOf(cut: Cut, resource: Field): Piece[] | undefined {
  const { bytes } = cut;
  const inside: Piece[] = [];
  let hasItems = false;
  for (const scope of fieldsIn(bytes, resource.from, resource.end)) {
    if (scope.number !== SCOPE || scope.wire !== 2) {
      inside.push(bytes.subarray(scope.start, scope.end));
      continue;
    }
    const before = cut.passed;
    const { pieces, chosen } = chosenIn(cut, scope);
    // An empty scope stays if its position is chosen, so that a selection of all items returns the same bytes.
    if (chosen === 0 && !(cut.passed === before && cut.isChosen(before))) continue;
    hasItems ||= chosen > 0;
    inside.push(wrap(SCOPE, pieces));
  }
  return hasItems ? inside : undefined;
}

/** Returns the chosen items of a scope, and all of its fields that are not items. */
function chosenIn(cut: Cut, scope: Field): { pieces: Piece[]; chosen: number } {
  const { bytes } = cut;
  const pieces: Piece[] = [];
  let chosen = 0;
  for (const item of fieldsIn(bytes, scope.from, scope.end)) {
    const isItem = item.number === ITEM && item.wire === 2;
    const isChosen = !isItem || cut.isChosen(cut.passed, item);
    if (isItem) cut.passed += 1;
    if (!isChosen) continue;
    if (isItem) chosen += 1;
    pieces.push(bytes.subarray(item.start, item.end));
  }
  return { pieces, chosen };
}

type Piece = Uint8Array | { bytes: number; pieces: Piece[] };

function wrap(field: number, pieces: Piece[]): Piece {
  const length = pieces.reduce((sum, piece) => sum + sizeOf(piece), 0);
  const head = Uint8Array.from([field * 8 + 2, ...varint(length)]);
  return { bytes: head.length + length, pieces: [head, ...pieces] };
}

const sizeOf = (piece: Piece): number => (piece instanceof Uint8Array ? piece.length : piece.bytes);

const flat = (piece: Piece): Uint8Array[] => (piece instanceof Uint8Array ? [piece] : piece.pieces.flatMap(flat));
