/**
 * `~/.factory/sessions/<folder>/<session>.jsonl`: one row per message, with blocks in the form of Anthropic's API, and
 * beside it `<session>.settings.json` with the model and the tokens of the whole session. Facts: files of January 2026;
 * checked 2026-11-18.
 *
 * Hooks and rows share no id of a call, so hooks alone report what both contain. Tokens are known only for the session
 * as a whole; each reading reports the tokens that were added since the previous one. Input tokens are counted without
 * the cache.
 */
import { join } from 'node:path';
import type { Fields } from '../../event/event.ts';
import { fieldsOf, isFields, text, word } from '../../lib/read.ts';
import type {
  Look,
  Memory,
  ReadFile,
  Transcript,
  TranscriptEntry,
  TranscriptFile,
  TranscriptReading,
} from '../contract/contract.ts';
import { timeOf } from '../shared/times.ts';
import { actionName, toolFacts } from './tools.ts';

export const transcript: Transcript = {
  namedFiles: fields => ({ main: word(fields.transcript_path) }),
  files({ main, home, session }, look) {
    if (main !== undefined) return [fileAt(main)];
    return filesIn(home, look).filter(({ path }) => sessionIn(path) === session);
  },
  installed: ({ home }, look) => filesIn(home, look),
  sessions({ path }, { rows }) {
    const first = rows.find(({ type }) => type === 'session_start');
    // The row of the start may be missing or damaged: then the path identifies the session.
    if (first === undefined && !/[\\/]\.factory[\\/]/.test(path)) return [];
    const session = word(first?.id) ?? sessionIn(path);
    return session === undefined ? [] : [{ session, cwd: word(first?.cwd) }];
  },
  read: { format: 'lines', row, rest },
};

const fileAt = (path: string): TranscriptFile => ({ path, beside: [path.replace(/\.jsonl$/, '.settings.json')] });

const sessionIn = (path: string): string | undefined => /([^\\/]+)\.jsonl$/.exec(path)?.[1];

/** One folder for each working folder; earlier versions wrote all sessions into one. */
function filesIn(home: string, look: Look): TranscriptFile[] {
  const root = join(home, '.factory', 'sessions');
  const names = look.names(root);
  const paths = names.flatMap(name =>
    name.includes('.') ? [join(root, name)] : look.names(join(root, name)).map(file => join(root, name, file)),
  );
  return paths.filter(path => path.endsWith('.jsonl')).map(fileAt);
}

function row(fields: Fields, memory: Memory, file: ReadFile): TranscriptEntry[] {
  const key = word(fields.id);
  if (fields.type === 'session_start') memory.remember('session', 'start', 'announced');
  if (fields.type !== 'message' || key === undefined) return [];
  const atMs = timeOf(fields.timestamp);
  const message = fieldsOf(fields.message);
  const blocks = Array.isArray(message.content) ? message.content.map(fieldsOf) : [];
  const entries =
    message.role === 'assistant'
      ? answered(blocks, key, atMs, memory, settingsIn(file))
      : message.role === 'user'
        ? asked(blocks, key, atMs, memory)
        : [];
  return [...started(atMs, memory), ...entries];
}

/** The row of the start has no time; the first message has one. */
function started(atMs: number | undefined, memory: Memory): TranscriptEntry[] {
  if (memory.recall('session', 'start') === undefined) return [];
  memory.forget('session', 'start');
  return [
    { event_type: 'Session.Start', key: 'start', unless: 'hooked', atMs, actor: 'user', data: { start_reason: 'new' } },
  ];
}

function asked(blocks: readonly Fields[], key: string, atMs: number | undefined, memory: Memory): TranscriptEntry[] {
  const results = blocks.filter(({ type }) => type === 'tool_result');
  if (results.length > 0) return results.flatMap(block => result(block, atMs, memory));
  // The program added everything after the first text: contents of named files.
  const prompt = blocks.find(({ type }) => type === 'text');
  return [
    {
      event_type: 'Prompt.Submitted',
      key,
      unless: 'hooked',
      atMs,
      actor: 'user',
      data: { prompt: text(prompt?.text) },
    },
  ];
}

function result(block: Fields, atMs: number | undefined, memory: Memory): TranscriptEntry[] {
  const call = word(block.tool_use_id);
  if (call === undefined) return [];
  const tool = memory.recall('tool', call) ?? 'unknown';
  const success = block.is_error !== true;
  return [
    {
      event_type: 'Action.After',
      key: call,
      unless: 'hooked',
      atMs,
      data: { action: { name: actionName(tool), result: { success } } },
      output: block.content,
      facts: { ...toolFacts(tool), call, error_type: success ? undefined : 'tool_error' },
    },
  ];
}

