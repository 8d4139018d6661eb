/**
 * Walks the text of a shell and notes the subjects of the rules: each program that it starts with its arguments, and
 * the files, hosts and code that the program works on. The table in programs.ts describes each program.
 */
import { isLocal, urlFields } from './address.ts';
import { expanded, MOST_EXPANDED } from './expand.ts';
import { placesOf, plainPath } from './places.ts';
import { type Execution, type Invocation, isOfTest, type Program, SELECTS_TEST } from './program.ts';
import { noteAddresses, noteFiles, shellLinesIn } from './programs/code.ts';
import { codeOf } from './programs/executes.ts';
import { outputOf } from './programs/output.ts';
import { OWN_NETWORK } from './programs/sends.ts';
import { statementsOf, withoutOption } from './programs/sql.ts';
import { startedBy } from './programs/starts.ts';
import { programOf, rowOf } from './programs.ts';
import { type Command, LONGEST_SCRIPT, type Redirection, readShell, type Script, type Word } from './shell.ts';
import type { Subject } from './subject.ts';
import {
  DEEPEST,
  type Flow,
  LONGEST_LINE,
  LONGEST_WORD,
  MOST_NEIGHBOURS,
  MOST_SUBJECTS,
  MOST_WORDS,
  merged,
  NOTHING,
  nameOf,
  newWalk,
  note,
  noteDelete,
  noteRead,
  noteWrite,
  nothing,
  rememberFetched,
  type Walk,
} from './walk.ts';
import { paid, type Work } from './work.ts';

export function subjectsOfShell(text: string, workspace: string | undefined, work: Work): Subject[] {
  const walk = newWalk(workspace, work);
  walkScript(scriptIn(text, walk), walk, nothing());
  return walk.subjects;
}

const NO_SCRIPT: Script = { pipelines: [], functions: [] };

/** Returns the commands of a text; empty if the account of work cannot pay for it. */
const scriptIn = (text: string, { work }: Walk): Script =>
  paid(work, Math.min(text.length, LONGEST_SCRIPT)) ? readShell(text) : NO_SCRIPT;

function walkScript(script: Script, walk: Walk, input: Flow): Flow {
  const out: Flow[] = [];
  for (const name of script.functions) walk.functions.add(name);
  for (const pipeline of script.pipelines) {
    let flow = input;
    const lines = pipeline.length > 1 ? pipeline.map(lineOf) : [];
    for (const [at, command] of pipeline.entries()) {
      if (walk.subjects.length > MOST_SUBJECTS || walk.work.left <= 0) return merged(out);
      flow = walkCommand(command, walk, flow, lines.slice(at + 1, at + 1 + MOST_NEIGHBOURS));
    }
    const [first, second] = lines.map(firstOf);
    if (first !== undefined && first === second && walk.functions.has(first)) {
      walk.subjects.push({ on: 'command', fields: { program: ['fork-bomb'], line: [first] } });
    }
    out.push(flow);
  }
  return merged(out);
}

const walkDeeper = (text: string, walk: Walk, input: Flow): Flow =>
  walkScript(scriptIn(text, walk), deeper(walk), input);

const deeper = (walk: Walk): Walk => ({ ...walk, depth: walk.depth + 1 });

/** Returns the text of a command as the rules match it for the other commands of its pipe. */
const lineOf = ({ words }: Command): string =>
  words
    .slice(0, MOST_NEIGHBOURS)
    .map(({ text }) => text.slice(0, LONGEST_LINE))
    .join(' ')
    .slice(0, LONGEST_LINE);
const firstOf = (line: string): string => line.split(' ', 1)[0] ?? '';
const programIn = (line: string): string => nameOf(firstOf(line));
const firstWord = ({ words }: Command): string => words[0]?.text ?? '';

// ---------------------------------------------------------------- one command

