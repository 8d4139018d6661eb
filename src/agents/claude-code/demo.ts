/**
 * A session of Claude Code for the demonstration: its hooks with their times, and the rows of its transcript. It has two
 * turns, parallel actions, a plan, a subagent, a denied action, an action that fails repeatedly, and a compaction. As in
 * real transcripts, a response precedes the actions that it requests, and a result precedes the next response.
 */

import type { Fields } from '../../event/event.ts';
import { type DemoHook, SINCE_BEFORE } from '../contract/contract.ts';

export function demoSession(session: string, folder: string): DemoHook[] {
  const stage = stageOf(session, folder);
  return [...planning(stage), ...scoutingBySubagent(stage), ...editingAndTesting(stage), ...secondTurn(stage)];
}

/** Returns the calls, prompts and places of the session, which all of its parts use. */
function stageOf(session: string, folder: string) {
  const base = {
    session_id: session,
    transcript_path: `${folder}/.claude/projects/shop/${session}.jsonl`,
    cwd: folder,
  };
  const first = { prompt_id: `${session.slice(0, 24)}000000000001`, permission_mode: 'default' };
  const second = { prompt_id: `${session.slice(0, 24)}000000000002`, permission_mode: 'auto' };
  const scout = { agent_id: 'a7c31f09d2e84b56', agent_type: 'Explore' };
  const aside = { isSidechain: true, agentId: scout.agent_id };
  const rowsIn = `${folder}/.claude/projects/shop/${session}/subagents/agent-${scout.agent_id}.jsonl`;
  const scene = { session, prompt: first.prompt_id };
  const later = { session, prompt: second.prompt_id };
  const enter = { tool_name: 'EnterPlanMode', tool_input: {}, tool_use_id: 'toolu_demo11' };
  const leave = { tool_name: 'ExitPlanMode', tool_input: {}, tool_use_id: 'toolu_demo12' };
  const hook = (after: number, name: string, fields: Fields, together?: true): DemoHook => ({
    afterMs: after,
    event: name,
    call: fields.tool_use_id as string | undefined,
    payload: { ...base, ...fields, hook_event_name: name },
    ...(together ? { together } : {}),
  });
  const start = { tool_name: 'Grep', tool_input: { pattern: 'roundCents', path: 'src' }, tool_use_id: 'toolu_demo01' };
  const read = { tool_name: 'Read', tool_input: { file_path: `${folder}/src/cart.ts` }, tool_use_id: 'toolu_demo02' };
  const scouting = {
    tool_name: 'Agent',
    tool_input: { subagent_type: 'Explore', description: 'find callers', prompt: 'Who calls roundCents?' },
    tool_use_id: 'toolu_demo03',
  };
  const scouted = { tool_name: 'Grep', tool_input: { pattern: 'roundCents\\(' }, tool_use_id: 'toolu_demo04' };
  const edit = {
    tool_name: 'Edit',
    tool_input: { file_path: `${folder}/src/cart.ts`, old_string: 'Math.floor', new_string: 'Math.round' },
    tool_use_id: 'toolu_demo05',
  };
  const test = {
    tool_name: 'Bash',
    tool_input: { command: 'npm test', description: 'Run the tests' },
    tool_use_id: 'toolu_demo06',
  };
  const again = ['toolu_demo09', 'toolu_demo10'].map(id => ({ ...test, tool_use_id: id }));
  const broken = { error: 'Exit code 1\n1 test failed', is_interrupt: false };
  const refusal = 'A forced push to the main branch rewrites history.';
  const stopped = { ...test, tool_use_id: 'toolu_demo13' };
  const fixed = { ...test, tool_use_id: 'toolu_demo07' };
  const push = {
    tool_name: 'Bash',
    tool_input: { command: 'git push --force origin main' },
    tool_use_id: 'toolu_demo08',
  };
  return {
    session,
    folder,
    base,
    first,
    second,
    scout,
    aside,
    rowsIn,
    scene,
    later,
    enter,
    leave,
    hook,
    start,
    read,
    scouting,
    scouted,
    edit,
    test,
    again,
    broken,
    refusal,
    stopped,
    fixed,
    push,
  };
}

type Stage = ReturnType<typeof stageOf>;

/** The first prompt, a plan, and two actions at once. */
function planning({ first, scene, enter, hook, start, read }: Stage): DemoHook[] {
  return [
    hook(0, 'SessionStart', { source: 'startup', model: 'claude-sonnet-4-5' }),
    {
      ...hook(40, 'UserPromptSubmit', {
        ...first,
        prompt: 'The cart total is off by a cent. Find out why and fix it.',
      }),
      rows: [prompted(scene, 0)],
    },
    { ...hook(90, 'PreToolUse', { ...first, ...enter }), rows: answered(scene, 1, [3_100, 12_800, 96], enter) },
    {
      ...hook(10, 'PostToolUse', { ...first, ...enter, tool_response: {}, duration_ms: 4 }),
      rowsAfter: [resulted(scene, enter)],
    },
    {
      ...hook(80, 'PreToolUse', { ...first, ...start }),
      rows: answered(scene, 2, [210, 16_000, 240], start, read),
    },
    hook(0, 'PreToolUse', { ...first, ...read }, true),
    {
      ...hook(45, 'PostToolUse', { ...first, ...start, tool_response: { numFiles: 3 }, duration_ms: 31 }),
      rowsAfter: [resulted(scene, start)],
    },
    {
      ...hook(15, 'PostToolUse', { ...first, ...read, tool_response: { type: 'text' }, duration_ms: 22 }),
      rowsAfter: [resulted(scene, read)],
    },
  ];
}

