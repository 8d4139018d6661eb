/**
 * What a shell's text makes run, and what that does as far as words tell: which program with which arguments, what it reads, writes,
 * deletes, fetches, sends and runs in turn. Programs that only start others (sudo, xargs, `sh -c`, ssh) are looked through.
 */
import { own } from '../../lib/read.ts';
import { type Place, placesOf, plainPath } from './places.ts';
import { type Command, LONGEST_SCRIPT, readShell, type Script, type Word } from './shell.ts';
import { SECRET_NAME, type Subject } from './subject.ts';
import { paid, type Work } from './work.ts';

/** What flows from one program into the next. */
interface Flow {
  /** download, decoded, secret, file: what is in it. */
  tags: Set<string>;
  /** The text itself, where the line says it. */
  text: string | undefined;
  /** Paths that it lists. */
  paths: string[];
  programs: string[];
}

interface Walk {
  subjects: Subject[];
  workspace: string | undefined;
  /** Where commands run, as far as the line says it. */
  cwd: string | undefined;
  /** Files that were fetched or decoded before, and folders into which something fetched was unpacked. */
  fetched: Map<string, 'download' | 'decoded'>;
  unpacked: Set<string>;
  /** Variables whose values the line says; in a loop one after the other. */
  variables: Map<string, readonly string[]>;
  /** What went into variables by a substitution. */
  tagged: Map<string, ReadonlySet<string>>;
  /** What is shown goes into a variable or an argument. */
  isCaptured: boolean;
  /** A variable says that all of it is a test's. */
  isTest: boolean;
  places: Map<string, readonly Place[]>;
  /** Names of functions that are defined so far. */
  functions: Set<string>;
  depth: number;
  /** Shared by all that one action makes run. */
  work: Work;
}

const DEEPEST = 6;
/**
 * Patterns that look behind and ahead may go over a line more than once: what they get to see is short, so that no line takes long.
 */
const LONGEST_LINE = 512;
const LONGEST_WORD = 4_096;
const LONGEST_STATEMENT = 8_192;
const MOST_WORDS = 256;
const MOST_NEIGHBOURS = 8;
/** More commands than any line of sense has; the rest is not looked at. */
const MOST_SUBJECTS = 1_000;

export function subjectsOfShell(text: string, workspace: string | undefined, work: Work): Subject[] {
  const walk: Walk = {
    subjects: [],
    workspace,
    cwd: undefined,
    fetched: new Map(),
    unpacked: new Set(),
    variables: new Map(),
    tagged: new Map(),
    isCaptured: false,
    isTest: false,
    places: new Map(),
    functions: new Set(),
    depth: 0,
    work,
  };
  walkScript(scriptIn(text, walk), walk, nothing());
  return walk.subjects;
}

const NO_SCRIPT: Script = { pipelines: [], functions: [] };

/** What a text makes run; of a text that the work left does not pay for, nothing. */
const scriptIn = (text: string, { work }: Walk): Script =>
  paid(work, Math.min(text.length, LONGEST_SCRIPT)) ? readShell(text) : NO_SCRIPT;

/** Read, never written. */
const NOTHING: Flow = { tags: new Set(), text: undefined, paths: [], programs: [] };
const nothing = (): Flow => ({ tags: new Set(), text: undefined, paths: [], programs: [] });

function merged(flows: readonly Flow[]): Flow {
  const [only] = flows;
  if (only !== undefined && flows.length === 1) return only;
  const all = nothing();
  for (const flow of flows) {
    for (const tag of flow.tags) all.tags.add(tag);
    all.paths = [...all.paths, ...flow.paths].slice(0, MOST_WORDS);
    all.programs = [...all.programs, ...flow.programs].slice(-MOST_NEIGHBOURS);
    // A shell that is given more than this reads no further.
    if (flow.text !== undefined && (all.text?.length ?? 0) < LONGEST_SCRIPT)
      all.text = all.text === undefined ? flow.text : `${all.text}\n${flow.text}`;
  }
  return all;
}

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

/** Looks whether somebody answers, and says nothing or one word. */
const isProbe = ({ words }: Command): boolean => /^(?:|echo|printf|:|true|cat)$/.test(nameOf(words[0]?.text ?? ''));

/** What a command looks like to those before it in the pipe. */
const lineOf = ({ words }: Command): string =>
  words
    .slice(0, MOST_NEIGHBOURS)
    .map(({ text }) => text.slice(0, LONGEST_LINE))
    .join(' ')
    .slice(0, LONGEST_LINE);
const firstOf = (line: string): string => line.split(' ', 1)[0] ?? '';

/** What is around a program: those behind it in the pipe, and where its output goes. */
interface Around {
  to: readonly string[];
  isSudo: boolean;
  isKept: boolean;
}
const ALONE: Around = { to: [], isSudo: false, isKept: false };

function walkCommand(command: Command, given: Walk, piped: Flow, to: readonly string[]): Flow {
  const isTest = command.assignments.some(({ text }) => OF_A_TEST.test(text));
  // Only the prefix of a command is its own: alone it stays for what follows.
  const walk = isTest && !given.isTest && command.words.length > 0 ? { ...given, isTest } : given;
  if (isTest) walk.isTest = true;
  const isCaptured = walk.isCaptured || !PRINTERS.has(nameOf(command.words[0]?.text ?? ''));
  const inner = (words: readonly Word[]): Flow => {
    const flows: Flow[] = [];
    for (const word of words) {
      for (const script of word.inner) flows.push(walkScript(script, { ...walk, isCaptured }, nothing()));
      for (const name of walk.tagged.size > 0 ? word.variables : []) {
        const tags = walk.tagged.get(name);
        if (tags !== undefined) flows.push({ ...NOTHING, tags: new Set(tags) });
      }
    }
    return flows.length === 0 ? NOTHING : merged(flows);
  };
  const fed: Flow[] = [piped];
  let isSent = false;
  for (const { target } of command.redirections) {
    const [, host] = /^\/dev\/(?:tcp|udp)\/([^/]{1,256})/.exec(target.text) ?? [];
    if (host !== undefined) note(walk, 'url', urlFields(`tcp://${host}`, 'dev-tcp'));
  }
  for (const { operator, target } of command.redirections) {
    const own = inner([target]);
    if (operator === '<<' || operator === '<<<') fed.push({ ...own, text: target.text, programs: [] });
    else if (operator === '<' || operator === '<>') {
      if (/^\/dev\/(?:tcp|udp)\//.test(target.text)) {
        if (operator === '<>' || !isProbe(command))
          note(walk, 'command', { program: ['dev-tcp'], line: [target.text] });
      } else fed.push(own, readFile(target.text, 'cat', walk));
    } else if (/^\/dev\/(?:tcp|udp)\//.test(target.text)) {
      if (operator !== '>' || !isProbe(command)) note(walk, 'command', { program: ['dev-tcp'], line: [target.text] });
      isSent = true;
    } else if (!/^(?:\d+|-)$/.test(target.text)) {
      writeFile(target.text, command.words[0]?.text ?? '', operator.includes('>>') ? 'append' : 'replace', walk);
    }
  }
  for (const word of command.assignments) assigned(word.text, walk);
  const assignedFlow = inner(command.assignments);
  if (command.words.length === 0) for (const word of command.assignments) remember(word, assignedFlow, walk);
  const input = merged(fed);
  if (command.group) return walkScript(command.group, walk, input);
  if (command.words.length === 0) return merged([input, assignedFlow]);
  const target = command.redirections.find(
    ({ operator, from }) => (operator === '>' || operator === '>>') && from !== '2',
  )?.target.text;
  const words = command.words
    .slice(0, MOST_WORDS)
    .flatMap(word => expanded(word, walk))
    .slice(0, MOST_WORDS);
  const each = words[1]?.text ?? '';
  if (words[0]?.text === 'for' && words[2]?.text === 'in' && /^[A-Za-z_]\w*$/.test(each))
    walk.variables.set(
      each,
      words.slice(3, 3 + MOST_EXPANDED).map(word => word.text),
    );
  const within = inner(command.words);
  if (words[0]?.text === 'for' && within.tags.size > 0) walk.tagged.set(each, within.tags);
  if (DECLARATIONS.has(words[0]?.text ?? '')) for (const word of command.words.slice(1)) remember(word, within, walk);
  for (const { operator, target: fedIn } of command.redirections) {
    const isHere = operator === '<<<' || (operator === '<<' && words[0]?.text === 'cat');
    if (!isHere) continue;
    const behind = [lineOf(command), ...to].slice(0, MOST_NEIGHBOURS);
    note(walk, 'command', {
      program: ['echo'],
      line: ['echo …'],
      operand: [fedIn.text.slice(0, LONGEST_LINE)],
      variable: fedIn.variables,
      to: behind.map(line => nameOf(firstOf(line))),
      behind,
      by: [...(walk.isCaptured ? ['variable'] : []), ...(target === undefined ? [] : ['file'])],
    });
  }
  const isKept = target !== undefined && !/^\/dev\/(?:std(?:out|err)|tty|fd\/\d+)$/.test(target);
  const out = run(words, within, walk, input, { to, isSudo: false, isKept });
  if (isSent && ['secret', 'file'].some(tag => out.tags.has(tag)))
    note(walk, 'send', {
      what: [out.tags.has('secret') ? 'secret' : 'input'],
      where: ['remote'],
      program: ['dev-tcp'],
    });
  if (target === undefined) return out;
  fetch(target, out, walk);
  return nothing();
}

