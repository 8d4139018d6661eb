/**
 * The signature of an error text: equal for two failures that differ only in times, durations, addresses, temporary
 * paths and counters. Other numbers stay: another line or another count of failed tests is progress.
 *
 * The text may be hostile. Each pattern starts with a fixed character or has bounded repetitions.
 */

/** The start of a text is enough to distinguish two errors. */
const LONGEST = 16_384;

const COLORS = /\x1b\[[0-9;]{0,16}[A-Za-z]/g;

const replacements: readonly (readonly [pattern: RegExp, by: string])[] = [
  [COLORS, ''],
  [/\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b/gi, '<id>'],
  [/\/(?:private\/)?(?:tmp|var\/tmp|var\/folders|dev\/shm)\/[^\s'"`:;,()<>|]{1,512}/g, '<temporary>'],
  [/\b[A-Za-z]:\\[^\s'"`:;,()<>|]{0,256}?\\Temp\\[^\s'"`:;,()<>|]{1,512}/gi, '<temporary>'],
  [
    /\b\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d)?(?:[.,]\d{1,9})?(?: ?(?:Z|UTC|GMT|[+-]\d\d:?\d\d))?)?(?![\w-])/g,
    '<time>',
  ],
  [/\b(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun),? (?=[\dA-Z])/g, ''],
  [/\b(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec) [ \d]\d(?:,? \d{4})?(?= )/g, '<time>'],
  [/\b\d\d?:\d\d:\d\d(?:[.,]\d{1,9})?\b/g, '<time>'],
  [/\b0x[0-9a-f]{1,32}\b/gi, '<address>'],
  [/\b(?:\d{1,3}\.){3}\d{1,3}(?::\d{1,5})?\b/g, '<address>'],
  [/\b(localhost|\[::1?\]):\d{1,5}\b/gi, '<address>'],
  [
    /\b\d{1,12}(?:\.\d{1,9})? ?(?:ns|us|µs|μs|ms|msec|s|secs?|seconds?|milliseconds?|m|mins?|minutes?|h|hours?)\b/gi,
    '<duration>',
  ],
  [
    /\b(attempt|try|retry|retries|iteration|run|pid|process|thread|worker|request|req|job|build|seq|sequence|port|counter)((?: (?:id|no|number))?[ :=#]{0,3})\d{1,19}(?: ?(?:\/|of) ?\d{1,19})?\b/gi,
    '$1$2<counter>',
  ],
  [/[[(]\d{1,9} ?\/ ?\d{1,9}[\])]/g, '<counter>'],
  [/#\d{1,19}\b/g, '<counter>'],
];

export function signatureOf(text: string): string {
  let rest = text.slice(0, LONGEST);
  for (const [pattern, by] of replacements) rest = rest.replace(pattern, by);
  return rest
    .replace(/(?:<duration>[ ,]{0,2}){2,16}/g, '<duration>')
    .replace(/\s+/g, ' ')
    .trim();
}
