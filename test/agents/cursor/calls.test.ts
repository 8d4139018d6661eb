/** The facts of both families of hooks about one call are together in its span. */
import { expect, test } from 'vitest';
import { type PlayedHook, play, START_MS } from '../../play.ts';

const base = { conversation_id: 'c', generation_id: 'g', cursor_version: '3.18.25', workspace_roots: ['/w'] };
const input = { query: 'harbour' };
const general = { ...base, tool_name: 'MCP:find', tool_input: input, tool_use_id: 't1' };
const special = { ...base, tool_name: 'find', tool_input: JSON.stringify(input) };
const before = { ...general, hook_event_name: 'preToolUse' };
const server = { ...special, hook_event_name: 'beforeMCPExecution', url: 'https://stations.test/mcp?key=hush' };
const result = { ...special, hook_event_name: 'afterMCPExecution', result_json: '{"isError":false}', duration: 400 };
const after = { ...general, hook_event_name: 'postToolUse', tool_output: '{}', duration: 410 };

test.each([
  ['as they come', [before, server, result, after]],
  ['the special ones first', [server, before, after, result]],
  ['the special ones alone', [server, result]],
])('%s: one call, its server, its length', (_, payloads) => {
  const hooks: PlayedHook[] = payloads.map((payload, i) => ({ atMs: START_MS + i * 500, payload }));
  const { spans } = play(hooks);
  const calls = spans.filter(span => span.kind === 'action');
  expect(calls).toMatchObject([{ name: 'mcp:find', tool: 'find', mcpServer: 'stations.test', outcome: 'success' }]);
  expect(calls.map(span => span.duration)).toEqual(['native']);
});
