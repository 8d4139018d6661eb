/** Names that state that a program works on a test environment. */
import type { Invocation } from '../program.ts';
import { MOST_NEIGHBOURS, placesIn } from '../walk.ts';

const TEST_NAME = /(?:^|[^a-z])(?:tests?|e2e|scratch)(?:[^a-z]|$)/i;

const isTestName = (text: string): boolean => !/\s/.test(text) && TEST_NAME.test(text);

/** One of the first arguments: a container, a namespace or a file of a project. */
export const hasTestName = ({ args }: Invocation): boolean => args.slice(0, MOST_NEIGHBOURS).some(isTestName);

/** The name of a database, or its file in a temporary folder. */
export const hasTestDatabase = ({ operands, walk }: Invocation): boolean =>
  operands.some(
    operand => !/\s/.test(operand) && (TEST_NAME.test(operand) || placesIn(operand, walk).includes('temporary')),
  );

/** A database of SQLite in memory ends with its program. */
const IN_MEMORY = /^(?::memory:|file::memory:|file:.*[?&]mode=memory)/;

/** The first operand of `sqlite3` is the database. Without a name it is a temporary one. */
export const hasPassingDatabase = (invocation: Invocation): boolean => {
  const [database] = invocation.operands;
  return database === '' || IN_MEMORY.test(database ?? '') || hasTestDatabase(invocation);
};

/** Database 15 of Redis is the usual one for tests. */
export const hasTestNumber = ({ args }: Invocation): boolean =>
  args.includes('-n') && args[args.indexOf('-n') + 1] === '15';
