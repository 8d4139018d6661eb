import { expect, it } from 'vitest';
import { patient, whileHeld } from '../../src/lib/held-files.ts';

const failing = (code: string, times: number) => {
  let calls = 0;
  return () => {
    calls += 1;
    if (calls <= times) throw Object.assign(new Error(code), { code });
    return calls;
  };
};

function waited(platform: string): { patience: Parameters<typeof whileHeld>[1] & object; total: () => number } {
  let total = 0;
  return {
    patience: {
      platform,
      pause: ms => {
        total += ms;
      },
    },
    total: () => total,
  };
}

it.each([
  ['win32', 'EBUSY'],
  ['win32', 'EPERM'],
  ['win32', 'EACCES'],
  ['linux', 'EBUSY'],
])('on %s, %s is waited for', (platform, code) => {
  const { patience, total } = waited(platform);
  expect(whileHeld(failing(code, 4), patience)).toBe(5);
  expect(total()).toBeGreaterThan(50);
});

it.each([
  ['linux', 'EPERM'],
  ['linux', 'EACCES'],
  ['win32', 'ENOENT'],
  ['win32', 'EEXIST'],
])('on %s, %s is thrown at once', (platform, code) => {
  const { patience, total } = waited(platform);
  expect(() => whileHeld(failing(code, 1), patience)).toThrow(code);
  expect(total()).toBe(0);
});

it('a file that stays held is an error after little more than a second', () => {
  const { patience, total } = waited('win32');
  expect(() => whileHeld(failing('EBUSY', 1_000), patience)).toThrow('EBUSY');
  expect(total()).toBeGreaterThan(1_000);
  expect(total()).toBeLessThan(1_200);
});

it('repeats the named functions only', () => {
  const { patience } = waited('win32');
  const functions = { repeated: failing('EBUSY', 2), single: failing('EBUSY', 2) };
  const { repeated, single } = patient(functions, ['repeated'], patience);
  expect(repeated()).toBe(3);
  expect(() => single()).toThrow('EBUSY');
});
