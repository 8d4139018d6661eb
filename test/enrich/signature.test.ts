/** The signature of an error: equal texts are one failure, different texts are two. */
import { expect, test } from 'vitest';
import { signatureOf } from '../../src/enrich/signature.ts';

test.each([
  ['times', 'failed at 2026-03-02T09:00:01.123Z', 'failed at 2026-03-02T09:14:55.001Z'],
  ['times of a day', '[09:00:01] error', '[10:11:12.345] error'],
  ['dates in words', 'Mon Mar  2 09:00:01 2026: no route', 'Tue Mar 13 21:30:00 2026: no route'],
  ['durations', '1 failed in 3.21s', '1 failed in 12.9s'],
  ['durations of two parts', 'gave up after 1m 3s', 'gave up after 2m 41s'],
  ['addresses in memory', 'segfault at 0x7ffe12ab', 'segfault at 0x55d0c01f'],
  ['addresses of hosts', 'connect ECONNREFUSED 127.0.0.1:41233', 'connect ECONNREFUSED 127.0.0.1:38711'],
  ['ports', 'cannot reach localhost:5001', 'cannot reach localhost:5093'],
  ['temporary paths', 'ENOENT: /tmp/build-Xy12/out.js', 'ENOENT: /tmp/build-Qq98/out.js'],
  ['temporary paths of macOS', 'no /private/var/folders/a1/T/x9', 'no /private/var/folders/a1/T/y7'],
  [
    'temporary paths of Windows',
    'no C:\\Users\\kim\\AppData\\Local\\Temp\\a1.txt',
    'no C:\\Users\\kim\\AppData\\Local\\Temp\\b2.txt',
  ],
  ['ids', 'job 0f0e0d0c-1111-4222-8333-444455556666 lost', 'job 99999999-1111-4222-8333-444455556666 lost'],
  ['counters', 'attempt 1 of 5: refused', 'attempt 2 of 5: refused'],
  ['process ids', 'process 4711 exited', 'process 815 exited'],
  ['steps in brackets', '[3/12] compile error', '[7/12] compile error'],
  ['colors and blanks', '\u001b[31merror\u001b[0m:  no rule\n', 'error: no rule'],
])('failures that differ in %s only are equal', (_, one, two) => {
  expect(signatureOf(two)).toBe(signatureOf(one));
});

test.each([
  ['the line', 'main.ts:12:3 error', 'main.ts:40:3 error'],
  ['the number of failed tests', 'Tests: 5 failed, 7 passed', 'Tests: 2 failed, 10 passed'],
  ['the exit code', 'exit code 1', 'exit code 2'],
  ['the expected value', 'expected 3, got 4', 'expected 3, got 5'],
  ['the file', 'ENOENT: src/a.ts', 'ENOENT: src/b.ts'],
  ['the version', 'needs node 20.1', 'needs node 22.1'],
])('failures that differ in %s are different', (_, one, two) => {
  expect(signatureOf(two)).not.toBe(signatureOf(one));
});

test('a hostile text costs no more than its length', () => {
  for (const part of ['/tmp/', '1 1 ', 'C:\\\\', '2026-01-01T', 'job '.repeat(3), '<duration> ', '(1/'])
    expect(signatureOf(part.repeat(200_000)).length).toBeLessThanOrEqual(20_000);
});
