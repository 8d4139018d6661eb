/** Gemini. The cached tokens are part of the prompt; thoughts are not part of the candidates. */
import type { Answer, Asked, Dialect } from '../model-server.ts';
import { isFields, listOf, sse, textOf } from './shared.ts';

export const gemini: Dialect = {
  name: 'gemini',
  ids: { response: 'gem-', call: 'call_' },
  matches: path => /:(streamGenerateContent|generateContent)/.test(path),
  read(body, path): Asked {
    const prompts: Asked['prompts'] = [];
    for (const content of listOf(body.contents)) {
      const parts = listOf(content.parts);
      if (content.role === 'model') for (const prompt of prompts) prompt.turnsAfter += 1;
      else if (parts.some(part => typeof part.text === 'string')) prompts.push({ text: textOf(parts), turnsAfter: 0 });
    }
    const stream = path.includes(':streamGenerateContent');
    return {
      prompts,
      system: textOf(isFields(body.systemInstruction) ? body.systemInstruction.parts : ''),
      hasTools: listOf(body.tools).length > 0,
      side: stream ? undefined : 'untooled',
      model: /models\/([^:/]+):/.exec(path)?.[1] ?? '',
      stream,
    };
  },
  write(answer) {
    const parts: object[] = [
      ...(answer.thinking === undefined ? [] : [{ text: answer.thinking, thought: true }]),
      ...(answer.text === undefined ? [] : [{ text: answer.text }]),
      ...answer.calls.map(({ id, name, input }) => ({
        functionCall: { id, name, args: typeof input === 'string' ? {} : input },
      })),
    ];
    const base = { responseId: answer.id, modelVersion: answer.model };
    const usageMetadata = usageOf(answer);
    const candidate = (these: object[], finishReason?: string): object => ({
      candidates: [
        { index: 0, content: { role: 'model', parts: these }, ...(finishReason === undefined ? {} : { finishReason }) },
      ],
    });
    if (!answer.stream) {
      return {
        headers: { 'content-type': 'application/json' },
        parts: [JSON.stringify({ ...base, ...candidate(parts, 'STOP'), usageMetadata })],
      };
    }
    return {
      headers: { 'content-type': 'text/event-stream' },
      parts: parts.map((part, i) =>
        sse(
          i === parts.length - 1
            ? { ...base, ...candidate([part], 'STOP'), usageMetadata }
            : { ...base, ...candidate([part]) },
        ),
      ),
    };
  },
  error: (status, type) =>
    JSON.stringify({ error: { code: status, message: `scripted ${status}`, status: type ?? 'INTERNAL' } }),
  errorEvent: () => sse({ error: { code: 503, message: 'scripted', status: 'UNAVAILABLE' } }),
};

function usageOf({ tokens }: Answer): object {
  const prompt = tokens.input + tokens.cacheRead;
  const candidates = tokens.output - tokens.reasoning;
  return {
    promptTokenCount: prompt,
    cachedContentTokenCount: tokens.cacheRead,
    candidatesTokenCount: candidates,
    thoughtsTokenCount: tokens.reasoning,
    totalTokenCount: prompt + tokens.output,
  };
}
