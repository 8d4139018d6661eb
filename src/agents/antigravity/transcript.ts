/**
 * `<data>/brain/<conversation>/.system_generated/logs/transcript.jsonl`: one row per step. Facts: transcripts of CLI
 * 1.0 recorded in June 2026; checked 2026-11-18.
 *
 * A response of the model names its calls. Each call has a separate row, with the same step as in its hooks. Times are
 * whole seconds. There are no tokens. A subagent is a separate conversation in a separate folder; the row that launches
 * it has its id. A checkpoint follows the first response of every conversation, even of a short one, so a checkpoint
 * does not prove a compaction.
 */
import { join } from 'node:path';
import type { Fields } from '../../event/event.ts';
import { fieldsOf, number, text, word } from '../../lib/read.ts';
import type { Memory, Transcript, TranscriptEntry, TranscriptReading } from '../contract/contract.ts';
import { timeOf } from '../shared/times.ts';
import { actionName, launchedBy, toolFacts } from './tools.ts';

const folders = ['antigravity', 'antigravity-cli'];

const pathOf = (home: string, folder: string, conversation: string): string =>
  join(home, '.gemini', folder, 'brain', conversation, '.system_generated', 'logs', 'transcript.jsonl');

export const transcript: Transcript = {
  namedFiles: fields => ({ main: word(fields.transcriptPath) }),
  files({ main, home, session }, look) {
    if (main !== undefined) return [{ path: main }];
    const path = folders.map(folder => pathOf(home, folder, session)).find(each => look.head(each) !== '');
    return path === undefined ? [] : [{ path }];
  },
  installed: ({ home }, look) =>
    folders.flatMap(folder =>
      look
        .names(join(home, '.gemini', folder, 'brain'))
        .map(conversation => pathOf(home, folder, conversation))
        .filter(path => look.head(path) !== '')
        .map(path => ({ path })),
    ),
  sessions({ path }, { rows }) {
    const copied = rows.some(isStep) ? /([^\\/]+)\.jsonl$/.exec(path)?.[1] : undefined;
    const session = /[\\/]brain[\\/]([^\\/]+)[\\/]\.system_generated[\\/]/.exec(path)?.[1] ?? copied;
    return session === undefined ? [] : [{ session }];
  },
  read: { format: 'lines', at: fields => timeOf(fields.created_at), row },
};

/** A copy in any folder is recognized by its rows. */
const isStep = ({ step_index: step, source, type }: Fields): boolean =>
  number(step) !== undefined && /^(USER_EXPLICIT|MODEL|SYSTEM)$/.test(text(source) ?? '') && word(type) !== undefined;

function row(fields: Fields, memory: Memory): TranscriptEntry[] {
  const step = number(fields.step_index);
  if (step === undefined) return [];
  const key = `step-${step}`;
  const atMs = timeOf(fields.created_at);
  const content = text(fields.content) ?? '';
  switch (fields.type) {
    case 'USER_INPUT':
      return prompt(content, key, atMs, memory);
    case 'PLANNER_RESPONSE':
      return response(fields, content, key, atMs, memory);
    case 'ERROR_MESSAGE':
      return [
        {
          event_type: 'Agent.Error',
          key,
          atMs,
          data: {
            error_type: content.startsWith('Error: model') ? 'ModelError' : 'UnhandledException',
            error_message: content,
          },
        },
      ];
  }
  return fields.source === 'MODEL' ? action(fields, content, key, atMs, memory) : [];
}

function prompt(content: string, key: string, atMs: number | undefined, memory: Memory): TranscriptEntry[] {
  const model = /changed setting `Model Selection` from .{1,80}? to ([\w .()-]{1,64})\. /.exec(content)?.[1];
  if (model !== undefined) memory.remember('model', 'selected', model);
  const asked = /<USER_REQUEST>\n?([\s\S]*?)\n?<\/USER_REQUEST>/.exec(content)?.[1];
  return [
    {
      event_type: 'Prompt.Submitted',
      key,
      unless: 'hooked',
      atMs,
      actor: 'user',
      data: { prompt: asked ?? content },
      facts: { model: memory.recall('model', 'selected') },
    },
  ];
}

