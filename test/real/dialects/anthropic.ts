/** Anthropic Messages. `input_tokens` leaves both caches out. */
import type { Answer, Asked, Dialect } from '../model-server.ts';
import { isFields, listOf, sse, textOf } from './shared.ts';

export const anthropic: Dialect = {
  name: 'anthropic',
  ids: { response: 'msg_', call: 'toolu_' },
  matches: path => /\/v1\/messages(\?|$)/.test(path),
  read(body): Asked {
    const prompts: Asked['prompts'] = [];
    for (const message of listOf(body.messages)) {
      if (message.role === 'assistant') for (const prompt of prompts) prompt.turnsAfter += 1;
      else if (message.role === 'user') {
        const text =
          typeof message.content === 'string'
            ? message.content
            : listOf(message.content)
                .filter(block => block.type === 'text')
                .map(block => block.text)
                .join('\n');
        prompts.push({ text, turnsAfter: 0 });
      }
    }
    const last = prompts.at(-1)?.text ?? '';
    const isSummary = last.includes('create a detailed summary');
    return {
      prompts,
      system: textOf(body.system),
      hasTools: listOf(body.tools).length > 0,
      side: isSummary ? 'summary' : undefined,
      model: String(body.model),
      stream: body.stream === true,
    };
  },
  write(answer) {
    const usage = usageOf(answer);
    const blocks = blocksOf(answer);
    const stop = answer.calls.length > 0 ? 'tool_use' : 'end_turn';
    const message = {
      id: answer.id,
      type: 'message',
      role: 'assistant',
      model: answer.model,
      content: [] as object[],
      stop_reason: null,
      stop_sequence: null,
      usage: { ...usage, output_tokens: 1 },
    };
    if (!answer.stream) {
      const whole = { ...message, content: blocks.map(({ whole }) => whole), stop_reason: stop, usage };
      return { headers: { 'content-type': 'application/json' }, parts: [JSON.stringify(whole)] };
    }
    return {
      headers: { 'content-type': 'text/event-stream' },
      parts: [
        event({ type: 'message_start', message }),
        ...blocks.map(({ start, deltas }, index) =>
          [
            event({ type: 'content_block_start', index, content_block: start }),
            ...deltas.map(delta => event({ type: 'content_block_delta', index, delta })),
            event({ type: 'content_block_stop', index }),
          ].join(''),
        ),
        event({ type: 'message_delta', delta: { stop_reason: stop, stop_sequence: null }, usage }) +
          event({ type: 'message_stop' }),
      ],
    };
  },
  error: (status, type) =>
    JSON.stringify({
      type: 'error',
      error: { type: type ?? (status === 529 ? 'overloaded_error' : 'api_error'), message: `scripted ${status}` },
    }),
  errorEvent: () => event({ type: 'error', error: { type: 'overloaded_error', message: 'scripted' } }),
};

const event = (data: { type: string; [key: string]: unknown }): string => sse(data, data.type);

function usageOf({ tokens }: Answer): object {
  return {
    input_tokens: tokens.input,
    cache_creation_input_tokens: tokens.cacheWrite,
    cache_read_input_tokens: tokens.cacheRead,
    cache_creation: {
      ephemeral_5m_input_tokens: tokens.cacheWrite - tokens.cacheWrite1h,
      ephemeral_1h_input_tokens: tokens.cacheWrite1h,
    },
    output_tokens: tokens.output,
    output_tokens_details: { thinking_tokens: tokens.reasoning },
  };
}

function blocksOf({ thinking, text, calls }: Answer): { whole: object; start: object; deltas: object[] }[] {
  return [
    ...(thinking === undefined
      ? []
      : [
          {
            whole: { type: 'thinking', thinking, signature: 'c2NyaXB0ZWQ=' },
            start: { type: 'thinking', thinking: '', signature: '' },
            deltas: [
              { type: 'thinking_delta', thinking },
              { type: 'signature_delta', signature: 'c2NyaXB0ZWQ=' },
            ],
          },
        ]),
    ...(text === undefined
      ? []
      : [
          {
            whole: { type: 'text', text },
            start: { type: 'text', text: '' },
            deltas: [{ type: 'text_delta', text }],
          },
        ]),
    ...calls.map(({ id, name, input }) => ({
      whole: { type: 'tool_use', id, name, input: isFields(input) ? input : {} },
      start: { type: 'tool_use', id, name, input: {} },
      deltas: [{ type: 'input_json_delta', partial_json: typeof input === 'string' ? input : JSON.stringify(input) }],
    })),
  ];
}
