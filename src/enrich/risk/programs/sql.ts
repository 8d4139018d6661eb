/** Programs that send statements to a database. */
import type { Invocation } from '../program.ts';
import type { Subject } from '../subject.ts';

const LONGEST_STATEMENT = 8_192;

/** Arguments with blanks are statements, and so is the input. */
export const statementArguments = ({ words, input }: Invocation): string[] => [
  ...words.map(word => word.text).filter(text => /\s/.test(text.trim())),
  ...(input.text === undefined ? [] : [input.text]),
];

/** The operands after the name of the database are statements too. */
export const statementOperands = (invocation: Invocation): string[] => [
  ...statementArguments(invocation),
  ...(invocation.program === 'sqlite3' ? invocation.operands.slice(1) : []),
];

export const withoutOption = (text: string): string =>
  text.replace(/^(?:-[ceqQ]|--(?:command|execute|query|sql)=)/, '');

/** The statements of a text, without quoted text and comments. */
export function statementsOf(text: string): Subject[] {
  const plain = text.slice(0, LONGEST_STATEMENT).replace(/'[^']*'|--[^\n]*|\/\*[^*]*\*+(?:[^/*][^*]*\*+)*\//g, ' ');
  return plain
    .split(';')
    .map(part => part.replace(/\s+/g, ' ').trim().toLowerCase())
    .filter(part => part !== '')
    .slice(0, 100)
    .map(statement => ({ on: 'sql', fields: { statement: [statement] } }));
}
