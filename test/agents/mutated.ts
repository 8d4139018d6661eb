/** All copies take seconds for each agent, so `npm test` tries a part of them. */
export const DAMAGED_COPIES = process.env.OTEL_HOOKS_TEST_SIZE === undefined ? 1_000 : 10_000;

/**
 * Damaged copies of a text, the same ones in each run: bytes changed, lines cut, doubled, shuffled, values of other
 * kinds.
 */
export function* mutated(source: string, copies = DAMAGED_COPIES): Generator<string> {
  let seed = 0x2f6e2b1;
  const below = (limit: number): number => {
    // xorshift: a fixed seed gives a fixed sequence of numbers.
    seed ^= seed << 13;
    seed ^= seed >>> 17;
    seed ^= seed << 5;
    return (seed >>> 0) % Math.max(1, limit);
  };
  const odd = [
    'null',
    '-1',
    '1e999',
    '""',
    '[]',
    '{}',
    '"\\u0000"',
    '[[[]]]',
    'true',
    '{"__proto__":{"x":1}}',
    '"9e9"',
  ];
  const mutations: ((text: string) => string)[] = [
    text => {
      const at = below(text.length);
      return text.slice(0, at) + String.fromCharCode(below(256)) + text.slice(at + 1);
    },
    text => text.slice(0, below(text.length)),
    text => {
      const lines = text.split('\n');
      const at = below(lines.length);
      const line = lines[at] ?? '';
      lines[at] = line.slice(0, below(line.length));
      return lines.join('\n');
    },
    text => {
      const lines = text.split('\n');
      lines.splice(below(lines.length), 0, lines[below(lines.length)] ?? '');
      return lines.join('\n');
    },
    text => {
      const lines = text.split('\n');
      const [taken = ''] = lines.splice(below(lines.length), 1);
      lines.splice(below(lines.length + 1), 0, taken);
      return lines.join('\n');
    },
    text => {
      const places = [...text.matchAll(/(?<="\s*:\s*)(?:"[^"\n]*"|-?\d+(?:\.\d+)?|true|false|null|\[\]|\{\})/g)];
      const place = places[below(places.length)];
      if (place === undefined) return text;
      return text.slice(0, place.index) + odd[below(odd.length)] + text.slice(place.index + place[0].length);
    },
  ];
  for (let copy = 0; copy < copies; copy += 1) {
    let text = source;
    for (let times = below(3); times >= 0; times -= 1) text = mutations[below(mutations.length)]?.(text) ?? text;
    yield text;
  }
}
