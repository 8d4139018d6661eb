/**
 * OpenCode's database, `<data>/opencode/opencode.db`, for sessions from before the plugin. V1 keeps sessions, messages
 * and parts in tables of these names, messages and parts as JSON in the form of its bus, without their ids. Versions
 * before 1.1 kept each as a file, `storage/session/<project>/<id>.json`, `message/<session>/<id>.json`,
 * `part/<message>/<id>.json`: they are read as such tables. Facts: V1 source at 1.18.18 and a database of that form;
 * checked 2026-11-19. The storage of V2 is not read.
 *
 * Only an import reads it: a session with the plugin has reported all of it already, under the same ids.
 */
import { dirname, join } from 'node:path';
import type { Fields } from '../../event/event.ts';
import { fieldsOf, number, own, text, word } from '../../lib/read.ts';
import { type Database, openDatabase } from '../../lib/sqlite.ts';
import type {
  Document,
  FoundSession,
  Look,
  Places,
  ReadFile,
  Reading,
  Transcript,
  TranscriptEntry,
  TranscriptFile,
  TranscriptReading,
} from '../contract/contract.ts';
import { actionsOf, isUnattended, modeOf, responseOf, servedBy, written } from './messages.ts';
import { errorKind, listed } from './turns.ts';

export const transcript: Transcript = {
  files({ main, session }, look) {
    if (main === undefined) return [];
    return [{ path: main, session, beside: SINGLE.test(main) ? singleFiles(main, session, look) : [`${main}-wal`] }];
  },
  installed(places, look) {
    const { env } = places;
    const folder = folderOf(places);
    const named = word(env.OPENCODE_DB);
    const found = look.names(folder).filter(name => /^opencode(?:-[\w.]+)?\.db$/.test(name));
    const databases = [...(named === undefined ? [] : [named]), ...found.map(name => join(folder, name))];
    return [...databases, ...singleSessions(join(folder, 'storage', 'session'), look)].map(path => ({ path }));
  },
  sessions(file, { document }, look) {
    if (SINGLE.test(file.path)) return singleSession(file, document, look);
    // A young database has most of its rows in the write-ahead log alone.
    return sessionsIn(document && databaseIn(document, document.beside?.('-wal')));
  },
  read: {
    format: 'document',
    document(document, file) {
      const database = databaseIn(document, file.companions[0]);
      return database === undefined || file.session === undefined ? [] : sessionOf(database, file.session, file);
    },
  },
  others: [
    {
      fits: path => SINGLE.test(path),
      read: {
        format: 'document',
        document: (document, file) =>
          file.session === undefined ? [] : sessionOf(singleTables(document, file), file.session, file),
      },
    },
  ],
  unread: [
    {
      why: 'it contains no session of V1; the plugin reports the sessions of V2',
      fits: path => DATABASE.test(path),
      // A path of `installed` without a session is skipped by its name.
      installed: () => [],
    },
  ],
};

const DATABASE = /[\\/]opencode(?:-[\w.]+)?\.db$/;
const SINGLE = /[\\/]session[\\/][^\\/]+[\\/]([^\\/]+)\.json$/;
const MESSAGE = /[\\/]message[\\/]([^\\/]+)[\\/]([^\\/]+)\.json$/;
const PART = /[\\/]part[\\/]([^\\/]+)[\\/]([^\\/]+)\.json$/;
/** The rows of a session and of its child sessions. */
const MOST_SINGLE = 20_000;

const folderOf = ({ home, env }: Places): string =>
  join(word(env.XDG_DATA_HOME) ?? join(home, '.local', 'share'), 'opencode');

const inFolder = (folder: string, look: Look): string[] =>
  look
    .names(folder)
    .filter(name => name.endsWith('.json'))
    .map(name => join(folder, name));

const singleSessions = (folder: string, look: Look): string[] =>
  look.names(folder).flatMap(project => inFolder(join(folder, project), look));

function singleSession({ path }: TranscriptFile, document: Document | undefined, look?: Look): FoundSession[] {
  const { id, parentID, directory, time } = fieldsOf(document?.json());
  const session = word(id);
  const parent = word(parentID);
  if (session === undefined || session !== SINGLE.exec(path)?.[1]) return [];
  // A child session is read with its parent session, as long as the parent exists.
  if (parent !== undefined && (look?.head(join(dirname(path), `${parent}.json`)) ?? '') !== '') return [];
  return [{ session, cwd: word(directory), atMs: number(fieldsOf(time).updated) }];
}

