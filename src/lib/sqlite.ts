/**
 * Reads rows of an SQLite database that another program writes: page by page, without a lock and without SQLite itself.
 * Format: https://sqlite.org/fileformat2.html.
 *
 * Why not a library such as `sql.js`? Measured with sql.js 1.16 on Node 20, on a database of 215 MB with 60,000 rows
 * that another process keeps open in WAL mode, to read one session of 310 rows:
 *
 *                                       this file    sql.js
 *   minified size                       5 KB         736 KB (48 KB JavaScript, 688 KB WebAssembly)
 *   time to load                        < 1 ms       32 to 55 ms
 *   time to read the session            24 to 35 ms  139 to 191 ms
 *   bytes read                          3.8 MB       215 MB: it takes the whole file
 *   memory above that of an empty Node  12 MB        225 to 241 MB
 *   rows of the write-ahead log         10 of 10     0 of 10: it takes no log beside the file
 *
 * Without the log, the newest messages of a running agent are missing, and no error says so.
 *
 *   file     pages of one size, the first one with a header of 100 bytes; b-trees of tables (by row id) and of indices
 *   log      the write-ahead log beside the file has newer pages, which count up to its last commit
 *   record   a header of types, then the values; a long record goes on in a chain of overflow pages
 *
 * Not supported: tables without row ids, and text in another encoding than UTF-8. At an invalid page the reading of its
 * tree ends: rows are missing then. Each page of a tree is entered once, so a cycle adds no wrong rows.
 */
export interface Bytes {
  readonly sizeBytes: number;
  slice(at: number, length: number): Buffer;
}

export type Value = string | number | Buffer | undefined;
export type Row = Readonly<Record<string, Value>>;

export interface Database {
  /** Columns of a table; empty without such a table. */
  columns(table: string): readonly string[];
  /** Yields the rows of a table, or the rows with one value in one column, using an index if there is one. */
  rows(table: string, where?: { column: string; equals: string }): Iterable<Row>;
}

interface Table {
  root: number;
  columns: string[];
  /** The column that is the row id; its value is not in the record. */
  idColumn: string | undefined;
  indices: { root: number; column: string }[];
}

interface Pages {
  usable: number;
  read(page: number): Buffer;
}

export function openDatabase(bytes: Bytes, log?: Buffer): Database | undefined {
  const pages = pagesOf(bytes, log);
  if (pages === undefined) return undefined;
  const tables = schemaOf(pages);
  return {
    columns: name => tables.get(name)?.columns ?? [],
    *rows(name, where) {
      const table = tables.get(name);
      if (table === undefined) return;
      const index = where && table.indices.find(({ column }) => column === where.column);
      if (where === undefined || index === undefined) {
        for (const [id, payload] of tableCells(pages, table.root)) {
          const row = rowOf(table, id, payload());
          if (where === undefined || row[where.column] === where.equals) yield row;
        }
        return;
      }
      for (const id of idsIn(pages, index.root, Buffer.from(where.equals))) {
        const payload = cellOf(pages, table.root, id);
        if (payload !== undefined) yield rowOf(table, id, payload);
      }
    },
  };
}

const MAGIC = 'SQLite format 3\0';
const UTF8 = 1;

function pagesOf(bytes: Bytes, log: Buffer | undefined): Pages | undefined {
  const header = bytes.slice(0, 100);
  if (header.length < 100 || header.toString('latin1', 0, 16) !== MAGIC) return undefined;
  const stated = header.readUInt16BE(16);
  const size = stated === 1 ? 65_536 : stated;
  const encoding = header.readUInt32BE(56);
  if (size < 512 || (size & (size - 1)) !== 0 || (encoding !== UTF8 && encoding !== 0)) return undefined;
  const newer = log === undefined ? new Map<number, Buffer>() : loggedPages(log, size);
  return {
    usable: size - header.readUInt8(20),
    read: page => newer.get(page) ?? bytes.slice((page - 1) * size, size),
  };
}

/** Returns the pages of the log up to its last commit. Frames of an older log have other salts than the header. */
function loggedPages(log: Buffer, size: number): Map<number, Buffer> {
  const committed = new Map<number, Buffer>();
  if (log.length < 32 || log.readUInt32BE(8) !== size) return committed;
  const salts = log.toString('hex', 16, 24);
  const pending = new Map<number, Buffer>();
  for (let at = 32; at + 24 + size <= log.length; at += 24 + size) {
    if (log.toString('hex', at + 8, at + 16) !== salts) break;
    pending.set(log.readUInt32BE(at), log.subarray(at + 24, at + 24 + size));
    if (log.readUInt32BE(at + 4) === 0) continue;
    for (const [page, content] of pending) committed.set(page, content);
    pending.clear();
  }
  return committed;
}

