/**
 * What Cline writes down, both rewritten as a whole. Facts: cline/cline sources of 2026-08-22; checked 2026-11-18.
 *
 *   SDK, CLI    `~/.cline/data/sessions/<id>/<id>.messages.json`: messages with blocks of text, tool_use and tool_result, and on a
 *               response its model and what it used.
 *   extension   `<global storage of the editor>/saoudrizwan.claude-dev/tasks/<task>/ui_messages.json`: what the panel shows; an
 *               `api_req_started` is filled with what the response used once it is there. `task_metadata.json` beside it
 *               has the models.
 *
 * Input tokens are told without what the cache gave or took; all three add up to the input.
 */
import { join } from 'node:path';
import type { Fields } from '../../event/event.ts';
import { fieldsOf, isFields, number, text, word } from '../../lib/read.ts';
import type { Look, Places, Told, Transcript, TranscriptFile, TranscriptReading } from '../contract.ts';
import { useOfTool } from './tools.ts';

export const transcript: Transcript = {
  files({ session, home, env, main }, look) {
    if (main !== undefined) return [fileAt(main)];
    const found = [sdkPath(home, session), ...storages({ home, env }).map(folder => taskPath(folder, session))].find(
      path => look.head(path) !== '',
    );
    return found === undefined ? [] : [fileAt(found)];
  },
  installed(places, look) {
    const sdk = look.names(join(places.home, '.cline', 'data', 'sessions')).map(id => sdkPath(places.home, id));
    const tasks = storages(places).flatMap(folder => tasksIn(folder, look));
    return [...sdk, ...tasks].filter(path => look.head(path) !== '').map(fileAt);
  },
  sessions({ path }) {
    const session =
      /[\\/]sessions[\\/]([^\\/]+)[\\/]\1\.messages\.json$/.exec(path)?.[1] ??
      /[\\/]tasks[\\/]([^\\/]+)[\\/]ui_messages\.json$/.exec(path)?.[1];
    return session === undefined ? [] : [{ session }];
  },
  read: {
    format: 'document',
    document(document, { companions }) {
      const value = document.json();
      if (Array.isArray(value)) return taskRows(value, modelsIn(companions[0]));
      const { messages } = fieldsOf(value);
      return Array.isArray(messages) ? sessionMessages(messages) : [];
    },
  },
};

const fileAt = (path: string): TranscriptFile => ({
  path,
  beside: path.endsWith('ui_messages.json') ? [path.replace(/ui_messages\.json$/, 'task_metadata.json')] : undefined,
});

const sdkPath = (home: string, id: string): string =>
  join(home, '.cline', 'data', 'sessions', id, `${id}.messages.json`);
const taskPath = (folder: string, task: string): string => join(folder, 'tasks', task, 'ui_messages.json');
const tasksIn = (folder: string, look: Look): string[] =>
  look.names(join(folder, 'tasks')).map(task => taskPath(folder, task));

const editors = ['Code', 'Code - Insiders', 'VSCodium', 'Cursor', 'Windsurf'];

/** Where editors keep what extensions store. */
function storages({ home, env }: Pick<Places, 'home' | 'env'>): string[] {
  const roots = [
    env.XDG_CONFIG_HOME || join(home, '.config'),
    join(home, 'Library', 'Application Support'),
    env.APPDATA || join(home, 'AppData', 'Roaming'),
  ];
  return roots.flatMap(root =>
    editors.map(editor => join(root, editor, 'User', 'globalStorage', 'saoudrizwan.claude-dev')),
  );
}

// ---------------------------------------------------------------- SDK and CLI

function sessionMessages(messages: readonly unknown[]): Told[] {
  const told: Told[] = [];
  const calls = new Map<string, { name: string; input: Fields }>();
  for (const [i, message] of messages.entries()) {
    if (!isFields(message)) continue;
    const key = word(message.id) ?? `message-${i}`;
    const atMs = timeOf(message.ts);
    const blocks = Array.isArray(message.content) ? message.content.map(fieldsOf) : [];
    if (message.role === 'assistant') told.push(...answered(message, blocks, key, atMs, calls));
    else if (message.role === 'user') told.push(...asked(message, blocks, key, atMs, calls));
  }
  return told;
}

const textIn = (content: unknown, blocks: readonly Fields[]): string =>
  text(content) ?? blocks.flatMap(({ type, text: said }) => (type === 'text' ? (text(said) ?? []) : [])).join('\n');

type Calls = Map<string, { name: string; input: Fields }>;

function asked(
  message: Fields,
  blocks: readonly Fields[],
  key: string,
  atMs: number | undefined,
  calls: Calls,
): Told[] {
  const results = blocks.filter(({ type }) => type === 'tool_result');
  if (results.length > 0) return results.flatMap(block => result(block, atMs, calls));
  return [
    {
      event_type: 'Prompt.Submitted',
      key,
      unless: 'hooked',
      atMs,
      actor: 'user',
      data: { prompt: textIn(message.content, blocks) },
    },
  ];
}