/** What was fetched or decoded lies in a file now. */
function fetch(path: string, { tags }: Flow, walk: Walk): void {
  const how = tags.has('decoded') ? 'decoded' : tags.has('download') ? 'download' : undefined;
  if (how !== undefined) walk.fetched.set(plainPath(path, walk.cwd), how);
}

/** Whose output a person or an agent gets to see. */
const PRINTERS = new Set(['echo', 'printf', 'cat', 'logger']);
const MOST_EXPANDED = 16;

const DECLARATIONS = new Set(['export', 'declare', 'local', 'readonly', 'typeset']);
const OF_A_TEST = /^(?:[A-Z]+_)?ENV=["']?test/;

function remember({ text, inner }: Word, flow: Flow, walk: Walk): void {
  const at = text.indexOf('=');
  if (at <= 0) return;
  const name = text.slice(0, at);
  if (OF_A_TEST.test(text)) walk.isTest = true;
  if (inner.length === 0) walk.variables.set(name, [text.slice(at + 1)]);
  else if (flow.tags.size > 0) walk.tagged.set(name, flow.tags);
}

/** A word as a shell has it after it has put in what the line says of variables, and braces. */
function expanded(word: Word, walk: Walk): readonly Word[] {
  let texts: readonly string[] = [word.text];
  for (const name of [...new Set(word.variables)].filter(each => walk.variables.has(each)).slice(0, MOST_EXPANDED))
    texts = filledWith(texts, name, walk);
  if (!word.quoted) texts = texts.flatMap(braced).slice(0, MOST_EXPANDED);
  return texts.length === 1 && texts[0] === word.text ? [word] : texts.map(text => ({ ...word, text }));
}

/** Each text with each value of a variable, as far as the work left pays for them; else the texts as they are. */
function filledWith(texts: readonly string[], name: string, { variables, work }: Walk): readonly string[] {
  const made: string[] = [];
  for (const text of texts) {
    for (const value of variables.get(name) ?? []) {
      if (made.length === MOST_EXPANDED) return made;
      const put = filled(text, name, value);
      if (!paid(work, put.length)) return texts;
      made.push(put);
    }
  }
  return made;
}

/** No longer than a word that is looked at: a value may be long, and stand there often. */
function filled(text: string, name: string, value: string): string {
  const mark = new RegExp(`\\$${name}(?![A-Za-z0-9_])`, 'g');
  const put = value.slice(0, LONGEST_WORD);
  let length = text.length;
  return text.replace(mark, all => {
    if (length + put.length - all.length > Math.max(LONGEST_WORD, text.length)) return all;
    length += put.length - all.length;
    return put;
  });
}

function braced(text: string): string[] {
  const [, before, parts, after] = /^([^{}]{0,256})\{([^{}]{0,1024},[^{}]{0,1024})\}([^{}]{0,256})$/.exec(text) ?? [];
  return parts === undefined ? [text] : parts.split(',').map(part => `${before}${part}${after}`);
}

/** What is read is looked at more than once. */
function placesIn(path: string, walk: Walk): readonly Place[] {
  const key = `${walk.cwd ?? ''}\0${path}`;
  const known = walk.places.get(key) ?? placesOf(path, walk.cwd, walk.workspace);
  walk.places.set(key, known);
  return known;
}

function note(walk: Walk, on: Subject['on'], fields: Subject['fields'], places?: () => readonly Place[]): void {
  if (walk.subjects.length <= MOST_SUBJECTS) walk.subjects.push({ on, fields, places });
}

// ---------------------------------------------------------------- one program

/** Programs that start the one named behind their options; those options that take a word of their own. */
const STARTERS: { readonly [name: string]: readonly string[] } = {
  sudo: ['-u', '-g', '-h', '-p', '-C', '-r', '-t', '-U', '-D', '--user', '--group'],
  doas: ['-u', '-C'],
  env: ['-u', '-C', '-S', '--unset', '--chdir'],
  nohup: [],
  nice: ['-n'],
  ionice: ['-c', '-n'],
  exec: ['-a'],
  command: [],
  builtin: [],
  setsid: [],
  stdbuf: ['-i', '-o', '-e'],
  timeout: ['-k', '-s', '--kill-after', '--signal'],
  xargs: ['-n', '-P', '-I', '-L', '-d', '-s', '-a', '-E', '--max-args', '--max-procs', '--delimiter'],
  busybox: [],
  caffeinate: [],
  'xvfb-run': [],
  rlwrap: [],
  wsl: ['-d', '-u', '--distribution', '--user', '--cd'],
  chroot: ['--userspec', '--groups'],
  flock: ['-w', '-E'],
  taskset: [],
  chrt: [],
  gosu: [],
  strace: ['-e', '-o', '-p', '-s'],
  runuser: ['-u', '-g'],
  'systemd-run': ['-p', '--unit'],
  time: ['-f', '-o'],
  watch: ['-n'],
  unbuffer: [],
  parallel: ['-j'],
};
/** Of those, the ones that take so many words before the program's name. */
const OPERANDS: { readonly [name: string]: number } = { timeout: 1, chroot: 1, flock: 1, taskset: 1, chrt: 1, gosu: 1 };
/** Names under which shells of Windows have programs, in small letters. */
const ALIASES: { readonly [name: string]: string } = {
  'remove-item': 'rm',
  ri: 'rm',
  rd: 'rm',
  del: 'rm',
  erase: 'rm',
  'get-childitem': 'ls',
  gci: 'ls',
  dir: 'ls',
  'get-content': 'cat',
  gc: 'cat',
  type: 'cat',
  'copy-item': 'cp',
  copy: 'cp',
  xcopy: 'cp',
  'move-item': 'mv',
  'select-string': 'sls',
  'write-host': 'echo',
  'write-output': 'echo',
  'write-information': 'echo',
  print: 'echo',
  'set-content': 'set-content',
  'add-content': 'add-content',
  'out-file': 'set-content',
  'invoke-webrequest': 'curl',
  'invoke-restmethod': 'curl',
  iwr: 'curl',
  irm: 'curl',
  'invoke-expression': 'iex',
};
/** Names of PowerShell's own, in any case of letters. */
const CMDLET = /^[A-Za-z]{2,16}-[A-Za-z]{2,40}$/;
const SHELLS = new Set(['sh', 'bash', 'zsh', 'dash', 'ksh', 'ash', 'fish']);
const INTERPRETER = /^(?:python[0-9.]*|node|deno|bun|perl|ruby|php|lua|osascript|pwsh|powershell)$/;
const ENVIRONMENT = new Set(['env', 'printenv', 'set', 'export', 'declare']);
const SENDERS = new Set([
  'curl',
  'wget',
  'nc',
  'ncat',
  'netcat',
  'socat',
  'scp',
  'rsync',
  'sftp',
  'ftp',
  'http',
  'https',
  'xh',
  'telnet',
  'aws',
  'gsutil',
  'gcloud',
  'az',
  'rclone',
  's3cmd',
  'mc',
  'gh',
  'ssh',
  'openssl',
  'mail',
  'mailx',
  'mutt',
  'sendmail',
  'swaks',
  'pastebinit',
  'wgetpaste',
  'croc',
  'wormhole',
]);

function run(given: readonly Word[], inner: Flow, walk: Walk, input: Flow, around: Around): Flow {
  const { to, isSudo } = around;
  const [first, ...rest] = given.slice(0, MOST_WORDS);
  if (first === undefined || !paid(walk.work, 0, given.length)) return input;
  const named = nameOf(first.text);
  const small = named.toLowerCase();
  const program = own(ALIASES, small) ?? (CMDLET.test(named) ? small : named);
  const valued = own(STARTERS, program);
  if (valued !== undefined) {
    const started = startedBy(program, rest, valued);
    const [only] = started;
    if (started.length === 1 && only !== undefined && /\s/.test(only.text) && walk.depth < DEEPEST)
      return walkScript(scriptIn(only.text, walk), { ...walk, depth: walk.depth + 1 }, nothing());
    if (started.length > 0) {
      const more =
        program === 'xargs' ? input.paths.map(path => ({ text: path, variables: [], inner: [], quoted: true })) : [];
      const isRoot = isSudo || program === 'sudo' || program === 'doas';
      return run([...started, ...more], inner, walk, input, { ...around, isSudo: isRoot });
    }
  }
  if (!paid(walk.work, lengthOf(rest), rest.length)) return input;
  const args = rest.map(word => optionOf(named, word.text.slice(0, LONGEST_WORD)));
  const flags = args.flatMap(flagsOf);
  const leftOut = /^(?:zip|diff|unzip)$/.test(program) ? LEFT_OUT_OF_FEW : LEFT_OUT;
  const operands = args.filter((arg, at) => (!arg.startsWith('-') || arg === '-') && !leftOut.test(args[at - 1] ?? ''));
  const isInterpreter = INTERPRETER.test(program);
  // What it is told to run comes as a heredoc.
  const spoken = isInterpreter && isFed(args) ? input.text?.slice(0, LONGEST_WORD) : undefined;
  const { tags: executes, shown } = executed(program, first, rest, args, inner, walk, input);
  const cwd = walk.cwd;
  const about: Subject['fields'] = {
    program: [program],
    line: [[program, ...args.map(arg => (/\s/.test(arg) ? '…' : arg))].join(' ').slice(0, LONGEST_LINE)],
    word: spoken === undefined ? args : [...args, spoken],
    flag: flags,
    operand: operands,
    variable: given.flatMap(word => [...word.variables, ...ofWindows(word.text)]),
    executes: [...executes],
    input: [...input.tags],
    argument: [...inner.tags],
    from: input.programs,
    to: to.map(line => nameOf(firstOf(line))),
    behind: to,
    by: [...(isSudo ? ['sudo'] : []), ...(walk.isCaptured ? ['variable'] : []), ...(around.isKept ? ['file'] : [])],
    stage: isOfTest(program, args, operands, walk) ? ['test'] : [],
  };
  note(walk, 'command', about, () => operands.flatMap(operand => placesOf(operand, cwd, walk.workspace)));
  for (const arg of args) {
    if (!arg.includes('://')) continue;
    for (const [url] of arg.matchAll(/\b[a-z][a-z0-9+.-]{1,20}:\/\/[^\s'"<>]+/gi))
      note(walk, 'url', urlFields(url, program));
  }
  if (program === 'export' || program === 'declare') for (const arg of args) assigned(arg, walk);
  if (program.startsWith('$') && /=$/.test(args[0] ?? program)) assigned(`${program.slice(1)}=${args[1] ?? ''}`, walk);
  else if (program.startsWith('$') && program.includes('=')) assigned(program.slice(1), walk);
  if (isInterpreter) code(program, spoken ?? args.find((_, at) => isCode(args[at - 1] ?? '')), walk);
  files(program, args, operands, flags, walk, input, isSudo);
  sql(program, rest, operands, input, walk);
  sends(program, args, flags, operands, rest, inner, walk, input);
  const within = CONTAINERS.test(program) ? commandWithin(program, rest) : startedByRunner(program, rest);
  if (within.length > 0 && walk.depth < DEEPEST)
    return run(within, NOTHING, { ...walk, depth: walk.depth + 1 }, input, { ...around, isSudo: false });
  const out = flowOf(program, args, operands, flags, rest, inner, walk, input);
  return shown.programs.length === 0 ? out : { ...merged([out, shown]), text: out.text };
}

const lengthOf = (words: readonly Word[]): number =>
  words.reduce((sum, { text }) => sum + Math.min(text.length, LONGEST_WORD), 0);

/** Those that prepare a place for a program of a project and start it there, and the word behind which it stands. */
const RUNNERS: { readonly [name: string]: string } = {
  bundle: 'exec',
  poetry: 'run',
  pipenv: 'run',
  uv: 'run',
  pdm: 'run',
  hatch: 'run',
  pnpm: 'exec',
  mise: 'exec',
};

/** Those that look for a program of a package, and those that may be told to. */
const FINDERS = /^(?:npx|bunx|pnpx|uvx)$/;

function startedByRunner(program: string, rest: readonly Word[]): readonly Word[] {
  const word = own(RUNNERS, program);
  if (word !== undefined && rest[0]?.text === word)
    return rest.slice(1).filter(({ text }, at) => at > 0 || text !== '--');
  const isFinder = FINDERS.test(program) || (/^(?:pnpm|yarn)$/.test(program) && rest[0]?.text === 'dlx');
  if (!isFinder) return [];
  const at = rest.findIndex(
    ({ text }, i) => !text.startsWith('-') && text !== 'dlx' && !/^(?:-p|--package)$/.test(rest[i - 1]?.text ?? ''),
  );
  return at < 0 || rest[at]?.text.includes('/') ? [] : rest.slice(at);
}

/** `rd /s /q` has options as well. */
const optionOf = (program: string, arg: string): string =>
  /^(?:rd|rmdir|del|erase)$/i.test(program) && /^\/[a-z]$/i.test(arg) ? (/s/i.test(arg) ? '-r' : '-q') : arg;

const isCode = (arg: string): boolean => /^(?:-[a-zA-Z]{0,4}[ce]|-r|--eval|--print|-p|eval)$/.test(arg);
/** Neither a file nor code is named: it reads what comes in. */
const isFed = (args: readonly string[]): boolean =>
  args.every(arg => arg === '-' || (arg.startsWith('-') && arg !== '-m' && !isCode(arg)));

/** What is named behind them is what is not meant. */
const LEFT_OUT = /^(?:--exclude(?:-dir|-from)?|--ignore|--filter)$/;
const LEFT_OUT_OF_FEW = /^(?:--exclude|-x)$/;

/** `%NAME%`, as `cmd` writes variables. */
const ofWindows = (text: string): string[] =>
  text.includes('%')
    ? [...text.slice(0, LONGEST_LINE).matchAll(/%([A-Za-z_]\w{0,64})%/g)].map(([, name = '']) => name)
    : [];

const TEST_NAME = /(?:^|[^a-z])(?:tests?|e2e|scratch)(?:[^a-z]|$)/i;
const DATABASE_TOOL =
  /^(?:psql|mysql|mariadb|sqlite3|dropdb|mongosh?|sqlcmd|cqlsh|redis-cli|clickhouse-client|mysqladmin)$/;

/** That it is a test's says a variable, or the name of a database. */
function isOfTest(program: string, args: readonly string[], operands: readonly string[], walk: Walk): boolean {
  if (walk.isTest || args.some(arg => OF_A_TEST.test(arg) || arg === '--env=test')) return true;
  if (/^(?:docker|podman|docker-compose|podman-compose|kubectl|helm|oc)$/.test(program))
    return args.slice(0, MOST_NEIGHBOURS).some(arg => !/\s/.test(arg) && TEST_NAME.test(arg));
  if (program === 'redis-cli') return args[args.indexOf('-n') + 1] === '15' && args.includes('-n');
  if (!DATABASE_TOOL.test(program)) return false;
  return operands.some(
    operand => !/\s/.test(operand) && (TEST_NAME.test(operand) || placesIn(operand, walk).includes('temporary')),
  );
}

const READS = /open|read|dotenv_values|slurp|get_contents|Bun\.file|\bcat\b/i;
const WRITES = /["'`]\s*,\s*(?:mode\s*=\s*)?["'`][wax]|write|append/;
const MOST_NAMED = 64;

/** Files that a program in the line names: those of secrets it reads, others it may write. */
function code(program: string, text: string | undefined, walk: Walk): void {
  if (text === undefined) return;
  const said = text.slice(0, LONGEST_WORD);
  for (const [url] of said.matchAll(/\b(?:https?|ftp):\/\/[^\s'"`<>)]{1,512}/g))
    note(walk, 'url', urlFields(url, program));
  for (const line of linesFor(said)) {
    if (walk.depth < DEEPEST) walkScript(scriptIn(line, walk), { ...walk, depth: walk.depth + 1 }, nothing());
  }
  const isReading = READS.test(said);
  const isWriting = WRITES.test(said);
  const isFetching = FETCHED_BY_CODE.test(said) && /https?:\/\/(?!localhost|127\.)/i.test(said);
  let isSecret = ENVIRONMENT_OF_CODE.test(said);
  if (!isReading && !isWriting && !isFetching && !isSecret) return;
  let left = MOST_NAMED;
  let isFile = false;
  for (const [, path = ''] of said.matchAll(/['"`]([^'"`\s]{2,200})['"`]/g)) {
    if (left-- === 0) break;
    if (path.includes('://') || !/[./\\]/.test(path)) continue;
    const places = placesIn(path, walk);
    if (isFetching) walk.fetched.set(plainPath(path, walk.cwd), 'download');
    if (isWriting && places.some(place => WRITTEN.has(place))) writeFile(path, program, 'append', walk);
    else if (isReading && places.includes('secret') && !isWriting) {
      readFile(path, program, walk);
      isSecret = true;
    } else if (isReading && /^[/~]/.test(path)) isFile = true;
  }
  const host = SENDS_BY_CODE.exec(said)?.[1];
  if (host !== undefined && (isSecret || isFile))
    note(walk, 'send', {
      what: [isSecret ? 'secret' : 'file'],
      where: [isLocal(hostOf(host)) ? 'local' : 'remote'],
      program: [program],
    });
}

/** What code gives a shell, or starts by a list of words. */
const SHELL_OF_CODE =
  /\b(?:system|shell_exec|passthru|exec(?:Sync|File|FileSync)?|spawn(?:Sync)?|[Pp]open[23]?|run|call|check_call|check_output|getoutput|qx)\s*\(?\s*(?:(['"`])((?:\\.|(?!\1)[^\\]){1,1024})\1|\[\s{0,3}((?:['"][^'"]{0,256}['"]\s{0,3}(?:,\s{0,3})?){1,32})\])/g;

function linesFor(code: string): string[] {
  if (!/system|exec|spawn|open|run|call|output|qx/.test(code)) return [];
  return [...code.matchAll(SHELL_OF_CODE)]
    .slice(0, MOST_NEIGHBOURS)
    .map(([, , line, words]) =>
      line === undefined ? (words ?? '').replaceAll(',', ' ') : line.replace(/\\(["'`])/g, '$1'),
    );
}

/** Places that are worth a word where a program in the line may write to them. */
const WRITTEN = new Set<Place>(['system', 'startup', 'sudoers', 'agent-settings', 'accounts']);
const SENDS_BY_CODE =
  /\b(?:post|put|fetch|urlopen|request|upload\w*)\(\s*f?['"`](\w+:\/\/[^'"`\s]{1,256})(?=[\s\S]{0,512}(?:open|read|environ|process\.env))/i;
/** All of it. */
const ENVIRONMENT_OF_CODE = /os\.environ\b(?!\[|\.get)|process\.env\b(?!\.|\[|\?)|\bENV\.to_h/;
/** Where code puts what it fetches. */
const FETCHED_BY_CODE = /\b(?:copy|urlretrieve|file_put_contents|writeFile\w*|download\w*|DownloadFile)\s*\(/i;

const nameOf = (word: string): string => word.slice(word.lastIndexOf('/') + 1).replace(/\.exe$/i, '');

function startedBy(program: string, rest: readonly Word[], valued: readonly string[]): readonly Word[] {
  let at = 0;
  for (; at < rest.length; at += 1) {
    const text = rest[at]?.text ?? '';
    if ((program === 'command' && /^-[vV]$/.test(text)) || text === '--unregister') return [];
    if (valued.includes(text)) at += 1;
    else if (!text.startsWith('-') && !((program === 'env' || program === 'sudo') && /^[A-Za-z_]\w*=/.test(text)))
      break;
  }
  return rest.slice(at + (own(OPERANDS, program) ?? 0));
}

/** `-rf` gives r and f, `--force=yes` force, `-delete` its letters and itself. */
function flagsOf(arg: string): string[] {
  if (arg.startsWith('--')) return [arg.slice(2).split('=', 1)[0] ?? ''];
  if (!/^-[A-Za-z]/.test(arg) || arg.length > 40) return [];
  const letters = arg.slice(1);
  return letters.length === 1 ? [letters] : [...letters, letters];
}

/** Runs what the program runs in turn, and says what of it came from elsewhere. */
function executed(
  program: string,
  first: Word,
  rest: readonly Word[],
  args: readonly string[],
  inner: Flow,
  walk: Walk,
  input: Flow,
): { tags: Set<string>; shown: Flow } {
  const tags = new Set<string>();
  let shown = NOTHING;
  const take = (flow: Flow): void => {
    for (const tag of flow.tags) if (tag === 'download' || tag === 'decoded') tags.add(tag);
  };
  const again = (text: string, fed: Flow = NOTHING): void => {
    if (walk.depth >= DEEPEST) return;
    const within = { ...walk, depth: walk.depth + 1 };
    shown = walkScript(scriptIn(text, walk), within, fed.tags.size > 0 ? { ...fed, text: undefined } : nothing());
  };
  const takeFile = (path: string): void => {
    const plain = plainPath(path, walk.cwd);
    const how =
      walk.fetched.get(plain) ?? (path.includes('/') && isBelowAny(plain, walk.unpacked) ? 'download' : undefined);
    if (how !== undefined) tags.add(how);
  };
  takeFile(first.text);
  if (first.text.startsWith('$')) take(inner);
  if (!first.text.includes('/'))
    for (const [path, how] of walk.fetched) if (path.endsWith(`/bin/${first.text}`)) tags.add(how);
  const isShell = SHELLS.has(program);
  if (isShell || INTERPRETER.test(program) || program === 'source' || program === '.') {
    const isWindows = /^(?:pwsh|powershell)$/i.test(program);
    const code = args.findIndex(
      arg => !isWindows && (isShell ? /^-[a-zA-Z]*c[a-zA-Z]*$/.test(arg) : isCode(arg) || arg === '-m'),
    );
    const spoken = isWindows ? args.findIndex(arg => /^-c(?:ommand)?$/i.test(arg)) : -1;
    const file = isWindows ? args.findIndex(arg => /^-f(?:ile)?$/i.test(arg)) + 1 : 0;
    const script = file > 0 ? file : args.findIndex(arg => !arg.startsWith('-'));
    const operand = args[script];
    if (spoken >= 0) again(args.slice(spoken + 1).join(' '));
    else if (code >= 0 && args[code] !== '-m') {
      const said = args[code + 1] ?? '';
      // `xargs` gives it what comes in.
      if (said === '') take(input);
      // Only what begins with it is a program; elsewhere it is put into one.
      if (BEGINS_WITH_OTHERS.test(said)) take(inner);
      if (isShell) again(said, input);
    } else if (operand === '/dev/stdin') take(input);
    else if (operand !== undefined && code < 0 && !args.includes('-s')) {
      takeFile(operand);
      if ((rest[script]?.inner.length ?? 0) > 0) take(inner);
    } else if (code < 0) {
      take(input);
      if (isShell && input.text !== undefined) again(input.text);
    }
  } else if (program === 'eval') {
    if (BEGINS_WITH_OTHERS.test(args.join(' '))) take(inner);
    again(args.join(' '));
  } else if (program === 'iex') {
    take(inner);
    take(input);
    if (/\b(?:iwr|irm|invoke-webrequest|invoke-restmethod|webclient)\b/i.test(args.join(' '))) tags.add('download');
    if (/frombase64string/i.test(args.join(' '))) tags.add('decoded');
  } else if (/^cmd$/i.test(program)) {
    const said = args.findIndex(arg => /^\/[ck]$/i.test(arg));
    if (said >= 0) again(args.slice(said + 1).join(' '));
  } else if (program === 'ssh') {
    again(remoteCommand(args), input);
  } else if (Object.hasOwn(SPEAKERS, program)) {
    const said = own(SPEAKERS, program)?.(args) ?? '';
    if (said !== '') again(said);
  } else if (INSTALLERS.test(program)) {
    for (const arg of args) takeFile(arg);
  } else if (program === 'su') {
    const code = args.indexOf('-c');
    if (code >= 0) again(args[code + 1] ?? '');
  } else if (program === 'find') {
    const at = args.findIndex(arg => /^-(?:exec|execdir|ok)$/.test(arg));
    if (at >= 0) {
      const end = args.findIndex((arg, i) => i > at && (arg === ';' || arg === '+'));
      const words = rest.slice(at + 1, end < 0 ? undefined : end).filter(word => word.text !== '{}');
      const roots = findRoots(args).map(path => ({ text: path, variables: [], inner: [], quoted: true }));
      const narrowed = isNarrowed(args) ? roots.map(root => ({ ...root, text: narrowedPath(root.text, args) })) : roots;
      if (walk.depth < DEEPEST)
        run([...words, ...narrowed], nothing(), { ...walk, depth: walk.depth + 1 }, nothing(), ALONE);
    }
  }
  return { tags, shown };
}

const BEGINS_WITH_OTHERS = /^\s*(?:\$\(\)|\$[A-Za-z_]\w*)|[;&|]\s*\$\(\)/;
/** What they install runs code of its own. */
const INSTALLERS = /^(?:dpkg|rpm|installer|msiexec|apt|apt-get|dnf|yum|start-process|saps|start)$/i;

const behind = (args: readonly string[], options: RegExp): string => {
  const at = args.findIndex(arg => options.test(arg));
  const arg = args[at] ?? '';
  return at < 0
    ? ''
    : arg.startsWith('--') && arg.includes('=')
      ? arg.slice(arg.indexOf('=') + 1)
      : (args[at + 1] ?? '');
};

/** Programs that are given a line for a shell, here or elsewhere. */
const SPEAKERS: { readonly [program: string]: (args: readonly string[]) => string } = {
  tmux: args =>
    /^(?:new|new-session|new-window|neww|split-window|send-keys|send|respawn-pane)$/.test(args[0] ?? '')
      ? args
          .slice(1)
          .filter(arg => /\s/.test(arg))
          .join('; ')
      : '',
  screen: args => args.filter(arg => /\s/.test(arg)).join('; '),
  gcloud: args => behind(args, /^--command(?:=|$)/),
  ansible: args => behind(args, /^(?:-a|--args)(?:=|$)/),
  vagrant: args => (args[0] === 'ssh' ? behind(args, /^(?:-c|--command)(?:=|$)/) : ''),
  fly: args => (args[0] === 'ssh' ? behind(args, /^(?:-C|--command)(?:=|$)/) : ''),
  flyctl: args => (args[0] === 'ssh' ? behind(args, /^(?:-C|--command)(?:=|$)/) : ''),
  heroku: args =>
    /^run(?::detached)?$/.test(args[0] ?? '')
      ? args
          .slice(1)
          .filter((arg, at) => !/^(?:-a|--app)$/.test(args[at] ?? '') && !/^--?[a-z]/.test(arg))
          .join(' ')
      : '',
  adb: args => (args[0] === 'shell' ? args.slice(1).join(' ') : ''),
  script: args => behind(args, /^-[a-z]*c$/),
};

const CONTAINERS = /^(?:docker|docker-compose|podman|nerdctl|kubectl|oc|lxc|incus)$/;
/** Options of theirs that take a word. */
const CONTAINER_OPTION =
  /^(?:-[ceunwf]|--(?:env|user|workdir|env-file|index|namespace|container|context|file|kubeconfig))$/;

/** What runs in a container or a pod that is there already: behind `--`, else behind its name. */
function commandWithin(program: string, rest: readonly Word[]): readonly Word[] {
  const exec = rest.findIndex(({ text }) => text === 'exec');
  if (exec < 0 || exec > 6) return [];
  const dashes = rest.findIndex(({ text }, at) => at > exec && text === '--');
  if (dashes >= 0) return rest.slice(dashes + 1);
  if (program === 'lxc' || program === 'incus') return rest.slice(exec + 2);
  let at = exec + 1;
  while (rest[at]?.text.startsWith('-')) at += CONTAINER_OPTION.test(rest[at]?.text ?? '') ? 2 : 1;
  return rest.slice(at + 1);
}

const isBelowAny = (path: string, folders: ReadonlySet<string>): boolean => {
  for (const folder of folders) if (folder === '' || path.startsWith(`${folder}/`)) return true;
  return false;
};

function remoteCommand(args: readonly string[]): string {
  let at = 0;
  for (; at < args.length; at += 1) {
    const arg = args[at] ?? '';
    if (/^-[bcDEeFIiJLlmOopQRSWw]$/.test(arg)) at += 1;
    else if (!arg.startsWith('-')) break;
  }
  return args.slice(at + 1).join(' ');
}

/** Names by which it looks, but for those that are not meant. */
const namesSought = (args: readonly string[]): string[] =>
  args.filter(
    (_, at) => /^-i?(?:name|path|wholename)$/.test(args[at - 1] ?? '') && !/^(?:!|-not)$/.test(args[at - 2] ?? ''),
  );

function findRoots(args: readonly string[]): string[] {
  const end = args.findIndex(arg => /^[-(!]/.test(arg));
  const roots = args.slice(0, end < 0 ? undefined : end);
  return roots.length > 0 ? roots : ['.'];
}

const isNarrowed = (args: readonly string[]): boolean =>
  args.some(arg => /^-(?:i?name|i?path|i?regex|mtime|mmin|newer|empty|size|user)$/.test(arg));

/** Part of a folder of one's own is no folder; elsewhere a part is too much already. */
function narrowedPath(path: string, args: readonly string[]): string {
  const name = namesSought(args)
    .map(sought => sought.slice(0, LONGEST_LINE).replace(/^\*\//, ''))
    .find(
      sought =>
        /^[\w./-]+$/.test(sought) || (/^[\w.*/-]+$/.test(sought) && placesOf(sought, undefined).includes('secret')),
    );
  if (name !== undefined) return `${path.replace(/\/$/, '')}/${name}`;
  return /^(?:\.\/?)?$/.test(path) ? './part' : path;
}

const FETCHERS = /^(?:curl|wget|fetch|aria2c|http|https|xh|lynx)$/;
/** A provider's program that shows what lies elsewhere. */
const SHOWN_FROM_ELSEWHERE =
  /^(?:aws (?:\S+ )*?s3 cp s3:\S+ -(?: |$)|gsutil (?:-\S+ )*cat |gcloud storage cat |gh gist view |rclone cat |mc cat )/;
const UNPACKERS = /^(?:tar|bsdtar|unzip|7z)$/;

/** Where what was fetched comes to lie as files. */
function unpack(args: readonly string[], operands: readonly string[], walk: Walk, input: Flow): void {
  const isFetched = operands.some(operand => walk.fetched.has(plainPath(operand, walk.cwd)));
  if (!isFetched && !input.tags.has('download')) return;
  const at = args.findIndex(arg => /^(?:-C|-d|--directory)$/.test(arg));
  walk.unpacked.add(plainPath(at < 0 ? '.' : (args[at + 1] ?? '.'), walk.cwd));
}

function flowOf(
  program: string,
  args: readonly string[],
  operands: readonly string[],
  flags: readonly string[],
  rest: readonly Word[],
  inner: Flow,
  walk: Walk,
  input: Flow,
): Flow {
  const out = nothing();
  out.programs = [...input.programs, program].slice(-MOST_NEIGHBOURS);
  for (const tag of [...input.tags, ...inner.tags]) out.tags.add(tag);
  if (program === 'cd' || program === 'pushd') {
    const to = operands[0] ?? '~';
    walk.cwd = plainPath(to, walk.cwd);
    return out;
  }
  if (FETCHERS.test(program)) {
    const remote = args.filter(
      arg => /^(?:https?|ftp):\/\//i.test(arg) || /^[\w-]+(?:\.[\w-]+)+(?:\/|$)/.test(arg) || /^\$\w+$/.test(arg),
    );
    const isRemote = remote.some(url => !isLocal(hostOf(url)));
    const at = args.findIndex(
      arg => /^(?:-[a-zA-Z]*[oO]|--output|--output-document|-outfile)$/i.test(arg) && arg !== '-i',
    );
    const joined = args.find(arg => /^(?:-[a-zA-Z]*[oO]-|--output(?:-document)?=.)/.test(arg));
    const target = program === 'curl' && /O$/.test(args[at] ?? '') ? undefined : (args[at + 1] ?? undefined);
    const toStdout =
      program === 'wget' || program === 'aria2c' ? (at >= 0 ? target === '-' : joined !== undefined) : at < 0;
    out.tags.delete('download');
    if (toStdout || target === '-') {
      if (isRemote) out.tags.add('download');
      return out;
    }
    const folder = behind(args, /^(?:-P|--directory-prefix|--output-dir|-d|--dir)(?:=|$)/);
    const isNamed = at >= 0 && target !== undefined;
    const name = isNamed ? target : (remote[0]?.split(/[?#]/)[0]?.split('/').pop() ?? '');
    const path =
      folder === '' || (program !== 'curl' && isNamed) || folder.startsWith('@') ? name : `${folder}/${name}`;
    if (path !== '' && isRemote) walk.fetched.set(plainPath(path, walk.cwd), 'download');
    if (isNamed || folder !== '') writeFile(path, program, 'replace', walk);
    return out;
  }
  if (
    (/^(?:base64|base32|gbase64)$/.test(program) && flags.some(flag => /^(?:d|D|decode)$/.test(flag))) ||
    (program === 'xxd' && flags.includes('r')) ||
    (program === 'openssl' && flags.includes('d')) ||
    program === 'rev' ||
    program === 'uudecode' ||
    (program === 'tr' && args.some(arg => ROTATED.test(arg))) ||
    (program === 'certutil' && args.some(arg => /^-decode(?:hex)?$/i.test(arg)))
  ) {
    if (program === 'certutil') walk.fetched.set(plainPath(operands.at(-1) ?? '', walk.cwd), 'decoded');
    out.tags.add('decoded');
    return out;
  }
  if (program === 'certutil' && args.some(arg => /^-urlcache$/i.test(arg)))
    walk.fetched.set(plainPath(operands.at(-1) ?? '', walk.cwd), 'download');
  if (SHOWN_FROM_ELSEWHERE.test([program, ...args].slice(0, MOST_NEIGHBOURS).join(' '))) out.tags.add('download');
  if (program === 'git' && args.includes('clone')) cloned(operands, walk);
  if (program === 'start-bitstransfer') walk.fetched.set(plainPath(operands.at(-1) ?? '', walk.cwd), 'download');
  if (program === 'echo' || program === 'printf') {
    out.text = args.filter(arg => !/^-[neE]+$/.test(arg)).join(' ');
    if (program === 'printf') out.text = out.text.replaceAll('\\n', '\n');
    if (
      /\\x[0-9a-f]{2}|\\[0-3][0-7]{2}/i.test(out.text) &&
      (program === 'printf' || args.some(arg => /^-\w*e/.test(arg)))
    )
      out.tags.add('decoded');
    if (rest.some(word => word.variables.some(isSecretName))) out.tags.add('secret');
    return out;
  }
  if (ENVIRONMENT.has(program) && operands.length === 0) out.tags.add('secret');
  if (program === 'printenv' && operands.some(isSecretName)) out.tags.add('secret');
  if (program === 'find') {
    out.paths = findRoots(args).map(root => (isNarrowed(args) ? narrowedPath(root, args) : root));
  } else if (program === 'ls' && /^env:/i.test(operands[0] ?? '')) {
    out.programs.push('env');
    out.tags.add('secret');
  } else if (program === 'ls')
    out.paths = operands.length > 0 ? operands.map(dir => (/\*[^/]*$/.test(dir) ? dir : `${dir}/*`)) : ['*'];
  else if (/^fdf?i?n?d?$/.test(program)) out.paths = operands.slice(0, 1).map(sought);
  else if (program === 'git' && operands[0] === 'ls-files') out.paths = ['./part'];
  else out.paths = input.paths;
  if (program === 'tee' || program === 'cat') out.text = input.text;
  if (program === 'tee') for (const file of operands) fetch(file, out, walk);
  if (UNPACKERS.test(program) && !flags.includes('t') && !flags.includes('c')) unpack(args, operands, walk, input);
  if (READERS.has(program) && !isNamesOnly(program, args, flags)) {
    const read = operands.filter(operand => placesIn(operand, walk).includes('secret'));
    if (read.length > 0) out.tags.add('secret');
    if (operands.length > 0) out.tags.add('file');
  }
  if (DUMPERS.test(program) || (program === 'history' && args.length === 0)) out.tags.add('file');
  if (DUMPERS.test(program) && !isOfTest(program, args, operands, walk)) out.tags.add('personal');
  if (READERS.has(program) && operands.some(operand => isPersonal(operand, walk))) out.tags.add('personal');
  if (/^(?:wc|sha\d+sum|md5sum|cksum|test)$/.test(program) || isNamesOnly(program, args, flags)) out.tags.clear();
  return out;
}

// ---------------------------------------------------------------- files

const READERS = new Set(
  'cat less more head tail bat batcat nl tac rev fold paste strings xxd od hexdump base64 base32 grep egrep fgrep findstr sls rg ag awk gawk sed jq yq cut sort uniq cp mv tar zip gzip 7z scp rsync view vi vim nvim nano emacs open sqlite3 diff column pbcopy gpg install tee dd mapfile readarray age'.split(
    ' ',
  ),
);
const PATTERN_FIRST = /^(?:[ef]?grep|findstr|rg|ag|g?awk|sed|jq|yq)$/;
const SEARCHERS = /^(?:[ef]?grep|rg|ag)$/;
const DUMPERS = /^(?:mysqldump|mariadb-dump|pg_dump|pg_dumpall|mongodump|mongoexport)$/;
/** Letters put in others' places. */
const ROTATED = /[n]-za-m/i;

/** Whether it shows of a file of settings what they are called, or that something is there, and not what they are. */
function isNamesOnly(program: string, args: readonly string[], flags: readonly string[]): boolean {
  if (program === 'cut') return args.some((arg, at) => arg === '-f1' || (arg === '-f' && args[at + 1] === '1'));
  if (program === 'sed') return args.some(arg => /^s(.)\[?=\]?\.\*\$?\1/.test(arg));
  if (/^g?awk$/.test(program)) return args.some(arg => /print \$1\s*\}/.test(arg)) && flags.includes('F');
  if (/^(?:diff|cmp)$/.test(program)) return flags.some(flag => /^(?:q|s|brief|silent|quiet)$/.test(flag));
  if (!SEARCHERS.test(program)) return false;
  return (
    flags.some(flag => /^(?:q|c|l|L|quiet|silent|count|files-with-matches|files-without-match|files)$/.test(flag)) ||
    (flags.includes('o') && args.some(arg => /^\^?(?:\\?\(|\[A-Z|[A-Z_]+)[^=]*$/.test(arg) && !arg.startsWith('-')))
  );
}

const isPersonal = (path: string, walk: Walk): boolean =>
  placesIn(path, walk).some(place => PRIVATE.has(place)) && !placesIn(path, walk).includes('temporary');
const PRIVATE = new Set<Place>(['personal', 'history', 'accounts', 'home']);

const sought = (pattern: string): string => pattern.replace(/^\^/, '').replace(/\$$/, '').replaceAll('\\', '');

/** What came by `git clone` is a folder of others: its installers are code that was just downloaded. */
function cloned(operands: readonly string[], walk: Walk): void {
  const at = operands.indexOf('clone');
  const from = operands[at + 1] ?? '';
  if (!/^https?:\/\//.test(from) || isLocal(hostOf(from))) return;
  const folder = operands[at + 2] ?? (from.split('/').pop() ?? '').replace(/\.git$/, '');
  for (const name of ['install', 'setup', 'bootstrap'])
    for (const end of ['', '.sh', '.py']) walk.fetched.set(plainPath(`${folder}/${name}${end}`, walk.cwd), 'download');
}

function readFile(path: string, program: string, walk: Walk): Flow {
  const places = placesIn(path, walk);
  note(walk, 'read', { path: [plainPath(path, walk.cwd)], place: places, program: [program] });
  const flow = nothing();
  if (places.includes('harmless-device')) return flow;
  flow.tags.add('file');
  if (places.includes('secret')) flow.tags.add('secret');
  return flow;
}

function writeFile(path: string, program: string, how: 'append' | 'replace', walk: Walk): void {
  const fields = { path: [plainPath(path, walk.cwd)], place: placesIn(path, walk) };
  note(walk, 'write', { ...fields, program: [nameOf(program)], how: [how], by: ['shell'] });
}

function deleteFile(path: string, program: string, flags: readonly string[], walk: Walk): void {
  const how = flags.some(flag => /^(?:r|R|recursive)$/.test(flag)) ? 'recursive' : 'single';
  const fields = { path: [plainPath(path, walk.cwd)], place: placesIn(path, walk) };
  note(walk, 'delete', { ...fields, program: [program], how: [how] });
}

function files(
  program: string,
  args: readonly string[],
  operands: readonly string[],
  flags: readonly string[],
  walk: Walk,
  input: Flow,
  isSudo: boolean,
): void {
  const last = operands.at(-1);
  const isFirst = PATTERN_FIRST.test(program) && !flags.includes('e') && !flags.includes('f');
  const paths = program === 'dd' || program === 'tee' ? [] : isFirst ? operands.slice(1) : operands;
  const isCopy = /^(?:cp|mv|scp|rsync|install)$/.test(program);
  const sources = isCopy ? paths.slice(0, -1) : paths;
  // What is moved within the project stays where it was known.
  const isMoved = program === 'mv' && last !== undefined && placesIn(last, walk).includes('workspace');
  const isInPlace = /^(?:sed|perl|ruby)$/.test(program) && args.some(arg => /^-[a-zA-Z]*i|^--in-place/.test(arg));
  const isShown = READERS.has(program) && !(program === 'tar' && flags.includes('t')) && !isMoved && !isInPlace;
  if (isShown && !isNamesOnly(program, args, flags)) {
    for (const path of sources) readFile(path, program, walk);
    if (SEARCHERS.test(program)) for (const path of globsOf(args)) readFile(path, program, walk);
  }
  if (program === 'openssl') for (const path of keysShown(args, flags)) readFile(path, program, walk);
  if (/^(?:perl|ruby)$/.test(program) && args.some(arg => /^-[a-z]*[np][a-z]*\d?/.test(arg)))
    for (const path of operands) readFile(path, program, walk);
  if (/^python/.test(program) && args[0] === '-m' && args[1] === 'json.tool' && args[2] !== undefined)
    readFile(args[2], program, walk);
  if (CONTAINERS.test(program) && args.slice(0, MOST_NEIGHBOURS).includes('cp')) {
    const from = operands[operands.indexOf('cp') + 1] ?? '';
    if (from.includes(':')) readFile(from.slice(from.indexOf(':') + 1), program, walk);
  }
  if (program === 'git') for (const path of ofRepository(args)) readFile(path, program, walk);
  if (/readall(?:text|lines|bytes)$/i.test(program)) for (const path of operands) readFile(path, program, walk);
  if (/^fd(?:find)?$/.test(program) && args.some(arg => /^(?:-x|-X|--exec(?:-batch)?)$/.test(arg))) {
    const at = args.findIndex(arg => /^(?:-x|-X|--exec(?:-batch)?)$/.test(arg));
    if (READERS.has(args[at + 1] ?? '')) readFile(sought(operands[0] ?? ''), program, walk);
  }
  for (const arg of args) {
    if (program === 'dd' && arg.startsWith('of=')) writeFile(arg.slice(3), program, 'replace', walk);
    if (program === 'dd' && arg.startsWith('if=')) readFile(arg.slice(3), program, walk);
  }
  if (program === 'tee')
    for (const path of operands) writeFile(path, program, flags.includes('a') ? 'append' : 'replace', walk);
  const isHere = last !== undefined && !/^(?:[^/\\]{2,}|.*@.*):/.test(last);
  if (/^(?:cp|mv|install|ln|scp|rsync)$/.test(program) && isHere && operands.length > 1)
    writeFile(last, operands[0] === '/dev/null' ? 'cat' : program, 'replace', walk);
  if (program === 'truncate' && last !== undefined) writeFile(last, program, 'replace', walk);
  if (program === 'touch') for (const path of operands) writeFile(path, program, 'append', walk);
  if (isInPlace) for (const path of program === 'sed' ? paths : operands) writeFile(path, program, 'append', walk);
  // An editor is started by root for nothing but to write.
  if (EDITORS.test(program) && isSudo) for (const path of operands) writeFile(path, program, 'append', walk);
  if (/^(?:gpg|gpg2|openssl)$/.test(program)) {
    const path = behind(args, /^(?:-o|--output|-out|-keyout)(?:=|$)/);
    if (path !== '') writeFile(path, program, 'replace', walk);
  }
  if (/^(?:sudoedit|sponge)$/.test(program)) for (const path of operands) writeFile(path, program, 'append', walk);
  if (program === 'patch' && operands[0] !== undefined) writeFile(operands[0], program, 'append', walk);
  if (/^(?:set|add)-content$/.test(program)) {
    const path = behind(args, /^-(?:literal)?(?:file)?path$/i) || operands[0];
    if (path !== undefined && path !== '')
      writeFile(path, program, program === 'add-content' ? 'append' : 'replace', walk);
  }
  const unpacked = /^(?:tar|bsdtar)$/.test(program)
    ? flags.includes('c') || flags.includes('t')
      ? ''
      : behind(args, /^(?:-C|--directory)(?:=|$)/)
    : program === 'unzip'
      ? behind(args, /^-d$/)
      : '';
  if (unpacked !== '' && !/^\/opt\//.test(unpacked)) writeFile(unpacked, program, 'append', walk);
  if (/^(?:rm|unlink|shred|rmdir|trash|srm)$/.test(program) && !flags.includes('help')) {
    for (const path of operands) deleteFile(path, program, flags, walk);
    // In PowerShell what comes through the pipe is what is deleted.
    if (operands.length === 0 && input.programs.length > 0)
      for (const path of input.paths.length > 0 ? input.paths : ['$()']) deleteFile(path, program, flags, walk);
  }
  if (program === 'robocopy' && args.some(arg => /^\/mir$/i.test(arg)) && operands[1] !== undefined)
    deleteFile(operands[1], program, ['r'], walk);
  if (program === 'mv' && last === '/dev/null') for (const path of sources) deleteFile(path, program, ['r'], walk);
  // What the source does not have goes.
  if (program === 'rsync' && last !== undefined && args.some(arg => arg.startsWith('--delete'))) {
    const places = placesIn(last, walk);
    if (places.some(place => ['root', 'home', 'system', 'disk'].includes(place)))
      deleteFile(last, program, ['r'], walk);
  }
  if (program === 'find' && args.includes('-delete')) {
    for (const root of findRoots(args))
      deleteFile(isNarrowed(args) ? narrowedPath(root, args) : root, program, ['r'], walk);
  }
}

const EDITORS = /^(?:vi|vim|nvim|nano|emacs|ed|ex|micro|pico|gedit|code)$/;

/** Files that a search goes through by their names' looks. */
const globsOf = (args: readonly string[]): string[] =>
  args.flatMap((arg, at) => {
    const [, joined] = /^--(?:include|glob|iglob)=(.+)$/.exec(arg) ?? [];
    if (joined !== undefined) return [joined];
    return /^(?:--include|-g|--glob|--iglob)$/.test(args[at - 1] ?? '') && !arg.startsWith('!') ? [arg] : [];
  });

/** Keys that `openssl` shows: it uses others, makes them, or shows what is public of them. */
function keysShown(args: readonly string[], flags: readonly string[]): string[] {
  const isKey = /^(?:rsa|ec|dsa|pkey|pkcs8|pkcs12|base64|enc|asn1parse)$/.test(args[0] ?? '');
  if (!isKey || flags.includes('pubout') || (flags.includes('noout') && !flags.includes('text'))) return [];
  return args.filter((_, at) => args[at - 1] === '-in');
}

/** Files of which `git` shows what they hold or held. */
function ofRepository(args: readonly string[]): string[] {
  const verb = args.find(arg => /^(?:show|log|diff|blame|annotate|cat-file)$/.test(arg));
  if (verb === undefined || (verb === 'log' && !args.some(arg => /^(?:-p|-u|--patch)$/.test(arg)))) return [];
  if (args.some(arg => /^--(?:stat|name-only|name-status|shortstat|numstat)$/.test(arg))) return [];
  return args
    .slice(args.indexOf(verb) + 1)
    .filter(arg => !arg.startsWith('-'))
    .map(arg => arg.slice(arg.indexOf(':') + 1));
}

// ---------------------------------------------------------------- names, addresses, statements

const secretName = new RegExp(SECRET_NAME, 'i');
const isSecretName = (name: string): boolean => secretName.test(name);

function assigned(text: string, walk: Walk): void {
  const at = text.indexOf('=');
  if (at <= 0) return;
  const value = text.slice(at + 1, at + 1 + LONGEST_WORD);
  note(walk, 'assign', { name: [text.slice(0, at)], value: [value] });
  if (/^[a-z][a-z0-9+.-]{1,20}:\/\//i.test(value)) note(walk, 'url', urlFields(value, 'assign'));
}

export function urlFields(url: string, program: string): Subject['fields'] {
  const host = hostOf(url);
  return { url: [url], host: [host], where: [isLocal(host) ? 'local' : 'remote'], program: [program] };
}

export function hostOf(url: string): string {
  const [, authority = ''] = /^(?:[a-z][a-z0-9+.-]*:\/\/)?([^/?#\s]*)/i.exec(url) ?? [];
  // A variable behind a number goes on with the path.
  const host = authority.slice(authority.lastIndexOf('@') + 1).replace(/(?<=\d)\$.*$/, '');
  return (/^\[([^\]]*)\]/.exec(host)?.[1] ?? host.split(':', 1)[0] ?? '').toLowerCase();
}

const isLocal = (host: string): boolean =>
  /^(?:localhost|127\.\d+\.\d+\.\d+|::1|0\.0\.0\.0|host\.docker\.internal|.*\.(?:localhost|local|test))$/.test(host);

const SQL_PROGRAMS =
  /^(?:psql|pgcli|mysql|mycli|mariadb|sqlite3?|sqlcmd|sqlplus|clickhouse|clickhouse-client|duckdb|cockroach|bq|cqlsh|snowsql|usql|libsql|turso|trino|presto|osql|isql|wrangler|invoke-sqlcmd|supabase)$/i;

function sql(program: string, rest: readonly Word[], operands: readonly string[], input: Flow, walk: Walk): void {
  if (!SQL_PROGRAMS.test(program)) return;
  const texts = rest.map(word => word.text).filter(text => /\s/.test(text.trim()));
  if (program === 'sqlite3') texts.push(...operands.slice(1));
  if (input.text !== undefined) texts.push(input.text);
  const stage = isOfTest(program, operands, operands, walk) ? ['test'] : [];
  for (const text of new Set(texts))
    for (const { on, fields } of statementsOf(text.replace(/^(?:-[ceqQ]|--(?:command|execute|query|sql)=)/, '')))
      note(walk, on, { ...fields, stage });
}

/** Statements without what is quoted or commented in them. */
export function statementsOf(text: string): Subject[] {
  const plain = text.slice(0, LONGEST_STATEMENT).replace(/'[^']*'|--[^\n]*|\/\*[^*]*\*+(?:[^/*][^*]*\*+)*\//g, ' ');
  return plain
    .split(';')
    .map(part => part.replace(/\s+/g, ' ').trim().toLowerCase())
    .filter(part => part !== '')
    .slice(0, 100)
    .map(statement => ({ on: 'sql', fields: { statement: [statement] } }));
}

// ---------------------------------------------------------------- what goes to other machines

/** What of a provider's program puts files there. */
const UPLOADS =
  /(?:^| )(?:s3 (?:cp|mv|sync)|s3api put-object|put|cp|rsync|storage cp|blob upload(?:-batch)?|copy|copyto|sync|move|moveto|gist create|release upload)(?: |$)/;
const DATA =
  /^(?:-[a-zA-Z]*[dFT]|--(?:data(?:-\w+)?|form(?:-string)?|upload-file|json|post-file|body-file|post-data|body-data)|-(?:infile|body))(?:=|$)/i;
const JOINED = /^-[dFT](?=[^-])(?=.{2})/;
/** A secret that is given by a name such as these is used, not sent away. */
const GIVEN_AS =
  /(?:key|token|secret|passw(?:or)?d|pass|pwd|auth\w*|credential|code|app_?id|sig(?:nature)?|assertion|verifier|bot|\/\/[^/@\s]{0,40}:|basic|bearer)["'\\]*\s*[=:]?\s*["'\\]*$/i;
/** Hosts of one's own network. */
const OWN = /\.(?:internal|lan|corp|intranet|home|svc)$|^(?:10|192\.168|172\.(?:1[6-9]|2\d|3[01]))\.|^[a-z][\w-]*$/;

/** Whether a text holds a secret's variable in another place than where secrets are given. */
function isSecretAside({ text, variables }: Word): boolean {
  return variables.some(name => {
    if (!isSecretName(name)) return false;
    const at = text.indexOf(`$${name}`);
    return at >= 0 && !GIVEN_AS.test(text.slice(Math.max(0, at - 40), at));
  });
}

function sends(
  program: string,
  args: readonly string[],
  flags: readonly string[],
  operands: readonly string[],
  rest: readonly Word[],
  inner: Flow,
  walk: Walk,
  input: Flow,
): void {
  if (!SENDERS.has(program)) return;
  const what = new Set<string>();
  const attach = (path: string): void => {
    if (path === '-' || path === '/dev/stdin') for (const tag of ['input', ...input.tags]) what.add(tag);
    else {
      const places = placesIn(path, walk);
      // What was built goes to where releases lie.
      const isBuilt = places.includes('rebuilt') && !places.includes('temporary') && !places.includes('personal');
      if (!isBuilt) what.add(places.includes('secret') ? 'secret' : 'file');
    }
  };
  const attachPrivate = (path: string): void => {
    if (placesIn(path, walk).includes('secret')) what.add('secret');
    else if (isPersonal(path, walk) || SERVED.test(plainPath(path, walk.cwd))) what.add('personal');
  };
  let hosts: string[] = [];
  if (/^(?:scp|rsync|sftp)$/.test(program)) {
    const target = operands.at(-1) ?? '';
    hosts =
      /^[^/]*:/.test(target) && !/^[A-Za-z]:[\\/]/.test(target)
        ? [target.split(':', 1)[0]?.split('@').pop() ?? '']
        : [];
    for (const path of operands.slice(0, -1)) attachPrivate(path);
    if (program === 'sftp') {
      hosts = [target.split(':', 1)[0]?.split('@').pop() ?? ''];
      for (const [, path = ''] of (input.text ?? '').slice(0, LONGEST_WORD).matchAll(/\bput (\S+)/g))
        attachPrivate(path);
    }
    if (hosts.every(host => OWN.test(host))) what.delete('personal');
  } else if (program === 'ssh') {
    const host = sshHost(args);
    if (input.tags.has('secret')) what.add('secret');
    if (input.tags.has('personal') && !OWN.test(host)) what.add('personal');
    hosts = [host];
  } else if (/^(?:aws|gsutil|gcloud|az|rclone|s3cmd|mc|gh)$/.test(program)) {
    const line = args.slice(0, 8).join(' ');
    if (!UPLOADS.test(line)) return;
    hosts = [program];
    for (const path of args) {
      if (/^[\w-]{2,}:/.test(path)) continue;
      if (placesIn(path, walk).includes('secret')) what.add('secret');
      // What is kept at one's provider is a copy; what everybody may see is not.
      else if (isPersonal(path, walk) && (program === 'rclone' || /gist create|public/.test(line)))
        what.add('personal');
    }
  } else if (/^(?:nc|ncat|netcat|socat|telnet|openssl)$/.test(program)) {
    if (program === 'openssl' && args[0] !== 's_client') return;
    hosts = operands
      .filter(operand => /[.:]|^localhost$/.test(operand))
      .map(operand => operand.replace(/^[A-Z]+:/i, '').split(':')[0] ?? '');
    for (const tag of input.tags) what.add(tag);
    if (program === 'socat')
      for (const operand of operands) {
        const [, path] = /^(?:FILE|OPEN|GOPEN):([^,]+)/i.exec(operand) ?? [];
        if (path !== undefined) attach(path);
      }
    if (input.programs.length > 0 && hosts.some(host => DROPS.test(host))) what.add('input');
  } else if (/^(?:mail|mailx|mutt|sendmail|swaks|pastebinit|wgetpaste|croc|wormhole)$/.test(program)) {
    hosts = [program];
    for (const path of operands) if (/[./]/.test(path) && !path.includes('@')) attachPrivate(path);
    for (const tag of input.tags) if (tag === 'secret' || tag === 'personal') what.add(tag);
    if (/^(?:pastebinit|wgetpaste)$/.test(program) && input.tags.has('file')) what.add('file');
  } else {
    const urls = args.filter(arg => /^[a-z]+:\/\//i.test(arg));
    hosts = (urls.length > 0 ? urls : operands.filter(arg => BARE_HOST.test(arg))).map(hostOf);
    const isHttp = /^(?:http|https|xh)$/.test(program);
    for (const [at, arg] of args.entries()) {
      if (isHttp) {
        const [, named] = /^(?:[\w.-]{0,64}=?)?@(.+)$/.exec(arg) ?? [];
        if (named !== undefined && !arg.includes('://')) attach(named);
        continue;
      }
      const isJoined = JOINED.test(arg) && program === 'curl' && !DATA.test(arg);
      if (!isJoined && !DATA.test(arg)) continue;
      const value = isJoined
        ? arg.slice(2)
        : arg.includes('=') && arg.startsWith('--')
          ? arg.slice(arg.indexOf('=') + 1)
          : (args[at + 1] ?? '');
      const isFile = /^(?:-[a-zA-Z]*T|--upload-file|--post-file|--body-file|-infile)/i.test(arg);
      const [, named] =
        /^(?:[^=@<]*=)?[@<](.+)$/.exec(value) ?? (/urlencode/.test(arg) ? /^\w*@(.+)$/.exec(value) : undefined) ?? [];
      if (isFile) attach(value);
      else if (named !== undefined) attach(named.split(';', 1)[0] ?? named);
      const word = rest[isJoined || value !== args[at + 1] ? at : at + 1];
      if (word !== undefined && isSecretAside(word)) what.add('secret');
    }
    for (const word of rest) if (/^[a-z]+:\/\//i.test(word.text) && isSecretAside(word)) what.add('secret');
    if (
      inner.tags.has('secret') &&
      rest.some(word => word.inner.length > 0 && !GIVEN_AS.test(word.text.split('$()', 1)[0] ?? ''))
    )
      what.add('secret');
  }
  if (what.size === 0 || hosts.length === 0) return;
  // A file that is nothing special goes round within one's own network.
  const isPlain = [...what].every(each => each === 'file') && hosts.every(host => OWN.test(host) && host !== program);
  const where = hosts.every(isLocal) || isPlain ? 'local' : 'remote';
  note(walk, 'send', { what: [...what], where: [where], host: hosts, program: [program], flag: [...flags] });
}

const BARE_HOST = /^(?:[\w-]+@)?[a-z0-9-]+(?:\.[a-z0-9-]+)+(?::\d+)?(?:\/\S*)?$/i;
/** Where anybody may drop anything. */
const DROPS = /(?:^|\.)(?:termbin\.com|ix\.io|0x0\.st|transfer\.sh|paste\.\w+|sprunge\.us)$/;
/** Where services keep what is theirs. */
const SERVED = /^\/(?:srv|data|mnt|backups?|var\/(?:lib|backups?|mail|spool))\/(?!www|releases|http|sites)/;

function sshHost(args: readonly string[]): string {
  const at = args.findIndex((arg, i) => !arg.startsWith('-') && !/^-[bcDEeFIiJLlmOopQRSWw]$/.test(args[i - 1] ?? ''));
  return (args[at] ?? '').split('@').pop() ?? '';
}
