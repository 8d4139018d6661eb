/** Calls. General hooks cover all actions; special hooks cover one kind each and report the same call again. */
import type { Facts, Fields } from '../../event/event.ts';
import { canonicalJson } from '../../lib/hash.ts';
import { number, text, word } from '../../lib/read.ts';
import type { HookEvent, Memory, Reading } from '../contract/contract.ts';
import { nextNumber } from '../shared/numbers.ts';
import { eventName, ofNoTurn, reading, turnOf } from './reading.ts';
import { inputOf, launchedBy, mcpToolOf, toolFacts } from './tools.ts';

/** The facts of a call, completed by facts that its special hooks and its subagent reported before. */
export const callFacts = (fields: Fields, call: string, memory: Memory): NonNullable<Reading['facts']> => ({
  ...turnOf(fields),
  ...toolFacts(fields, memory.recall('servers', call)),
  launches: launchedBy(fields, memory.recall('launched', call)),
});

interface Described {
  kind: string;
  subject: string;
}

/** Describes the call of a general hook in the same form as the call of a special hook. */
export function toolCall(fields: Fields): Described {
  const tool = text(fields.tool_name) ?? 'unknown';
  const input = inputOf(fields.tool_input);
  const path = text(input.path) ?? text(input.file_path) ?? '';
  const mcp = mcpToolOf(fields);
  if (mcp !== undefined) return { kind: `mcp ${mcp}`, subject: canonicalJson(input) };
  if (tool === 'Shell') return { kind: 'shell', subject: text(input.command) ?? '' };
  if (tool === 'Read') return { kind: 'read', subject: path };
  if (tool === 'Write') return { kind: 'write', subject: path };
  return { kind: tool, subject: canonicalJson(input) };
}

/** The hooks that reported a call: general before (B) and after (A), special before (b) and after (a). */
type Report = 'B' | 'A' | 'b' | 'a';

interface KnownCall {
  id: string;
  /** The reports so far, including this one. */
  reports: string;
}

/**
 * Returns the call of a hook: by its id, otherwise the oldest call with the same subject that this kind of hook has not
 * reported yet.
 */
export function callOf(fields: Fields, { kind, subject }: Described, report: Report, memory: Memory): KnownCall {
  const turn = [text(fields.conversation_id) ?? '', text(fields.generation_id) ?? ''];
  const like = memory.likeness([...turn, kind, subject].join('\0'));
  const id = word(fields.tool_use_id);
  const known = memory.list('calls').map(([call, entry]) => {
    const [reports = '', alike] = entry.split(' ');
    return { id: call, reports, alike: alike === like };
  });
  const native = id === undefined ? undefined : (memory.recall('also', id) ?? id);
  const fits = known.filter(each => each.alike && !each.reports.includes(report) && maySpeakOf(each.reports, report));
  // An end from a special hook belongs to a start from a special hook, if there is one.
  const begun = report === 'a' ? fits.find(each => each.reports.includes('b')) : undefined;
  const call = known.find(each => each.id === native) ?? begun ?? fits[0];
  const found = call?.id ?? native ?? `call-${nextNumber('calls', memory)}`;
  if (id !== undefined && id !== found) memory.remember('also', id, found);
  const reports = `${call?.reports ?? ''}${report}`;
  memory.remember('calls', found, `${reports} ${like}`);
  return { id: found, reports };
}

/**
 * A call that general hooks reported has its own id, so it is not shared. The start of a call never follows its end.
 */
function maySpeakOf(reports: string, report: Report): boolean {
  const over = reports.includes('A') || reports.includes('a');
  switch (report) {
    case 'B':
      return !over;
    case 'A':
      return !reports.includes('B');
    case 'b':
      return !over;
    case 'a':
      return true;
  }
}

/** Returns true if the start of the call was reported and its end was not. */
export function isRunning(call: string, memory: Memory): boolean {
  const reports = memory.recall('calls', call)?.split(' ', 1)[0] ?? '';
  return reports.includes('B') && !reports.includes('A');
}