/** A subagent that executes an action. */
function scoutingBySubagent({ first, scout, aside, rowsIn, scene, hook, scouting, scouted }: Stage): DemoHook[] {
  return [
    { ...hook(70, 'PreToolUse', { ...first, ...scouting }), rows: answered(scene, 3, [1_450, 16_400, 180], scouting) },
    { ...hook(15, 'SubagentStart', { ...first, ...scout }), rows: [{ ...prompted(scene, 20), ...aside }], rowsIn },
    {
      ...hook(50, 'PreToolUse', { ...first, ...scout, ...scouted }),
      rows: answered(scene, 21, [2_400, 3_100, 48], scouted).map(row => ({ ...row, ...aside })),
      rowsIn,
    },
    {
      ...hook(60, 'PostToolUse', { ...first, ...scout, ...scouted, tool_response: { numFiles: 2 }, duration_ms: 44 }),
      rowsAfter: [{ ...resulted(scene, scouted), ...aside }],
      rowsIn,
    },
    {
      ...hook(60, 'SubagentStop', { ...first, ...scout, last_assistant_message: 'Two callers, both in the cart.' }),
      rows: answered(scene, 22, [260, 5_000, 61]).map(row => ({ ...row, ...aside })),
      rowsIn,
    },
    {
      ...hook(5, 'PostToolUse', {
        ...first,
        ...scouting,
        tool_response: { status: 'completed', agentId: scout.agent_id },
        duration_ms: SINCE_BEFORE,
      }),
      rowsAfter: [resulted(scene, scouting, { agentId: scout.agent_id })],
    },
  ];
}

/** An edit that the user allows, tests that fail repeatedly until the user stops them, and the answer. */
function editingAndTesting({
  folder,
  base,
  first,
  scene,
  leave,
  hook,
  edit,
  test,
  again,
  broken,
  stopped,
}: Stage): DemoHook[] {
  return [
    { ...hook(60, 'PreToolUse', { ...first, ...leave }), rows: answered(scene, 4, [620, 18_000, 310], leave) },
    {
      ...hook(10, 'PostToolUse', { ...first, ...leave, tool_response: {}, duration_ms: 6 }),
      rowsAfter: [resulted(scene, leave)],
    },
    { ...hook(110, 'PreToolUse', { ...first, ...edit }), rows: answered(scene, 5, [340, 18_900, 410], edit) },
    hook(10, 'PermissionRequest', { ...first, tool_name: edit.tool_name, tool_input: edit.tool_input }),
    {
      ...hook(180, 'PostToolUse', {
        ...first,
        ...edit,
        tool_response: { filePath: `${folder}/src/cart.ts` },
        duration_ms: 12,
      }),
      rowsAfter: [resulted(scene, edit)],
    },
    { ...hook(60, 'PreToolUse', { ...first, ...test }), rows: answered(scene, 6, [150, 19_500, 74], test) },
    {
      ...hook(160, 'PostToolUseFailure', { ...first, ...test, ...broken, duration_ms: 150 }),
      rowsAfter: [failed(scene, test, broken.error)],
    },
    ...again.flatMap((run, i): DemoHook[] => [
      {
        ...hook(60, 'PreToolUse', { ...first, ...run }),
        rows: answered(scene, 7 + i, [420, 19_800 + i * 500, 52], run),
      },
      {
        ...hook(60, 'PostToolUseFailure', { ...first, ...run, ...broken, duration_ms: 50 }),
        rowsAfter: [failed(scene, run, broken.error)],
      },
    ]),
    // The user stops the tests.
    { ...hook(60, 'PreToolUse', { ...first, ...stopped }), rows: answered(scene, 9, [390, 20_800, 40], stopped) },
    {
      ...hook(60, 'PostToolUseFailure', {
        ...first,
        ...stopped,
        error: 'stopped',
        is_interrupt: true,
        duration_ms: 30,
      }),
      rowsAfter: [failed(scene, stopped, 'stopped')],
    },
    statusLine(30, base),
    {
      ...hook(70, 'Stop', {
        ...first,
        stop_hook_active: false,
        last_assistant_message: 'One test still expects the old total.',
      }),
      rows: answered(scene, 10, [900, 21_400, 38]),
    },
  ];
}

