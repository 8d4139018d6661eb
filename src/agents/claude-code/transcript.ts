/**
 * Claude Code's transcripts: `<config>/projects/<folder>/<session>.jsonl`, subagents in `<session>/subagents/agent-<id>.jsonl` with
 * a card `agent-<id>.meta.json`; versions before 2.1.3x kept `agent-<id>.jsonl` beside the main file. The format is
 * internal to it: unknown rows say nothing. Facts: recordings of 2.0.76 to 2.1.289; checked 2026-11-18.
 *
 * A response is written as one row for each block, all with its id. Since 2.1.97 each of them holds the final usage;
 * before that, early ones are placeholders. So rows are grouped until the next response of the same speaker begins, and the
 * largest output counts: rows of subagents that run side by side in one file are mixed.
 * Ids of responses, of calls and of prompts are those of the hooks and of the provider: copies that a resumed session, a
 * compaction or another file repeats are known by them.
 */
import type { Fields } from '../../event/event.ts';
import { hexDigest } from '../../lib/hash.ts';
import { fieldsOf, number, own, text, word } from '../../lib/read.ts';
import type {
  LineReader,
  Memory,
  ReadFile,
  Told,
  Transcript,
  TranscriptFile,
  TranscriptReading,
} from '../contract/contract.ts';
import { toldFiles } from '../shared/told-files.ts';
import { actionName, launchedBy, toolFacts } from './tools.ts';

const rows: LineReader = {
  format: 'lines',
  version: row => word(row.version),
  origin: row => (isConversation(row) && row.isSidechain !== true ? word(row.uuid) : undefined),
  // A prompt or an answer is hashed whole, an input too; of a result its beginning is looked at.
  isBrief(row) {
    const { content } = fieldsOf(row.message);
    return (
      row.type === 'user' &&
      Array.isArray(content) &&
      content.every(block => fieldsOf(block).type === 'tool_result' && word(fieldsOf(block).tool_use_id) !== undefined)
    );
  },
  row(row, memory, file) {
    // What another session wrote and this file repeats is told by that session.
    const session = word(row.sessionId);
    if (session !== undefined && session !== file.root) return [];
    const at = placeOf(row, memory, file);
    const told =
      row.type === 'assistant'
        ? assistant(row, at)
        : row.type === 'user'
          ? user(row, at)
          : row.type === 'system'
            ? system(row, at)
            : [];
    // A response answers what stood before it: a prompt, or the results of calls.
    if (at.atMs !== undefined && row.type === 'user') memory.remember('place', 'asked', String(at.atMs));
    return told.length === 0 ? told : [...firstSign(at), ...told];
  },
  rest: (memory, file) => closeResponses(placeOf({}, memory, file)),
};

export const transcript: Transcript = {
  told: toldFiles,
  files({ main, session, subagents }, look) {
    if (main === undefined) return [];
    const files = new Map<string, TranscriptFile>([[main, { path: main }]]);
    const add = (path: string, id: string): void => {
      if (files.has(path)) return;
      files.set(path, {
        path,
        subagent: isInternal(id) ? undefined : id,
        beside: [path.replace(/\.jsonl$/, '.meta.json')],
      });
    };
    for (const { id, path } of subagents) add(path, id);
    const [folder, stem] = splitPath(main);
    const own = `${stem}/subagents`;
    for (const name of look.names(own)) {
      const id = AGENT_FILE.exec(name)?.[1];
      if (id !== undefined) add(`${own}/${name}`, id);
    }
    for (const run of look.names(`${own}/workflows`)) {
      for (const name of look.names(`${own}/workflows/${run}`)) {
        const id = AGENT_FILE.exec(name)?.[1];
        if (id !== undefined) add(`${own}/workflows/${run}/${name}`, id);
      }
    }
    // Beside the main file lie those of all sessions: theirs are known by their first row, where its beginning says it.
    const mains = look.names(folder).filter(name => name.endsWith('.jsonl') && !AGENT_FILE.test(name));
    for (const beside of [folder, `${folder}/subagents`]) {
      for (const name of look.names(beside)) {
        const id = AGENT_FILE.exec(name)?.[1];
        const path = `${beside}/${name}`;
        if (id === undefined || files.has(path)) continue;
        const of = /"sessionId"\s*:\s*"([^"]{1,256})"/.exec(look.head(path))?.[1];
        if (of === session || (of === undefined && mains.length === 1 && beside !== folder)) add(path, id);
      }
    }
    return [...files.values()];
  },
  installed({ home, env }, look) {
    const projects = `${word(env.CLAUDE_CONFIG_DIR) ?? `${home}/.claude`}/projects`;
    return look.names(projects).flatMap(project =>
      look
        .names(`${projects}/${project}`)
        .filter(name => name.endsWith('.jsonl') && !AGENT_FILE.test(name))
        .map(name => ({ path: `${projects}/${project}/${name}` })),
    );
  },
  sessions(file, { rows }) {
    if (AGENT_FILE.test(file.path.slice(file.path.lastIndexOf('/') + 1))) return [];
    const said = rows.filter(row => isConversation(row) && word(row.sessionId) !== undefined && 'parentUuid' in row);
    // A session that goes on from another one may begin with that one's rows; its file has its own name.
    const [, stem] = splitPath(file.path);
    const known = said.find(row => stem.endsWith(`/${text(row.sessionId)}`)) ?? said[0];
    if (known === undefined) return [];
    return [{ session: String(known.sessionId), cwd: word(known.cwd) }];
  },
  read: rows,
};

