/** Texts of JSON settings as people and programs write them: every layout, hooks of others, comments, odd values. */
import fc from 'fast-check';

export interface JsonSettings {
  /**
   * The member with the hooks, and the events in it that otel-hooks writes; without a member, the hooks are one array.
   */
  root: string;
  events: readonly string[];
  isList: boolean;
}

export function jsonTexts({ root, events, isList }: JsonSettings): fc.Arbitrary<string> {
  const key = fc.constantFrom('model', 'env', 'permissions', 'version', `${root}2`, 'ä', '');
  const handler = fc.oneof(
    fc.record({
      type: fc.constant('command'),
      command: fc.constantFrom('say done', 'echo "otel-hooks hook"', 'x && otel-hooks hook'),
    }),
    fc.record({ type: fc.constant('http'), url: fc.constant('http://localhost') }),
    fc.record({ command: fc.constant('lint'), timeout: fc.nat(60) }),
    fc.jsonValue({ maxDepth: 1 }),
  );
  const group = fc.oneof(
    {
      weight: 4,
      arbitrary: fc.record(
        { matcher: fc.constantFrom('', 'Bash'), hooks: fc.array(handler, { maxLength: 2 }) },
        { requiredKeys: ['hooks'] },
      ),
    },
    { weight: 2, arbitrary: handler },
  );
  const lists = fc.dictionary(fc.constantFrom(...events.slice(0, 3), 'Other'), fc.array(group, { maxLength: 3 }), {
    maxKeys: 3,
  });
  const hooks: fc.Arbitrary<unknown> = isList ? fc.array(group, { maxLength: 3 }) : lists;
  const value = fc
    .tuple(fc.dictionary(key, fc.jsonValue({ maxDepth: 2 }), { maxKeys: 3 }), fc.option(hooks), fc.boolean())
    .map(([rest, own, isFirst]) =>
      own === null ? rest : isFirst ? { [root]: own, ...rest } : { ...rest, [root]: own },
    );
  return fc.oneof(plain(value), noisy(value), blank);
}

const blank = fc.constantFrom('', '\n', '\ufeff', '  \r\n', '{}', '{ }\n', '{\n}\n');

const plain = (value: fc.Arbitrary<unknown>) =>
  fc
    .tuple(value, fc.constantFrom<(string | number)[]>(0, 2, 4, '\t'), fc.constantFrom('', '\n'), fc.boolean())
    .map(([each, indent, end, isCrlf]) => {
      const text = JSON.stringify(each, null, indent as string | number) + end;
      return isCrlf ? text.replaceAll('\n', '\r\n') : text;
    });

const noises = [
  '',
  '',
  '',
  ' ',
  '\n',
  '\n  ',
  '\r\n\t',
  ' /* c */ ',
  ' // c\n',
  ' // c \t\r\n',
  '\n\n    // "hooks": {\n  ',
];
const noisy = (value: fc.Arbitrary<unknown>) =>
  fc
    .tuple(value, fc.array(fc.nat(noises.length - 1), { minLength: 1, maxLength: 40 }), fc.boolean(), fc.boolean())
    .map(([each, picks, hasTrailingCommas, hasMark]) => {
      let at = 0;
      const noise = () => noises[picks[at++ % picks.length] ?? 0] ?? '';
      const print = (item: unknown): string => {
        const isArray = Array.isArray(item);
        if (typeof item !== 'object' || item === null) return JSON.stringify(item);
        const inner = isArray
          ? item.map(one => noise() + print(one) + noise())
          : Object.entries(item).map(
              ([name, one]) => `${noise()}${JSON.stringify(name)}${noise()}:${noise()}${print(one)}${noise()}`,
            );
        const body =
          inner.join(',') + (hasTrailingCommas && inner.length > 0 ? `,${noise()}` : inner.length > 0 ? '' : noise());
        return isArray ? `[${body}]` : `{${body}}`;
      };
      return `${hasMark ? '\ufeff' : ''}${noise()}${print(each)}${noise()}`;
    });

/** Damage to files: truncated, changed, or in another encoding. */
export const broken = (text: fc.Arbitrary<string>): fc.Arbitrary<string> =>
  fc
    .tuple(text, fc.nat(), fc.constantFrom('cut', 'twice', 'tabs', 'nul', 'swap', 'quote', 'yaml'))
    .map(([each, at, how]) => {
      const place = each.length === 0 ? 0 : at % each.length;
      if (how === 'cut') return each.slice(0, place);
      if (how === 'twice') return each + each;
      if (how === 'tabs') return each.replaceAll(' ', '\t');
      if (how === 'nul') return [...each].join('\0');
      if (how === 'swap') return each.replace(/[{[]/, found => (found === '{' ? '[' : '{'));
      if (how === 'quote') return `${each.slice(0, place)}"${each.slice(place)}`;
      return `hooks:\n  - ${each}`;
    });
