/** Whether a word matches one of the patterns, ignoring case; `*` stands for any characters. */
export function wildcards(patterns: readonly string[]): (word: string) => boolean {
  const made = patterns.map(pattern => new RegExp(`^${pattern.split(/\*+/).map(escaped).join('.*')}$`, 'i'));
  return word => made.some(each => each.test(word));
}

const escaped = (text: string): string => text.replaceAll(/[.+?^${}()|[\]\\]/g, '\\$&');
