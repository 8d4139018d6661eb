/** A fault inside of this program costs what it concerns, and nothing beside it: the event goes without the part that failed, the row is passed over. */
import { expect, test, vi } from 'vitest';
import { claudeCode } from '../../src/agents/claude-code/claude-code.ts';
import { agents } from '../../src/agents/index.ts';
import { type Drain, drain } from '../../src/receive/drain.ts';
import { newSession, noTranscripts, type SessionState } from '../../src/session/session-state.ts';
import { diskEyes } from '../../src/transcripts/eyes.ts';
import { follow } from '../../src/transcripts/read-on.ts';
import { fragmentOf, pinned, START_MS } from '../play.ts';
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

function drained(payload: object, deps: Partial<Drain>) {
  let state: SessionState | undefined;
  return drain(fragmentOf({ atMs: START_MS, payload }, 0), {
    agents,
    hash: () => 'h',
    session: opening => (state ??= newSession(opening, pinned)),
    ...deps,
  });
}

const typesOf = (out: ReturnType<typeof drained>): string[] =>
  out.fate === 'journaled' ? out.parts.flatMap(part => part.events.map(event => event.event_type)) : [];

test('an event whose risk cannot be computed is journaled without it, and that is counted', () => {
  const out = drained(bash, { risk: fails });
  expect(typesOf(out)).toEqual(['Action.Before']);
  expect(out).toMatchObject({ fate: 'journaled', odd: ['risk_failed', 'unsure_agent'] });
});

test('an event whose content cannot be kept is journaled without it, and that is counted', () => {
  const modes = new Proxy({}, { get: fails });
  const out = drained(bash, {
    keep: () => ({ modes, clean: String }) as unknown as ReturnType<NonNullable<Drain['keep']>>,
  });
  expect(typesOf(out)).toEqual(['Action.Before']);
  expect(out).toMatchObject({ odd: ['content_failed', 'unsure_agent'] });
  expect(JSON.stringify(out)).not.toContain('canary-5b1c');
});

test('a row that fails is counted and passed over, and the rows behind it are told', () => {
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
    const told: string[] = [];
    const odd: string[] = [];
    const state = { ...noTranscripts(), main: house.main };
    const followed = follow({
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
      tell(each) {
        if ('event_type' in each && each.event_type === 'Model.Responded') fails();
        if ('event_type' in each) told.push(each.event_type);
      },
      origin: () => undefined,
      odd: kind => odd.push(kind),
    });
    expect(followed).toMatchObject({ isMore: false, isThere: true });
    expect(odd).toEqual(['row_failed']);
    expect(told.filter(type => type === 'Prompt.Submitted')).toHaveLength(2);
  } finally {
    house.close();
  }
});

test('a transcript that cannot be read at all costs its own session: an import takes in all others', () => {
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
    // The oldest session is asked for first.
    const session = vi.spyOn(bad.store, 'session');
    let asked = 0;
    session.mockImplementation(() => {
      asked += 1;
      return asked === 1 ? (fails() as never) : undefined;
    });
    const [round] = bad.import();
    session.mockRestore();
    expect(round).toMatchObject({ done: 2, books: { read: 3, journaled: 3, duplicate: 0 } });
    expect(round?.problems).toEqual([{ code: 'transcript-failed', agent: 'Claude Code', why: 'file' }]);
  } finally {
    bad.close();
  }
});