/** Returns all files of a session: its child sessions, their messages, and the parts of the messages. */
function singleFiles(main: string, session: string, look: Look): string[] {
  const storage = dirname(dirname(dirname(main)));
  const children = begunIn(dirname(main), look);
  const family = [session];
  const files: string[] = [];
  const taken = new Set<string>();
  // The list grows while it is iterated.
  for (const id of family) {
    const begun = (children.get(id) ?? []).filter(path => path !== main && !taken.has(path));
    for (const path of begun) taken.add(path);
    family.push(...begun.map(path => SINGLE.exec(path)?.[1] ?? ''));
    const messages = inFolder(join(storage, 'message', id), look);
    const parts = messages.flatMap(path => inFolder(join(storage, 'part', MESSAGE.exec(path)?.[2] ?? ''), look));
    files.push(...begun, ...messages, ...parts);
    if (files.length > MOST_SINGLE) break;
  }
  return files.slice(0, MOST_SINGLE);
}

/** Caches the child sessions of a folder by their parent, because this is needed for every session of the folder. */
const families = new WeakMap<Look, Map<string, Map<string, string[]>>>();

function begunIn(folder: string, look: Look): Map<string, string[]> {
  const folders = families.get(look) ?? new Map<string, Map<string, string[]>>();
  families.set(look, folders);
  const known = folders.get(folder);
  if (known !== undefined) return known;
  const byParent = new Map<string, string[]>();
  for (const path of inFolder(folder, look)) {
    const parent = /"parentID":\s*"([^"]+)"/.exec(look.head(path))?.[1];
    if (parent === undefined) continue;
    const siblings = byParent.get(parent);
    if (siblings === undefined) byParent.set(parent, [path]);
    else siblings.push(path);
  }
  folders.set(folder, byParent);
  return byParent;
}

interface Tables {
  rows(table: string, where?: { column: string; equals: string }): Iterable<Fields>;
}

/** The files in the form of database tables. */
function singleTables(document: Document, { beside = [], companions }: ReadFile): Tables {
  const session: Fields[] = [sessionRow(fieldsOf(document.json()))];
  const message: Fields[] = [];
  const part: Fields[] = [];
  const of = new Map<string, string>();
  for (const [i, path] of beside.entries()) {
    const data = companions[i]?.toString('utf8') ?? '';
    const [, owner, id] = MESSAGE.exec(path) ?? PART.exec(path) ?? [];
    if (owner === undefined || id === undefined) session.push(sessionRow(parsed(data)));
    else if (MESSAGE.test(path)) {
      of.set(id, owner);
      message.push({ id, session_id: owner, data });
    } else part.push({ id, message_id: owner, session_id: of.get(owner), data });
  }
  const tables: Readonly<Record<string, Fields[]>> = { session, message, part };
  return {
    rows: (table, where) =>
      (own(tables, table) ?? []).filter(row => where === undefined || row[where.column] === where.equals),
  };
}

const sessionRow = ({ id, parentID, directory, time }: Fields): Fields => ({
  id,
  parent_id: parentID,
  directory,
  time_created: fieldsOf(time).created,
});

/** Returns undefined if the file is not a database, or has other tables. */
function databaseIn(document: Document, log?: Buffer): Database | undefined {
  const database = openDatabase(document, log);
  const has = (table: string, ...columns: string[]): boolean =>
    columns.every(column => database?.columns(table).includes(column));
  const isKnown =
    has('session', 'id', 'parent_id', 'time_created') &&
    has('message', 'id', 'session_id', 'data') &&
    has('part', 'id', 'message_id', 'session_id', 'data');
  return isKnown ? database : undefined;
}

/**
 * Returns the sessions without a parent. If the parent was deleted, the child session counts as a session. A session
 * without messages belongs to V2.
 */
