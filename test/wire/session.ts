/** A short session as hooks: two turns, an action, a subagent with an action of its own, a failure. */
import type { Hook, Mouth } from './house.ts';
import { payloadOf } from './house.ts';

export function sessionOf(id: string, cwd: string, mouths: readonly Mouth[] = ['sh', 'node']): Hook[] {
  const base = { session_id: id, cwd, transcript_path: `${cwd}/none/${id}.jsonl` };
  const first = { prompt_id: `${id}-turn-1`, permission_mode: 'default' };
  const second = { prompt_id: `${id}-turn-2`, permission_mode: 'default' };
  const scout = { agent_id: `${id}-scout`, agent_type: 'Explore' };
  const bash = { tool_name: 'Bash', tool_use_id: `${id}-1`, tool_input: { command: 'npm test' } };
  const launch = {
    tool_name: 'Agent',
    tool_use_id: `${id}-2`,
    tool_input: { subagent_type: 'Explore', prompt: 'Where is it?' },
  };
  const grep = { tool_name: 'Grep', tool_use_id: `${id}-3`, tool_input: { pattern: 'it' } };
  const edit = { tool_name: 'Edit', tool_use_id: `${id}-4`, tool_input: { file_path: `${cwd}/a.ts` } };
  const hooks: [event: string, ...fields: object[]][] = [
    ['SessionStart', { source: 'startup' }],
    ['UserPromptSubmit', first, { prompt: 'Look for it.' }],
    ['PreToolUse', first, bash],
    ['PostToolUse', first, bash, { tool_response: { stdout: 'ok' }, duration_ms: 12 }],
    ['PreToolUse', first, launch],
    ['SubagentStart', first, scout],
    ['PreToolUse', first, scout, grep],
    ['PostToolUse', first, scout, grep, { tool_response: {}, duration_ms: 3 }],
    ['SubagentStop', first, scout, { last_assistant_message: 'There.' }],
    ['PostToolUse', first, launch, { tool_response: { agentId: `${id}-scout` }, duration_ms: 40 }],
    ['Stop', first, { last_assistant_message: 'Found.' }],
    ['UserPromptSubmit', second, { prompt: 'Mend it.' }],
    ['PreToolUse', second, edit],
    ['PostToolUseFailure', second, edit, { error: 'no such text', duration_ms: 5 }],
    ['Stop', second, { last_assistant_message: 'I could not.' }],
    ['SessionEnd', { reason: 'other' }],
  ];
  return hooks.map(([event, ...fields], i) => ({
    event,
    mouth: mouths[i % mouths.length] ?? 'sh',
    payload: payloadOf(Object.assign({}, base, ...fields, { hook_event_name: event })),
  }));
}

/** The expected spans and records. SubagentStop is two events: the answer, and the end. */
export const counts = { hooks: 16, records: 17, spans: 8 };

export const tree = [
  'session claude-code',
  '  invoke_agent claude-code',
  '    execute_tool Agent',
  '      invoke_agent Explore',
  '        execute_tool Grep',
  '    execute_tool Bash',
  '  invoke_agent claude-code',
  '    execute_tool Edit',
];
