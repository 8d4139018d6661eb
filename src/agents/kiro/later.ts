/**
 * Sessions of Kiro's CLI 3 and IDE 1: `~/.kiro/sessions/<workspace>/sess_<id>/messages.jsonl`, rows `{id, timestamp,
 * payload{type}}`. Facts: this form from the vendor's users; types and fields of payloads from five independent readers
 * of June to October 2026, without a statement of the vendor or a recording; checked 2026-11-18. Missing fields are
 * omitted.
 *
 * Kiro counts credits and states no tokens and no responses, so none are reported. Hooks have no ids: in a session with
 * hooks, only the hooks report calls, prompts and answers.
 */
import type { Fields } from '../../event/event.ts';
import { fieldsOf, number, own, text, word } from '../../lib/read.ts';
import type { LineReader, Memory, TranscriptEntry } from '../contract/contract.ts';
import { unlessHooked } from '../shared/readings.ts';
import { actionName, toolFacts } from './tools.ts';

export const LATER = /[\\/](sess_[\w-]{1,128})[\\/]messages\.jsonl$/;

export const later: LineReader = {
  format: 'lines',
  row(row, memory) {
    const id = word(row.id);
    const payload = fieldsOf(row.payload);
    const read = own(payloads, String(payload.type));
    return id === undefined || read === undefined ? [] : read(payload, id, memory);
  },
};

const payloads: Readonly<Record<string, (payload: Fields, id: string, memory: Memory) => TranscriptEntry[]>> = {
  user: ({ content }, id) => [
    unlessHooked({ event_type: 'Prompt.Submitted', key: id, data: { prompt: textOf(content) }, actor: 'user' }),
  ],
  assistant({ content, operationType }, _, memory) {
    if (operationType !== 'Reasoning') memory.remember('turn', 'answer', String(textOf(content)?.length ?? 0));
    return [];
  },
  tool_call({ toolCallId, toolName, args }, _, memory) {
    const call = word(toolCallId);
    if (call === undefined) return [];
    const tool = word(toolName) ?? 'unknown';
    memory.remember('calls', call, tool);
    const action = { name: actionName(tool), input: fieldsOf(args) };
    return [
      unlessHooked({ event_type: 'Action.Before', key: call, data: { action }, facts: { ...toolFacts(tool), call } }),
    ];
  },
  tool_result({ toolCallId, success, content }, _, memory) {
    const call = word(toolCallId);
    if (call === undefined) return [];
    const tool = memory.recall('calls', call) ?? 'unknown';
    const result = typeof success === 'boolean' ? { success } : undefined;
    return [
      unlessHooked({
        event_type: 'Action.After',
        key: call,
        data: { action: { name: actionName(tool), result } },
        output: content,
        facts: { ...toolFacts(tool), call, error_type: success === false ? 'tool_error' : undefined },
      }),
    ];
  },
  session_metadata({ key, value }, _, memory) {
    const percentage = number(fieldsOf(value).usagePercentage);
    if (key === 'contextUsage' && percentage !== undefined)
      memory.remember('turn', 'context', String(Math.round(percentage * 10) / 10));
    return [];
  },
  usage_summary({ promptTurnSummaries, elapsedTime }, key) {
    const credits = (Array.isArray(promptTurnSummaries) ? promptTurnSummaries : [])
      .map(fieldsOf)
      .flatMap(({ unit, usage }) => (unit === 'credit' ? (number(usage) ?? []) : []));
    const data = {
      credits: credits.length === 0 ? undefined : credits.reduce((sum, each) => sum + each, 0),
      duration_ms: number(elapsedTime),
    };
    return [
      { event_type: 'vendor.kiro.TurnMetered', key, actor: 'ai_agent', data, facts: { fields: Object.keys(data) } },
    ];
  },
  turn_end(_, key, memory) {
    const length = memory.recall('turn', 'answer');
    const context = memory.recall('turn', 'context');
    memory.forget('turn', 'answer');
    memory.forget('turn', 'context');
    const entries: TranscriptEntry[] = [
      unlessHooked({
        event_type: 'Agent.Response',
        key,
        data: { response_length: length === undefined ? undefined : Number(length), final: true },
      }),
      { over: 'turn' },
    ];
    if (context === undefined) return entries;
    const data = { percentage_used: Number(context) };
    return [...entries, { event_type: 'Context.UntilCompaction', key, actor: 'ai_agent', data }];
  },
};

/** Returns a text, or the texts of a list of blocks. */
function textOf(content: unknown): string | undefined {
  if (!Array.isArray(content)) return text(content);
  return content.flatMap(block => text(fieldsOf(block).text) ?? []).join('\n');
}
