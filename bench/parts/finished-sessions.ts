/** Finished transcripts of Claude Code: calls with results of all lengths; each session has its own words. */
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

const START_MS = Date.UTC(2026, 2, 2, 9);
/** Without the session's last turn. */
export const SESSION_BYTES = 110 * 1024;

/** Writes sessions below the home folder. Returns the number of bytes. */
export function writeSessions(home: string, sessions: number, bytes = SESSION_BYTES): number {
  const folder = join(home, '.claude', 'projects', '-w');
  mkdirSync(folder, { recursive: true });
  let written = 0;
  for (let number = 0; number < sessions; number += 1) {
    const session = `00000000-0000-4000-8000-${String(number).padStart(12, '0')}`;
    const text = sessionOf(session, number, bytes);
    writeFileSync(join(folder, `${session}.jsonl`), text);
    written += text.length;
  }
  return written;
}

function sessionOf(session: string, number: number, bytes: number): string {
  const lines: string[] = [];
  let length = 0;
  let atMs = START_MS + number * 86_400;
  const add = (type: string, more: object): void => {
    atMs += 700;
    const line = JSON.stringify({
      parentUuid: `row-${lines.length}`,
      isSidechain: false,
      type,
      uuid: `${session}-${lines.length}`,
      timestamp: new Date(atMs).toISOString(),
      userType: 'external',
      entrypoint: 'cli',
      cwd: '/home/dev/shop',
      sessionId: session,
      version: '2.1.280',
      gitBranch: 'main',
      ...more,
    });
    lines.push(line);
    length += line.length + 1;
  };
  const words = (count: number): string =>
    Array.from({ length: count }, (_, i) => `word${(i * 7919 + lines.length) % 9973}${i % 12 === 0 ? '\n' : ''}`).join(
      ' ',
    );
  for (let turn = 0; length < bytes; turn += 1) {
    const prompt = `${session}-p${turn}`;
    add('user', { promptId: prompt, message: { role: 'user', content: words(40) }, promptSource: 'typed' });
    for (let call = 0; call < 8; call += 1) {
      const id = `msg_${session}_${turn}_${call}`;
      const message = (block: object, stop: string): object => ({
        requestId: `req_${id}`,
        message: {
          id,
          role: 'assistant',
          model: 'claude-sonnet-5',
          content: [block],
          stop_reason: stop,
          usage: {
            input_tokens: 10,
            cache_creation_input_tokens: 200,
            cache_read_input_tokens: 30_000,
            output_tokens: 150,
            service_tier: 'standard',
          },
        },
      });
      if (call === 7) {
        add('assistant', message({ type: 'text', text: words(120) }, 'end_turn'));
        break;
      }
      const use = `toolu_${session}_${turn}_${call}`;
      add('assistant', message({ type: 'text', text: words(25) }, 'tool_use'));
      add('assistant', message({ type: 'tool_use', id: use, name: 'Bash', input: { command: words(12) } }, 'tool_use'));
      const output = words(call === 3 ? 4_000 : 350);
      add('user', {
        promptId: prompt,
        message: { role: 'user', content: [{ type: 'tool_result', tool_use_id: use, content: output }] },
        toolUseResult: { stdout: output, stderr: '', interrupted: false },
      });
    }
    add('system', { subtype: 'turn_duration', durationMs: 20_000 });
  }
  return `${lines.join('\n')}\n`;
}
