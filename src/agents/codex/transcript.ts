/**
 * Codex' rollouts: `$CODEX_HOME/sessions/YYYY/MM/DD/rollout-<local time>-<thread>.jsonl`, one file per thread. A
 * subagent is a thread that names the thread which spawned it. Facts: source of August 2026 and rollouts of 0.118 to
 * 0.154; checked 2026-11-18.
 *
 * Tokens: a rollout states the totals of a thread, and repeats the same total. So the usage of a response is the
 * difference of two totals. Since 0.154, each response has its own record, and only the records count.
 *
 * A forked thread begins with a copy of its parent's rows under new times. The copy is skipped up to the first own
 * turn, and the total there is the base.
 *
 * Calls have the ids of the hooks. In code mode the rollout has the script, and since 0.169 the commands in it under the
 * ids of the hooks.
 */
import type { Fields } from '../../event/event.ts';
import { fieldsOf, number, own, text, word } from '../../lib/read.ts';
import type { LineReader, NamedFiles, Transcript, TranscriptEntry, TranscriptFile } from '../contract/contract.ts';
import { closed, editsIn, exited, item, itemCompleted, searched, spanMs } from './calls.ts';
import { entryAt, isAside, isOldHeader, note, type Place, placeOf, recalled } from './place.ts';
import { readTokenCount, record, totalOf } from './tokens.ts';
import { compacted, prompted, turnAborted, turnBegan, turnEnded } from './turns.ts';

const reader: LineReader = {
  format: 'lines',
  // Forks begin with rows of the other session, including headers.
  version: (row, known) => known ?? word((isOldHeader(row) ? row : fieldsOf(row.payload)).cli_version),
  row(row, memory, file) {
    const place = placeOf(row, memory, file);
    if (place.type === 'session_meta') return began(place);
    if (isCopied(place)) return copied(place);
    const entries = entriesOf(place);
    if (place.type !== 'turn_context' && entries.length === 0) return [];
    return [...opening(place), ...entries];
  },
};

function entriesOf(place: Place): TranscriptEntry[] {
  const { type, payload } = place;
  if (type === 'turn_context') return context(place);
  if (type === 'response_item') return item(place);
  if (type === 'token_usage_record') return record(place);
  if (type === 'compacted') return compacted(place);
  if (type !== 'event_msg') return [];
  const read = own(messages, String(payload.type));
  return read ? read(place) : [];
}

/** The start of the session waits for the first row of its work, since the header does not state the mode. */
function opening(place: Place): TranscriptEntry[] {
  const startMs = recalled(place, 'opening');
  if (startMs === undefined) return [];
  note(place, 'opening', undefined);
  return [
    entryAt(place, {
      event_type: 'Session.Start',
      key: 'start',
      unless: 'hooked',
      data: { start_reason: 'new' },
      atMs: startMs,
      facts: { turn: undefined },
    }),
  ];
}

/** The events of the thread itself, by their type. */
const messages: Readonly<Record<string, (place: Place) => TranscriptEntry[]>> = {
  task_started: turnBegan,
  task_complete: turnEnded,
  turn_aborted: turnAborted,
  user_message: place => prompted(place, undefined, text(place.payload.message)),
  token_count: readTokenCount,
  item_completed: itemCompleted,
  exec_command_end: place =>
    closed(place, word(place.payload.call_id), {
      ...exited(number(place.payload.exit_code), spanMs(place.payload.duration)),
      output: place.payload.aggregated_output,
    }),
  patch_apply_end: place =>
    closed(place, word(place.payload.call_id), {
      success: place.payload.success === true,
      edits: editsIn(place.payload.changes),
    }),
  mcp_tool_call_end: place => {
    const result = fieldsOf(place.payload.result);
    return closed(place, word(place.payload.call_id), {
      success: result.Err === undefined && fieldsOf(result.Ok).isError !== true,
      durationMs: spanMs(place.payload.duration),
      output: result.Ok ?? result.Err,
    });
  },
  collab_agent_spawn_end: place => {
    const thread = word(place.payload.new_thread_id);
    return closed(place, word(place.payload.call_id), { success: thread !== undefined, launched: thread });
  },
  web_search_end: place => searched(place, word(place.payload.call_id)),
};

/** The time is the user's local time. */
const DATED = /^rollout-\d{4}-\d{2}-\d{2}T\d{2}-\d{2}-\d{2}-([0-9a-zA-Z-]{36})(?:_[0-9a-zA-Z-]+)?\.jsonl$/;