const AGENT_FILE = /^agent-([A-Za-z0-9_-]{1,128})\.jsonl$/;

/**
 * Agents that it runs for itself (compaction, suggestions): their names have a word before the number; no hook tells of
 * them.
 */
const isInternal = (id: string): boolean => /^a[a-z_]+-[0-9a-f]+$/.test(id);

const isConversation = (row: Fields): boolean =>
  ['user', 'assistant', 'system', 'attachment', 'progress'].includes(text(row.type) ?? '');

function splitPath(path: string): [folder: string, stem: string] {
  const plain = path.replaceAll('\\', '/');
  return [plain.slice(0, plain.lastIndexOf('/')), plain.replace(/\.jsonl$/, '')];
}

interface Place {
  memory: Memory;
  file: ReadFile;
  atMs: number | undefined;
  /** Whose row it is; the main agent's without. */
  subagent: string | undefined;
  /** Of an agent that it runs for itself: it costs, and says nothing of turns. */
  aside: boolean;
  turn: string | undefined;
  /** The session that it was forked from, of a row that came with it. */
  copyOf: string | undefined;
}

function placeOf(row: Fields, memory: Memory, file: ReadFile): Place {
  const time = text(row.timestamp);
  const atMs = time === undefined ? Number.NaN : Date.parse(time);
  const turn = memory.recall('place', 'turn');
  // An interrupt is of the turn that runs, also where a prompt that waited has given it its id.
  const isLater = row.isSidechain === true || (turn !== undefined && row.type === 'user' && isInterrupt(wordsOf(row)));
  const prompt = isLater ? undefined : word(row.promptId);
  if (prompt !== undefined && prompt !== turn) memory.remember('place', 'turn', prompt);
  // Old versions wrote subagents' rows into the main file; where they have ids, they are their own files' rows again.
  const agent = word(row.agentId);
  const side = row.isSidechain === true && agent !== undefined && !isInternal(agent) ? agent : undefined;
  return {
    memory,
    file,
    atMs: Number.isNaN(atMs) ? undefined : atMs,
    subagent: file.subagent ?? side,
    aside: row.isSidechain === true && file.subagent === undefined && side === undefined,
    turn: prompt ?? turn,
    copyOf: word(fieldsOf(row.forkedFrom).sessionId),
  };
}

function saying(at: Place, reading: TranscriptReading): TranscriptReading {
  return {
    actor: 'ai_agent',
    ...reading,
    subagent: reading.subagent ?? at.subagent,
    atMs: reading.atMs ?? at.atMs,
    copyOf: at.copyOf,
    facts: { turn: at.turn, agent: kindOf(at), ...reading.facts },
  };
}

