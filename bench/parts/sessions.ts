/** Synthetic sessions: their hooks as fragments, and their pinned configuration. */
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Destination } from '../../src/config/destinations.ts';
import type { Fields } from '../../src/event/event.ts';
import { encodeFragment, type Fragment } from '../../src/hook/fragment.ts';
import type { RoundWorld } from '../../src/pipeline/sessions-of-round.ts';
import type { SessionState } from '../../src/session/session-state.ts';
import { diskEyes } from '../../src/transcripts/eyes.ts';
import { impatient } from '../../src/transcripts/settlement.ts';

export const START_MS = Date.UTC(2026, 2, 2, 9);
/** The limits of a round, as in deliver. */
export const ROUND = { fragments: 2_000, bytes: 32 * 1024 * 1024 };

const limits: SessionState['pinned']['limits'] = {
  span: { attributes: 128, events: 128, links: 128 },
  spanEvent: { attributes: 128 },
  spanLink: { attributes: 128 },
  log: { attributes: 128 },
};

/** The sessions have no transcripts, and delivery waits for none: hooks settle everything at each edge. */
export const worldIn = (home: string, nowMs = START_MS): RoundWorld => ({
  env: {},
  home,
  platform: process.platform,
  ownVariables: false,
  configFile: undefined,
  installation: 'bench',
  hashKey: 'bench',
  nowMs,
  eyes: diskEyes(),
  waits: impatient,
});

export const pinned = (destination: string): SessionState['pinned'] => ({
  destinations: [destination],
  resource: { 'service.name': 'claude-code', 'telemetry.distro.name': 'otel-hooks' },
  denyAsError: false,
  caller: undefined,
  sampler: { kind: 'always_on', ratio: 1 },
  limits,
});

export function destinationOf({ url, gzip, metrics }: { url: string; gzip: boolean; metrics: boolean }): Destination {
  const target = (signal: string) => ({
    url: `${url}/v1/${signal}`,
    headers: {},
    timeoutMs: 10_000,
    gzip,
    protocol: 'http/protobuf' as const,
    tls: {},
  });
  return {
    v: 1,
    id: '0123456789abcdef',
    provider: 'otlp',
    endpoint: url,
    signals: { traces: target('traces'), logs: target('logs'), ...(metrics ? { metrics: target('metrics') } : {}) },
    temporality: 'cumulative',
    metricIntervalMs: 15_000,
  };
}

/** Fragments of four sessions at once, in the inbox of a state folder. */
export function writeFragments(state: string, count: number, sizeBytes: number): string {
  const inbox = join(state, 'inbox');
  const sessions = Array.from({ length: 4 }, (_, i) => hooksOf(`drain-${i}`, sizeBytes));
  writeInto(inbox, count, i => fragmentOf(sessions[i % 4]?.next().value, undefined));
  return inbox;
}

/** Writes fragments into an inbox, as hooks do. */
export function writeInto(inbox: string, count: number, next: (i: number) => Fragment): void {
  mkdirSync(inbox, { recursive: true, mode: 0o700 });
  for (let i = 0; i < count; i++) {
    const { payload, header } = next(i);
    const unique = `00000000-0000-4000-8000-${String(i).padStart(12, '0')}`;
    const file = `0000abcd-${(1_000 + i / 100).toFixed(2)}-${1_000 + i}-${unique}`;
    writeFileSync(join(inbox, file), encodeFragment(unique, header, payload), { mode: 0o600 });
  }
}

interface Hook {
  number: number;
  payload: string;
}

export function fragmentOf(hook: Hook | undefined, url: string | undefined): Fragment {
  if (hook === undefined) throw new Error('a session without an end ended');
  const payload = Buffer.from(hook.payload);
  const atMs = START_MS + hook.number * 40;
  const header: Record<string, string> = { tool: 'claude-code', at: String(atMs), ppid: '4711', cwd: '/home/dev/shop' };
  if (url !== undefined) header.OTEL_EXPORTER_OTLP_ENDPOINT = url;
  if (url !== undefined) header.OTEL_EXPORTER_OTLP_COMPRESSION = 'none';
  return { name: `0-0-${hook.number}-bench`, header, payload, atMs, sizeBytes: payload.length };
}

/** A session that does not end: turns of actions, a subagent in every fourth, a failure and a question now and then. */
export function* hooksOf(session: string, sizeBytes: number): Generator<Hook, undefined> {
  let number = 0;
  let call = 0;
  const hook = (name: string, fields: Fields, fill: (content: string) => Fields): Hook => {
    number += 1;
    const payload = (content: string): string =>
      JSON.stringify({
        session_id: session,
        transcript_path: `/home/dev/.claude/projects/shop/${session}.jsonl`,
        cwd: '/home/dev/shop',
        hook_event_name: name,
        ...fields,
        ...fill(content),
      });
    const filler = `line ${number} of some file;\n`;
    const missing = Math.max(0, sizeBytes - payload('').length);
    return { number, payload: payload(filler.repeat(Math.ceil(missing / filler.length)).slice(0, missing)) };
  };
  const none = (): Fields => ({});
  yield hook('SessionStart', { source: 'startup', model: 'claude-sonnet-5' }, none);
  for (let turn = 0; ; turn++) {
    const at = { prompt_id: `${session}-prompt-${turn}`, permission_mode: 'default' };
    yield hook('UserPromptSubmit', at, prompt => ({ prompt }));
    const scout = turn % 4 === 3 ? { agent_id: `a${turn}c31f09d2e84b56`, agent_type: 'Explore' } : {};
    if (turn % 4 === 3) yield hook('SubagentStart', { ...at, ...scout }, none);
    for (let i = 0; i < 12; i++) {
      call += 1;
      const tool = ['Read', 'Bash', 'Edit', 'Grep'][i % 4];
      const use = { ...at, ...scout, tool_name: tool, tool_use_id: `toolu_01${session}${call}` };
      const input = (content: string): Fields => ({ command: 'npm test', path: `src/file-${call}.ts`, content });
      yield hook('PreToolUse', use, content => ({ tool_input: input(content) }));
      if (i === 5) yield hook('PermissionRequest', use, content => ({ tool_input: input(content) }));
      if (i === 9) {
        const failed = { ...use, error: 'Exit code 1\n1 test failed', is_interrupt: false, duration_ms: 21 };
        yield hook('PostToolUseFailure', failed, content => ({ tool_input: input(content) }));
        continue;
      }
      yield hook('PostToolUse', { ...use, duration_ms: 12 + i }, content => {
        const half = content.length >> 1;
        return { tool_input: input(content.slice(half)), tool_response: { stdout: content.slice(0, half) } };
      });
    }
    if (turn % 4 === 3) {
      yield hook('SubagentStop', { ...at, ...scout }, content => ({ last_assistant_message: content }));
    }
    yield hook('Stop', { ...at, stop_hook_active: false }, content => ({ last_assistant_message: content }));
  }
}