/** Since 0.169 the hooks inside a subagent name its own rollout, and its end names that of the thread which spawned it. */
function namedFiles(fields: Fields): NamedFiles {
  const path = word(fields.transcript_path);
  const id = word(fields.agent_id);
  const thread = path === undefined ? undefined : DATED.exec(splitPath(path)[1])?.[1];
  const own = word(fields.agent_transcript_path) ?? (thread === id ? path : undefined);
  return {
    main: thread === undefined || thread === word(fields.session_id) ? path : undefined,
    subagent: id === undefined || own === undefined ? undefined : { id, path: own },
  };
}

export const transcript: Transcript = {
  namedFiles,
  files({ main, session, subagents }, look) {
    // No rollout is kept, or it was archived.
    if (main === undefined || !main.endsWith('.jsonl')) return [];
    const [folder, name] = splitPath(main);
    const files = new Map<string, TranscriptFile>([[main, { path: main }]]);
    for (const { id, path } of subagents) files.set(path, { path, subagent: id });
    // Threads of one day are in one folder; a thread is younger than the thread that spawned it.
    const family = new Set([session]);
    for (const day of daysFrom(folder)) {
      for (const sibling of look.names(day)) {
        const path = `${day}/${sibling}`;
        const isOlder = DATED.test(name) && DATED.test(sibling) && sibling <= name;
        if (!/^rollout-.+\.jsonl$/.test(sibling) || isOlder || files.has(path)) continue;
        const head = look.head(path);
        const id = DATED.exec(sibling)?.[1] ?? /"payload"\s*:\s*\{.*?"id"\s*:\s*"([^"]{1,64})"/.exec(head)?.[1];
        const parent = /"parent_thread_id"\s*:\s*"([^"]{1,64})"/.exec(head)?.[1];
        if (id === undefined || (parent === undefined ? !internal(head, session) : !family.has(parent))) continue;
        family.add(id);
        files.set(path, { path, subagent: parent === undefined ? undefined : id });
      }
    }
    return [...files.values()];
  },
  installed({ home, env }, look) {
    const own = word(env.CODEX_HOME) ?? `${home}/.codex`;
    const sessions = `${own}/sessions`;
    const days = look
      .names(sessions)
      .flatMap(year => look.names(`${sessions}/${year}`).map(month => `${sessions}/${year}/${month}`))
      .flatMap(month => look.names(month).map(day => `${month}/${day}`));
    return [...days, `${own}/archived_sessions`].flatMap(folder =>
      look
        .names(folder)
        .filter(name => DATED.test(name))
        .map(name => ({ path: `${folder}/${name}` })),
    );
  },
  sessions({ path }, { rows }) {
    const [first = {}] = rows;
    const meta = first.type === 'session_meta' ? fieldsOf(first.payload) : isOldHeader(first) ? first : {};
    // A part of a rollout is recognized by its rows, and its thread by the file name.
    const [, name] = splitPath(path);
    const named = rows.some(isPart) ? (DATED.exec(name)?.[1] ?? word(name.replace(/\.jsonl$/, ''))) : undefined;
    const thread = word(meta.id) ?? named;
    if (thread === undefined || spawnOf(meta) !== undefined || isInternal(meta)) return [];
    return [{ session: thread, cwd: word(meta.cwd) }];
  },
  read: reader,
};

/**
 * A session that runs past midnight or is resumed spawns threads in the folders of later days; seven days are searched.
 */
function daysFrom(folder: string): string[] {
  const [, sessions, year, month, day] = /^(.*)\/(\d{4})\/(\d{2})\/(\d{2})$/.exec(folder) ?? [];
  if (sessions === undefined) return [folder];
  return Array.from({ length: 8 }, (_, later) => {
    const date = new Date(Date.UTC(Number(year), Number(month) - 1, Number(day) + later));
    return `${sessions}/${date.toISOString().slice(0, 10).replaceAll('-', '/')}`;
  });
}

function splitPath(path: string): [folder: string, name: string] {
  const plain = path.replaceAll('\\', '/');
  const cut = plain.lastIndexOf('/');
  return [plain.slice(0, cut), plain.slice(cut + 1)];
}

/**
 * A thread that the program runs beside a session (a guardian, a review): its tokens count, but it takes no actions.
 */
