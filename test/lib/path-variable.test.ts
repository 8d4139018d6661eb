import { expect, it } from 'vitest';
import { pathIn, withPath } from '../../src/lib/path-variable.ts';

it('finds PATH as Windows spells it in a copy of the environment', () => {
  expect(pathIn({ HOME: '/h', Path: 'C:\\bin' })).toBe('C:\\bin');
  expect(pathIn({ Path: 'C:\\bin', PATH: '/bin' })).toBe('/bin');
  expect(pathIn({ HOME: '/h' })).toBeUndefined();
});

it('replaces every spelling', () => {
  expect(withPath({ Path: 'C:\\bin', path: 'D:\\bin', HOME: '/h' }, 'E:\\bin')).toEqual({
    HOME: '/h',
    PATH: 'E:\\bin',
  });
});