/** A subagent's first row is its start; its card says of what kind it is, and which call launched it. */
function firstSign(at: Place): Told[] {
  const { memory, file, subagent } = at;
  if (subagent === undefined || file.subagent === undefined || memory.recall('place', 'begun') !== undefined) return [];
  memory.remember('place', 'begun', '1');
  const atMs = Number(memory.recall('place', 'asked') ?? Number.NaN);
  return [
    saying(at, {
      event_type: 'Session.Start',
      key: 'start',
      unless: 'hooked',
      data: { start_reason: 'new' },
      atMs: Number.isNaN(atMs) ? at.atMs : atMs,
      facts: { launched_by: word(cardOf(file).toolUseId) },
    }),
  ];
}

function kindOf({ subagent, memory, file }: Place): string | undefined {
  if (subagent === undefined) return undefined;
  const known = memory.recall('place', 'kind');
  if (known !== undefined) return known === '' ? undefined : known;
  const kind = word(cardOf(file).agentType);
  memory.remember('place', 'kind', kind ?? '');
  return kind;
}

function cardOf(file: ReadFile): Fields {
  const [card] = file.companions;
  if (card === undefined) return {};
  try {
    return fieldsOf(JSON.parse(card.toString('utf8')));
  } catch {
    // Half written: the kind stays unknown.
    return {};
  }
}

// ---------------------------------------------------------------- responses

/** A response as far as its rows were read; small enough to wait in the memory. */
interface Pending {
  id: string;
  response?: string | undefined;
  request?: string | undefined;
  model?: string | undefined;
  finish?: string | undefined;
  usage: number[];
  startedMs?: number | undefined;
  atMs?: number | undefined;
  subagent?: string | undefined;
  turn?: string | undefined;
  copyOf?: string | undefined;
}

const classes = ['input_tokens', 'cache_creation_input_tokens', 'cache_read_input_tokens', 'output_tokens'] as const;
const UNKNOWN = -1;

function assistant(row: Fields, at: Place): Told[] {
  const message = fieldsOf(row.message);
  const model = word(message.model);
  // A canned reply or a rendered error: nobody asked a model.
  if (model === '<synthetic>' || row.isApiErrorMessage === true) {
    return [...closeResponses(at), ...(row.isApiErrorMessage === true ? failed(row, at) : [])];
  }
  const ids = [message.id, row.requestId].flatMap(id => shortened(id) ?? []);
  const id = ids.join('/') || shortened(row.uuid);
  if (id === undefined) return [];
  const told: Told[] = [];
  // A copy of what was told ends no turn once more.
  const isTold = at.memory.recall('told', id) !== undefined;
  if (!isTold && at.memory.recall('place', 'answered') !== id) at.memory.forget('place', 'answered');
  const speaker = speakerOf(row, id, at);
  let pending = pendingIn(at.memory, speaker);
  if (pending?.id !== id) {
    // What the main agent says next, it says when what it had launched is over.
    if (speaker === MAIN) told.push(...closeResponses(at));
    else if (pending !== undefined) told.push(...closeResponse(at, speaker));
    pending = undefined;
  }
  const asked = Number(at.memory.recall('place', 'asked') ?? Number.NaN);
  pending ??= {
    id,
    usage: [],
    startedMs: Number.isNaN(asked) || (at.atMs !== undefined && asked > at.atMs) ? undefined : asked,
  };
  const usage = usageOf(fieldsOf(message.usage));
  if ((usage[3] ?? UNKNOWN) >= (pending.usage[3] ?? UNKNOWN)) pending.usage = usage;
  pending.response = shortened(message.id);
  pending.model = model ?? pending.model;
  pending.request = shortened(row.requestId) ?? pending.request;
  pending.finish = word(message.stop_reason) ?? pending.finish;
  pending.atMs = at.atMs ?? pending.atMs;
  pending.subagent = at.subagent;
  pending.turn = at.turn;
  pending.copyOf = at.copyOf;

  const blocks = Array.isArray(message.content) ? message.content.map(fieldsOf) : [];
  for (const block of blocks) {
    const call = word(block.id);
    if (block.type === 'tool_use' && call !== undefined) told.push(...calls(block, call, at));
  }
  if (isTold) return told;
  told.push(...keep(at, speaker, pending));
  const answer = blocks.findLast(block => block.type === 'text');
  if (!isFinal(pending.finish) || answer === undefined) return told;
  // The answer itself: no row of this response is still to come, or it says the same once more.
  return [...told, ...closeResponse(at, speaker), ...answered(at, id, text(answer.text))];
}

const MAIN = 'main';

