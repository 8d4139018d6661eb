/** Files of `show --html` and `--svg`: nothing runs in them, and --redact leaves no name. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Event } from '../../src/event/event.ts';
import { sessionIndex } from '../../src/journal/session-index.ts';
import type { Snapshot } from '../../src/page/data.ts';
import { openStore } from '../../src/store/store.ts';
import { htmlFile } from '../../src/view/html-file.ts';
import { redactedSnapshot } from '../../src/view/redacted-snapshot.ts';
import { snapshotOf, spansOf } from '../../src/view/snapshot.ts';
import { svgFile } from '../../src/view/svg-file.ts';
import { checkout, resumed, Script, writeJournal } from '../browser/sessions.ts';

const HOSTILE = '</script><script>alert(1)</script><img src=x onerror=alert(2)>\u2028\u202e"\'&';
const files = { html: '', script: 'const end = "</script>";', style: 'main { color: red }' };

let home = '';
beforeAll(() => {
  home = mkdtempSync(join(tmpdir(), 'session-files-'));
});
afterAll(() => rmSync(home, { recursive: true, force: true }));

function snapshot(key: string): Snapshot {
  const store = openStore({ folder: join(home, 'state'), access: 'read' });
  const found = snapshotOf(store, sessionIndex(store), key, 'Made by a test.');
  store.close();
  if (found === undefined) throw new Error('the journal is missing');
  return found;
}

const isOwnTool = (_: string, tool: string): boolean => ['Bash', 'Edit', 'Read', 'Grep', 'Agent'].includes(tool);

/** A session in which every name and every text is a canary. */
function named(): Event[] {
  const s = new Script('canary-session', '2026-03-01T10:00:00.000Z');
  const who = {
    user: { id: 'canary-user', name: 'canary-user' },
    actor: { type: 'user', id: 'canary-actor', name: 'canary-actor' },
  };
  s.add(
    0,
    'Session.Start',
    { start_reason: 'new' },
    { cwd: '/canary/folder', previous: { session: 'canary-before' } },
    who,
  );
  const place = {
    provider: 'canary-host',
    owner: 'canary-owner',
    name: 'canary-repository',
    branch: 'canary-branch',
    revision: 'canary-revision',
  };
  s.add(0, 'vendor.otel-hooks.Repository', { ...place, url: 'https://canary-url', commits: ['canary-commit'] });
  s.add(
    1,
    'Prompt.Submitted',
    { prompt: 'canary-prompt', prompt_length: 9, prompt_hash: 'hmac-sha256:canary' },
    { turn: 'canary-turn' },
    who,
  );
  const action = { name: 'canary-action', input: { a: 'canary-input' } };
  const facts = {
    call: 'canary-call',
    tool: 'mcp__canary__tool',
    mcp: { server: 'canary-server' },
    executable: 'canary-program',
    path: 'canary-path',
    command: 'canary-command',
    skill: 'canary-skill',
  };
  s.add(2, 'Action.Before', { action }, facts);
  s.add(
    3,
    'Action.After',
    { action: { ...action, result: { success: false, output: 'canary-output', error_message: 'canary-error' } } },
    { ...facts, error_type: 'canary_error' },
  );
  s.add(
    4,
    'Session.Start',
    {},
    { agent: 'canary-subagent' },
    { session_id: 'canary-child', parent_session_id: 'canary-session' },
  );
  s.add(
    5,
    'Session.End',
    {},
    { agent: 'canary-subagent' },
    { session_id: 'canary-child', parent_session_id: 'canary-session' },
  );
  s.add(6, 'Policy.Violation', { policy_name: 'canary-policy', rule: 'canary-rule', reason: 'canary-reason' });
  s.add(7, 'Agent.Notification', { type: 'canary-type', message: 'canary-message' });
  s.add(
    8,
    'vendor.canary.Event',
    { canary: 'canary' },
    { fields: ['canary'] },
    { metadata: { canary: 'canary', 'dev.otel-hooks': { v: 1, seq: 9, time: 'native', native: 'canary-native' } } },
  );
  s.add(9, 'Agent.Response', { response: 'canary-response', final: true }, { turn: 'canary-turn' });
  return s.events;
}

