/**
 * `sqlite/shelf.db` was written by SQLite 3.40 with pages of 512 bytes, so that its trees have inner pages and long texts go on
 * in chains; `shelf.db-wal` holds a change that is not in it yet.
 */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { type Bytes, openDatabase } from '../../src/lib/sqlite.ts';

const folder = join(import.meta.dirname, 'sqlite');
const file = readFileSync(join(folder, 'shelf.db'));
const log = readFileSync(join(folder, 'shelf.db-wal'));

const bytesOf = (buffer: Buffer): Bytes => ({
  sizeBytes: buffer.length,
  slice: (at, length) => buffer.subarray(at, at + length),
});
const open = (buffer: Buffer, beside?: Buffer) => {
  const database = openDatabase(bytesOf(buffer), beside);
  if (database === undefined) throw new Error('no database');
  return database;
};

describe('a database', () => {
  const database = open(file);

  test('names its columns', () => {
    expect(database.columns('book')).toEqual(['id', 'shelf', 'pages', 'weight', 'note', 'cover']);
    expect(database.columns('nothing')).toEqual([]);
    // Without row ids there is no tree of rows.
    expect(database.columns('keyed')).toEqual([]);
  });

  test('gives every row of a table with any values', () => {
    const rows = [...database.rows('book')];
    expect(rows).toEqual(
      Array.from({ length: 150 }, (_, i) => ({
        id: `b${String(i).padStart(3, '0')}`,
        shelf: `shelf-${i % 7}`,
        pages: i + 1,
        weight: i / 4,
        note: i % 5 === 0 ? 'x'.repeat((i * 13) % 1_700) : undefined,
        cover: i % 9 === 0 ? Buffer.from([i, 255]) : undefined,
      })),
    );
  });

  test('gives the rows with one value, through an index and without one', () => {
    const ids = (column: string, equals: string) => [...database.rows('book', { column, equals })].map(row => row.id);
    const ofThree = Array.from({ length: 150 }, (_, i) => i).filter(i => i % 7 === 3);
    expect(ids('shelf', 'shelf-3')).toEqual(ofThree.map(i => `b${String(i).padStart(3, '0')}`));
    expect(ids('shelf', 'shelf')).toEqual([]);
    expect(ids('shelf', 'shelf-99')).toEqual([]);
    expect(ids('id', 'b042')).toEqual(['b042']);
  });

  test('looks at few pages to find the rows of an index', () => {
    let looked = 0;
    const counting: Bytes = {
      sizeBytes: file.length,
      slice: (at, length) => {
        looked += 1;
        return file.subarray(at, at + length);
      },
    };
    const counted = openDatabase(counting);
    const opened = looked;
    expect([...(counted?.rows('book', { column: 'shelf', equals: 'shelf-9' }) ?? [])]).toEqual([]);
    expect(looked - opened).toBeLessThan(5);
  });

  test('has the row id for a column that is an alias of it', () => {
    expect([...database.rows('counted')].map(row => [row.n, row.word])).toEqual([
      [-3, 'minus three'],
      [5, 'five'],
      [70_000_000_000, 'many'],
    ]);
  });

  test('includes the committed pages of the log', () => {
    const both = open(file, log);
    expect([...both.rows('book', { column: 'id', equals: 'b001' })].map(row => row.note)).toEqual(['from the log']);
    expect([...both.rows('book', { column: 'shelf', equals: 'shelf-9' })].map(row => row.weight)).toEqual([2.5]);
    // A log that was cut in the middle of its only commit counts as empty.
    const cut = open(file, log.subarray(0, log.length - 600));
    expect([...cut.rows('book')]).toEqual([...database.rows('book')]);
  });

  test('is undefined for other files', () => {
    expect(openDatabase(bytesOf(Buffer.from('{"sessionId":1}')))).toBeUndefined();
    expect(openDatabase(bytesOf(Buffer.alloc(4_096)))).toBeUndefined();
  });
});

test('a damaged database is read to its end', () => {
  const damage = fc.array(fc.tuple(fc.nat(file.length - 1), fc.nat(255)), { minLength: 1, maxLength: 60 });
  fc.assert(
    fc.property(damage, fc.nat(file.length), (bent, length) => {
      const broken = Buffer.from(file.subarray(0, Math.max(length, 2_048)));
      for (const [at, byte] of bent) if (at >= 100 && at < broken.length) broken[at] = byte;
      const database = openDatabase(bytesOf(broken), log);
      const count = [...(database?.rows('book') ?? [])].length;
      expect(count).toBeLessThan(20_000);
      // Damage may have renamed the columns as well.
      for (const row of database?.rows('book', { column: 'shelf', equals: 'shelf-3' }) ?? [])
        expect(Object.keys(row)).not.toEqual([]);
    }),
    { numRuns: 60 },
  );
});