/**
 * Old versions wrote what subagents said into the main file, and did not say which of them: each response stands alone.
 */
function speakerOf(row: Fields, id: string, { aside, subagent }: Place): string {
  if (subagent !== undefined) return subagent;
  return aside ? (shortened(row.agentId) ?? `side ${id}`) : MAIN;
}

/** Ids of gateways may hold a whole message; what waits in the memory is small. */
function shortened(id: unknown): string | undefined {
  const known = word(id);
  return known === undefined || known.length <= 128 ? known : `hash-${hexDigest(known).slice(0, 32)}`;
}

/** Whatever the provider's word is, only a call means that the agent goes on. */
const isFinal = (finish: string | undefined): boolean =>
  finish !== undefined && finish !== 'tool_use' && finish !== 'pause_turn';

function answered(at: Place, id: string, response: string | undefined): Told[] {
  if (at.aside) return [];
  at.memory.remember('place', 'answered', id);
  return [
    saying(at, { event_type: 'Agent.Response', key: id, unless: 'hooked', data: { response, final: true } }),
    ...(at.subagent === undefined ? [] : [ended(at, at.subagent)]),
    overOf(at),
  ];
}

const ended = (at: Place, subagent: string): Told =>
  saying(at, { event_type: 'Session.End', key: 'end', unless: 'hooked', subagent, data: { end_reason: 'completed' } });

const overOf = (at: Place): Told =>
  at.subagent === undefined
    ? { over: 'turn', id: at.turn, atMs: at.atMs }
    : { over: 'subagent', id: at.subagent, atMs: at.atMs };

function usageOf(usage: Fields): number[] {
  const kept = classes.map(name => number(usage[name]) ?? UNKNOWN);
  kept.push(number(fieldsOf(usage.cache_creation).ephemeral_1h_input_tokens) ?? UNKNOWN);
  kept.push(number(fieldsOf(usage.output_tokens_details).thinking_tokens) ?? UNKNOWN);
  return kept;
}

const known = (count: number | undefined): number | undefined => (count === undefined || count < 0 ? undefined : count);

/** Nobody's response is still being written. */
const closeResponses = (at: Place): Told[] =>
  at.memory.list(WAITING).flatMap(([speaker]) => closeResponse(at, speaker));

function closeResponse(at: Place, speaker: string): Told[] {
  const pending = pendingIn(at.memory, speaker);
  if (pending === undefined) return [];
  at.memory.forget(WAITING, speaker);
  at.memory.remember('told', pending.id, '1');
  const [input, written, read, output, hour, reasoning] = pending.usage.map(known);
  const parts = [input, written, read].filter(count => count !== undefined);
  return [
    saying(
      { ...at, subagent: pending.subagent, turn: pending.turn, atMs: pending.atMs, copyOf: pending.copyOf },
      {
        event_type: 'Model.Responded',
        key: pending.id,
        data: {
          model_id: pending.model,
          input_tokens: parts.length === 0 ? undefined : parts.reduce((sum, count) => sum + count, 0),
          output_tokens: output,
        },
        facts: {
          turn: pending.turn,
          usage: {
            cache_read_tokens: read,
            cache_write_tokens: written,
            cache_write_1h_tokens: hour,
            reasoning_tokens: reasoning,
          },
          finish: pending.finish,
          response: pending.response,
          request: pending.request,
          started_ms: pending.startedMs,
        },
      },
    ),
  ];
}

/** What was kept last, still as a value: it is asked for with the next row. */
let last: { kept: string; pending: Pending } | undefined;

function pendingIn(memory: Memory, speaker: string): Pending | undefined {
  const kept = memory.recall(WAITING, speaker);
  if (kept === undefined) return undefined;
  return last?.kept === kept ? { ...last.pending } : (JSON.parse(kept) as Pending);
}

/** Of too many that wait the oldest is told as it is. */
function keep(at: Place, speaker: string, pending: Pending): Told[] {
  const kept = JSON.stringify(pending);
  last = { kept, pending: { ...pending } };
  at.memory.remember(WAITING, speaker, kept);
  const waiting = at.memory.list(WAITING);
  const oldest = waiting.length > MOST_WAITING ? waiting[0]?.[0] : undefined;
  return oldest === undefined ? [] : closeResponse(at, oldest);
}