function sessionsIn(database: Database | undefined): FoundSession[] {
  const rows = [...(database?.rows('session') ?? [])];
  const ids = new Set(rows.map(row => row.id));
  const withMessages = new Set([...(database?.rows('message') ?? [])].map(row => row.session_id));
  return rows.flatMap(row => {
    const session = word(row.id);
    if (session === undefined || !withMessages.has(session)) return [];
    if (word(row.parent_id) !== undefined && ids.has(row.parent_id)) return [];
    return [{ session, cwd: word(row.directory), atMs: number(row.time_updated) }];
  });
}

const MOST_DEPTH = 8;

function sessionOf(database: Tables, id: string, file: ReadFile, depth = 0): TranscriptEntry[] {
  const isChild = id !== file.root;
  const [row] = database.rows('session', { column: 'id', equals: id });
  const entries: TranscriptEntry[] = [
    {
      event_type: 'Session.Start',
      key: 'start',
      data: { start_reason: 'new' },
      atMs: number(row?.time_created),
    },
  ];
  const parts = new Map<string, Fields[]>();
  for (const each of database.rows('part', { column: 'session_id', equals: id })) {
    const message = word(each.message_id) ?? '';
    parts.set(message, [...(parts.get(message) ?? []), parsed(each.data)]);
  }
  const begunMs = number(row?.time_created) ?? 0;
  const messages = [...database.rows('message', { column: 'session_id', equals: id })]
    .map((each): Fields => ({ ...parsed(each.data), id: word(each.id) }))
    // A fork begins with copies of the messages of another session, which are older than the fork.
    .filter(message => createdMs(message) >= begunMs)
    .sort((one, other) => createdMs(one) - createdMs(other));
  const isUnasked = isUnattended(listed(text(row?.permission)));
  const turns = turnsOf(messages, parts);
  // The last message that answers a prompt is the answer.
  const answers = new Set(new Map(messages.map(message => [turns.get(word(message.id)), message.id])).values());
  let endMs: number | undefined;
  for (const message of messages) {
    const ofMessage = parts.get(word(message.id) ?? '') ?? [];
    const turn = turns.get(word(message.id));
    const mode = modeOf(message.agent);
    const found =
      message.role === 'user'
        ? promptOf(message, ofMessage, turn, isChild)
        : answerOf(message, ofMessage, { turn, isUnasked, isLast: answers.has(message.id) });
    entries.push(...found.map(entry => ('over' in entry ? entry : { ...entry, mode })));
    endMs = number(fieldsOf(message.time).completed) ?? endMs;
  }
  if (isChild) {
    if (endMs !== undefined) entries.push(ended(endMs));
    const agent = messages.map(message => word(message.agent)).find(known => known !== undefined);
    for (const each of entries) {
      if ('over' in each) continue;
      each.subagent = id;
      each.mode ??= modeOf(agent);
      each.facts = { agent, ...each.facts };
    }
  }
  if (depth === MOST_DEPTH) return entries;
  const children = [...database.rows('session', { column: 'parent_id', equals: id })];
  for (const child of children) {
    const own = word(child.id);
    if (own !== undefined) entries.push(...sessionOf(database, own, file, depth + 1));
  }
  return entries.sort((one, other) => (one.atMs ?? 0) - (other.atMs ?? 0));
}

const ended = (atMs: number): TranscriptReading => ({
  event_type: 'Session.End',
  key: 'end',
  unless: 'hooked',
  data: { end_reason: 'completed' },
  atMs,
});

const createdMs = (message: Fields): number => number(fieldsOf(message.time).created) ?? 0;

/** The turn of each message: its prompt. The prompts that OpenCode writes around a compaction continue a turn. */
function turnsOf(messages: readonly Fields[], parts: ReadonlyMap<string, Fields[]>): Map<string | undefined, string> {
  const turns = new Map<string | undefined, string>();
  let running: string | undefined;
  for (const message of messages) {
    const id = word(message.id) ?? '';
    const parent = turns.get(word(message.parentID));
    const isOwn = (parts.get(id) ?? []).every(part => part.type === 'compaction' || part.synthetic === true);
    if (message.role === 'user') running = isOwn && running !== undefined ? running : id;
    const turn = message.role === 'user' ? running : (parent ?? running);
    if (turn !== undefined) turns.set(id, turn);
  }
  return turns;
}

