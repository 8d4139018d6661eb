/**
 * Runs one SQL query over tables in memory, by SQLite compiled to WebAssembly (docs/decisions/0010). The engine has no
 * access to files. A query that changes something changes only the memory of this process, and is refused.
 */
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import type { Table, Take, Value } from './tables.ts';

/** The paths of the engine, which the build inserts; when run from source, the package. */
declare const __SQL__: readonly string[] | undefined;

interface Statement {
  run(values: (string | number | null)[]): void;
  step(): boolean;
  get(): (string | number | Uint8Array | null)[];
  getColumnNames(): string[];
  free(): void;
}
interface Database {
  run(sql: string): void;
  prepare(sql: string): Statement;
  iterateStatements(sql: string): Iterable<Statement> & { getRemainingSQL(): string };
  close(): void;
}
type Init = (config: { wasmBinary: Buffer }) => Promise<{ Database: new () => Database }>;

export interface Result {
  columns: string[];
  rows: (string | number | null)[][];
  /** There are more rows than asked. */
  isCut: boolean;
}

/** The query cannot be run. `at`: the offset in the query, if it is known. */
export class QueryError extends Error {
  readonly at: number | undefined;

  constructor(message: string, at?: number) {
    super(message);
    this.at = at;
  }
}

export class Engine {
  private readonly database: Database;

  private constructor(database: Database, mostBytes: number) {
    this.database = database;
    database.run(`PRAGMA hard_heap_limit=${mostBytes}; PRAGMA temp_store=MEMORY; PRAGMA journal_mode=OFF;`);
  }

  static async start(mostBytes: number): Promise<Engine> {
    const { Database } = await loaded();
    return new Engine(new Database(), mostBytes);
  }

  /** Makes empty tables. */
  define(tables: readonly Table[]): void {
    for (const { name, columns } of tables)
      this.database.run(
        `CREATE TABLE ${name} (${columns.map(column => `"${column.name}" ${column.type}`).join(', ')})`,
      );
  }

  /** Throws if the query is wrong. */
  check(sql: string): void {
    this.only(sql).free();
  }

  /** Fills the tables by what `read` gives. From then on they cannot be changed. */
  fill(tables: readonly Table[], read: (take: Take) => void): void {
    const inserts = new Map<string, Statement>();
    for (const { name, columns } of tables)
      inserts.set(name, this.database.prepare(`INSERT INTO ${name} VALUES (${columns.map(() => '?').join(', ')})`));
    this.database.run('BEGIN');
    try {
      read((table: string, row: Value[]) => inserts.get(table)?.run(row.map(value => value ?? null)));
    } catch (error) {
      throw asQueryError(error, '');
    }
    this.database.run('COMMIT');
    for (const insert of inserts.values()) insert.free();
    this.database.run('PRAGMA query_only=ON');
  }

  run(sql: string, mostRows: number): Result {
    const statement = this.only(sql);
    const rows: Result['rows'] = [];
    try {
      const columns = statement.getColumnNames();
      while (statement.step()) {
        if (rows.length === mostRows) return { columns, rows, isCut: true };
        rows.push(
          statement.get().map(value => (value instanceof Uint8Array ? Buffer.from(value).toString('hex') : value)),
        );
      }
      return { columns, rows, isCut: false };
    } catch (error) {
      throw asQueryError(error, sql);
    } finally {
      statement.free();
    }
  }

  close(): void {
    this.database.close();
  }

  private only(sql: string): Statement {
    const all = this.database.iterateStatements(sql);
    const found = all[Symbol.iterator]();
    const first = this.prepared(() => found.next(), sql);
    if (first.done === true) throw new QueryError('there is no statement', 0);
    const rest = all.getRemainingSQL();
    const text = first.value;
    if (/^(?:\s|--[^\n]*(?:\n|$)|;)*$/.test(rest)) return text;
    text.free();
    throw new QueryError('only one statement can be run', sql.length - rest.trimStart().length);
  }

  private prepared<T>(prepare: () => T, sql: string): T {
    try {
      return prepare();
    } catch (error) {
      const { message } = asQueryError(error, sql);
      throw new QueryError(message, this.positionOf(message, sql));
    }
  }

  /** The engine does not say where an error is: the error is the first place up to which the query gives the same one. */
  private positionOf(message: string, sql: string): number | undefined {
    if (message === 'incomplete input') return sql.length;
    const near = /^near "([\s\S]+)": syntax error$/.exec(message)?.[1];
    if (near !== undefined) {
      for (let at = sql.indexOf(near); at >= 0; at = sql.indexOf(near, at + 1))
        if (this.messageOf(sql.slice(0, at + near.length)) === message) return at;
      return undefined;
    }
    const odd = /^unrecognized token: "([\s\S]*?)"?$/.exec(message)?.[1];
    const name = /^(?:no such (?:column|table|function)|ambiguous column name): (?:.*\.)?([^.]+)$/.exec(message)?.[1];
    const at = odd !== undefined ? sql.indexOf(odd) : name === undefined ? -1 : wordAt(sql, name);
    return at < 0 ? undefined : at;
  }

  private messageOf(sql: string): string | undefined {
    try {
      this.database.prepare(sql).free();
      return undefined;
    } catch (error) {
      return asQueryError(error, sql).message;
    }
  }
}

function wordAt(sql: string, name: string): number {
  const plain = name.replace(/[.*+?^${}()|[\]\\]/g, '\\$&');
  return new RegExp(`(?<![\\w$])${plain}(?![\\w$])`, 'i').exec(sql)?.index ?? -1;
}

function asQueryError(error: unknown, sql: string): QueryError {
  if (error instanceof QueryError) return error;
  const message = error instanceof Error ? error.message : String(error);
  if (/out of memory|memory access out of bounds/.test(message))
    return new QueryError('the query needs more memory than it may use; --since takes fewer sessions');
  if (/attempt to write a readonly database|not authorized/.test(message))
    return new QueryError('a query can only read', sql === '' ? undefined : 0);
  return new QueryError(message);
}

async function loaded() {
  const load = createRequire(import.meta.url);
  for (const place of typeof __SQL__ === 'undefined' ? ['sql.js'] : __SQL__) {
    try {
      const path = load.resolve(place);
      const init = load(path) as Init;
      return await init({ wasmBinary: readFileSync(join(dirname(path), 'sql-wasm.wasm')) });
    } catch (error) {
      // Try the next place.
      if ((error as NodeJS.ErrnoException).code !== 'MODULE_NOT_FOUND') throw error;
    }
  }
  throw new Error('the file of the SQL engine is missing beside this program; install the package again');
}