describe('an HTML file', () => {
  it('holds the session as data that ends no element', () => {
    const key = writeJournal(
      home,
      'hostile-session',
      new Script('hostile-session', '2026-03-01T10:00:00.000Z').start(0).action(1, 1, HOSTILE).events,
    );
    const text = htmlFile(snapshot(key), files, 'tree </pre><script>');
    const scripts = [...text.matchAll(/<script[^>]*>([\s\S]*?)<\/script>/g)].map(([, script = '']) => script);
    expect(scripts).toHaveLength(2);
    const data = JSON.parse(scripts[0] ?? '') as Snapshot;
    expect(
      spansOf(data)
        .map(({ name }) => name)
        .join(),
    ).toContain('</script><script>alert(1)</script>');
    expect(scripts[1]).toBe('const end = "<\\/script>";');
    expect(text.match(/<(img|iframe|object|link)\b[^>]*>/g)).toEqual(['<link rel="icon" href="data:,">']);
    expect(text).not.toContain('\u202e');
  });

  it('permits its own script and style alone, and loads nothing', () => {
    const key = writeJournal(home, 'plain-session', checkout('plain-session', '2026-03-01T10:00:00.000Z'));
    const [, policy = ''] = /content-security-policy" content="([^"]*)"/.exec(htmlFile(snapshot(key), files, '')) ?? [];
    expect(policy).toMatch(/^default-src 'none'; script-src 'sha256-[^']+'; style-src 'sha256-[^']+'; img-src data:;/);
  });

  it('has all parts of a resumed session, and the details of each span', () => {
    const first = writeJournal(home, 'first-session', checkout('first-session', '2026-03-01T10:00:00.000Z'));
    const second = writeJournal(
      home,
      'second-session',
      resumed('second-session', '2026-03-02T10:00:00.000Z', 'first-session'),
    );
    const found = snapshot(second);
    expect(found.part.journals.map(({ key }) => key)).toEqual([first, second]);
    for (const { id } of spansOf(found)) expect(found.details[id]?.attributes.length).toBeGreaterThan(3);
  });
});

describe('a picture', () => {
  it('draws each span, and hostile names as text', () => {
    const key = writeJournal(
      home,
      'drawn-session',
      new Script('drawn-session', '2026-03-01T10:00:00.000Z').start(0).action(1, 1, HOSTILE).action(3, 1, 'Bash')
        .events,
    );
    const text = svgFile(snapshot(key));
    expect(text.match(/<g>/g)).toHaveLength(spansOf(snapshot(key)).length);
    expect(text).not.toMatch(/<(script|img|image|foreignObject|a)\b|\u202e|NaN|undefined/);
    // Each & begins a reference, and each element is closed.
    expect(text.replace(/&(amp|lt|gt|quot|#39);/g, '')).not.toContain('&');
    const names = [...text.matchAll(/<(\/?)(\w+)[^>]*?(\/?)>/g)].filter(([, , , empty]) => empty === '');
    const open: string[] = [];
    for (const [, end, name = ''] of names)
      if (end === '') open.push(name);
      else expect(open.pop()).toBe(name);
    expect(open).toEqual([]);
  });

  it('names the denial and its source, the failure and the wait', () => {
    const text = svgFile(
      snapshot(writeJournal(home, 'plain-session2', checkout('plain-session2', '2026-03-01T10:00:00.000Z'))),
    );
    expect(text).toContain('denied by policy (rule, managed settings)');
    expect(text).toContain('failed: tool_error, exit 1');
    expect(text).toContain('waited 1 min 16 s for a person');
  });
});

describe('--redact', () => {
  it('leaves no name and no content of any event', () => {
    const whole = snapshot(writeJournal(home, 'canary-session', named()));
    const redacted = redactedSnapshot(whole, isOwnTool);
    expect(JSON.stringify(whole).match(/canary/g)?.length).toBeGreaterThan(40);
    expect(JSON.stringify(redacted)).not.toContain('canary');
    expect(svgFile(redacted) + htmlFile(redacted, files, '')).not.toContain('canary');
  });

  it('keeps the tree, the times, the numbers, the tools of the agent and the sources of decisions', () => {
    const whole = snapshot(
      writeJournal(home, 'plain-session3', checkout('plain-session3', '2026-03-01T10:00:00.000Z')),
    );
    const redacted = redactedSnapshot(whole, isOwnTool);
    const shape = (spans: ReturnType<typeof spansOf>) =>
      spans.map(({ parent, startMs, endMs, usage, decidedBy, kind }) => ({
        parent: spans.findIndex(({ id }) => id === parent),
        startMs,
        endMs,
        usage,
        decidedBy,
        kind,
      }));
    expect(shape(spansOf(redacted))).toEqual(shape(spansOf(whole)));
    const names = spansOf(redacted).map(({ name }) => name);
    for (const name of ['execute_tool Bash', 'invoke_agent subagent', 'chat claude-sonnet-4-5'])
      expect(names).toContain(name);
    const [id] = Object.keys(redacted.details);
    expect(redacted.details[id ?? '']?.attributes.length).toBeGreaterThan(2);
  });
});