function walkCommand(command: Command, given: Walk, piped: Flow, to: readonly string[]): Flow {
  const isTest = command.assignments.some(({ text }) => SELECTS_TEST.test(text));
  // An assignment before a program holds for this program only; alone it holds for all commands that follow.
  const walk = isTest && !given.isTest && command.words.length > 0 ? { ...given, isTest } : given;
  if (isTest) walk.isTest = true;
  const isCaptured = walk.isCaptured || !rowOf(nameOf(firstWord(command))).isPrinter;
  const substituted = (words: readonly Word[]): Flow => substitutedIn(words, walk, isCaptured);

  noteSocketHosts(command.redirections, walk);
  const fed = [piped, ...command.redirections.flatMap(each => redirected(each, command, substituted, walk))];
  for (const word of command.assignments) noteAssignment(word.text, walk);
  const assigned = substituted(command.assignments);
  if (command.words.length === 0) for (const word of command.assignments) remember(word, assigned, walk);
  const input = merged(fed);
  if (command.group) return walkScript(command.group, walk, input);
  if (command.words.length === 0) return merged([input, assigned]);

  const words = command.words
    .slice(0, MOST_WORDS)
    .flatMap(word => expanded(word, walk))
    .slice(0, MOST_WORDS);
  rememberLoopValues(words, walk);
  const inWords = substituted(command.words);
  rememberTags(command, words, inWords, walk);
  const target = fileOfOutput(command);
  noteTextsFed(command, words, to, target !== undefined, walk);
  const isKept = target !== undefined && !/^\/dev\/(?:std(?:out|err)|tty|fd\/\d+)$/.test(target);
  const out = start(words, walk, { input, substituted: inWords, to, isSudo: false, isKept });
  if (command.redirections.some(isOutputToSocket)) noteSentToSocket(out, walk);
  if (target === undefined) return out;
  rememberFetched(target, out, walk);
  return nothing();
}

/** The output of all substitutions in these words. */
function substitutedIn(words: readonly Word[], walk: Walk, isCaptured: boolean): Flow {
  const flows: Flow[] = [];
  for (const word of words) {
    for (const script of word.inner) flows.push(walkScript(script, { ...walk, isCaptured }, nothing()));
    for (const name of walk.tagged.size > 0 ? word.variables : []) {
      const tags = walk.tagged.get(name);
      if (tags !== undefined) flows.push({ ...NOTHING, tags: new Set(tags) });
    }
  }
  return flows.length === 0 ? NOTHING : merged(flows);
}

// ---------------------------------------------------------------- redirections

const SOCKET = /^\/dev\/(?:tcp|udp)\//;

const isInput = ({ operator }: Redirection): boolean =>
  operator === '<<' || operator === '<<<' || operator === '<' || operator === '<>';

const isOutputToSocket = (redirection: Redirection): boolean =>
  !isInput(redirection) && SOCKET.test(redirection.target.text);

/** Notes the effect of a redirection, and returns the flows that it feeds to the command. */
function redirected(
  redirection: Redirection,
  command: Command,
  substituted: (words: readonly Word[]) => Flow,
  walk: Walk,
): Flow[] {
  const { operator, target } = redirection;
  const own = substituted([target]);
  const isSocket = SOCKET.test(target.text);
  if (operator === '<<' || operator === '<<<') return [{ ...own, text: target.text, programs: [] }];
  if (isSocket) {
    // A probe of a port moves no data.
    if (!(operator === '<' || operator === '>') || !isProbe(command))
      note(walk, 'command', { program: ['dev-tcp'], line: [target.text] });
    return [];
  }
  if (isInput(redirection)) return [own, noteRead(target.text, 'cat', walk)];
  if (!/^(?:\d+|-)$/.test(target.text))
    noteWrite(target.text, firstWord(command), operator.includes('>>') ? 'append' : 'replace', walk);
  return [];
}

/** A command that only tests whether a port answers: it prints nothing or one word. */
const isProbe = (command: Command): boolean => /^(?:|echo|printf|:|true|cat)$/.test(nameOf(firstWord(command)));

function noteSocketHosts(redirections: readonly Redirection[], walk: Walk): void {
  for (const { target } of redirections) {
    const [, host] = /^\/dev\/(?:tcp|udp)\/([^/]{1,256})/.exec(target.text) ?? [];
    if (host !== undefined) note(walk, 'url', urlFields(`tcp://${host}`, 'dev-tcp'));
  }
}

function noteSentToSocket({ tags }: Flow, walk: Walk): void {
  if (!tags.has('secret') && !tags.has('file')) return;
  note(walk, 'send', { what: [tags.has('secret') ? 'secret' : 'input'], where: ['remote'], program: ['dev-tcp'] });
}

/** The file that standard output goes to. */
const fileOfOutput = ({ redirections }: Command): string | undefined =>
  redirections.find(({ operator, from }) => (operator === '>' || operator === '>>') && from !== '2')?.target.text;

