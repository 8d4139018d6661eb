/**
 * Cursor: IDE, CLI (`cursor-agent`) and cloud agents. Facts: the vendor's hook documentation of 2026-06, captures of IDE
 * 3.18.25 and CLI 2026.06.24 to 2026.09.10; checked 2026-11-18.
 *
 * One call is told by two families of hooks. The general ones (preToolUse, postToolUse, postToolUseFailure) carry its id;
 * the special ones (shell, MCP, file) do not, and some surfaces send only them. Both find the same call by what it does,
 * and tell it under the same id, so that it is one action whichever family speaks, and whichever first. How it ended is
 * the general family's to say.
 *
 * `generation_id` names the turn. Hooks of a subagent carry its own conversation id; the place of its transcript tells
 * whose it is, and where no transcript is named such a conversation is a session of its own.
 */
import type { AgentMode, Facts, Fields } from '../../event/event.ts';
import { canonicalJson } from '../../lib/hash.ts';
import { count, number, own, text, word } from '../../lib/read.ts';
import { type Agent, absent, type HookEvent, type Memory, type Reading } from '../contract/contract.ts';
import { nextNumber } from '../shared/numbers.ts';
import { readingsWith } from '../shared/readings.ts';
import { obstaclesOf, settings } from './settings.ts';
import { actionName, actions, inputOf, launchedBy, mcpToolOf, toolFacts } from './tools.ts';
import { transcript } from './transcript.ts';
import { truth } from './truth.ts';

const modes: Record<string, AgentMode> = { agent: 'agent', ask: 'chat', edit: 'edit' };