interface Special extends Described {
  name: string;
  tool: string;
  input: Fields;
  server?: string | undefined;
  success?: boolean | undefined;
}

/** Marks a hook whose event the general hooks report too. Builds without general hooks need it. */
export function covered(event: HookEvent): HookEvent {
  return { ...event, register: false };
}

/** The user is not asked about a call in the sandbox, so the sandbox is the source of the permission. */
export const heldBySandbox = (call: string, memory: Memory): NonNullable<Facts['decision']> | undefined =>
  memory.recall('sandboxed', call) === undefined ? undefined : { source: 'sandbox', basis: 'inferred' };

export function special(moment: 'before' | 'after', describe: (fields: Fields) => Special): HookEvent {
  return {
    plain: ['duration', 'sandbox'],
    read(fields, memory) {
      const { name, tool, input, server, success, ...described } = describe(fields);
      const { id: call, reports } = callOf(fields, described, moment === 'before' ? 'b' : 'a', memory);
      if (server !== undefined) memory.remember('servers', call, server);
      if (fields.sandbox === true) memory.remember('sandboxed', call, '1');
      const known = server ?? memory.recall('servers', call);
      const facts = {
        ...turnOf(fields),
        tool,
        call,
        mcp: name.startsWith('mcp:') ? { server: known ?? 'unknown' } : undefined,
      };
      if (moment === 'before') {
        return [
          reading(fields, { event_type: 'Action.Before', key: call, data: { action: { name, input } }, facts }, memory),
        ];
      }
      if (reports.includes('B') && !reports.includes('A')) {
        // The general hook follows and states the result. If it does not arrive, the call has ended without a result.
        const { call: _call, ...rest } = facts;
        return [
          reading(
            fields,
            {
              event_type: `vendor.cursor.${eventName(fields)}`,
              data: { duration: fields.duration, sandbox: fields.sandbox },
              facts: { ...rest, over: [call], fields: ['duration', 'sandbox'] },
            },
            memory,
          ),
        ];
      }
      return [
        reading(
          fields,
          {
            event_type: 'Action.After',
            key: call,
            data: {
              action: { name, input, result: success === undefined ? {} : { success } },
              decision: heldBySandbox(call, memory) && { outcome: 'allow' },
            },

            output: fields.output ?? fields.result_json,
            facts: { ...facts, duration_ms: number(fields.duration), decision: heldBySandbox(call, memory) },
          },
          memory,
        ),
      ];
    },
  };
}

export function mcpCall(fields: Fields): Special {
  const tool = text(fields.tool_name) ?? 'unknown';
  const input = inputOf(fields.tool_input);
  const failed = inputOf(fields.result_json).isError;
  return {
    kind: `mcp ${tool}`,
    subject: canonicalJson(input),
    name: `mcp:${tool}`,
    tool,
    input,
    server: serverOf(fields),
    success: typeof failed === 'boolean' ? !failed : undefined,
  };
}

const PLAIN_WORD = /^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/;

/** Returns the host of an MCP server, or the program that runs it; never another part of the address or the command. */
function serverOf(fields: Fields): string | undefined {
  const host = /^[a-z][a-z0-9+.-]*:\/\/(?:[^/@]*@)?([A-Za-z0-9.-]{1,253})/.exec(text(fields.url) ?? '')?.[1];
  if (host !== undefined) return host;
  const program = text(fields.command)
    ?.trim()
    .split(/\s+/, 1)[0]
    ?.replace(/^.*[\\/]/s, '');
  return program !== undefined && PLAIN_WORD.test(program) ? program : undefined;
}

/** Inline completion: it belongs to no turn, and it is very frequent. */
export function tab(name: string, tool: string): HookEvent {
  return {
    register: 'named',
    read: fields => [
      reading(fields, {
        event_type: 'Action.After',
        data: { action: { name, input: { path: fields.file_path }, result: {} } },
        facts: { ...ofNoTurn, tool },
        mode: 'edit',
      }),
    ],
  };
}
