import { START_MS, type Told } from '../play.ts';

/**
 * A case: `base` (fields that all payloads share), lines of `+seconds payload`, then `---- trace` and what is expected.
 */
export function readJourney(text: string): { told: Told[]; head: string; expected: string } {
  const [head = '', expected = ''] = text.split(/^---- trace\n/m);
  let base: object = {};
  const told: Told[] = [];
  for (const line of head.split('\n')) {
    if (line.startsWith('base ')) base = JSON.parse(line.slice(5)) as object;
    const match = /^\+([\d.]+) (\{.*\})$/.exec(line);
    if (match?.[1] === undefined || match[2] === undefined) continue;
    told.push({ atMs: START_MS + Number(match[1]) * 1000, payload: { ...base, ...(JSON.parse(match[2]) as object) } });
  }
  return { told, head, expected };
}
