/** Parts that dialects share: tables of tools, and the answers of agents that follow Claude Code's. */
import type { Fields } from '../../event/event.ts';
import { fieldsOf, isFields, own, put, text, word } from '../../lib/read.ts';
import type {
  Answer,
  Call,
  Dialect,
  Ended,
  Heard,
  HookDocument,
  Occasion,
  PlainField,
  Reply,
  Verdict,
} from '../contract/dialect.ts';

/** A native tool: its word in the vocabulary, and its native fields by canonical field. */
export interface ToolRow {
  readonly tool: string;
  readonly fields: Readonly<Record<string, string>>;
}

/** `__` joins the server and the tool unless another form is given. */
export interface McpName {
  readonly before: string;
  readonly between: string;
}

export type ToolRows = Readonly<Record<string, ToolRow>>;

/** Returns one use of a tool with its input in canonical fields. Fields without a canonical name keep their own. */
export function callOf(name: string, input: Fields, rows: ToolRows, mcp?: McpName): Call {
  const row = own(rows, name);
  if (row !== undefined) return { tool: row.tool, nativeTool: name, input: canonical(input, row.fields) };
  const split = mcp === undefined ? undefined : mcpOf(name, mcp);
  return { tool: name, nativeTool: name, input, ...(split === undefined ? {} : { mcp: split }) };
}

export function mcpOf(name: string, { before, between }: McpName): HookDocument['mcp'] {
  if (!name.startsWith(before)) return undefined;
  const rest = name.slice(before.length);
  const at = rest.indexOf(between);
  return at <= 0 || at + between.length >= rest.length
    ? undefined
    : { server: rest.slice(0, at), tool: rest.slice(at + between.length) };
}

/** Returns the native name and input of a document's tool. */
export function nativeCall(
  document: HookDocument,
  rows: ToolRows,
  mcp?: McpName,
): { readonly name: string; readonly input: Fields } | undefined {
  const { tool, mcp: of, tool_input: input = {} } = document;
  if (of !== undefined && mcp !== undefined)
    return { name: `${mcp.before}${of.server ?? ''}${mcp.between}${of.tool}`, input };
  if (tool === undefined) return undefined;
  const found = Object.entries(rows).find(([, row]) => row.tool === tool);
  return found === undefined ? { name: tool, input } : { name: found[0], input: native(input, found[1].fields) };
}

export function canonical(input: Fields, names: ToolRow['fields']): Fields {
  const renamed: Record<string, unknown> = {};
  const canonicalOf = new Map(Object.entries(names).map(([ours, theirs]) => [theirs, ours]));
  for (const [key, value] of Object.entries(input)) put(renamed, canonicalOf.get(key) ?? key, value);
  return renamed;
}

export function native(input: Fields, names: ToolRow['fields']): Fields {
  const renamed: Record<string, unknown> = {};
  for (const [key, value] of Object.entries(input)) put(renamed, own(names, key) ?? key, value);
  return renamed;
}

/** The canonical input of an updated native input, as a hook of this dialect wrote it. */
export function updatedInput(value: unknown, document: HookDocument, rows: ToolRows): Fields | undefined {
  if (!isFields(value)) return undefined;
  const row = Object.values(rows).find(({ tool }) => tool === document.tool);
  return row === undefined ? value : canonical(value, row.fields);
}

/**
 * Returns the native input of one call with another canonical input. Native fields that the vocabulary does not know
 * stay: an agent can require them.
 */
export function rewrittenInput(name: string, before: Fields, input: Fields, rows: ToolRows): Fields {
  const row = own(rows, name);
  if (row === undefined) return input;
  const known = Object.values(row.fields);
  const kept = Object.fromEntries(Object.entries(before).filter(([key]) => !known.includes(key)));
  return { ...kept, ...native(input, row.fields) };
}

export function at(payload: Fields, path: string): unknown {
  let value: unknown = payload;
  for (const key of path.split('.')) {
    if (!isFields(value)) return undefined;
    value = own(value, key);
  }
  return value;
}

/** Returns the plain fields of a payload for a document, each under the name of this dialect. */
export function plainFields(document: HookDocument, fields: Dialect['fields']): Record<string, unknown> {
  const found: Record<string, unknown> = {};
  for (const [field, [path]] of Object.entries(fields) as [PlainField, readonly string[]][]) {
    const value = document[field];
    if (path === undefined || value === undefined) continue;
    const keys = path.split('.');
    const last = keys.pop() ?? '';
    let place = found;
    for (const key of keys) {
      if (!isFields(place[key])) place[key] = {};
      place = place[key] as Record<string, unknown>;
    }
    place[last] = value;
  }
  return found;
}

export function nativeEvent(document: HookDocument, events: Dialect['events']): string {
  return Object.keys(events).find(name => events[name] === document.event) ?? document.native_event;
}

/** The input of a tool can be JSON in a text. */
export function inputOf(value: unknown): Fields {
  if (isFields(value)) return value;
  if (typeof value !== 'string') return {};
  const read = json(value);
  return isFields(read) ? read : { raw: value };
}

export function json(value: string): unknown {
  try {
    return JSON.parse(value);
  } catch {
    return undefined;
  }
}

/** The answer in JSON of a command that succeeded; a text if it is not JSON; undefined for an empty output. */
export function answerOf(stdout: string): Fields | string | undefined {
  const trimmed = stdout.trim();
  if (trimmed === '') return undefined;
  const value = trimmed.startsWith('{') ? json(trimmed) : undefined;
  return isFields(value) ? value : trimmed;
}

