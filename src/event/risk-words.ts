/**
 * The words of a risk rule: kinds of subjects, and their fields. Settings and the built-in rules use the same words.
 */
export const subjectKinds = {
  command: 'a program that a shell starts',
  read: 'a file that is read',
  write: 'a file that is written',
  delete: 'a file or folder that is deleted',
  send: 'data that is sent to another machine',
  url: 'an address that is named',
  assign: 'a variable that is set',
  sql: 'a statement for a database',
  text: 'any text of the action',
  mcp: 'a tool of an MCP server',
  mode: "the agent's mode of asking",
} as const;

export type SubjectKind = keyof typeof subjectKinds;

export const fields = {
  program: 'the name of the program, without its folder',
  line: 'program and arguments, one space between them; an argument with blanks is `…`',
  word: 'each argument',
  flag: 'options: `-rf` is r, f and rf, `--force=yes` is force',
  operand: 'arguments that are not options',
  place: 'the kind of place of a path',
  path: 'the path, homes as `~`',
  variable: 'names of variables in the arguments',
  executes: 'foreign code that is run: download, decoded',
  input: 'content of the pipe: download, decoded, secret, file',
  argument: 'content that a substitution puts into the arguments; the words of input',
  from: 'programs before it in the pipe',
  to: 'programs behind it in the pipe',
  behind: 'the programs behind it, with their arguments',
  by: 'sudo, shell or action: the starter; variable: the output goes into a variable or an argument; file: into a file',
  stage: '`test`, if a variable or a name shows that the work is on a test',
  how: 'recursive or single; append or replace',
  what: 'the data that is sent: secret, file, input',
  where: 'local or remote',
  host: 'name or number of the host',
  url: 'the whole address',
  name: 'name of the variable',
  value: 'its value',
  statement: 'a statement in small letters, without its quoted texts',
  text: 'the text',
  holds: '`secret`, if the text has a secret of a kind in docs/privacy.md',
  tool: 'name of the tool in small letters, `_` between words',
  server: 'name of the server',
  mode: 'the mode, as the agent calls it',
} as const;

export type Field = keyof typeof fields;
