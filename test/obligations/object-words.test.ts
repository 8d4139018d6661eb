/**
 * Payloads contain words that every JavaScript object inherits, such as `constructor`: a lookup in a table that does
 * not contain the word must not find it.
 */
import { expect, it, test } from 'vitest';
import { agents } from '../../src/agents/index.ts';
import { riskOf } from '../../src/enrich/risk/risk.ts';
import { createBridge } from '../../src/index.ts';
import { samplesOf, withTexts } from '../agents/samples.ts';
import { play, START_MS } from '../play.ts';
import { openHouse, rowsOf } from '../transcripts/house.ts';

const words = [
  'constructor',
  '__proto__',
  'toString',
  'hasOwnProperty',
  'valueOf',
  '__defineGetter__',
  'isPrototypeOf',
];

const lines = words.flatMap(word => [
  word,
  `sudo ${word}`,
  `sudo -u ${word} ${word} -x`,
  `echo $(${word})`,
  `git commit -m "fix \`${word}\` again"`,
  `env ${word}=1 ${word}`,
  `${word}=1; echo $${word} \${${word}:-x}`,
  `for ${word} in a b; do ${word} $${word}; done`,
  `xargs ${word} | ${word} > ${word}`,
  `bash -c '${word}' && eval ${word}`,
  `docker exec ${word} ${word}; uv run ${word}; npx ${word}`,
]);

test.each(lines)('the risk of %s is judged as that of any other word', line => {
  const neutral = words.reduce((text, word) => text.replaceAll(word, 'plainword'), line);
  const judge = (command: string): unknown => riskOf({ action: { name: 'shell', input: { command } } });
  expect(judge(line)).toEqual(judge(neutral));
});

/** Texts that decide how a payload is read get the word one at a time, all others at once. */
it('a payload with such a word in any place is journaled or set aside with a reason, and changes no object', () => {
  const before = Object.getOwnPropertyNames(Object.prototype).join();
  for (const agent of agents) {
    for (const { payload } of samplesOf(agent.id)) {
      const places: string[] = [];
      withTexts(payload, (value, path) => {
        places.push(path);
        return value;
      });
      for (const [i, place] of places.entries()) {
        const word = words[i % words.length] ?? '';
        const changed = JSON.stringify(withTexts(payload, (value, path) => (path === place ? word : value)));
        const { fates } = play([{ atMs: START_MS, payload: changed, header: { tool: agent.id } }]);
        expect(fates, `${agent.id} ${place}`).toHaveLength(1);
      }
      for (const word of words) {
        const all = JSON.stringify(withTexts(payload, () => word));
        expect(play([{ atMs: START_MS, payload: all, header: { tool: agent.id, event: word } }]).fates).toHaveLength(1);
        const keyed = JSON.stringify(payload).replaceAll(/"([a-z_]+)":/g, (known, key) =>
          key.length % 3 === 0 ? `"${word}":` : known,
        );
        expect(play([{ atMs: START_MS, payload: keyed, header: { tool: agent.id } }]).fates).toHaveLength(1);
      }
    }
  }
  expect(Object.getOwnPropertyNames(Object.prototype).join()).toBe(before);
  expect(({} as { at?: unknown }).at).toBeUndefined();
});

it('a session whose transcript holds such words passes hooks, transcript and import', () => {
  for (const word of words) {
    const house = openHouse();
    try {
      const rows = rowsOf(house.session);
      house.write(
        house.main,
        rows.prompt(1, 'p1', word),
        rows.assistant(2, 'm1', rows.call('c1', 'Bash', { command: `sudo ${word}` }), 5, 'tool_use'),
        rows.result(3, 'c1', 'p1'),
        rows.assistant(4, word, rows.call(word, word, { [word]: word, command: word }), 5, 'tool_use'),
        rows.result(5, word, 'p1'),
        rows.assistant(6, 'm3', rows.text('done'), 7, 'end_turn'),
      );
      house.hook(0, 'SessionStart', { source: 'startup' });
      house.hook(7, 'Stop', { prompt_id: 'p1' });
      const { round } = house.round();
      expect(round.quarantine).toEqual([]);
      expect(house.spans().filter(span => span.kind === 'chat')).toHaveLength(3);
    } finally {
      house.close();
    }
  }
});

it('the bridge never throws for a payload', () => {
  const bridge = createBridge({ installation: 'i' });
  const cyclic: { self?: unknown } = {};
  cyclic.self = cyclic;
  for (const word of words) {
    const bash = { hook_event_name: 'PreToolUse', session_id: word, tool_name: 'Bash', tool_use_id: word };
    const payload = { ...bash, tool_input: { command: `sudo ${word}` } };
    expect(bridge.ingest(payload, { tool: 'claude-code' }).status).toBe('accepted');
  }
  expect(bridge.ingest(cyclic, { tool: 'claude-code' })).toMatchObject({ reason: 'invalid-value' });
  expect(bridge.ingest({ n: 1n }, { tool: 'claude-code' })).toMatchObject({ reason: 'invalid-value' });
  const { received, accepted, duplicate, refused } = bridge.stats().inputs;
  expect(accepted + duplicate + refused).toBe(received);
});
