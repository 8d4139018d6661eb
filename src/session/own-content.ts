/** The content that a session keeps, by its settings, with the user's own patterns of secrets compiled. */
import type { Config } from '../config/config.ts';
import type { Keeper } from '../enrich/content.ts';
import { type OwnSecrets, withoutSecretsOf } from '../enrich/secrets.ts';
import { type ContentClass, contentClasses, defaultModes, type Modes } from '../event/content-classes.ts';
import type { Problem } from '../problems/problem.ts';
import { re2 } from './re2.ts';
import type { ContentSettings, Pinned } from './session-state.ts';

/** Undefined when nothing is set. An invalid pattern is left out, with a problem. */
export function contentSettings({ values, named }: Pick<Config, 'values' | 'named'>): {
  settings: ContentSettings | undefined;
  problems: Problem[];
} {
  const problems: Problem[] = [];
  const classes = Object.keys(contentClasses) as ContentClass[];
  const modes = Object.fromEntries(classes.map(of => [of, values[`content.${of}`] ?? defaultModes[of]])) as Modes;
  const hashKey = values['content.hash_key'];
  const metadata = values['metadata.include'] ?? [];
  const isUsual = classes.every(of => modes[of] === defaultModes[of]) && hashKey === undefined && metadata.length === 0;
  if (isUsual) return { settings: undefined, problems };
  const usable = (key: 'redaction.patterns' | 'redaction.allow'): string[] =>
    (values[key] ?? []).filter(pattern => {
      try {
        re2(pattern);
        return true;
      } catch (error) {
        const why = error instanceof Error ? error.message : String(error);
        problems.push({ code: 'config-value', key, value: pattern, why, used: 'the others' });
        return false;
      }
    });
  const settings: ContentSettings = {
    modes,
    on: values['content.on'] ?? 'both',
    longest: values.max_chars ?? 20_000,
    hashKey,
    ...(metadata.length === 0 ? {} : { metadata }),
    ...hashesFor(named, modes),
    patterns: usable('redaction.patterns'),
    allow: usable('redaction.allow'),
  };
  return { settings, problems };
}

/** The classes of which a destination gets hashes and the session keeps texts. */
function hashesFor(named: Config['named'], modes: Modes): Pick<ContentSettings, 'hashes'> {
  const hashes = (Object.keys(contentClasses) as ContentClass[]).filter(
    of => (modes[of] === 'redacted' || modes[of] === 'full') && named.some(({ content }) => content?.[of] === 'hash'),
  );
  return hashes.length === 0 ? {} : { hashes };
}

/**
 * Compiled settings. They come with the state of each session in every round, and compiling is slow. A cache by value.
 */
const ready = new Map<string, Keeper>();
const MOST_READY = 16;

/** Undefined: only what redaction allows. */
export function keeperOf({ content }: Pick<Pinned, 'content'>): Keeper | undefined {
  if (content === undefined) return undefined;
  const key = JSON.stringify(content);
  const known = ready.get(key);
  if (known !== undefined) return known;
  const own = ownSecrets(content);
  const keeper: Keeper = {
    modes: content.modes,
    hashes: content.hashes,
    metadata: content.metadata,
    longest: content.longest,
    clean: (text, name) => withoutSecretsOf(name, text, own),
  };
  if (ready.size >= MOST_READY) ready.clear();
  ready.set(key, keeper);
  return keeper;
}

function ownSecrets({ patterns, allow }: ContentSettings): OwnSecrets | undefined {
  if (patterns.length + allow.length === 0) return undefined;
  const found = patterns.map(pattern => re2(pattern));
  const allowed = allow.map(pattern => re2(pattern));
  return {
    find(text) {
      const places: [number, number][] = [];
      for (const pattern of found) {
        const matcher = pattern.matcher(text);
        while (matcher.find()) places.push([matcher.start(), matcher.end()]);
      }
      return places.sort((a, b) => a[0] - b[0]);
    },
    isAllowed: secret => allowed.some(pattern => pattern.matcher(secret).matches()),
  };
}