const events: Record<string, HookEvent> = {
  sessionStart: {
    edge: true,
    read: fields => [
      reading(fields, {
        event_type: 'Session.Start',
        data: { start_reason: 'new' },
        facts: { ...ofNoTurn, model: modelOf(fields.model) },
        mode: own(modes, text(fields.composer_mode) ?? ''),
      }),
    ],
  },
  sessionEnd: {
    edge: true,
    read(fields, memory) {
      const usage = { duration_ms: number(fields.duration_ms) };
      const end: Reading[] =
        fields.reason === 'error'
          ? [
              reading(fields, {
                event_type: 'Agent.Error',
                data: { error_type: 'UnhandledException', error_message: text(fields.error_message) },
                facts: ofNoTurn,
              }),
              reading(fields, { event_type: 'Session.Abort', data: { end_reason: 'error', usage }, facts: ofNoTurn }),
            ]
          : fields.reason === 'aborted'
            ? [reading(fields, { event_type: 'Session.Abort', data: { usage }, facts: ofNoTurn })]
            : [
                reading(fields, {
                  event_type: 'Session.End',
                  data: { end_reason: fields.reason === 'completed' ? 'completed' : 'exit', usage },
                  facts: ofNoTurn,
                }),
              ];
      return [...usageOver(fields, memory, () => true), ...end];
    },
  },
  beforeSubmitPrompt: {
    edge: true,
    read: (fields, memory) => [
      ...usageOver(fields, memory, isEarlierTurn(fields)),
      reading(fields, { event_type: 'Prompt.Submitted', data: { prompt: text(fields.prompt) }, actor: 'user' }, memory),
    ],
  },
  preToolUse: {
    read(fields, memory) {
      const call = callOf(fields, toolCall(fields), 'B', memory).id;
      return [
        reading(
          fields,
          {
            event_type: 'Action.Before',
            key: call,
            data: { action: { name: actionName(fields), input: inputOf(fields.tool_input) } },
            facts: { ...callFacts(fields, call, memory), call },
          },
          memory,
        ),
      ];
    },
  },
  postToolUse: {
    read(fields, memory) {
      const call = callOf(fields, toolCall(fields), 'A', memory).id;
      return [
        reading(
          fields,
          {
            event_type: 'Action.After',
            key: call,
            data: {
              action: {
                name: actionName(fields),
                input: inputOf(fields.tool_input),
                result: { success: true, exit_code: number(inputOf(fields.tool_output).exitCode) },
              },
              decision: heldBySandbox(call, memory) && { outcome: 'allow' },
            },
            output: fields.tool_output,
            facts: {
              ...callFacts(fields, call, memory),
              call,
              duration_ms: number(fields.duration),
              decision: heldBySandbox(call, memory),
            },
          },
          memory,
        ),
      ];
    },
  },
  postToolUseFailure: {
    read(fields, memory) {
      const call = callOf(fields, toolCall(fields), 'A', memory).id;
      const facts = { ...callFacts(fields, call, memory), call, duration_ms: number(fields.duration) };
      const action = { name: actionName(fields), input: inputOf(fields.tool_input) };
      if (fields.failure_type === 'permission_denied') {
        const denied = { ...facts, decision: { source: 'unknown', basis: 'observed' } as const };
        const reason = text(fields.error_message);
        return [
          reading(
            fields,
            {
              event_type: 'Policy.Blocked',
              key: call,
              data: { policy_name: 'permission', reason, action: { name: action.name } },
              actor: 'system',
              facts: denied,
            },
            memory,
          ),
          reading(
            fields,
            {
              event_type: 'Action.After',
              key: call,
              data: { action, decision: { outcome: 'deny', reason } },
              facts: denied,
            },
            memory,
          ),
        ];
      }
      const interrupted = fields.is_interrupt === true;
      return [
        reading(
          fields,
          {
            event_type: 'Action.After',
            key: call,
            data: { action: { ...action, result: { success: false, error_message: text(fields.error_message) } } },
            facts: {
              ...facts,
              interrupted: interrupted || undefined,
              error_type: interrupted ? 'interrupted' : fields.failure_type === 'timeout' ? 'timeout' : 'tool_error',
            },
          },
          memory,
        ),
      ];
    },
  },
  beforeShellExecution: covered(
    special('before', fields => ({
      kind: 'shell',
      subject: text(fields.command) ?? '',
      name: 'shell',
      tool: 'Shell',
      input: { command: fields.command },
    })),
  ),
  // Says neither whether the command succeeded nor with which code it ended.
  afterShellExecution: covered(
    special('after', fields => ({
      kind: 'shell',
      subject: text(fields.command) ?? '',
      name: 'shell',
      tool: 'Shell',
      input: { command: fields.command },
    })),
  ),
  // The hooks for all actions do not name the server.
  beforeMCPExecution: special('before', mcpCall),
  afterMCPExecution: covered(special('after', mcpCall)),
  // The content is read by now; no hook follows that says so. Without the general family this is all there is of a
  // read.
  beforeReadFile: {
    register: false,
    read(fields, memory) {
      const call = callOf(fields, { kind: 'read', subject: text(fields.file_path) ?? '' }, 'b', memory);
      const known = {
        key: call.id,
        data: { action: { name: 'read_file', input: { path: fields.file_path } } },
        facts: { tool: 'Read', call: call.id },
      };
      const general = call.told.includes('B');
      return [reading(fields, { ...known, event_type: general ? 'Action.Before' : 'Action.After' }, memory)];
    },
  },
  afterFileEdit: covered(
    special('after', fields => ({
      kind: 'write',
      subject: text(fields.file_path) ?? '',
      name: 'code_edit',
      tool: 'Write',
      input: { path: fields.file_path, edits: fields.edits },
      success: true,
    })),
  ),
  beforeTabFileRead: tab('read_file', 'TabRead'),
  afterTabFileEdit: tab('code_edit', 'TabWrite'),
  // Very frequent, and all that is left of it is that it happened, and how much it was.
  afterAgentThought: {
    register: false,
    read: (fields, memory) => [
      reading(
        fields,
        {
          event_type: 'Agent.Decision',
          data: { summary_length: text(fields.text)?.length },
          facts: { duration_ms: number(fields.duration_ms) },
        },
        memory,
      ),
    ],
  },
  afterAgentResponse: {
    // Several in a turn; its tokens are the turn's so far, and `stop` repeats them: they are told once, at the turn's
    // end.
    read(fields, memory) {
      const generation = word(fields.generation_id);
      const earlier = usageOver(fields, memory, isEarlierTurn(fields));
      keepUsage(fields, memory);
      const response = text(fields.text);
      if (generation !== undefined && response !== undefined) {
        memory.remember('response', generation, `${response.length} ${memory.likeness(response)}`);
      }
      return [...earlier, reading(fields, { event_type: 'Agent.Response', data: { response, final: false } }, memory)];
    },
  },
  subagentStart: {
    edge: true,
    read(fields, memory) {
      const id = word(fields.subagent_id);
      if (id === undefined) return [];
      memory.remember('subagents', id, subagentLikeness(fields, memory));
      const call = word(fields.tool_call_id);
      if (call !== undefined) memory.remember('launched', call, id);
      return [
        reading(fields, {
          event_type: 'Session.Start',
          key: id,
          data: { start_reason: 'new' },
          subagent: id,
          facts: {
            ...turnOf(fields),
            agent: word(fields.subagent_type),
            model: modelOf(fields.subagent_model),
            launched_by: call !== undefined && isRunning(call, memory) ? call : undefined,
          },
        }),
      ];
    },
  },
  subagentStop: {
    edge: true,
    plain: ['duration_ms', 'tool_call_count', 'message_count', 'status'],
    // Names no id: it is the oldest open subagent of that kind and task.
    read(fields, memory) {
      const id = endedSubagent(fields, memory);
      const facts = { agent: word(fields.subagent_type) };
      if (id === undefined) {
        const plain = ['duration_ms', 'tool_call_count', 'message_count', 'status'];
        return [
          reading(fields, {
            event_type: 'vendor.cursor.subagentStop',
            data: Object.fromEntries(plain.map(key => [key, fields[key]])),
            facts: { ...facts, fields: plain },
          }),
        ];
      }
      const response = word(fields.summary);
      const usage = { duration_ms: number(fields.duration_ms), total_actions: number(fields.tool_call_count) };
      const answer: Reading[] =
        response === undefined
          ? []
          : [reading(fields, { event_type: 'Agent.Response', data: { response, final: true }, subagent: id, facts })];
      const ending: Reading =
        fields.status === 'completed' || fields.status === undefined
          ? { event_type: 'Session.End', data: { end_reason: 'completed', usage } }
          : {
              event_type: 'Session.Abort',
              data: { end_reason: fields.status === 'error' ? 'error' : undefined, usage },
            };
      return [...answer, reading(fields, { ...ending, key: id, subagent: id, facts })];
    },
  },
  preCompact: {
    read(fields, memory) {
      const used = number(fields.context_tokens);
      const limit = number(fields.context_window_size);
      const trigger = fields.trigger === 'auto' || fields.trigger === 'manual' ? fields.trigger : undefined;
      return [
        reading(
          fields,
          {
            event_type: 'Context.UntilCompaction',
            data: {
              tokens_used: used,
              tokens_limit: limit,
              percentage_used: number(fields.context_usage_percent),
              tokens_remaining: used === undefined || limit === undefined ? undefined : Math.max(0, limit - used),
            },
            actor: 'system',
          },
          memory,
        ),
        reading(
          fields,
          {
            event_type: 'Context.Compaction',
            data: { trigger, tokens_before: used },
            actor: 'system',
            facts: { phase: 'before' },
          },
          memory,
        ),
      ];
    },
  },
  stop: {
    edge: true,
    read(fields, memory) {
      const generation = word(fields.generation_id) ?? '';
      const [length, hash] = memory.recall('response', generation)?.split(' ') ?? [];
      memory.forget('response', generation);
      keepUsage(fields, memory);
      const tokens = usageOver(fields, memory, ({ turn }) => turn === generation);
      const failed = fields.status === 'error';
      const error: Reading[] = failed
        ? [
            reading(fields, {
              event_type: 'Agent.Error',
              data: { error_type: 'UnhandledException', error_message: text(fields.error_message) },
            }),
          ]
        : [];
      const aborted = fields.status === 'aborted';
      return [
        ...tokens,
        ...error,
        reading(fields, {
          event_type: 'Agent.Response',
          data: {
            response_length: length === undefined ? undefined : Number(length),
            response_hash: hash,
            final: true,
          },
          facts: {
            ...turnOf(fields),
            interrupted: aborted || undefined,
            error_type: failed ? 'agent_error' : undefined,
          },
        }),
      ];
    },
  },
  // No conversation, so nothing to tell.
  workspaceOpen: { register: false, read: () => [] },
};