/** A compaction, then a second turn in another mode: a test that passes and a push that is denied. */
function secondTurn({ session, second, later, hook, refusal, fixed, push }: Stage): DemoHook[] {
  return [
    hook(60, 'PreCompact', { trigger: 'manual', custom_instructions: null }),
    {
      ...hook(70, 'PostCompact', { trigger: 'manual', compact_summary: 'The rounding was wrong.' }),
      rows: [compacted(session, 22_338, 5_800)],
    },
    { ...hook(30, 'UserPromptSubmit', { ...second, prompt: 'Fix that test and push.' }), rows: [prompted(later, 30)] },
    { ...hook(80, 'PreToolUse', { ...second, ...fixed }), rows: answered(later, 11, [4_200, 1_600, 88], fixed) },
    {
      ...hook(120, 'PostToolUse', { ...second, ...fixed, tool_response: { stdout: 'ok' }, duration_ms: 110 }),
      rowsAfter: [resulted(later, fixed)],
    },
    { ...hook(60, 'PreToolUse', { ...second, ...push }), rows: answered(later, 12, [180, 6_100, 64], push) },
    {
      ...hook(40, 'PermissionDenied', { ...second, ...push, reason: refusal }),
      rowsAfter: [failed(later, push, refusal)],
    },
    {
      ...hook(70, 'Stop', {
        ...second,
        stop_hook_active: false,
        last_assistant_message: 'Fixed; the push was refused.',
      }),
      rows: answered(later, 13, [130, 6_400, 96]),
    },
    hook(40, 'SessionEnd', { reason: 'prompt_input_exit' }),
  ];
}

interface Scene {
  session: string;
  prompt: string;
}

/** Rows of the transcript, without times: the writer of the rows adds them. */
const prompted = ({ session, prompt }: Scene, number: number): Fields => ({
  type: 'user',
  uuid: `${session}-${number}`,
  parentUuid: null,
  isSidechain: false,
  promptId: prompt,
  sessionId: session,
  message: { role: 'user', content: 'as above' },
});

interface Call {
  tool_name: string;
  tool_input: object;
  tool_use_id: string;
}

/** One row for each block of a response, all with its id and its usage: input, input from the cache, output. */
const answered = (
  { session }: Scene,
  number: number,
  [input_tokens, cache_read_input_tokens, output_tokens]: [number, number, number],
  ...calls: Call[]
): Fields[] => {
  const blocks = calls.map(({ tool_use_id: id, tool_name: name, tool_input: input }) => ({
    type: 'tool_use',
    id,
    name,
    input,
  }));
  return (blocks.length > 0 ? blocks : [{ type: 'text', text: 'as above' }]).map((block, i) => ({
    type: 'assistant',
    uuid: `${session}-${number}-${i}`,
    parentUuid: null,
    isSidechain: false,
    sessionId: session,
    requestId: `req_demo${number}`,
    message: {
      id: `msg_demo${number}`,
      type: 'message',
      role: 'assistant',
      model: 'claude-sonnet-4-5',
      content: [block],
      stop_reason: blocks.length > 0 ? 'tool_use' : 'end_turn',
      usage: { input_tokens, cache_creation_input_tokens: 0, cache_read_input_tokens, output_tokens },
    },
  }));
};

/** The result of an action; the agent sends it to the model. */
const resulted = (
  { session, prompt }: Scene,
  { tool_use_id }: Call,
  result: object = {},
  more: object = {},
): Fields => ({
  type: 'user',
  uuid: `${session}-${tool_use_id}`,
  parentUuid: null,
  isSidechain: false,
  promptId: prompt,
  sessionId: session,
  message: { role: 'user', content: [{ type: 'tool_result', tool_use_id, content: 'as above', ...more }] },
  toolUseResult: result,
});

const failed = (scene: Scene, call: Call, content: string): Fields => ({
  ...resulted(scene, call, {}, { content, is_error: true }),
  toolUseResult: `Error: ${content}`,
});

const compacted = (session: string, preTokens: number, postTokens: number): Fields => ({
  type: 'system',
  subtype: 'compact_boundary',
  uuid: `${session}-c`,
  parentUuid: null,
  isSidechain: false,
  sessionId: session,
  content: 'Conversation compacted',
  compactMetadata: { trigger: 'manual', preTokens, postTokens },
});

/** The input of the status line command, forwarded to a hook. */
const statusLine = (afterMs: number, base: Fields): DemoHook => ({
  afterMs,
  event: 'Notification',
  call: undefined,
  payload: {
    ...base,
    hook_event_name: 'Status',
    model: { id: 'claude-sonnet-4-5', display_name: 'Sonnet 4.5' },
    cost: { total_cost_usd: 0.31 },
    context_window: {
      context_window_size: 200_000,
      used_percentage: 62,
      current_usage: { input_tokens: 1_200, cache_creation_input_tokens: 2_800, cache_read_input_tokens: 120_000 },
    },
  },
});