function promptOf(
  message: Fields,
  parts: readonly Fields[],
  turn: string | undefined,
  isChild: boolean,
): TranscriptEntry[] {
  const id = word(message.id);
  if (id === undefined) return [];
  if (turn !== id) {
    return parts.flatMap((part): TranscriptEntry[] =>
      part.type === 'compaction'
        ? [
            {
              event_type: 'Context.Compaction',
              key: id,
              unless: 'hooked',
              data: { trigger: part.auto === true ? 'auto' : 'manual' },
              actor: 'system',
              facts: { turn, phase: 'before' },
              atMs: createdMs(message),
            },
          ]
        : [],
    );
  }
  return [
    {
      event_type: 'Prompt.Submitted',
      key: id,
      actor: isChild ? 'ai_agent' : 'user',
      data: { prompt: written(parts) },
      facts: { turn: id },
      atMs: createdMs(message),
    },
  ];
}

/** The time of the newest part that the model streamed: a text that ended, or a call that began. */
const streamedMs = (parts: readonly Fields[]): number | undefined =>
  parts.reduce<number | undefined>((newest, part) => {
    const atMs =
      number(fieldsOf(part.time).end) ??
      (part.type === 'tool' ? number(fieldsOf(fieldsOf(part.state).time).start) : undefined);
    return atMs === undefined ? newest : Math.max(atMs, newest ?? 0);
  }, undefined);

/** A message without a response: its request failed, or was interrupted, or still runs. */
function unanswered(message: Fields, id: string): Reading[] {
  const model = word(message.modelID);
  const { name, data } = fieldsOf(message.error);
  const facts = { model, provider: servedBy(message.providerID) };
  const asked: Reading = { event_type: 'Model.Requested', key: id, data: { model_id: model }, facts: { model } };
  const begun = { ...asked, atMs: createdMs(message) };
  if (name === undefined || name === 'MessageAbortedError') return [begun];
  const error_type = errorKind(text(name));
  return [
    begun,
    {
      event_type: 'Model.Failed',
      key: id,
      data: { model_id: model, error_type, error_message: text(fieldsOf(data).message) },
      facts: { ...facts, error_type },
      atMs: number(fieldsOf(message.time).completed),
    },
  ];
}

function answerOf(
  message: Fields,
  parts: readonly Fields[],
  { turn, isUnasked, isLast }: { turn: string | undefined; isUnasked: boolean; isLast: boolean },
): TranscriptEntry[] {
  const id = word(message.id);
  if (id === undefined) return [];
  const facts = { turn };
  const readings = parts.flatMap(part => actionsOf(part, 0, isUnasked));
  const response = responseOf(message, streamedMs(parts));
  if (response === undefined) readings.push(...unanswered(message, id));
  else {
    const answered = { ...response.facts, ...facts, started_ms: createdMs(message) };
    readings.push({ ...response, facts: answered });
  }
  const entries = readings.map(
    (reading): TranscriptEntry => ({
      ...reading,
      key: reading.key ?? id,
      facts: { ...facts, ...reading.facts },
    }),
  );
  const completedMs = number(fieldsOf(message.time).completed);
  if (completedMs !== undefined && message.summary === true && message.error === undefined) {
    // The message is the summary of a compaction.
    entries.push({
      event_type: 'Context.Compaction',
      key: id,
      unless: 'hooked',
      data: {},
      actor: 'system',
      facts: { ...facts, phase: 'after' },
      atMs: completedMs,
    });
  }
  if (completedMs === undefined || !isLast) return entries;
  const { name } = fieldsOf(message.error);
  const isInterrupted = name === 'MessageAbortedError';
  if (name !== undefined && !isInterrupted) {
    entries.push({
      event_type: 'Agent.Error',
      key: id,
      unless: 'hooked',
      data: { error_type: 'ModelError', origin_event: 'Model.Failed' },
      facts: { ...facts, error_type: errorKind(text(name)) },
      atMs: completedMs,
    });
    return entries;
  }
  const answer = written(parts.filter(part => part.type === 'text'));
  entries.push({
    event_type: 'Agent.Response',
    key: id,
    unless: 'hooked',
    data: { response: answer, final: true },
    facts: isInterrupted ? { ...facts, interrupted: true } : facts,
    atMs: completedMs,
  });
  return entries;
}

function parsed(json: unknown): Fields {
  try {
    return fieldsOf(JSON.parse(text(json) ?? ''));
  } catch {
    // OpenCode did not write this text.
    return {};
  }
}