export const cursor: Agent = {
  id: 'cursor',
  title: 'Cursor',
  source: { docs: 'https://cursor.com/docs/hooks', version: 'IDE 3.18.25, CLI 2026.09.10', checked: '2026-11-18' },

  signs(fields) {
    const name = eventName(fields);
    const known = name !== undefined && Object.hasOwn(events, name);
    // Sent with every event, also where hooks of another agent's settings are run, and by nobody else.
    if (word(fields.cursor_version) !== undefined) return known ? 1 : 0.95;
    if (word(fields.conversation_id) === undefined || name === undefined) return 0;
    const own = ['generation_id', 'workspace_roots', 'user_email'].filter(key => key in fields).length;
    return known ? 0.4 + own * 0.15 : own * 0.15;
  },
  eventName,
  session: fields =>
    familyOf(fields)?.root ??
    word(fields.parent_conversation_id) ??
    word(fields.conversation_id) ??
    word(fields.session_id) ??
    (fields.hook_event_name === 'workspaceOpen' ? 'no-conversation' : undefined),
  cwd: fields =>
    word(fields.cwd) ?? (Array.isArray(fields.workspace_roots) ? word(fields.workspace_roots[0]) : undefined),
  version: fields => word(fields.cursor_version),
  events,
  actions,
  subagents: ['generalPurpose', 'explore', 'shell'],
  truth,
  settles: { action: 'hook', turn: 'hook', subagent: 'hook', session: 'hook' },
  transcript,
  // An empty answer fails where a person set failClosed; this object decides nothing.
  reply: { stdout: '{}' },
  settings: { ...settings, obstacles: obstaclesOf(Object.keys(events)) },
  interchange: async () => [(await import('./interchange.ts')).interchange],
  demo: absent('the demonstration shows another agent'),
};

