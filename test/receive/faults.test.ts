/**
 * A fault inside this program affects only the failed part: the event is recorded without it, or the row is skipped.
 */
import { expect, test, vi } from 'vitest';
import { claudeCode } from '../../src/agents/claude-code/claude-code.ts';
import type { RoundContext } from '../../src/pipeline/session-in-round.ts';
import { noTranscripts } from '../../src/session/session-state.ts';
import { diskEyes } from '../../src/transcripts/eyes.ts';
import { readOn } from '../../src/transcripts/read-on.ts';
import { eventsFrom, fragmentOf, playerOf, START_MS } from '../play.ts';
import { openHouse, rowsOf } from '../transcripts/house.ts';

const bash = {
  session_id: 's-1',
  cwd: '/w',
  hook_event_name: 'PreToolUse',
  tool_name: 'Bash',
  tool_use_id: 'c1',
  tool_input: { command: 'ls canary-5b1c' },
};
const fails = (): never => {
  throw new RangeError('Maximum call stack size exceeded');
};

function taken(payload: object, more: Partial<RoundContext>) {
  const player = playerOf({ hash: () => 'h', ...more });
  const out = player.take(fragmentOf({ atMs: START_MS, payload }, 0));
  return { fate: out.fate, types: eventsFrom(out).map(event => event.event_type), ...player.counts, player };
}

test('an event whose risk cannot be computed is journaled without it, and that is counted', () => {
  const out = taken(bash, { risk: fails });
  expect(out).toMatchObject({ fate: 'journaled', types: ['Action.Before'], oddities: { risk_failed: 1 } });
});

test('an event whose content cannot be kept is journaled without it, and that is counted', () => {
  const modes = new Proxy({}, { get: fails });
  const out = taken(bash, {
    keep: () => ({ modes, clean: String }) as unknown as ReturnType<NonNullable<RoundContext['keep']>>,
  });
  expect(out).toMatchObject({ types: ['Action.Before'], oddities: { content_failed: 1 } });
  expect([...out.player.sessions.values()].map(({ lines }) => lines).join('')).not.toContain('canary-5b1c');
});

test('a row that fails is counted and skipped, and the rows after it are recorded', () => {
  const house = openHouse();
  try {
    const rows = rowsOf(house.session);
    house.write(
      house.main,
      rows.prompt(1, 'p1'),
      rows.assistant(2, 'm1', rows.text('a'), 5, 'end_turn'),
      rows.prompt(3, 'p2'),
    );
    const { transcript } = claudeCode;
    if ('absent' in transcript) throw new Error('Claude Code keeps transcripts');
    const messages: string[] = [];
    const odd: string[] = [];
    const state = { ...noTranscripts(), main: house.main };
    const followed = readOn({
      transcript,
      state,
      session: house.session,
      home: house.home,
      env: {},
      eyes: diskEyes(),
      hash: String,
      untilMs: Number.POSITIVE_INFINITY,
      keepsResults: false,
      budget: { bytes: 1e9 },
      listener: {
        report(each) {
          if ('event_type' in each && each.event_type === 'Model.Responded') fails();
          if ('event_type' in each) messages.push(each.event_type);
        },
        origin: () => undefined,
        odd: kind => odd.push(kind),
      },
    });
    expect(followed).toMatchObject({ isMore: false, isThere: true });
    expect(odd).toEqual(['row_failed']);
    expect(messages.filter(type => type === 'Prompt.Submitted')).toHaveLength(2);
  } finally {
    house.close();
  }
});

test('an unreadable transcript affects only its own session: an import reads all others', () => {
  const bad = openHouse();
  try {
    const good = '22222222-2222-4333-8444-555555555555';
    const write = (session: string): void => {
      const rows = rowsOf(session);
      const path = bad.main.replace(bad.session, session);
      bad.write(path, rows.prompt(1, `p-${session}`), rows.assistant(2, `m-${session}`, rows.text('a'), 5, 'end_turn'));
    };
    write(bad.session);
    write(good);
    // The oldest session is read first.
    const session = vi.spyOn(bad.store, 'session');
    let asked = 0;
    session.mockImplementation(() => {
      asked += 1;
      return asked === 1 ? (fails() as never) : undefined;
    });
    const [round] = bad.import();
    session.mockRestore();
    expect(round).toMatchObject({ done: 2, counts: { read: 3, journaled: 3, duplicate: 0 } });
    expect(round?.problems).toEqual([{ code: 'transcript-failed', agent: 'Claude Code', why: 'file' }]);
  } finally {
    bad.close();
  }
});
