/**
 * The shapes of an agent's output: its hook events and their fields, the types of its transcript rows and their fields,
 * and the tools that it offers to the model. shapes.json holds the shapes of the pinned versions; `npm run test:agents --
 * --record` writes them. `npm run agents:newest` reports the shapes of newer versions that are not in it.
 */
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

/** Lists of names, sorted. A field is a path such as `tool_result.output[].success`; `*` stands for a name that varies. */
export interface Shapes {
  events: Record<string, string[]>;
  rows: Record<string, string[]>;
  tools: string[];
}

const file = join(import.meta.dirname, 'shapes.json');

/** The shapes of one run, from the files of its folder. */
export function shapesOf(folder: string, transcripts: readonly string[]): Shapes {
  const shapes: Shapes = { events: {}, rows: {}, tools: [] };
  for (const { event, payload } of jsonIn(join(folder, 'payloads.json')) as { event: string; payload: unknown }[]) {
    add(shapes.events, event, fieldsIn(payload));
  }
  for (const each of transcripts) {
    for (const row of rowsBelow(join(folder, 'home', each))) add(shapes.rows, typeOf(row), fieldsIn(row, 2));
  }
  const tools = new Set<string>();
  for (const { body } of jsonIn(join(folder, 'bodies.json')) as { body: string }[]) {
    for (const name of toolsIn(JSON.parse(body))) tools.add(name);
  }
  shapes.tools = [...tools].sort();
  return shapes;
}

/** One sentence for each part of `shapes` that shapes.json does not have. */
export function unknownIn(agent: string, shapes: Shapes): string[] {
  const known: Shapes = readShapes()[agent] ?? { events: {}, rows: {}, tools: [] };
  const of = (kind: 'events' | 'rows', word: string): string[] =>
    Object.entries(shapes[kind]).flatMap(([name, fields]) => {
      const before = known[kind][name];
      if (before === undefined) return [`${word} ${name}`];
      return fields.filter(field => !before.includes(field)).map(field => `field ${field} of ${word} ${name}`);
    });
  const tools = shapes.tools.filter(name => !known.tools.includes(name)).map(name => `tool ${name}`);
  return [...of('events', 'event'), ...of('rows', 'row type'), ...tools];
}

/** Adds the shapes of a run to shapes.json. Shapes of another version of the agent are replaced. */
export function recordShapes(agent: string, version: string, shapes: Shapes): void {
  const all = readShapes();
  const before = all[agent]?.version === version ? all[agent] : undefined;
  const merged: Shapes = { events: { ...before?.events }, rows: { ...before?.rows }, tools: [] };
  for (const kind of ['events', 'rows'] as const) {
    for (const [name, fields] of Object.entries(shapes[kind])) add(merged[kind], name, fields);
  }
  merged.tools = [...new Set([...(before?.tools ?? []), ...shapes.tools])].sort();
  all[agent] = { version, ...merged };
  const lines = Object.keys(all)
    .sort()
    .map(name => `${JSON.stringify(name)}: ${textOf(all[name] ?? { version, ...merged })}`);
  writeFileSync(file, `{\n${lines.join(',\n')}\n}\n`);
}

type Recorded = Shapes & { version: string };

const readShapes = (): Record<string, Recorded> =>
  existsSync(file) ? (JSON.parse(readFileSync(file, 'utf8')) as Record<string, Recorded>) : {};

function textOf({ version, events, rows, tools }: Recorded): string {
  const table = (of: Record<string, string[]>): string =>
    Object.keys(of)
      .sort()
      .map(name => `    ${JSON.stringify(name)}: ${JSON.stringify(of[name]?.toSorted())}`)
      .join(',\n');
  return [
    '{',
    `  "version": ${JSON.stringify(version)},`,
    `  "events": {\n${table(events)}\n  },`,
    `  "rows": {\n${table(rows)}\n  },`,
    `  "tools": ${JSON.stringify(tools)}`,
    '}',
  ].join('\n');
}

function add(to: Record<string, string[]>, name: string, fields: readonly string[]): void {
  to[name] = [...new Set([...(to[name] ?? []), ...fields])].sort();
}

/** Objects whose keys belong to a tool, a command or a model, and not to the agent. */
const foreign =
  /^(tool_?input|tool_?response|tool_?result|toolUseResult|toolArgs|input|output|args|arguments|parameters|result|resultDisplay|structuredContent|env|headers|properties|content|llm_request|llm_response)$/i;

/** An id, a path, a model or a number as a key. */
const varying = /[/.:@ ]|\d{2}|^\d|-.*\d/;

function fieldsIn(value: unknown, depth = 3, path = ''): string[] {
  if (Array.isArray(value)) return [...new Set(value.flatMap(each => fieldsIn(each, depth, `${path}[]`)))];
  if (typeof value !== 'object' || value === null || depth === 0) return [];
  return Object.entries(value).flatMap(([key, inner]) => {
    const name = varying.test(key) ? '*' : key;
    const here = path === '' ? name : `${path}.${name}`;
    return foreign.test(key) ? [here] : [here, ...fieldsIn(inner, depth - 1, here)];
  });
}

/** The type of a row, such as `response_item/function_call`. A document is a row without a type. */
function typeOf(row: unknown): string {
  const { type, role, subtype, payload } = row as Record<string, unknown>;
  const inner = (payload as Record<string, unknown> | null | undefined)?.type;
  return [type ?? role ?? 'document', subtype ?? inner].filter(each => typeof each === 'string').join('/');
}

/** The rows of all transcripts: lines of JSON, or the messages of a document. Databases have none. */
function rowsBelow(folder: string): unknown[] {
  if (!existsSync(folder)) return [];
  return readdirSync(folder, { recursive: true, encoding: 'utf8' }).flatMap(name => {
    if (!/\.jsonl?$/.test(name)) return [];
    const text = readFileSync(join(folder, name), 'utf8');
    const rows = name.endsWith('.jsonl') ? text.split('\n').map(parsed) : [parsed(text)];
    return rows.flatMap(row => {
      if (typeof row !== 'object' || row === null || Array.isArray(row)) return [];
      const { messages, ...rest } = row as { messages?: unknown };
      return Array.isArray(messages) ? [rest, ...messages] : [row];
    });
  });
}

function parsed(line: string): unknown {
  try {
    return JSON.parse(line);
  } catch {
    return undefined;
  }
}

/** The names of the tools in a request of any dialect; a namespace stands before the names of its tools. */
function toolsIn(body: unknown): string[] {
  const { tools, input } = body as { tools?: unknown; input?: unknown };
  const more = (Array.isArray(input) ? input : []).map(item => (item as { tools?: unknown } | null)?.tools);
  return [tools, ...more].flatMap(list => (Array.isArray(list) ? list : []).flatMap(namesOf));
}

function namesOf(tool: Record<string, unknown>): string[] {
  const inner = [tool.functionDeclarations, tool.function_declarations, tool.tools].find(Array.isArray);
  const name = tool.name ?? (tool.function as { name?: unknown } | undefined)?.name ?? tool.type;
  if (inner === undefined) return typeof name === 'string' ? [name] : [];
  const before = typeof tool.name === 'string' ? `${tool.name}.` : '';
  return (inner as Record<string, unknown>[]).flatMap(namesOf).map(each => before + each);
}

function jsonIn(path: string): unknown[] {
  const value: unknown = existsSync(path) ? JSON.parse(readFileSync(path, 'utf8')) : [];
  return Array.isArray(value) ? value : [];
}