function eventName(fields: Fields): string | undefined {
  return word(fields.hook_event_name) ?? word(fields.hookEventName);
}

const FAMILY = /[\\/]agent-transcripts[\\/]([^\\/]+)[\\/]subagents[\\/][^\\/]+$/;

/** A subagent's transcript lies in its root conversation's folder. */
function familyOf(fields: Fields): { root: string; child: string } | undefined {
  const root = FAMILY.exec(text(fields.transcript_path) ?? '')?.[1];
  const child = word(fields.conversation_id);
  return root === undefined || child === undefined || child === root ? undefined : { root, child };
}

/** The subagent whose conversation this is: the one that runs, if it is the only one without a conversation. */
function childOf(fields: Fields, memory: Memory): string | undefined {
  const child = familyOf(fields)?.child;
  if (child === undefined) return undefined;
  const known = memory.recall('children', child);
  if (known !== undefined) return known;
  const taken = new Set(memory.list('children').map(([, id]) => id));
  const free = memory.list('subagents').filter(([id]) => !taken.has(id));
  const id = free.length === 1 ? (free[0]?.[0] ?? child) : child;
  memory.remember('children', child, id);
  return id;
}

const reading = readingsWith((fields, memory) => ({
  facts: turnOf(fields),
  subagent: memory && childOf(fields, memory),
}));

