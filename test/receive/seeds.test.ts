/** The examples in the texts of the standards, read as input. The texts are outside of the repository. */
import { readdirSync, readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { hookPointOf, hookPoints, platformName } from '../../src/standards/base-coat/hook-points.ts';
import { play, START_MS } from '../play.ts';
import { overShared, sharedPath } from '../shared.ts';

const textOf = (number: string): string => {
  const name = readdirSync(sharedPath('seeds')).find(file => file.startsWith(number)) ?? '';
  return readFileSync(sharedPath(`seeds/${name}`), 'utf8');
};

/** Every JSON object of a text that parses, outermost first. */
function objectsIn(text: string): Record<string, unknown>[] {
  const found: Record<string, unknown>[] = [];
  for (let from = text.indexOf('{'); from >= 0; from = text.indexOf('{', from + 1)) {
    for (let to = text.indexOf('\n}', from); to >= 0 && to - from < 4_000; to = text.indexOf('\n}', to + 1)) {
      try {
        found.push(JSON.parse(text.slice(from, to + 2)) as Record<string, unknown>);
        from = to;
        break;
      } catch {
        // The object does not end here.
      }
    }
  }
  return found;
}

overShared('seeds', 'the texts of the standards', () => {
  test('every full event of Agent Hooks 0.1 keeps its type', () => {
    const events = objectsIn(textOf('000')).filter(each => 'spec_version' in each);
    expect(events).toHaveLength(6);
    for (const event of events) {
      const [read] = play([{ atMs: START_MS, payload: event }]).events;
      expect([read?.event_id, read?.event_type, Date.parse(read?.timestamp ?? '')]).toEqual([
        event.event_id,
        event.event_type,
        Date.parse(String(event.timestamp)),
      ]);
      // An address is not an organizational identifier, and no personal data stays.
      expect(JSON.stringify(read)).not.toContain('@example.com');
    }
  });

  test("Base Coat's event envelope becomes a failed action", () => {
    const [envelope, ...more] = objectsIn(textOf('004')).filter(each => 'sessionId' in each);
    expect(more).toEqual([]);
    const { events, spans } = play([{ atMs: START_MS, payload: envelope ?? {} }]);
    expect(events[0]).toMatchObject({
      event_type: 'Action.After',
      timestamp: '2025-04-27T18:42:31.000Z',
      data: { action: { name: 'shell', result: { success: false } } },
    });
    expect(spans.map(span => span.endMs - span.startMs)).toEqual([6_422]);
  });

  test("Base Coat's table of platform names equals ours", () => {
    const rows = [...textOf('004').matchAll(/^(\w+) \|\n(\w+|—) \|\n(?:✅|❌|—) \|/gm)].map(([, point, name]) => [
      point,
      name,
    ]);
    const table = [...textOf('004').matchAll(/^(\w+) \|\n— \| — \|/gm)].map(([, point]) => [point, '—']);
    const nameOfPoint = new Map([...rows, ...table].map(([point = '', name]) => [point, name]));
    expect([...nameOfPoint.keys()].sort()).toEqual([...hookPoints].sort());
    for (const point of hookPoints) expect(platformName(point, 'hooksFile') ?? '—').toBe(nameOfPoint.get(point));
    for (const [point, name = '—'] of nameOfPoint) if (name !== '—') expect(hookPointOf(name)).toBe(point);
  });
});