function result(block: Fields, atMs: number | undefined, calls: Calls): Told[] {
  const call = word(block.tool_use_id);
  if (call === undefined) return [];
  const known = calls.get(call);
  const { tool, action, mcp } = useOfTool(known?.name ?? 'unknown', known?.input ?? {});
  const failed = block.is_error === true;
  return [
    {
      event_type: 'Action.After',
      key: call,
      atMs,
      actor: 'ai_agent',
      data: { action: { name: action, result: { success: !failed } } },
      output: block.content,
      facts: { call, tool, mcp, error_type: failed ? 'tool_error' : undefined },
    },
  ];
}

function answered(
  message: Fields,
  blocks: readonly Fields[],
  key: string,
  atMs: number | undefined,
  calls: Calls,
): Told[] {
  const uses = blocks.filter(({ type, id }) => type === 'tool_use' && word(id) !== undefined);
  const told: Told[] = [];
  const model = fieldsOf(message.modelInfo);
  const used = fieldsOf(message.metrics);
  if (isFields(message.metrics)) {
    told.push(
      responded(
        key,
        atMs,
        { model: word(model.id), provider: word(model.provider) },
        {
          input: count(used.inputTokens),
          output: count(used.outputTokens),
          read: count(used.cacheReadTokens),
          write: count(used.cacheWriteTokens),
          cost: number(used.cost),
        },
      ),
    );
  }
  for (const { id, name, input } of uses) {
    const call = word(id) ?? '';
    calls.set(call, { name: word(name) ?? 'unknown', input: fieldsOf(input) });
    const { tool, action, mcp } = useOfTool(word(name) ?? 'unknown', fieldsOf(input));
    told.push({
      event_type: 'Action.Before',
      key: call,
      atMs,
      actor: 'ai_agent',
      data: { action: { name: action, input: fieldsOf(input) } },
      facts: { call, tool, mcp, launches: action === 'agent' ? {} : undefined },
    });
  }
  if (uses.length > 0) return told;
  // A response that calls nothing ends the run.
  return [
    ...told,
    {
      event_type: 'Agent.Response',
      key,
      unless: 'hooked',
      atMs,
      actor: 'ai_agent',
      data: { response: textIn(message.content, blocks), final: true },
    },
    { over: 'turn', atMs },
  ];
}

// ---------------------------------------------------------------- extension

interface Model {
  fromMs: number;
  model: string | undefined;
  provider: string | undefined;
}

function taskRows(rows: readonly unknown[], models: readonly Model[]): Told[] {
  return rows.flatMap((row): Told[] => {
    const { say, ts, text: said } = fieldsOf(row);
    const atMs = timeOf(ts);
    if (atMs === undefined) return [];
    if (say === 'completion_result') return [{ over: 'turn', atMs }];
    if (say !== 'api_req_started') return [];
    const used = parsed(text(said) ?? '');
    const input = count(used.tokensIn);
    const output = count(used.tokensOut);
    // Not filled yet: the response is still to come, or never came.
    if (input === undefined && output === undefined) return [];
    const { model, provider } = models.findLast(({ fromMs }) => fromMs <= atMs) ?? {};
    const tokens = {
      input,
      output,
      read: count(used.cacheReads),
      write: count(used.cacheWrites),
      cost: number(used.cost),
    };
    return [responded(`request-${atMs}`, atMs, { model, provider }, tokens)];
  });
}

function modelsIn(companion: Buffer | undefined): Model[] {
  const { model_usage: used } = parsed(companion?.toString('utf8') ?? '');
  if (!Array.isArray(used)) return [];
  return used
    .map(fieldsOf)
    .map(({ ts, model_id, model_provider_id }) => ({
      fromMs: timeOf(ts) ?? 0,
      model: word(model_id),
      provider: word(model_provider_id),
    }))
    .sort((a, b) => a.fromMs - b.fromMs);
}

// ---------------------------------------------------------------- both

interface Tokens {
  input: number | undefined;
  output: number | undefined;
  read: number | undefined;
  write: number | undefined;
  cost: number | undefined;
}

function responded(
  key: string,
  atMs: number | undefined,
  { model, provider }: { model: string | undefined; provider: string | undefined },
  { input, output, read, write, cost }: Tokens,
): TranscriptReading {
  return {
    event_type: 'Model.Responded',
    key,
    atMs,
    actor: 'ai_agent',
    data: {
      model_id: model,
      input_tokens: input === undefined ? undefined : input + (read ?? 0) + (write ?? 0),
      output_tokens: output,
    },
    facts: {
      provider,
      usage:
        read === undefined && write === undefined ? undefined : { cache_read_tokens: read, cache_write_tokens: write },
      cost_usd: cost !== undefined && cost >= 0 ? cost : undefined,
    },
  };
}

function parsed(json: string): Fields {
  try {
    return fieldsOf(JSON.parse(json));
  } catch {
    // Half written, or not what it is taken for: nothing is known.
    return {};
  }
}

/** 64-bit numbers arrive as text from the extension. */
export function count(value: unknown): number | undefined {
  const told = typeof value === 'string' && /^\d{1,15}$/.test(value) ? Number(value) : value;
  return typeof told === 'number' && Number.isFinite(told) && told >= 0 ? told : undefined;
}

/** Milliseconds as text from the extension, ISO 8601 from the SDK. */
export function timeOf(value: unknown): number | undefined {
  const atMs = count(value) ?? Date.parse(text(value) ?? '');
  return atMs > Date.UTC(2000) && atMs < Date.UTC(2200) ? Math.floor(atMs) : undefined;
}