/** Facts of a hook that belongs to no turn, although its payload carries a `generation_id`. */
const ofNoTurn = { turn: undefined };

const turnOf = (fields: Fields): { turn: string | undefined } => ({ turn: word(fields.generation_id) });

/** `default` and `auto` stand for whatever the service picks. */
function modelOf(name: unknown): string | undefined {
  const model = word(name);
  return model === 'default' || model === 'auto' ? undefined : model;
}

// ---------------------------------------------------------------- calls

/** What the call's special hooks and its subagent's told before is added. */
const callFacts = (fields: Fields, call: string, memory: Memory): NonNullable<Reading['facts']> => ({
  ...turnOf(fields),
  ...toolFacts(fields, memory.recall('servers', call)),
  launches: launchedBy(fields, memory.recall('launched', call)),
});

interface Described {
  kind: string;
  subject: string;
}

/** What a general hook's call does, in words that the special hooks share. */
function toolCall(fields: Fields): Described {
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

/** Which hooks spoke of a call: general before (B) and after (A), special before (b) and after (a). */
type Telling = 'B' | 'A' | 'b' | 'a';

interface KnownCall {
  id: string;
  /** The tellings so far, this one included. */
  told: string;
}

/** The call that a hook speaks of: by its id, else the oldest one alike that this hook has not spoken of. */
function callOf(fields: Fields, { kind, subject }: Described, telling: Telling, memory: Memory): KnownCall {
  const turn = [text(fields.conversation_id) ?? '', text(fields.generation_id) ?? ''];
  const like = memory.likeness([...turn, kind, subject].join('\0'));
  const id = word(fields.tool_use_id);
  const known = memory.list('calls').map(([call, entry]) => {
    const [told = '', alike] = entry.split(' ');
    return { id: call, told, alike: alike === like };
  });
  const native = id === undefined ? undefined : (memory.recall('also', id) ?? id);
  const fits = known.filter(each => each.alike && !each.told.includes(telling) && maySpeakOf(each.told, telling));
  // A special end belongs to a special start, where there is one.
  const begun = telling === 'a' ? fits.find(each => each.told.includes('b')) : undefined;
  const call = known.find(each => each.id === native) ?? begun ?? fits[0];
  const found = call?.id ?? native ?? `call-${nextNumber('calls', memory)}`;
  if (id !== undefined && id !== found) memory.remember('also', id, found);
  const told = `${call?.told ?? ''}${telling}`;
  memory.remember('calls', found, `${told} ${like}`);
  return { id: found, told };
}

/** A general hook has its own id for what general hooks told; the start of a call is not told after its end. */
function maySpeakOf(told: string, telling: Telling): boolean {
  const over = told.includes('A') || told.includes('a');
  switch (telling) {
    case 'B':
      return !over;
    case 'A':
      return !told.includes('B');
    case 'b':
      return !over;
    case 'a':
      return true;
  }
}

/** The start of the call was told, and its end was not. */
function isRunning(call: string, memory: Memory): boolean {
  const told = memory.recall('calls', call)?.split(' ', 1)[0] ?? '';
  return told.includes('B') && !told.includes('A');
}

interface Special extends Described {
  name: string;
  tool: string;
  input: Fields;
  server?: string | undefined;
  success?: boolean | undefined;
}

/** The hooks for all actions tell the same; builds before they were there need these instead. */
function covered(event: HookEvent): HookEvent {
  return { ...event, register: false };
}

/** What runs in the sandbox runs without a question: it can do no harm outside. */
const heldBySandbox = (call: string, memory: Memory): NonNullable<Facts['decision']> | undefined =>
  memory.recall('sandboxed', call) === undefined ? undefined : { source: 'sandbox', basis: 'inferred' };

function special(moment: 'before' | 'after', describe: (fields: Fields) => Special): HookEvent {
  return {
    plain: ['duration', 'sandbox'],
    read(fields, memory) {
      const { name, tool, input, server, success, ...described } = describe(fields);
      const { id: call, told } = callOf(fields, described, moment === 'before' ? 'b' : 'a', memory);
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
      if (told.includes('B') && !told.includes('A')) {
        // The general hook is still to come and says how it ended; should it not come, the call is known to be over.
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

function mcpCall(fields: Fields): Special {
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

/** An MCP server is known by its host, or by the program that runs it; never by the rest of an address or a command. */
function serverOf(fields: Fields): string | undefined {
  const host = /^[a-z][a-z0-9+.-]*:\/\/(?:[^/@]*@)?([A-Za-z0-9.-]{1,253})/.exec(text(fields.url) ?? '')?.[1];
  if (host !== undefined) return host;
  const program = text(fields.command)
    ?.trim()
    .split(/\s+/, 1)[0]
    ?.replace(/^.*[\\/]/s, '');
  return program !== undefined && PLAIN_WORD.test(program) ? program : undefined;
}

/** Inline completion: of no turn, and very frequent. */
function tab(name: string, tool: string): HookEvent {
  return {
    register: false,
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

// ---------------------------------------------------------------- subagents

const subagentLikeness = (fields: Fields, memory: Memory): string =>
  memory.likeness([text(fields.subagent_type) ?? '', text(fields.task) ?? ''].join('\0'));

function endedSubagent(fields: Fields, memory: Memory): string | undefined {
  const like = subagentLikeness(fields, memory);
  const id = word(fields.subagent_id) ?? memory.list('subagents').find(([, known]) => known === like)?.[0];
  if (id !== undefined) memory.forget('subagents', id);
  return id;
}

// ---------------------------------------------------------------- tokens

/** The tokens of a turn so far, until it is over. Numbers that were not told are null. */
interface TurnUsage {
  turn: string;
  conversation: string;
  subagent: string | undefined;
  model: string | undefined;
  counters: readonly (number | null)[];
}

/** `input_tokens` holds both cache parts. */
const COUNTERS = ['input_tokens', 'output_tokens', 'cache_read_tokens', 'cache_write_tokens'] as const;

/** Later numbers of a turn replace earlier ones: each holds the whole turn. */
function keepUsage(fields: Fields, memory: Memory): void {
  const turn = word(fields.generation_id);
  const counters = COUNTERS.map(name => count(fields[name]) ?? null);
  if (turn === undefined || counters.every(tokens => tokens === null)) return;
  const usage: TurnUsage = {
    turn,
    conversation: text(fields.conversation_id) ?? '',
    subagent: childOf(fields, memory),
    model: modelOf(fields.model),
    counters,
  };
  memory.remember('usage', turn, JSON.stringify(usage));
}

const isEarlierTurn =
  (fields: Fields) =>
  ({ turn, conversation }: TurnUsage): boolean =>
    turn !== fields.generation_id && conversation === fields.conversation_id;

function usageOver(fields: Fields, memory: Memory, isOver: (usage: TurnUsage) => boolean): Reading[] {
  const over = memory.list('usage').map(([, entry]) => JSON.parse(entry) as TurnUsage);
  return over.filter(isOver).map(({ turn, subagent, model, counters }) => {
    memory.forget('usage', turn);
    const [input, output, read, write] = counters.map(tokens => tokens ?? undefined);
    return reading(fields, {
      event_type: 'Model.Responded',
      key: turn,
      data: { model_id: model, input_tokens: input, output_tokens: output },
      subagent,
      facts: { turn, sum: 'turn', usage: { cache_read_tokens: read, cache_write_tokens: write } },
    });
  });
}