function response(
  fields: Fields,
  content: string,
  key: string,
  atMs: number | undefined,
  memory: Memory,
): TranscriptEntry[] {
  const calls = Array.isArray(fields.tool_calls) ? fields.tool_calls.map(fieldsOf) : [];
  for (const [i, { name, args }] of calls.slice(0, 64).entries()) {
    const tool = word(name)?.slice(0, LONGEST_NAME) ?? 'unknown';
    const agent = launchedBy(tool, args)?.agent?.slice(0, LONGEST_NAME) ?? '';
    memory.remember('called', `${key}.${i}`, JSON.stringify([tool, agent]));
  }
  const responded: TranscriptReading = {
    event_type: 'Model.Responded',
    key,
    unless: 'hooked',
    atMs,
    data: { model_id: memory.recall('model', 'selected') },
  };
  // A response without text and calls is an error of the model. The agent repeats the request.
  if (calls.length > 0 || content === '') return [responded];
  return [
    responded,
    {
      event_type: 'Agent.Response',
      key,
      unless: 'hooked',
      atMs,
      data: { response: content, final: true },
    },
    { over: 'turn', atMs },
  ];
}

/** With this limit, two names fit into one entry of the memory, even if all of their characters are escaped. */
const LONGEST_NAME = 64;

/** The beginning of a row about a call, and the continuation for a command. The output of the call follows it. */
const TIMES = /^Created At: (\S{20,35})\nCompleted At: (\S{20,35})\n/;
const EXIT = /^Created At: \S+\nCompleted At: \S+\n\s{0,16}The command failed with exit code: (\d{1,3})\n/;
const CHILD = /^\s*"conversationId":\s*"([0-9a-f-]{36})"/m;

const waiting = ['PENDING', 'RUNNING', 'WAITING'];

function action(
  fields: Fields,
  content: string,
  key: string,
  atMs: number | undefined,
  memory: Memory,
): TranscriptEntry[] {
  const { tool, agent } = calledAt(key, memory);
  const [, began, ended] = TIMES.exec(content) ?? [];
  const launches = tool === 'invoke_subagent' ? { agent, id: CHILD.exec(content)?.[1] } : undefined;
  const facts = { ...toolFacts(tool), call: key, launches };
  const before: TranscriptReading = {
    event_type: 'Action.Before',
    key,
    atMs: timeOf(began) ?? atMs,
    data: { action: { name: actionName(tool) } },
    facts,
  };
  const status = word(fields.status) ?? '';
  if (waiting.includes(status)) return [before];
  const exitCode = number(fields.exit_code) ?? numberOf(EXIT.exec(content)?.[1]);
  const failed = status === 'ERROR' || (exitCode !== undefined && exitCode !== 0);
  return [
    before,
    {
      event_type: 'Action.After',
      key,
      atMs: timeOf(ended) ?? atMs,
      data: {
        action: {
          name: actionName(tool),
          result: failed || status === 'DONE' ? { success: !failed, exit_code: exitCode } : undefined,
        },
      },
      facts: {
        ...facts,
        error_type: failed ? (exitCode === undefined ? 'tool_error' : 'exit_code') : undefined,
      },
    },
  ];
}

/** Rows of calls are in the order in which the response named the calls; a repeated row is the same call. */
function calledAt(key: string, memory: Memory): { tool: string; agent: string | undefined } {
  const known = memory.recall('step', key);
  const [next] = memory.list('called');
  const called = known ?? next?.[1];
  if (known === undefined && next !== undefined) {
    memory.forget('called', next[0]);
    memory.remember('step', key, next[1]);
  }
  if (called === undefined) return { tool: 'unknown', agent: undefined };
  const [tool, agent] = JSON.parse(called) as [string, string];
  return { tool, agent: agent === '' ? undefined : agent };
}

const numberOf = (digits: string | undefined): number | undefined =>
  digits === undefined ? undefined : Number(digits);
