/** OpenAI Chat Completions. Cached tokens are a part of the input, reasoning tokens of the output. */
import type { Answer, Asked, Dialect } from '../model-server.ts';
import { listOf, sse, textOf } from './shared.ts';

export const chat: Dialect = {
  name: 'chat',
  ids: { response: 'chatcmpl-', call: 'call_' },
  matches: path => path.includes('/chat/completions'),
  read(body): Asked {
    const prompts: Asked['prompts'] = [];
    const system: string[] = [];
    for (const message of listOf(body.messages)) {
      if (message.role === 'assistant') for (const prompt of prompts) prompt.turnsAfter += 1;
      else if (message.role === 'user') prompts.push({ text: textOf(message.content), turnsAfter: 0 });
      else if (message.role === 'system' || message.role === 'developer') system.push(textOf(message.content));
    }
    const hasTools = listOf(body.tools).length > 0;
    return {
      prompts,
      system: system.join('\n'),
      hasTools,
      side: hasTools ? undefined : 'untooled',
      model: String(body.model),
      stream: body.stream === true,
    };
  },
  write(answer) {
    const calls = answer.calls.map((call, index) => ({
      index,
      id: call.id,
      type: 'function',
      function: {
        name: call.name,
        arguments: typeof call.input === 'string' ? call.input : JSON.stringify(call.input),
      },
    }));
    const finish = calls.length > 0 ? 'tool_calls' : 'stop';
    const base = { id: answer.id, created: Math.floor(Date.now() / 1000), model: answer.model };
    const usage = usageOf(answer);
    if (!answer.stream) {
      const message = {
        role: 'assistant',
        content: answer.text ?? null,
        ...(answer.thinking === undefined ? {} : { reasoning_content: answer.thinking }),
        ...(calls.length === 0 ? {} : { tool_calls: calls }),
      };
      const whole = {
        ...base,
        object: 'chat.completion',
        choices: [{ index: 0, message, finish_reason: finish }],
        usage,
      };
      return { headers: { 'content-type': 'application/json' }, parts: [JSON.stringify(whole)] };
    }
    const chunk = (delta: object, reason: string | null = null): string =>
      sse({ ...base, object: 'chat.completion.chunk', choices: [{ index: 0, delta, finish_reason: reason }] });
    return {
      headers: { 'content-type': 'text/event-stream' },
      parts: [
        chunk({ role: 'assistant', content: '' }),
        ...(answer.thinking === undefined ? [] : [chunk({ reasoning_content: answer.thinking })]),
        ...(answer.text === undefined ? [] : [chunk({ content: answer.text })]),
        ...calls.map(call => chunk({ tool_calls: [call] })),
        chunk({}, finish) + sse({ ...base, object: 'chat.completion.chunk', choices: [], usage }) + sse('[DONE]'),
      ],
    };
  },
  error: (status, type) => JSON.stringify({ error: { message: `scripted ${status}`, type: type ?? 'server_error' } }),
  errorEvent: () => sse({ error: { message: 'scripted', type: 'server_error' } }),
};

function usageOf({ tokens }: Answer): object {
  const input = tokens.input + tokens.cacheRead;
  return {
    prompt_tokens: input,
    completion_tokens: tokens.output,
    total_tokens: input + tokens.output,
    prompt_tokens_details: { cached_tokens: tokens.cacheRead },
    completion_tokens_details: { reasoning_tokens: tokens.reasoning },
  };
}