export const failure = (ended: Ended): string =>
  `exit code ${ended.code}${ended.stderr.trim() === '' ? '' : `: ${ended.stderr.trim()}`}`;

/** Exit code 2 denies with the text of stderr; any other code except 0 is a fault. */
export function heardByCode(ended: Ended): Heard | undefined {
  if (ended.code === 2) return { kind: 'denial', reason: ended.stderr.trim() || ended.stdout.trim() };
  return ended.code === 0 ? undefined : fault(failure(ended));
}

export const fault = (why: string): Heard => ({ kind: 'fault', why });
export const answered = (answer: Answer): Heard => ({ kind: 'answer', answer });

/** Events at which plain output is given to the model. */
const contextual = ['session_start', 'before_prompt', 'subagent_start'];

/** The answers of Claude Code, and of agents that took them over. */
export function heardInJson(ended: Ended, document: HookDocument, rows: ToolRows): Heard {
  const byCode = heardByCode(ended);
  if (byCode !== undefined) return byCode;
  const output = answerOf(ended.stdout);
  if (output === undefined) return answered({});
  if (typeof output === 'string') {
    if (output.startsWith('{')) return fault(`its output is not JSON: ${output.slice(0, 200)}`);
    return answered(contextual.includes(document.event) ? { context: output } : {});
  }
  const specific = fieldsOf(output.hookSpecificOutput);
  const inner = fieldsOf(specific.decision);
  const word = specific.permissionDecision ?? inner.behavior ?? output.decision;
  // A decision that cannot be read could be a denial.
  if (!isDecision(word)) return fault(`its decision is unknown: ${JSON.stringify(word)}`);
  const reason =
    text(specific.permissionDecisionReason) ?? text(inner.message) ?? text(output.reason) ?? text(output.stopReason);
  return answered({
    decision: decisionOf(word),
    reason,
    ...(output.continue === false ? { continue: false } : {}),
    context: text(specific.additionalContext),
    updated_input: updatedInput(specific.updatedInput ?? inner.updatedInput, document, rows),
    ...(output.suppressOutput === true ? { suppress_output: true } : {}),
    system_message: text(output.systemMessage),
  });
}

export function decisionOf(decision: unknown): Answer['decision'] {
  if (decision === 'deny' || decision === 'block') return 'deny';
  if (decision === 'ask' || decision === 'force_ask') return 'ask';
  return decision === 'allow' || decision === 'approve' ? 'allow' : undefined;
}

export const isDecision = (value: unknown): boolean =>
  value === undefined || value === null || value === 'defer' || decisionOf(value) !== undefined;

export function toolPayload(
  document: HookDocument,
  rows: ToolRows,
  mcp: McpName | undefined,
  [name, input]: readonly [string, string],
): Fields {
  const call = nativeCall(document, rows, mcp);
  return call === undefined ? {} : { [name]: call.name, [input]: call.input };
}

/** The usual form of a payload with one tool. */
export function oneCall(payload: Fields, rows: ToolRows, mcp: McpName | undefined, keys: readonly string[]): Call[] {
  const [name = '', input = ''] = keys;
  const tool = word(payload[name]);
  return tool === undefined ? [] : [callOf(tool, inputOf(payload[input]), rows, mcp)];
}

/** The JSON that Claude Code reads, and agents that took it over. */
export function jsonReply(verdict: Verdict, occasion: Occasion): Reply {
  const { reason, context, system_message: message } = verdict;
  const specific: Record<string, unknown> = {
    ...decided(verdict, occasion),
    ...(context === undefined ? {} : { additionalContext: context }),
  };
  const isDenied = verdict.decision === 'deny' && specific.permissionDecision === undefined;
  const output = {
    ...(isDenied && specific.decision === undefined ? { decision: 'block', reason } : {}),
    ...(verdict.continue === false ? { continue: false, ...(reason === undefined ? {} : { stopReason: reason }) } : {}),
    ...(verdict.suppress_output === true ? { suppressOutput: true } : {}),
    ...(message === undefined ? {} : { systemMessage: message }),
    ...(Object.keys(specific).length === 0
      ? {}
      : { hookSpecificOutput: { hookEventName: occasion.native, ...specific } }),
  };
  return Object.keys(output).length === 0 ? {} : { stdout: output };
}

/** The decision at the events that have fields of their own for it. */
function decided({ decision, reason, updatedInput: input }: Verdict, { event }: Occasion): Record<string, unknown> {
  const isDenied = decision === 'deny';
  const changed = input === undefined || isDenied ? {} : { updatedInput: input };
  if (event === 'before_tool_execute') {
    const why = decision === undefined || reason === undefined ? {} : { permissionDecisionReason: reason };
    return { ...(decision === undefined ? {} : { permissionDecision: decision }), ...why, ...changed };
  }
  if (event !== 'permission_request' || decision === undefined) return {};
  return { decision: isDenied ? { behavior: 'deny', message: reason } : { behavior: decision, ...changed } };
}

/** Exit code 2 with the reason on stderr. */
export const replyByCode = ({ decision, reason = 'A hook denied this.', context }: Verdict): Reply =>
  decision === 'deny' ? { code: 2, stderr: reason } : context === undefined ? {} : { stdout: context };
