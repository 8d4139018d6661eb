/** Finished transcripts of Claude Code: prompts, calls with results of several lengths, answers. */
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Fields } from '../../src/event/event.ts';
import { START_MS } from './sessions.ts';

const CALLS_PER_SESSION = 400;
const CALLS_PER_TURN = 8;
/** Every fourth result is long. */
const RESULT_WORDS = [60, 200, 90, 2_500];

/** Writes sessions below the home folder until the size is reached; returns the number of bytes. */
export function writeTranscripts(home: string, bytes: number): number {
  const folder = join(home, '.claude', 'projects', '-home-dev-shop');
  mkdirSync(folder, { recursive: true });
  let written = 0;
  for (let number = 0; written < bytes; number += 1) {
    const session = `5e550000-0000-4000-8000-${String(number).padStart(12, '0')}`;
    const text = `${[...rowsOf(session, number)].map(row => JSON.stringify(row)).join('\n')}\n`;
    writeFileSync(join(folder, `${session}.jsonl`), text);
    written += text.length;
  }
  return written;
}

function* rowsOf(session: string, number: number): Generator<Fields, undefined> {
  let count = 0;
  const row = (type: string, rest: Fields): Fields => {
    count += 1;
    const atMs = START_MS + number * 3_600_000 + count * 900;
    const uuid = `${session}/${count}`;
    const place = { cwd: '/home/dev/shop', gitBranch: 'main', version: '2.1.280', userType: 'external' };
    const parentUuid = `${session}/${count - 1}`;
    return {
      parentUuid,
      isSidechain: false,
      type,
      uuid,
      sessionId: session,
      timestamp: new Date(atMs).toISOString(),
      ...place,
      ...rest,
    };
  };
  const answer = (id: number, block: Fields, reason: string): Fields => {
    const usage = {
      input_tokens: 12,
      output_tokens: 140,
      cache_read_input_tokens: 21_000,
      cache_creation_input_tokens: 90,
    };
    const message = { id: `msg_${session}_${id}`, role: 'assistant', model: 'claude-sonnet-5', content: [block] };
    return row('assistant', { requestId: `req_${id}`, message: { ...message, stop_reason: reason, usage } });
  };
  for (let call = 0; call < CALLS_PER_SESSION; call += 1) {
    const promptId = `${session}/p${Math.floor(call / CALLS_PER_TURN)}`;
    if (call % CALLS_PER_TURN === 0)
      yield row('user', { promptId, message: { role: 'user', content: words(30, call) }, promptSource: 'typed' });
    const id = `toolu_${session}_${call}`;
    yield answer(call, { type: 'tool_use', id, name: 'Bash', input: { command: words(8, call) } }, 'tool_use');
    const content = words(RESULT_WORDS[call % RESULT_WORDS.length] ?? 0, call);
    const result = { type: 'tool_result', tool_use_id: id, content };
    yield row('user', { promptId, message: { role: 'user', content: [result] }, toolUseResult: { stdout: content } });
    if (call % CALLS_PER_TURN === CALLS_PER_TURN - 1)
      yield answer(CALLS_PER_SESSION + call, { type: 'text', text: words(80, call) }, 'end_turn');
  }
}

const words = (count: number, seed: number): string =>
  Array.from({ length: count }, (_, i) => `item${(i * 31 + seed * 17) % 1_009}`).join(' ');