/** Responses as far as their rows were read, by speaker. */
const WAITING = 'responses';
const MOST_WAITING = 64;

function failed(row: Fields, at: Place): Told[] {
  const kind = /^[a-z][a-z0-9_]{0,63}$/.test(text(row.error) ?? '') ? String(row.error) : 'unknown';
  const key = word(row.uuid);
  if (key === undefined || at.aside) return [];
  at.memory.remember('place', 'answered', key);
  return [
    saying(at, {
      event_type: 'Model.Failed',
      key,
      unless: 'hooked',
      data: { error_type: kind },
      facts: { error_type: kind },
    }),
    overOf(at),
  ];
}

// ---------------------------------------------------------------- calls and their results

function calls(block: Fields, call: string, at: Place): Told[] {
  const fields = { tool_name: text(block.name) ?? 'unknown', tool_input: fieldsOf(block.input) };
  at.memory.remember('calls', call, fields.tool_name);
  const kind = launchedBy(fields);
  return [
    saying(at, {
      event_type: 'Action.Before',
      key: call,
      data: { action: { name: actionName(fields), input: fields.tool_input } },
      facts: { ...toolFacts(fields), call, launches: kind },
    }),
    ...(fields.tool_name === 'EnterPlanMode'
      ? [
          saying(at, {
            event_type: 'Agent.Plan.Start',
            key: call,
            data: { plan_type: 'plan' },
          }),
        ]
      : []),
  ];
}

const denials: Readonly<Record<string, 'user' | 'classifier'>> = {
  'user-rejected': 'user',
  'automode-unavailable': 'classifier',
};

function result(block: Fields, call: string, row: Fields, at: Place): Told[] {
  const tool = at.memory.recall('calls', call) ?? 'unknown';
  at.memory.forget('calls', call);
  const fields = { tool_name: tool };
  const response = fieldsOf(row.toolUseResult);
  const failure = block.is_error === true;
  const said = failure ? resultText(block) : '';
  const exitCode = failure ? /^(?:Error: )?Exit code (\d{1,3})\b/.exec(said)?.[1] : undefined;
  const denial =
    word(row.toolDenialKind) ?? (row.toolUseResult === 'User rejected tool use' ? 'user-rejected' : undefined);
  const interrupted = denial === undefined && (response.interrupted === true || isInterrupt(said));
  const subagent = word(response.agentId);
  const told: Told[] = [
    saying(at, {
      event_type: 'Action.After',
      key: call,
      data: {
        action: {
          name: actionName(fields),
          result:
            denial === undefined
              ? { success: !failure, exit_code: exitCode === undefined ? undefined : Number(exitCode) }
              : undefined,
        },
        decision: denial === undefined ? undefined : { outcome: 'deny' },
      },
      output: block.content,
      facts: {
        ...toolFacts(fields),
        call,
        interrupted: interrupted || undefined,
        error_type:
          failure && denial === undefined
            ? interrupted
              ? 'interrupted'
              : exitCode === undefined
                ? 'tool_error'
                : 'exit_code'
            : undefined,
        decision: denial === undefined ? undefined : { source: own(denials, denial) ?? 'unknown', basis: 'observed' },
        launches: subagent === undefined ? undefined : { id: subagent, agent: word(response.agentType) },
      },
    }),
  ];
  if (tool === 'ExitPlanMode' && !failure) {
    told.push(saying(at, { event_type: 'Agent.Plan.End', key: call, data: { plan_type: 'plan' } }));
  }
  // The result of a call that waited for its subagent: that one is over, whatever its own file shows.
  if (subagent !== undefined && response.status === 'completed') {
    told.push(ended(at, subagent), { over: 'subagent', id: subagent, atMs: at.atMs });
  }
  return told;
}

function resultText(block: Fields): string {
  if (typeof block.content === 'string') return block.content;
  const [first] = Array.isArray(block.content) ? block.content : [];
  return text(fieldsOf(first).text) ?? '';
}

// ---------------------------------------------------------------- prompts