function answered(
  blocks: readonly Fields[],
  key: string,
  atMs: number | undefined,
  memory: Memory,
  { model, provider }: Settings,
): TranscriptEntry[] {
  const entries: TranscriptEntry[] = [
    {
      event_type: 'Model.Responded',
      key,
      atMs,
      data: { model_id: model },
      facts: { provider },
    },
  ];
  let calls = 0;
  for (const { type, id, name, input } of blocks) {
    const call = word(id);
    if (type !== 'tool_use' || call === undefined) continue;
    calls += 1;
    const tool = word(name) ?? 'unknown';
    memory.remember('tool', call, tool);
    entries.push({
      event_type: 'Action.Before',
      key: call,
      unless: 'hooked',
      atMs,
      data: { action: { name: actionName(tool), input: fieldsOf(input) } },
      facts: {
        ...toolFacts(tool),
        call,
        launches: tool === 'Task' ? { agent: word(fieldsOf(input).subagent_type) } : undefined,
      },
    });
  }
  const words = blocks.flatMap(({ type, text: each }) => (type === 'text' ? (text(each) ?? []) : [])).join('\n');
  if (calls > 0 || words === '') return entries;
  // A response without calls is the answer.
  return [
    ...entries,
    {
      event_type: 'Agent.Response',
      key,
      unless: 'hooked',
      atMs,
      data: { response: words, final: true },
    },
    { over: 'turn', atMs },
  ];
}

/** Returns the tokens that were added since the previous reading. */
function rest(memory: Memory, file: ReadFile): TranscriptEntry[] {
  const { model, provider, used } = settingsIn(file);
  if (used === undefined) return [];
  const added = { ...noTokens };
  for (const part of parts) {
    const now = count(used[fieldOf[part]]);
    if (now === undefined) continue;
    const before = Number(memory.recall('used', part) ?? '0');
    added[part] = Math.max(0, now - before);
    memory.remember('used', part, String(Math.max(now, before)));
  }
  const { input, output, cacheRead, cacheWrite, reasoning } = added;
  if ([input, output, cacheRead, cacheWrite].every(tokens => (tokens ?? 0) === 0)) return [];
  const sum: TranscriptReading = {
    event_type: 'Model.Responded',
    key: `used-${parts.map(part => memory.recall('used', part) ?? '').join('-')}`,
    data: {
      model_id: model,
      input_tokens: input === undefined ? undefined : input + (cacheRead ?? 0) + (cacheWrite ?? 0),
      output_tokens: output,
    },
    facts: {
      sum: 'session',
      provider,
      usage: { cache_read_tokens: cacheRead, cache_write_tokens: cacheWrite, reasoning_tokens: reasoning },
    },
  };
  return [sum];
}

type Part = 'input' | 'output' | 'cacheRead' | 'cacheWrite' | 'reasoning';

const parts: readonly Part[] = ['input', 'output', 'cacheRead', 'cacheWrite', 'reasoning'];

/** Values that a file does not state stay unknown. */
const noTokens: Record<Part, number | undefined> = {
  input: undefined,
  output: undefined,
  cacheRead: undefined,
  cacheWrite: undefined,
  reasoning: undefined,
};

const fieldOf: Readonly<Record<Part, string>> = {
  input: 'inputTokens',
  output: 'outputTokens',
  cacheRead: 'cacheReadTokens',
  cacheWrite: 'cacheCreationTokens',
  reasoning: 'thinkingTokens',
};

interface Settings {
  model: string | undefined;
  provider: string | undefined;
  used: Fields | undefined;
}

function settingsIn({ companions: [settings] }: ReadFile): Settings {
  const fields = parsed(settings?.toString('utf8') ?? '');
  const { model, providerLock, tokenUsage } = fields;
  return { model: word(model), provider: word(providerLock), used: isFields(tokenUsage) ? tokenUsage : undefined };
}

function parsed(json: string): Fields {
  try {
    return fieldsOf(JSON.parse(json));
  } catch {
    // The file is missing or incomplete: it is read again with the next rows.
    return {};
  }
}

const count = (value: unknown): number | undefined =>
  typeof value === 'number' && Number.isInteger(value) && value >= 0 ? value : undefined;
