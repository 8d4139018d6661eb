/**
 * Decodes texts: inside JSON, an address or the output of a terminal, a secret and the characters before it look
 * different. Each layer of encoding is undone separately, and every position is mapped back to the outer text.
 */

export interface Layer {
  readonly text: string;
  /**
   * Maps a position to the outer text: `from` maps the start of a secret, `to` the position after its last character.
   */
  from(at: number): number;
  to(at: number): number;
  /** Move a position of the outer text that lies inside an escape to the end or the start of that escape. */
  after(at: number): number;
  before(at: number): number;
}

/** Escapes of JSON, shells, addresses and HTML, and color codes of terminals. Each is short, so this is linear. */
const ESCAPE =
  /\\(?:u([0-9a-fA-F]{4})|x([0-9a-fA-F]{2})|(033)|([abefnrtv0"'`\\/]))|%([0-7][0-9A-Fa-f])|(\u001b(?:\[[0-9;?]{0,32}[A-Za-z]|\][^\u0007\u001b\n]{0,256}(?:\u0007|\u001b\\)))|&(quot|amp|lt|gt|apos|#39|#34|#61|#x27|#x3[dD]);/g;
const LOOKS_ESCAPED = /[\\%\u001b&]/;

const letters = new Map<string, string>([
  ['a', '\u0007'],
  ['b', '\b'],
  ['e', '\u001b'],
  ['f', '\f'],
  ['n', '\n'],
  ['r', '\r'],
  ['t', '\t'],
  ['v', '\v'],
  ['0', '\0'],
]);
const entities = new Map<string, string>([
  ['quot', '"'],
  ['amp', '&'],
  ['lt', '<'],
  ['gt', '>'],
  ['apos', "'"],
  ['#39', "'"],
  ['#34', '"'],
  ['#61', '='],
  ['#x27', "'"],
  ['#x3d', '='],
  ['#x3D', '='],
]);

/** The text after one layer of decoding; undefined for a text without escapes. */
export function layerOf(text: string): Layer | undefined {
  if (!LOOKS_ESCAPED.test(text)) return undefined;
  // For each escape: its start and end in the outer text, and its position and length in the inner text.
  const outer: number[] = [];
  const ends: number[] = [];
  const inner: number[] = [];
  const lengths: number[] = [];
  let decoded = '';
  let at = 0;
  ESCAPE.lastIndex = 0;
  for (let match = ESCAPE.exec(text); match !== null; match = ESCAPE.exec(text)) {
    decoded += text.slice(at, match.index);
    const char = charOf(match);
    outer.push(match.index);
    ends.push(ESCAPE.lastIndex);
    inner.push(decoded.length);
    lengths.push(char.length);
    decoded += char;
    at = ESCAPE.lastIndex;
  }
  if (outer.length === 0) return undefined;
  decoded += text.slice(at);

  /** The last escape that begins at or before the position. */
  const last = (of: readonly number[], place: number): number => {
    let low = -1;
    let high = of.length - 1;
    while (low < high) {
      const middle = Math.ceil((low + high) / 2);
      if ((of[middle] ?? 0) <= place) low = middle;
      else high = middle - 1;
    }
    return low;
  };
  const from = (place: number): number => {
    const i = last(inner, place);
    if (i < 0) return place;
    const behind = place - (inner[i] ?? 0) - (lengths[i] ?? 0);
    return behind < 0 ? (outer[i] ?? 0) : (ends[i] ?? 0) + behind;
  };
  const around = (place: number): number | undefined => {
    const i = last(outer, place);
    return i >= 0 && place > (outer[i] ?? 0) && place < (ends[i] ?? 0) ? i : undefined;
  };
  return {
    text: decoded,
    from,
    to: place => (place === 0 ? 0 : endOf(place)),
    after: place => ends[around(place) ?? -1] ?? place,
    before: place => outer[around(place) ?? -1] ?? place,
  };

  function endOf(place: number): number {
    const i = last(inner, place - 1);
    if (i < 0) return place;
    const behind = place - 1 - (inner[i] ?? 0) - (lengths[i] ?? 0);
    return behind < 0 ? (ends[i] ?? 0) : (ends[i] ?? 0) + behind + 1;
  }
}

function charOf(match: RegExpExecArray): string {
  const [, unicode, hex, octal, letter, percent, colour, entity] = match;
  const code = unicode ?? hex ?? percent;
  if (code !== undefined) return String.fromCharCode(Number.parseInt(code, 16));
  if (octal !== undefined) return '\u001b';
  if (letter !== undefined) return letters.get(letter) ?? letter;
  if (colour !== undefined) return '';
  return entity === undefined ? '' : (entities.get(entity) ?? '');
}