const internal = (head: string, session: string): boolean =>
  /"session_id"\s*:\s*"([^"]{1,64})"/.exec(head)?.[1] === session && /"source"\s*:\s*\{\s*"subagent"\s*:/.test(head);

const isPart = ({ type, payload, timestamp }: Fields): boolean =>
  (type === 'event_msg' || type === 'response_item') &&
  word(fieldsOf(payload).type) !== undefined &&
  word(timestamp) !== undefined;

/** Returns the parent and the kind of a spawned thread. */
function spawnOf(meta: Fields): { parent: string; kind: string | undefined } | undefined {
  const spawn = fieldsOf(fieldsOf(fieldsOf(meta.source).subagent).thread_spawn);
  const parent = word(spawn.parent_thread_id) ?? word(meta.parent_thread_id);
  return parent === undefined ? undefined : { parent, kind: word(spawn.agent_role) ?? word(meta.agent_role) };
}

/** Returns true for a thread that the program spawned, not a call. */
const isInternal = (meta: Fields): boolean =>
  fieldsOf(meta.source).subagent !== undefined && spawnOf(meta) === undefined;

function began(place: Place): TranscriptEntry[] {
  const { payload, memory, file } = place;
  const thread = word(payload.id);
  const own = memory.recall('place', 'thread');
  if (own !== undefined) {
    // The header of another thread begins a copy; the own header again means that the thread was resumed.
    if (thread !== own) {
      if (recalled(place, 'turns') === undefined) note(place, 'copied', 1);
      return [];
    }
    const isSame = Date.parse(text(payload.timestamp) ?? '') === recalled(place, 'created');
    if (isSame || file.subagent !== undefined || isAside(place)) return [];
    return [
      entryAt(place, {
        event_type: 'Session.Start',
        key: `resume:${text(payload.timestamp) ?? ''}`,
        unless: 'hooked',
        data: { start_reason: 'resume' },
      }),
    ];
  }
  const createdMs = Date.parse(text(payload.timestamp) ?? '');
  note(place, 'thread', thread ?? file.root);
  note(place, 'created', Number.isNaN(createdMs) ? place.atMs : createdMs);
  note(place, 'provider', word(payload.model_provider));
  note(place, 'kind', spawnOf(payload)?.kind);
  if (isInternal(payload)) note(place, 'aside', 1);
  const historyEnd =
    number(payload.subagent_history_start_ordinal) ?? number(fieldsOf(payload.history_base).end_ordinal_exclusive);
  note(place, 'history', historyEnd);
  if (historyEnd !== undefined || word(payload.forked_from_id) !== undefined) {
    note(place, 'copied', 1);
    note(place, 'forked', 1);
  }
  // A subagent has one turn. The subagent starts and ends with this turn.
  if (!isAside(place) && file.subagent === undefined)
    note(place, 'opening', Number.isNaN(createdMs) ? place.atMs : createdMs);
  return [];
}

/**
 * Returns true in rows that were copied from the parent. The first turn that began after the thread itself is its own.
 */
function isCopied(place: Place): boolean {
  const { payload, ordinal } = place;
  if (recalled(place, 'copied') === undefined) return false;
  const history = recalled(place, 'history');
  const startedAt = number(payload.started_at);
  const createdMs = recalled(place, 'created');
  const isOwn =
    history !== undefined && ordinal !== undefined
      ? ordinal >= history
      : payload.type === 'task_started' &&
        createdMs !== undefined &&
        // Whole seconds are compared with milliseconds.
        (startedAt === undefined ? (place.atMs ?? 0) > createdMs + 2_000 : startedAt >= Math.floor(createdMs / 1_000));
  if (isOwn) note(place, 'copied', undefined);
  return !isOwn;
}

/** Reads a copied row. Of the copied rows, only the state after the last one counts. */
function copied(place: Place): TranscriptEntry[] {
  const { type, payload } = place;
  if (type === 'turn_context') context(place);
  const total = totalOf(payload);
  if (payload.type === 'token_count' && total !== undefined) note(place, 'total', JSON.stringify(total));
  return [];
}

function context(place: Place): TranscriptEntry[] {
  const model = word(place.payload.model);
  if (model !== undefined) note(place, 'model', model);
  const policy = place.payload.approval_policy;
  // The state keeps the policy, so only the form of a policy is kept.
  if (policy !== undefined) note(place, 'policy', /^[a-z-]{1,32}$/.exec(text(policy) ?? '')?.[0] ?? 'other');
  return [];
}