function user(row: Fields, at: Place): Told[] {
  const { content } = fieldsOf(row.message);
  const blocks = Array.isArray(content) ? content.map(fieldsOf) : [];
  const told: Told[] = [];
  for (const block of blocks) {
    const call = word(block.tool_use_id);
    if (block.type === 'tool_result' && call !== undefined) told.push(...result(block, call, row, at));
  }
  const said = wordsOf(row);
  if (said === undefined) return told;
  if (isInterrupt(said)) return [...told, ...interruption(row, at)];
  return [...told, ...prompt(row, said, at)];
}

function wordsOf(row: Fields): string | undefined {
  const { content } = fieldsOf(row.message);
  if (!Array.isArray(content)) return text(content);
  return text(content.map(fieldsOf).find(block => block.type === 'text')?.text);
}

const isInterrupt = (said: string | undefined): boolean => said?.startsWith('[Request interrupted by user') === true;

/** Nothing else tells of an interrupt: the turn ends here. */
function interruption(row: Fields, at: Place): Told[] {
  const key = word(row.uuid);
  if (key === undefined || at.aside) return closeResponses(at);
  at.memory.remember('place', 'answered', key);
  return [
    ...closeResponses(at),
    saying(at, {
      event_type: 'Agent.Response',
      key: `interrupted:${key}`,
      data: { final: true },
      facts: { interrupted: true },
    }),
    overOf(at),
  ];
}

/** Records of local commands and what the agent puts into the conversation itself are no prompts. */
function prompt(row: Fields, said: string, at: Place): Told[] {
  if (row.isMeta === true || row.isCompactSummary === true || row.isVisibleInTranscriptOnly === true) return [];
  if (at.subagent !== undefined || at.file.subagent !== undefined || row.isSidechain === true) return [];
  if (/^<(command-name|command-message|local-command-|bash-)/.test(said)) return [];
  const key = word(row.promptId) ?? word(row.uuid);
  if (key === undefined) return [];
  const { kind } = fieldsOf(row.origin);
  const automatic = kind !== undefined && kind !== 'human';
  return [
    ...closeResponses(at),
    saying(at, {
      event_type: 'Prompt.Submitted',
      key,
      unless: 'hooked',
      data: { prompt: said },
      actor: automatic ? 'system' : 'user',
    }),
  ];
}

// ---------------------------------------------------------------- what the program notes

function system(row: Fields, at: Place): Told[] {
  const key = word(row.uuid);
  if (key === undefined) return [];
  switch (row.subtype) {
    case 'turn_duration':
    case 'stop_hook_summary':
      // Written after the last row of a turn, in versions whose rows have no reason to stop.
      return [...closeResponses(at), ...(at.subagent === undefined ? turnEnd(key, at) : [])];
    case 'compact_boundary': {
      const meta = fieldsOf(row.compactMetadata);
      const trigger = meta.trigger === 'auto' || meta.trigger === 'manual' ? meta.trigger : undefined;
      const before = number(meta.preTokens);
      const after = number(meta.postTokens);
      const durationMs = number(meta.durationMs);
      return [
        ...closeResponses(at),
        saying(at, {
          event_type: 'Context.Compaction',
          key: `before:${key}`,
          unless: 'hooked',
          data: { trigger },
          atMs: at.atMs === undefined || durationMs === undefined ? at.atMs : at.atMs - durationMs,
          actor: 'system',
          facts: { phase: 'before' },
        }),
        saying(at, {
          event_type: 'Context.Compaction',
          key: `after:${key}`,
          data: {
            trigger,
            tokens_before: before,
            tokens_after: after,
            tokens_removed: before === undefined || after === undefined ? undefined : Math.max(0, before - after),
          },
          actor: 'system',
          facts: { phase: 'after' },
        }),
      ];
    }
    case 'api_error': {
      const error = fieldsOf(row.error);
      const status = number(error.status);
      return [
        saying(at, {
          event_type: 'Retry.Triggered',
          key,
          data: { attempt: number(row.retryAttempt) },
          actor: 'system',
          facts: { error_type: status === undefined ? 'connection' : String(status) },
        }),
      ];
    }
    default:
      return [];
  }
}

function turnEnd(key: string, at: Place): Told[] {
  if (at.aside || at.memory.recall('place', 'answered') !== undefined) return [];
  at.memory.remember('place', 'answered', key);
  return [
    saying(at, { event_type: 'Agent.Response', key: `end:${key}`, unless: 'hooked', data: { final: true } }),
    overOf(at),
  ];
}
