/** The arguments of calls that are sent by default, and those that are never sent. */
import { expect, test } from 'vitest';
import { optionsOf } from '../../../src/agents/claude-code/options.ts';
import { defaultModes } from '../../../src/event/content-classes.ts';
import { mapped, type PlayedHook, play, START_MS } from '../../play.ts';

const optionsIn = (tool: string, input: object): object | undefined =>
  optionsOf({ tool_name: tool, tool_input: input });

test.each([
  ['Bash', { command: 'ls', timeout: 120_000, run_in_background: true }, { timeout_ms: 120_000, background: true }],
  ['PowerShell', { command: 'ls', run_in_background: false }, { background: false }],
  ['Read', { file_path: '/x', offset: 40, limit: 20 }, { offset: 40, limit: 20 }],
  [
    'Grep',
    { pattern: 'x', output_mode: 'files_with_matches', '-i': true, multiline: false, head_limit: 9, offset: 3 },
    { output_mode: 'files_with_matches', case_insensitive: true, multiline: false, limit: 9, offset: 3 },
  ],
  ['Edit', { file_path: '/x', old_string: 'a', new_string: 'b', replace_all: true }, { replace_all: true }],
  ['NotebookEdit', { notebook_path: '/x', edit_mode: 'insert' }, { edit_mode: 'insert' }],
  ['LSP', { operation: 'goToDefinition', file_path: '/x' }, { lsp_operation: 'goToDefinition' }],
  [
    'Agent',
    { prompt: 'p', model: 'haiku', run_in_background: true, subagent_type: 'Explore' },
    { agent_model: 'haiku', background: true },
  ],
])('of %s the numbers, truth values and closed words are read', (tool, input, options) => {
  expect(optionsIn(tool, input)).toEqual(options);
});

test.each([
  ['Bash', { timeout: '/home/kim', run_in_background: 'secret words' }],
  ['Read', { offset: 'the plan', limit: Number.NaN }],
  ['Grep', { output_mode: 'a customer', '-i': 'x', multiline: 1 }],
  ['NotebookEdit', { edit_mode: 'my edit' }],
  ['LSP', { operation: '/home/kim/x' }],
  ['Agent', { model: 'a model of Kim' }],
  ['__proto__', { timeout: 1 }],
])('content in the place of an option of %s is not read', (tool, input) => {
  expect(optionsIn(tool, input)).toBeUndefined();
});

test('a span has the family, operation and subtype of its action, and its options', () => {
  const call = (id: string, tool_name: string, tool_input: object): PlayedHook => ({
    atMs: START_MS,
    header: { tool: 'claude-code' },
    payload: { session_id: 's', hook_event_name: 'PreToolUse', tool_use_id: id, tool_name, tool_input },
  });
  const spans = mapped(
    play([
      call('1', 'Bash', { command: 'pytest -q', timeout: 5_000 }),
      call('2', 'LSP', { operation: 'hover' }),
      call('3', 'mcp__tracker__close', {}),
      call('4', 'Unknown', {}),
      { ...call('', '', {}), payload: { session_id: 's', hook_event_name: 'SessionEnd', reason: 'other' } },
    ]).spans,
  );
  const found = spans
    .filter(({ attributes }) => attributes['gen_ai.tool.call.id'] !== undefined)
    .map(({ attributes }) =>
      ['family', 'operation', 'subtype', 'timeout_ms'].map(name => attributes[`agent_hooks.action.${name}`]),
    );
  expect(found).toEqual([
    ['terminal', 'execute', 'run_test', 5_000],
    ['explore', 'lsp_hover', 'grep_code', undefined],
    ['coordination', 'invoke', 'mcp_call', undefined],
    [undefined, undefined, undefined, undefined],
  ]);
});

test('an event of no type of the model has its facts, and its path only if paths are asked for', () => {
  const hook = (name: string, more: object): PlayedHook => ({
    atMs: START_MS,
    payload: { hook_event_name: name, session_id: 's', ...more },
  });
  const hooks = [
    hook('CwdChanged', { old_cwd: '/home/kim/old', new_cwd: '/home/kim/shop' }),
    hook('UserPromptExpansion', { expansion_type: 'slash_command', command_name: 'review', command_args: 'canary' }),
    hook('Elicitation', { mode: 'form', mcp_server_name: 'tracker', message: 'canary' }),
  ];
  const attributesIn = (events: object[]) => events.map(each => ({ ...(each as { data: object }).data }));
  const { events } = play(hooks);
  expect(attributesIn(events)).toEqual([
    {},
    { expansion_type: 'slash_command', command_name: 'review', command_args_length: 6 },
    { mode: 'form', message_length: 6 },
  ]);
  expect(JSON.stringify(events)).not.toMatch(/canary|\/home\/kim/);
  expect(events[2]?.metadata?.['dev.otel-hooks']).toMatchObject({ mcp: { server: 'tracker' } });
  const keep = { modes: { ...defaultModes, paths: 'full' as const }, longest: 200, clean: (text: string) => text };
  const asked = play(hooks, false, undefined, keep);
  expect(asked.events[0]?.metadata?.['dev.otel-hooks']).toMatchObject({ path: '/home/kim/shop' });
});
