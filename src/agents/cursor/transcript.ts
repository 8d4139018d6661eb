/**
 * `~/.cursor/projects/<folder>/agent-transcripts/<conversation>/<conversation>.jsonl`, subagents in `subagents/` beside
 * it. Facts: a transcript of 2026-08, third parties' notes on the format; checked 2026-11-18.
 *
 * A row is a message: a prompt of the user, or a text and calls of the agent. Rows have neither ids nor times, and no
 * results, models or tokens; reasoning is omitted. So the file is not used for a session with hooks. For a session
 * without hooks, it gives the prompts and the calls in their order.
 */
import { join } from 'node:path';
import type { Fields } from '../../event/event.ts';
import { fieldsOf, text, word } from '../../lib/read.ts';
import type { Memory, ReadFile, Transcript, TranscriptEntry, TranscriptFile } from '../contract/contract.ts';
import { nextNumber } from '../shared/numbers.ts';
import { unlessHooked } from '../shared/readings.ts';
import { actionName, launchedBy, toolFacts } from './tools.ts';

const MAIN = /[\\/]agent-transcripts[\\/]([\w-]{1,128})[\\/]\1\.jsonl$/;
/** A copy of a transcript, except a subagent's. */
const OWN_NAME = /(?<![\\/]subagents)[\\/]([\w.-]{1,128})\.jsonl$/;
const CHILD = /^([\w-]{1,128})\.jsonl$/;

export const transcript: Transcript = {
  namedFiles(fields) {
    const main = word(fields.transcript_path);
    return { main: main !== undefined && MAIN.test(main) ? main : undefined };
  },
  files({ main }, look) {
    if (main === undefined) return [];
    const folder = join(main.replace(/[^\\/]*$/, ''), 'subagents');
    const children = look.names(folder).flatMap((name): TranscriptFile[] => {
      const id = CHILD.exec(name)?.[1];
      return id === undefined ? [] : [{ path: join(folder, name), subagent: id }];
    });
    return [{ path: main }, ...children];
  },
  installed({ home }, look) {
    const projects = join(home, '.cursor', 'projects');
    return look.names(projects).flatMap(project => {
      const folder = join(projects, project, 'agent-transcripts');
      return look
        .names(folder)
        .map(conversation => ({ path: join(folder, conversation, `${conversation}.jsonl`) }))
        .filter(({ path }) => look.head(path) !== '');
    });
  },
  sessions({ path }, { rows }) {
    // Rows do not name their session: the file name does, in any folder.
    const named =
      MAIN.exec(path)?.[1] ??
      (rows.some(isRow) && !rows.some(row => !isRow(row)) ? OWN_NAME.exec(path)?.[1] : undefined);
    return named === undefined ? [] : [{ session: named }];
  },
  read: { format: 'lines', row, rest: (memory, file) => over(memory, file) },
  unread: [
    {
      why: 'the databases of the IDE and of the CLI: the content of their values is not documented',
      fits: path => DATABASE.test(path),
      installed({ home, env }, look) {
        const chats = join(home, '.cursor', 'chats');
        const stores = look
          .names(chats)
          .flatMap(folder => look.names(join(chats, folder)).map(chat => join(chats, folder, chat, 'store.db')));
        const settings = [
          word(env.APPDATA),
          join(home, 'Library', 'Application Support'),
          word(env.XDG_CONFIG_HOME) ?? join(home, '.config'),
        ];
        const states = settings.flatMap(folder =>
          folder === undefined ? [] : [join(folder, 'Cursor', 'User', 'globalStorage', 'state.vscdb')],
        );
        return [...stores, ...states].filter(path => look.head(path) !== '');
      },
    },
  ],
};

const DATABASE = /[\\/](?:\.cursor[\\/]chats[\\/].+[\\/]store\.db|Cursor[\\/]User[\\/]globalStorage[\\/]state\.vscdb)$/;

/** Returns true for a row with only a message and its role. */
const isRow = (row: Fields): boolean =>
  row.type === 'turn_ended' ||
  ((row.role === 'user' || row.role === 'assistant') &&
    Array.isArray(fieldsOf(row.message).content) &&
    Object.keys(row).length === 2);

function row(fields: Fields, memory: Memory, file: ReadFile): TranscriptEntry[] {
  const key = `row-${nextNumber('rows', memory)}`;
  if (fields.type === 'turn_ended') return over(memory, file);
  const { content } = fieldsOf(fields.message);
  const items = Array.isArray(content) ? content.map(fieldsOf) : [];
  const words = text(items.findLast(item => item.type === 'text')?.text);
  if (fields.role === 'user') return file.subagent === undefined ? prompt(key, words, memory, file) : begun(memory);
  if (fields.role !== 'assistant') return [];
  const first = file.subagent === undefined ? [] : begun(memory);
  const calls = items.filter(item => item.type === 'tool_use').slice(0, 128);
  memory.forget('turn', 'answer');
  if (calls.length === 0 && words !== undefined) {
    memory.remember('turn', 'answer', JSON.stringify({ key, length: words.length, hash: memory.likeness(words) }));
  }
  return [...first, ...calls.flatMap((call, i) => called(`${key}.${i}`, call))];
}

function prompt(key: string, words: string | undefined, memory: Memory, file: ReadFile): TranscriptEntry[] {
  const asked = /<user_query>\n?([\s\S]*?)\n?<\/user_query>/.exec(words ?? '')?.[1] ?? words;
  return [
    ...over(memory, file),
    unlessHooked({ key: key, event_type: 'Prompt.Submitted', actor: 'user', data: { prompt: asked } }),
  ];
}

/** The first row of a subagent is its start. */
function begun(memory: Memory): TranscriptEntry[] {
  if (memory.recall('turn', 'begun') !== undefined) return [];
  memory.remember('turn', 'begun', '1');
  return [unlessHooked({ key: 'start', event_type: 'Session.Start', data: { start_reason: 'new' } })];
}

/** Reads a call. The row has no result. */
function called(key: string, { name, input }: Fields): TranscriptEntry[] {
  const fields = { tool_name: name, tool_input: input };
  const action = { name: actionName(fields), input: fieldsOf(input) };
  const facts = { ...toolFacts(fields), call: key, launches: launchedBy(fields) };
  return [
    unlessHooked({ key: key, event_type: 'Action.Before', data: { action }, facts }),
    unlessHooked({ key: key, event_type: 'Action.After', data: { action: { ...action, result: {} } }, facts }),
  ];
}

function over(memory: Memory, file: ReadFile): TranscriptEntry[] {
  const kept = memory.recall('turn', 'answer');
  memory.forget('turn', 'answer');
  const answer = kept === undefined ? undefined : (JSON.parse(kept) as { key: string; length: number; hash: string });
  const entries: TranscriptEntry[] =
    answer === undefined
      ? []
      : [
          unlessHooked({
            key: answer.key,
            event_type: 'Agent.Response',
            data: { response_length: answer.length, response_hash: answer.hash, final: true },
          }),
        ];
  if (file.subagent === undefined) return answer === undefined ? [] : [...entries, { over: 'turn' }];
  if (answer === undefined) return [];
  return [
    ...entries,
    unlessHooked({ key: 'end', event_type: 'Session.End', data: { end_reason: 'completed' } }),
    { over: 'subagent', id: file.subagent },
  ];
}