/** A text that is fed with `<<<`, or with `<<` to `cat`, is printed as if by `echo`. */
function noteTextsFed(
  command: Command,
  words: readonly Word[],
  to: readonly string[],
  isToFile: boolean,
  walk: Walk,
): void {
  for (const { operator, target } of command.redirections) {
    const isPrinted = operator === '<<<' || (operator === '<<' && words[0]?.text === 'cat');
    if (!isPrinted) continue;
    const behind = [lineOf(command), ...to].slice(0, MOST_NEIGHBOURS);
    note(walk, 'command', {
      program: ['echo'],
      line: ['echo …'],
      operand: [target.text.slice(0, LONGEST_LINE)],
      variable: target.variables,
      to: behind.map(programIn),
      behind,
      by: [...(walk.isCaptured ? ['variable'] : []), ...(isToFile ? ['file'] : [])],
    });
  }
}

// ---------------------------------------------------------------- variables

const DECLARATIONS = new Set(['export', 'declare', 'local', 'readonly', 'typeset']);

function remember({ text, inner }: Word, flow: Flow, walk: Walk): void {
  const at = text.indexOf('=');
  if (at <= 0) return;
  const name = text.slice(0, at);
  if (SELECTS_TEST.test(text)) walk.isTest = true;
  if (inner.length === 0) walk.variables.set(name, [text.slice(at + 1)]);
  else if (flow.tags.size > 0) walk.tagged.set(name, flow.tags);
}

/** `for NAME in VALUES` */
function rememberLoopValues(words: readonly Word[], walk: Walk): void {
  const [loop, name, keyword] = words;
  if (loop?.text !== 'for' || keyword?.text !== 'in' || !/^[A-Za-z_]\w*$/.test(name?.text ?? '')) return;
  walk.variables.set(
    name?.text ?? '',
    words.slice(3, 3 + MOST_EXPANDED).map(word => word.text),
  );
}

/** Remembers the tags of substitutions in the values of a loop or of a declaration. */
function rememberTags(command: Command, [first, second]: readonly Word[], substituted: Flow, walk: Walk): void {
  const name = first?.text ?? '';
  if (name === 'for' && substituted.tags.size > 0) walk.tagged.set(second?.text ?? '', substituted.tags);
  if (DECLARATIONS.has(name)) for (const word of command.words.slice(1)) remember(word, substituted, walk);
}