// ---------------------------------------------------------------- schema

const SCHEMA: Table = {
  root: 1,
  columns: ['type', 'name', 'tbl_name', 'rootpage', 'sql'],
  idColumn: undefined,
  indices: [],
};

function schemaOf(pages: Pages): Map<string, Table> {
  const tables = new Map<string, Table>();
  const indices: { table: string; root: number; column: string }[] = [];
  for (const [id, payload] of tableCells(pages, SCHEMA.root)) {
    const { type, name, tbl_name: table, rootpage: root, sql } = rowOf(SCHEMA, id, payload());
    if (typeof root !== 'number' || typeof sql !== 'string' || typeof name !== 'string') continue;
    const inner = sql.slice(sql.indexOf('(') + 1, sql.lastIndexOf(')'));
    if (type === 'index' && typeof table === 'string') {
      indices.push({ table, root, column: unquoted(parts(inner)[0] ?? '') });
    } else if (type === 'table' && !/\)[^)]*\bWITHOUT\s+ROWID\b[^)]*$/i.test(sql)) {
      const definitions = parts(inner).filter(part => !/^(?:PRIMARY|UNIQUE|CHECK|FOREIGN|CONSTRAINT)\b/i.test(part));
      const own = definitions.find(part => /^\S+\s+INTEGER\s+(?:NOT\s+NULL\s+)?PRIMARY\s+KEY/i.test(part));
      tables.set(name, { root, columns: definitions.map(unquoted), idColumn: own && unquoted(own), indices: [] });
    }
  }
  for (const { table, root, column } of indices) tables.get(table)?.indices.push({ root, column });
  return tables;
}

/** Splits at commas outside of brackets and quotes. */
function parts(list: string): string[] {
  const found = [''];
  let depth = 0;
  let quote = '';
  for (const sign of list) {
    if (quote !== '') {
      if (sign === quote) quote = '';
    } else if ('\'"`'.includes(sign)) quote = sign;
    else if (sign === '(') depth += 1;
    else if (sign === ')') depth -= 1;
    if (sign === ',' && depth === 0 && quote === '') found.push('');
    else found[found.length - 1] += sign;
  }
  return found.map(part => part.trim());
}

