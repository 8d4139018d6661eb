/**
 * `~/.windsurf/transcripts/<trajectory>.jsonl`, written if a hook with the transcript is registered. Facts: the
 * vendor's pages of 2026, a transcript in a third party's tests of 2026-08; checked 2026-11-18.
 *
 * A row is one step, done or failed: `{status, type, <type>: {…}}`. Rows have neither ids nor times, and there are no
 * tokens. Only rows state how a command ended and that a user refused it. But rows have no ids that relate them to the
 * calls of hooks, and equal commands would be confused. Rows therefore count only in sessions without hooks, in order.
 */
import { join } from 'node:path';
import type { Fields } from '../../event/event.ts';
import { fieldsOf, isFields, number, own, text, word } from '../../lib/read.ts';
import type { Memory, Transcript, TranscriptEntry } from '../contract/contract.ts';
import { nextNumber } from '../shared/numbers.ts';
import { unlessHooked } from '../shared/readings.ts';

const FILE = /[\\/]\.windsurf[\\/]transcripts[\\/]([\w-]{1,128})\.jsonl$/;
/** A copy in any folder is recognized by its rows: the member named after the type holds the step. */
const NAME = /([^\\/]{1,128})\.jsonl$/;
const isStep = (row: Fields): boolean => word(row.status) !== undefined && isFields(row[word(row.type) ?? '']);

const folderIn = (home: string): string => join(home, '.windsurf', 'transcripts');

export const transcript: Transcript = {
  namedFiles: fields => ({ main: word(fieldsOf(fields.tool_info).transcript_path) }),
  files({ main, home, session }, look) {
    if (main !== undefined) return [{ path: main }];
    const name = `${session}.jsonl`;
    return look.names(folderIn(home)).includes(name) ? [{ path: join(folderIn(home), name) }] : [];
  },
  installed: ({ home }, look) =>
    look
      .names(folderIn(home))
      .filter(name => name.endsWith('.jsonl'))
      .map(name => ({ path: join(folderIn(home), name) })),
  sessions({ path }, { rows }) {
    const session = FILE.exec(path)?.[1] ?? (rows.some(isStep) ? NAME.exec(path)?.[1] : undefined);
    return session === undefined ? [] : [{ session }];
  },
  read: { format: 'lines', row, rest: memory => answered(memory) },
};

function row(fields: Fields, memory: Memory): TranscriptEntry[] {
  const type = text(fields.type) ?? '';
  const step = fieldsOf(fields[type]);
  const key = `row-${nextNumber('rows', memory)}`;
  switch (type) {
    case '':
      return [];
    case 'user_input':
      return [
        ...answered(memory),
        unlessHooked({
          key: key,
          event_type: 'Prompt.Submitted',
          actor: 'user',
          data: { prompt: text(step.user_response) },
        }),
      ];
    case 'planner_response': {
      const response = text(step.response) ?? '';
      // The last text before the next prompt is the answer.
      memory.remember(
        'turn',
        'answer',
        JSON.stringify({ key, length: response.length, hash: memory.likeness(response) }),
      );
      return [];
    }
    default:
      return action(key, type, step, fields.status);
  }
}

function answered(memory: Memory): TranscriptEntry[] {
  const kept = memory.recall('turn', 'answer');
  if (kept === undefined) return [];
  memory.forget('turn', 'answer');
  const { key, length, hash } = JSON.parse(kept) as { key: string; length: number; hash: string };
  return [
    unlessHooked({
      key: key,
      event_type: 'Agent.Response',
      data: { response_length: length, response_hash: hash, final: true },
    }),
    { over: 'turn' },
  ];
}

/** Steps by their names in rows. A step has the name of its hook, if there is one, otherwise its own name. */
const actions: Readonly<Record<string, { name: string; tool: string }>> = {
  view_file: { name: 'read_file', tool: 'read_code' },
  code_action: { name: 'write_file', tool: 'write_code' },
  run_command: { name: 'shell', tool: 'run_command' },
};

function action(key: string, type: string, step: Fields, status: unknown): TranscriptEntry[] {
  const { name, tool } = own(actions, type) ?? { name: type, tool: type };
  const input = type === 'run_command' ? { command: step.command, cwd: step.cwd } : { path: step.path };
  const facts = { tool, call: key };
  const rejected = step.user_rejected === true;
  const exitCode = number(step.exit_code);
  const success = status === 'error' ? false : status === 'done' ? true : undefined;
  return [
    unlessHooked({ key: key, event_type: 'Action.Before', data: { action: { name, input } }, facts }),
    unlessHooked({
      key: key,
      event_type: 'Action.After',
      data: {
        action: { name, input, result: rejected ? undefined : { success, exit_code: exitCode } },
        decision: rejected ? { outcome: 'deny' } : undefined,
      },
      facts: {
        ...facts,
        error_type: success === false && !rejected ? 'tool_error' : undefined,
        decision: rejected ? { source: 'user', basis: 'observed' } : undefined,
      },
    }),
  ];
}