function noteAssignment(text: string, walk: Walk): void {
  const at = text.indexOf('=');
  if (at <= 0) return;
  const value = text.slice(at + 1, at + 1 + LONGEST_WORD);
  note(walk, 'assign', { name: [text.slice(0, at)], value: [value] });
  if (/^[a-z][a-z0-9+.-]{1,20}:\/\//i.test(value)) note(walk, 'url', urlFields(value, 'assign'));
}

/** Notes the variables that `export` or `declare` sets, or PowerShell with `$name = value`. */
function noteArgumentAssignments({ program, row, args }: Invocation, walk: Walk): void {
  if (row.assigns) for (const arg of args) noteAssignment(arg, walk);
  if (!program.startsWith('$')) return;
  if (/=$/.test(args[0] ?? program)) noteAssignment(`${program.slice(1)}=${args[1] ?? ''}`, walk);
  else if (program.includes('=')) noteAssignment(program.slice(1), walk);
}

// ---------------------------------------------------------------- one program

/** The context of a program in its line. */
interface Around {
  input: Flow;
  substituted: Flow;
  /** The lines after it in the pipe. */
  to: readonly string[];
  isSudo: boolean;
  /** Its output goes to a file. */
  isKept: boolean;
}

function start(given: readonly Word[], walk: Walk, around: Around): Flow {
  const { input } = around;
  const [first, ...words] = given.slice(0, MOST_WORDS);
  if (first === undefined || !paid(walk.work, 0, given.length)) return input;
  const named = nameOf(first.text);
  const program = programOf(named);
  const row = rowOf(program);
  const started = row.starts === undefined ? [] : startedBy(row.starts, words);
  if (started.length > 0) return startNext(row, started, walk, around);
  if (!paid(walk.work, lengthOf(words), words.length)) return input;
  const args = words.map(word => optionOf(named, word.text.slice(0, LONGEST_WORD)));
  const excludes = row.excludes ?? EXCLUDES;
  const invocation: Invocation = {
    program,
    row,
    words,
    args,
    flags: args.flatMap(flagsOf),
    operands: args.filter((arg, at) => (!arg.startsWith('-') || arg === '-') && !excludes.test(args[at - 1] ?? '')),
    substituted: around.substituted,
    input,
    isSudo: around.isSudo,
    walk,
  };
  return invoke(invocation, given, around);
}

const lengthOf = (words: readonly Word[]): number =>
  words.reduce((sum, { text }) => sum + Math.min(text.length, LONGEST_WORD), 0);

/** Options of PowerShell and cmd in the form of other shells: `rd /s /q` is `rd -r -q`. */
const optionOf = (program: string, arg: string): string =>
  /^(?:rd|rmdir|del|erase)$/i.test(program) && /^\/[a-z]$/i.test(arg) ? (/s/i.test(arg) ? '-r' : '-q') : arg;

/** The value of these options is excluded from the work of the program. */
const EXCLUDES = /^(?:--exclude(?:-dir|-from)?|--ignore|--filter)$/;

/** `-rf` is r, f and rf; `--force=yes` is force; `-delete` is its letters and itself. */
function flagsOf(arg: string): string[] {
  if (arg.startsWith('--')) return [arg.slice(2).split('=', 1)[0] ?? ''];
  if (!/^-[A-Za-z]/.test(arg) || arg.length > 40) return [];
  const letters = arg.slice(1);
  return letters.length === 1 ? [letters] : [...letters, letters];
}

/** Starts the program of a starter; one word with blanks is a line for a shell. */
function startNext({ starts }: Program, started: readonly Word[], walk: Walk, around: Around): Flow {
  const [only] = started;
  if (started.length === 1 && only !== undefined && /\s/.test(only.text) && walk.depth < DEEPEST)
    return walkDeeper(only.text, walk, nothing());
  const added = starts?.addsInput ? around.input.paths.map(quotedWord) : [];
  return start([...started, ...added], walk, { ...around, isSudo: around.isSudo || starts?.isRoot === true });
}

const alone = (): Around => ({ input: nothing(), substituted: nothing(), to: [], isSudo: false, isKept: false });

const quotedWord = (text: string): Word => ({ text, variables: [], inner: [], quoted: true });

function invoke(invocation: Invocation, given: readonly Word[], around: Around): Flow {
  const { program, row, args, walk } = invocation;
  const { heredoc, code } = codeOf(invocation);
  const { origins, shown } = execute(invocation, given[0]?.text ?? '');
  noteCommand(invocation, { given, heredoc, origins }, around);
  for (const arg of args) {
    if (!arg.includes('://')) continue;
    for (const [url] of arg.matchAll(/\b[a-z][a-z0-9+.-]{1,20}:\/\/[^\s'"<>]+/gi))
      note(walk, 'url', urlFields(url, program));
  }
  noteArgumentAssignments(invocation, walk);
  if (code !== undefined) walkCode(program, code, walk);
  noteFilesOf(invocation);
  noteStatements(invocation);
  noteSent(invocation);
  const within = walk.depth < DEEPEST ? (row.startsWithin?.(invocation.words) ?? []) : [];
  if (within.length > 0) return start(within, deeper(walk), { ...around, substituted: NOTHING, isSudo: false });
  const out = outputOf(invocation);
  return shown.programs.length === 0 ? out : { ...merged([out, shown]), text: out.text };
}

interface Details {
  /** All words, with the name of the program. */
  given: readonly Word[];
  heredoc: string | undefined;
  origins: ReadonlySet<string>;
}

function noteCommand(invocation: Invocation, { given, heredoc, origins }: Details, around: Around): void {
  const { program, args, flags, operands, substituted, input, walk } = invocation;
  const { to, isSudo, isKept } = around;
  const { cwd, workspace } = walk;
  const fields: Subject['fields'] = {
    program: [program],
    line: [[program, ...args.map(arg => (/\s/.test(arg) ? '…' : arg))].join(' ').slice(0, LONGEST_LINE)],
    word: heredoc === undefined ? args : [...args, heredoc],
    flag: flags,
    operand: operands,
    variable: given.flatMap(word => [...word.variables, ...windowsVariables(word.text)]),
    executes: [...origins],
    input: [...input.tags],
    argument: [...substituted.tags],
    from: input.programs,
    to: to.map(programIn),
    behind: to,
    by: [...(isSudo ? ['sudo'] : []), ...(walk.isCaptured ? ['variable'] : []), ...(isKept ? ['file'] : [])],
    stage: isOfTest(invocation) ? ['test'] : [],
  };
  note(walk, 'command', fields, () => operands.flatMap(operand => placesOf(operand, cwd, workspace)));
}

/** Names of variables as `cmd` writes them: `%NAME%`. */
const windowsVariables = (text: string): string[] =>
  text.includes('%')
    ? [...text.slice(0, LONGEST_LINE).matchAll(/%([A-Za-z_]\w{0,64})%/g)].map(([, name = '']) => name)
    : [];

/** Executes the code of a program: returns the origins of that code, and the output of the shell that it starts. */
function execute(invocation: Invocation, first: string): { origins: ReadonlySet<string>; shown: Flow } {
  const { row, walk } = invocation;
  const execution: Execution = row.executes?.(invocation) ?? {};
  const origins = originsOf(execution, invocation, first);
  if (walk.depth >= DEEPEST) return { origins, shown: NOTHING };
  const { script, input, command } = execution;
  if (command !== undefined) start(command, deeper(walk), alone());
  if (script === undefined) return { origins, shown: NOTHING };
  const fed = input !== undefined && input.tags.size > 0 ? { ...input, text: undefined } : nothing();
  return { origins, shown: walkDeeper(script, walk, fed) };
}

/** Which parts of the executed code, and of the program itself, were downloaded or decoded. */
function originsOf({ tags, files, flows }: Execution, { substituted, walk }: Invocation, first: string): Set<string> {
  const origins = new Set(tags);
  for (const path of [first, ...(files ?? [])]) {
    const origin = originOf(path, walk);
    if (origin !== undefined) origins.add(origin);
  }
  if (!first.includes('/'))
    for (const [path, how] of walk.fetched) if (path.endsWith(`/bin/${first}`)) origins.add(how);
  for (const flow of [...(flows ?? []), ...(first.startsWith('$') ? [substituted] : [])])
    for (const tag of flow.tags) {
      if (tag === 'download' || tag === 'decoded') origins.add(tag);
      if (tag === 'decompressed') origins.add('decoded');
    }
  return origins;
}

/** Returns the origin of a file that was downloaded or decoded before. */
function originOf(path: string, walk: Walk): 'download' | 'decoded' | undefined {
  const plain = plainPath(path, walk.cwd);
  return walk.fetched.get(plain) ?? (path.includes('/') && isBelowAny(plain, walk.unpacked) ? 'download' : undefined);
}

function isBelowAny(path: string, folders: ReadonlySet<string>): boolean {
  for (const folder of folders) if (folder === '' || path.startsWith(`${folder}/`)) return true;
  return false;
}

function walkCode(program: string, code: string, walk: Walk): void {
  noteAddresses(program, code, walk);
  for (const line of shellLinesIn(code)) if (walk.depth < DEEPEST) walkDeeper(line, walk, nothing());
  noteFiles(program, code, walk);
}

function noteFilesOf(invocation: Invocation): void {
  const { program, row, walk } = invocation;
  if (!row.hidesValues?.(invocation)) for (const path of row.reads?.(invocation) ?? []) noteRead(path, program, walk);
  for (const { path, how, by } of row.writes?.(invocation) ?? []) noteWrite(path, by ?? program, how, walk);
  for (const { path, how } of row.deletes?.(invocation) ?? []) noteDelete(path, program, how, walk);
}

function noteStatements(invocation: Invocation): void {
  const { row, operands, walk } = invocation;
  if (row.queries === undefined) return;
  const stage = isOfTest({ ...invocation, args: operands }) ? ['test'] : [];
  for (const text of new Set(row.queries(invocation)))
    for (const { on, fields } of statementsOf(withoutOption(text))) note(walk, on, { ...fields, stage });
}

function noteSent(invocation: Invocation): void {
  const { program, row, flags, walk } = invocation;
  const { what, hosts } = row.sends?.(invocation) ?? NOTHING_SENT;
  if (what.size === 0 || hosts.length === 0) return;
  // A file without secrets may go to a host of the private network.
  const isPlain =
    [...what].every(each => each === 'file') && hosts.every(host => OWN_NETWORK.test(host) && host !== program);
  const where = hosts.every(isLocal) || isPlain ? 'local' : 'remote';
  note(walk, 'send', { what: [...what], where: [where], host: hosts, program: [program], flag: flags });
}

const NOTHING_SENT = { what: new Set<string>(), hosts: [] };
