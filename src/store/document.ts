/**
 * Documents: JSON files of the store that are neither sessions nor journals. The store does not know the meaning of a
 * document. Its callers pass the name, the version of the schema and the parse function of each document;
 * src/documents/documents.ts has the table.
 */

export interface Document<T> {
  readonly name: string;
  /** Version of the schema. A file of another version counts as damaged. */
  readonly version: number;
  /** Undefined when the value is not of this schema. */
  readonly parse: (value: unknown) => T | undefined;
}

/** Documents of one schema, named `<prefix>-<id>`. */
export interface DocumentFamily<T> {
  readonly of: (id: string) => Document<T>;
  /** Undefined when the name belongs to another document. */
  readonly idOf: (name: string) => string | undefined;
}

/** The change of a document by a round. An undefined value removes the document. */
export interface DocumentChange {
  name: string;
  version?: number | undefined;
  value: unknown;
}

export const documentNamed = <T>(name: string, version: number, parse: Document<T>['parse']): Document<T> => ({
  name,
  version,
  parse,
});

export function documentFamily<T>(prefix: string, version: number, parse: Document<T>['parse']): DocumentFamily<T> {
  const start = `${prefix}-`;
  return {
    of: id => ({ name: `${start}${id}`, version, parse }),
    idOf: name => (name.startsWith(start) ? name.slice(start.length) : undefined),
  };
}

export const changeOf = <T>({ name, version }: Document<T>, value: T | undefined): DocumentChange => ({
  name,
  version,
  value,
});