const unquoted = (definition: string): string => /^["`[]?([^"`\]\s]+)/.exec(definition)?.[1] ?? '';

// ---------------------------------------------------------------- trees

const TABLE_LEAF = 13;
const TABLE_INNER = 5;
const INDEX_LEAF = 10;
const INDEX_INNER = 2;

interface Node {
  kind: number;
  page: Buffer;
  /** Offsets of its cells. */
  cells: number[];
  /** The last child of an inner page. */
  right: number;
}

function nodeOf(pages: Pages, number: number): Node | undefined {
  const page = pages.read(number);
  const base = number === 1 ? 100 : 0;
  if (page.length < base + 12) return undefined;
  const kind = page.readUInt8(base);
  const isInner = kind === TABLE_INNER || kind === INDEX_INNER;
  const count = page.readUInt16BE(base + 3);
  const from = base + (isInner ? 12 : 8);
  if (from + count * 2 > page.length) return undefined;
  const cells = Array.from({ length: count }, (_, i) => page.readUInt16BE(from + i * 2));
  if (cells.some(at => at + 4 > page.length)) return undefined;
  return { kind, page, cells, right: isInner ? page.readUInt32BE(base + 8) : 0 };
}

type Cell = [id: number, payload: () => Buffer];

function* tableCells(pages: Pages, root: number, entered = new Set<number>()): Generator<Cell> {
  if (entered.has(root)) return;
  entered.add(root);
  const node = nodeOf(pages, root);
  if (node?.kind === TABLE_LEAF) for (const at of node.cells) yield leafCell(pages, node.page, at);
  if (node?.kind !== TABLE_INNER) return;
  for (const at of node.cells) yield* tableCells(pages, node.page.readUInt32BE(at), entered);
  yield* tableCells(pages, node.right, entered);
}

function leafCell(pages: Pages, page: Buffer, at: number): Cell {
  const [length, afterLength] = varint(page, at);
  const [id, from] = varint(page, afterLength);
  return [id, () => payloadAt(pages, page, from, length, pages.usable - 35)];
}

/** Returns one row of a table by its id. */
function cellOf(pages: Pages, root: number, id: number): Buffer | undefined {
  const entered = new Set<number>();
  for (let number = root; !entered.has(number); ) {
    entered.add(number);
    const node = nodeOf(pages, number);
    if (node?.kind === TABLE_LEAF) {
      for (const at of node.cells) {
        const [known, payload] = leafCell(pages, node.page, at);
        if (known === id) return payload();
      }
    }
    if (node?.kind !== TABLE_INNER) return undefined;
    const next = node.cells.find(at => varint(node.page, at + 4)[0] >= id);
    number = next === undefined ? node.right : node.page.readUInt32BE(next);
  }
  return undefined;
}

/** Yields the row ids of a text in the first column of an index. */
function* idsIn(pages: Pages, root: number, text: Buffer, entered = new Set<number>()): Generator<number> {
  if (entered.has(root)) return;
  entered.add(root);
  const node = nodeOf(pages, root);
  if (node?.kind !== INDEX_LEAF && node?.kind !== INDEX_INNER) return;
  const skip = node.kind === INDEX_INNER ? 4 : 0;
  for (const at of node.cells) {
    const [length, from] = varint(node.page, at + skip);
    const most = Math.floor(((pages.usable - 12) * 64) / 255) - 23;
    const values = valuesOf(payloadAt(pages, node.page, from, length, most));
    const order = orderOf(values[0], text);
    // The left child of an inner cell has smaller and equal values.
    if (skip > 0 && order >= 0) yield* idsIn(pages, node.page.readUInt32BE(at), text, entered);
    const id = values.at(-1);
    if (order === 0 && typeof id === 'number') yield id;
    if (order > 0) return;
  }
  if (skip > 0) yield* idsIn(pages, node.right, text, entered);
}

/** The order of an index: NULL, numbers, texts by their bytes, blobs. */
function orderOf(value: Value, text: Buffer): number {
  if (value === undefined || typeof value === 'number') return -1;
  return typeof value === 'string' ? Buffer.compare(Buffer.from(value), text) : 1;
}

// ---------------------------------------------------------------- records

/** The part of a record in its page, and the rest from the chain of overflow pages. */
function payloadAt(pages: Pages, page: Buffer, from: number, length: number, most: number): Buffer {
  if (length <= most) return page.subarray(from, from + length);
  const { usable } = pages;
  const least = Math.floor(((usable - 12) * 32) / 255) - 23;
  const fitting = least + ((length - least) % (usable - 4));
  const local = fitting <= most ? fitting : least;
  if (from + local + 4 > page.length) return Buffer.alloc(0);
  const pieces = [page.subarray(from, from + local)];
  let missing = length - local;
  let next = page.readUInt32BE(from + local);
  for (const entered = new Set<number>(); next !== 0 && missing > 0 && !entered.has(next); ) {
    entered.add(next);
    const more = pages.read(next);
    if (more.length < 4) break;
    pieces.push(more.subarray(4, 4 + Math.min(missing, usable - 4)));
    missing -= usable - 4;
    next = more.readUInt32BE(0);
  }
  return Buffer.concat(pieces);
}

function rowOf({ columns, idColumn }: Table, id: number, payload: Buffer): Row {
  const values = valuesOf(payload);
  return Object.fromEntries(columns.map((name, i) => [name, name === idColumn ? id : values[i]]));
}

function valuesOf(payload: Buffer): Value[] {
  const values: Value[] = [];
  const [headerLength, first] = varint(payload, 0);
  let at = headerLength;
  for (let header = first; header < headerLength && header < payload.length; ) {
    const [type, next] = varint(payload, header);
    const length = lengthOf(type);
    values.push(at + length > payload.length ? undefined : valueAt(payload, at, type, length));
    at += length;
    header = next;
  }
  return values;
}

const lengthOf = (type: number): number =>
  type >= 12 ? Math.floor((type - 12) / 2) : type === 6 || type === 7 ? 8 : type === 5 ? 6 : type <= 4 ? type : 0;

function valueAt(payload: Buffer, at: number, type: number, length: number): Value {
  if (type === 0 || type === 10 || type === 11) return undefined;
  if (type <= 5) return payload.readIntBE(at, length);
  if (type === 6) return Number(payload.readBigInt64BE(at));
  if (type === 7) return payload.readDoubleBE(at);
  if (type === 8 || type === 9) return type - 8;
  return type % 2 === 1 ? payload.toString('utf8', at, at + length) : payload.subarray(at, at + length);
}

/**
 * Reads a varint: seven bits of each byte, whose first bit states that more bytes follow; all eight bits of the ninth
 * byte, which only negative ids have.
 */
function varint(bytes: Buffer, at: number): [value: number, next: number] {
  let value = 0;
  for (let i = 0; i < 8; i += 1) {
    const byte = bytes[at + i] ?? 0;
    value = value * 128 + (byte & 0x7f);
    if (byte < 0x80) return [value, at + i + 1];
  }
  let large = 0n;
  for (let i = 0; i < 8; i += 1) large = large * 128n + BigInt((bytes[at + i] ?? 0) & 0x7f);
  return [Number(BigInt.asIntN(64, large * 256n + BigInt(bytes[at + 8] ?? 0))), at + 9];
}
