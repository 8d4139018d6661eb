/** OpenAI Responses. Cached tokens are a part of the input, reasoning tokens of the output. */
import type { Answer, Asked, Dialect } from '../model-server.ts';
import { isFields, listOf, sse, textOf } from './shared.ts';

/** Items that a response of the model consists of. Neighbours belong to one response. */
const ofModel = ['function_call', 'custom_tool_call', 'reasoning', 'local_shell_call'];

export const responses: Dialect = {
  name: 'responses',
  ids: { response: 'resp_', call: 'call_' },
  matches: path => /\/responses(\?|$)/.test(path),
  read(body, _path, headers): Asked {
    const prompts: Asked['prompts'] = [];
    const items: Record<string, unknown>[] =
      typeof body.input === 'string' ? [{ role: 'user', content: body.input }] : listOf(body.input);
    let inResponse = false;
    for (const item of items) {
      const isModel = item.role === 'assistant' || ofModel.includes(String(item.type));
      if (isModel && !inResponse) for (const prompt of prompts) prompt.turnsAfter += 1;
      inResponse = isModel;
      if (item.role === 'user' || item.type === 'agent_message') {
        // The task of a subagent is not a text.
        const text = item.type === 'agent_message' ? '' : textOf(item.content);
        prompts.push({ text: text || JSON.stringify(item), turnsAfter: 0 });
      }
    }
    const metadata = parsed(headers['x-codex-turn-metadata']);
    const side =
      metadata.request_kind === 'compaction'
        ? 'summary'
        : metadata.thread_source === 'thread_title'
          ? 'title'
          : undefined;
    return {
      prompts,
      system: textOf(body.instructions),
      hasTools: listOf(body.tools).length > 0,
      side,
      model: String(body.model),
      stream: body.stream === true,
    };
  },
  write(answer) {
    const usage = usageOf(answer);
    const items = itemsOf(answer);
    const done = {
      id: answer.id,
      object: 'response',
      created_at: Math.floor(Date.now() / 1000),
      status: 'completed',
      model: answer.model,
      output: items,
      usage,
      incomplete_details: null,
      error: null,
    };
    if (!answer.stream) return { headers: { 'content-type': 'application/json' }, parts: [JSON.stringify(done)] };
    let number = 0;
    const event = (type: string, fields: object): string => {
      number += 1;
      return sse({ type, sequence_number: number - 1, ...fields }, type);
    };
    return {
      headers: { 'content-type': 'text/event-stream' },
      parts: [
        event('response.created', { response: { ...done, status: 'in_progress', output: [], usage: null } }),
        ...items.map((item, output_index) => {
          const inside = insideOf(item, output_index).map(([type, fields]) => event(type, fields));
          const added = event('response.output_item.added', {
            output_index,
            item: { ...item, ...(item.type === 'message' ? { content: [] } : {}), status: 'in_progress' },
          });
          return added + inside.join('') + event('response.output_item.done', { output_index, item });
        }),
        event('response.completed', { response: done }),
      ],
    };
  },
  error: (status, type) =>
    JSON.stringify({ error: { message: `scripted ${status}`, type: type ?? 'server_error', code: null, param: null } }),
  errorEvent: () =>
    sse(
      {
        type: 'response.failed',
        sequence_number: 99,
        response: { id: 'resp_failed', status: 'failed', error: { code: 'server_error', message: 'scripted' } },
      },
      'response.failed',
    ),
};

function itemsOf({ id, thinking, text, calls }: Answer): Record<string, unknown>[] {
  return [
    ...(thinking === undefined
      ? []
      : [{ type: 'reasoning', id: `rs_${id}`, summary: [{ type: 'summary_text', text: thinking }] }]),
    ...(text === undefined
      ? []
      : [
          {
            type: 'message',
            id: `item_${id}`,
            role: 'assistant',
            status: 'completed',
            content: [{ type: 'output_text', text, annotations: [] }],
          },
        ]),
    ...calls.map((call, i) => {
      const base = { id: `fc_${id}_${i}`, call_id: call.id, name: call.name, status: 'completed' };
      const space = call.namespace === undefined ? {} : { namespace: call.namespace };
      return call.kind === 'custom'
        ? { type: 'custom_tool_call', ...base, ...space, input: String(call.input) }
        : {
            type: 'function_call',
            ...base,
            ...space,
            arguments: typeof call.input === 'string' ? call.input : JSON.stringify(call.input),
          };
    }),
  ];
}

/** The events between the start and the end of an item, for clients that build the item from them. */
function insideOf(item: Record<string, unknown>, output_index: number): [type: string, fields: object][] {
  const at = { item_id: item.id, output_index };
  if (item.type === 'message') {
    const part = listOf(item.content)[0];
    return [
      ['response.content_part.added', { ...at, content_index: 0, part: { ...part, text: '' } }],
      ['response.output_text.delta', { ...at, content_index: 0, delta: part?.text }],
      ['response.output_text.done', { ...at, content_index: 0, text: part?.text }],
      ['response.content_part.done', { ...at, content_index: 0, part }],
    ];
  }
  if (item.type === 'function_call') {
    return [
      ['response.function_call_arguments.delta', { ...at, delta: item.arguments }],
      ['response.function_call_arguments.done', { ...at, arguments: item.arguments }],
    ];
  }
  return [];
}

function usageOf({ tokens }: Answer): object {
  const input = tokens.input + tokens.cacheRead;
  return {
    input_tokens: input,
    input_tokens_details: { cached_tokens: tokens.cacheRead },
    output_tokens: tokens.output,
    output_tokens_details: { reasoning_tokens: tokens.reasoning },
    total_tokens: input + tokens.output,
  };
}

function parsed(header: string | string[] | undefined): Record<string, unknown> {
  try {
    const value: unknown = JSON.parse(String(header));
    return isFields(value) ? value : {};
  } catch {
    return {};
  }
}
