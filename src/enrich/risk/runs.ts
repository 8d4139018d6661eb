/**
 * What a shell's text makes run, and what that does as far as words tell: which program with which arguments, what it reads, writes,
 * deletes, fetches, sends and runs in turn. Programs that only start others (sudo, xargs, `sh -c`, ssh) are looked through.
 */
import { type Place, placesOf, plainPath } from './places.ts';
import { type Command, readShell, type Script, type Word } from './shell.ts';
import { SECRET_NAME, type Subject } from './subject.ts';

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
  /** What is shown goes into a variable or an argument. */
  isCaptured: boolean;
  places: Map<string, readonly Place[]>;
  /** Names of functions that are defined so far. */
  functions: Set<string>;
  depth: number;
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

export function subjectsOfShell(text: string, workspace: string | undefined): Subject[] {
  const walk: Walk = {
    subjects: [],
    workspace,
    cwd: undefined,
    fetched: new Map(),
    unpacked: new Set(),
    variables: new Map(),
    isCaptured: false,
    places: new Map(),
    functions: new Set(),
    depth: 0,
  };
  walkScript(readShell(text), walk, nothing());
  return walk.subjects;
}

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
    if (flow.text !== undefined) all.text = all.text === undefined ? flow.text : `${all.text}\n${flow.text}`;
  }
  return all;
}

function walkScript(script: Script, walk: Walk, input: Flow): Flow {
  const out: Flow[] = [];
  for (const name of script.functions) walk.functions.add(name);
  for (const pipeline of script.pipelines) {
    let flow = input;
    const names = pipeline.map(command => command.words[0]?.text ?? '');
    for (const [at, command] of pipeline.entries()) {
      if (walk.subjects.length > MOST_SUBJECTS) return merged(out);
      flow = walkCommand(command, walk, flow, names.slice(at + 1, at + 1 + MOST_NEIGHBOURS));
    }
    const [first, second] = names;
    if (first !== undefined && first === second && walk.functions.has(first)) {
      walk.subjects.push({ on: 'command', fields: { program: ['fork-bomb'], line: [first] } });
    }
    out.push(flow);
  }
  return merged(out);
}

function walkCommand(command: Command, walk: Walk, piped: Flow, to: readonly string[]): Flow {
  const isCaptured = walk.isCaptured || !PRINTERS.has(nameOf(command.words[0]?.text ?? ''));
  const inner = (words: readonly Word[]): Flow =>
    words.every(word => word.inner.length === 0)
      ? NOTHING
      : merged(words.flatMap(word => word.inner.map(script => walkScript(script, { ...walk, isCaptured }, nothing()))));
  const fed: Flow[] = [piped];
  for (const { operator, target } of command.redirections) {
    const own = inner([target]);
    if (operator === '<<' || operator === '<<<') fed.push({ ...own, text: target.text, programs: [] });
    else if (operator === '<' || operator === '<>') {
      if (/^\/dev\/(?:tcp|udp)\//.test(target.text))
        note(walk, 'command', { program: ['dev-tcp'], line: [target.text] });
      else fed.push(own, readFile(target.text, 'cat', walk));
    } else if (/^\/dev\/(?:tcp|udp)\//.test(target.text)) {
      note(walk, 'command', { program: ['dev-tcp'], line: [target.text] });
    } else if (!/^(?:\d+|-)$/.test(target.text)) {
      writeFile(target.text, command.words[0]?.text ?? '', operator.includes('>>') ? 'append' : 'replace', walk);
    }
  }
  for (const word of command.assignments) assigned(word.text, walk);
  if (command.words.length === 0) for (const word of command.assignments) remember(word, walk);
  const assignedFlow = inner(command.assignments);
  const input = merged(fed);
  if (command.group) return walkScript(command.group, walk, input);
  if (command.words.length === 0) return merged([input, assignedFlow]);
  const target = command.redirections.find(({ operator }) => operator === '>' || operator === '>>')?.target.text;
  const words = command.words.slice(0, MOST_WORDS).flatMap(word => expanded(word, walk));
  const each = words[1]?.text ?? '';
  if (words[0]?.text === 'for' && words[2]?.text === 'in' && /^[A-Za-z_]\w*$/.test(each))
    walk.variables.set(
      each,
      words.slice(3, 3 + MOST_EXPANDED).map(word => word.text),
    );
  const out = run(words, inner(command.words), walk, input, to, false);
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

function remember({ text, inner }: Word, walk: Walk): void {
  const at = text.indexOf('=');
  if (at > 0 && inner.length === 0) walk.variables.set(text.slice(0, at), [text.slice(at + 1)]);
}

/** A word as a shell has it after it has put in what the line says of variables, and braces. */
function expanded(word: Word, walk: Walk): readonly Word[] {
  let texts: readonly string[] = [word.text];
  for (const name of [...new Set(word.variables)].filter(each => walk.variables.has(each)).slice(0, MOST_EXPANDED)) {
    const values = walk.variables.get(name) ?? [];
    texts = texts.flatMap(text => values.map(value => filled(text, name, value))).slice(0, MOST_EXPANDED);
  }
  if (!word.quoted) texts = texts.flatMap(braced).slice(0, MOST_EXPANDED);
  return texts.length === 1 && texts[0] === word.text ? [word] : texts.map(text => ({ ...word, text }));
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
  'get-content': 'cat',
  'copy-item': 'cp',
  'move-item': 'mv',
  'invoke-webrequest': 'curl',
  'invoke-restmethod': 'curl',
  iwr: 'curl',
  irm: 'curl',
  'invoke-expression': 'iex',
};
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
  'gh',
]);

function run(
  given: readonly Word[],
  inner: Flow,
  walk: Walk,
  input: Flow,
  to: readonly string[],
  isSudo: boolean,
): Flow {
  const [first, ...rest] = given.slice(0, MOST_WORDS);
  if (first === undefined) return input;
  const named = nameOf(first.text);
  const program = ALIASES[named.toLowerCase()] ?? named;
  const valued = Object.hasOwn(STARTERS, program) ? STARTERS[program] : undefined;
  if (valued !== undefined) {
    const started = startedBy(program, rest, valued);
    if (started.length > 0) {
      const more =
        program === 'xargs' ? input.paths.map(path => ({ text: path, variables: [], inner: [], quoted: true })) : [];
      return run([...started, ...more], inner, walk, input, to, isSudo || program === 'sudo' || program === 'doas');
    }
  }
  const args = rest.map(word => optionOf(named, word.text.slice(0, LONGEST_WORD)));
  const flags = args.flatMap(flagsOf);
  const operands = args.filter(arg => !arg.startsWith('-') || arg === '-');
  const executes = executed(program, first, rest, args, inner, walk, input);
  const cwd = walk.cwd;
  const about: Subject['fields'] = {
    program: [program],
    line: [[program, ...args.map(arg => (/\s/.test(arg) ? '…' : arg))].join(' ').slice(0, LONGEST_LINE)],
    word: args,
    flag: flags,
    operand: operands,
    variable: rest.flatMap(word => word.variables),
    executes: [...executes],
    input: [...input.tags],
    argument: [...inner.tags],
    from: input.programs,
    to: to.map(nameOf),
    by: [...(isSudo ? ['sudo'] : []), ...(walk.isCaptured ? ['variable'] : [])],
  };
  note(walk, 'command', about, () => operands.flatMap(operand => placesOf(operand, cwd, walk.workspace)));
  for (const arg of args) {
    if (!arg.includes('://')) continue;
    for (const [url] of arg.matchAll(/\b[a-z][a-z0-9+.-]{1,20}:\/\/[^\s'"<>]+/gi))
      note(walk, 'url', urlFields(url, program));
  }
  if (program === 'export' || program === 'declare') for (const arg of args) assigned(arg, walk);
  const code = INTERPRETER.test(program) ? args[args.findIndex(isCode) + 1] : undefined;
  if (code !== undefined && args.some(isCode)) filesInCode(program, code, walk);
  files(program, args, operands, flags, walk, input);
  sql(program, rest, operands, input, walk);
  sends(program, args, flags, operands, rest, inner, walk, input);
  const within = CONTAINERS.test(program) ? commandWithin(program, rest) : startedByRunner(program, rest);
  if (within.length > 0 && walk.depth < DEEPEST)
    return run(within, NOTHING, { ...walk, depth: walk.depth + 1 }, input, to, false);
  return flowOf(program, args, operands, flags, rest, inner, walk, input);
}

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

function startedByRunner(program: string, rest: readonly Word[]): readonly Word[] {
  const word = Object.hasOwn(RUNNERS, program) ? RUNNERS[program] : undefined;
  return word !== undefined && rest[0]?.text === word
    ? rest.slice(1).filter(({ text }, at) => at > 0 || text !== '--')
    : [];
}

/** `rd /s /q` has options as well. */
const optionOf = (program: string, arg: string): string =>
  /^(?:rd|rmdir|del|erase)$/i.test(program) && /^\/[a-z]$/i.test(arg) ? (/s/i.test(arg) ? '-r' : '-q') : arg;

const isCode = (arg: string): boolean => /^(?:-[a-zA-Z]*c|-e|-r|--eval|-p|-m)$/.test(arg);

/** Files of secrets that a program in the line names. */
function filesInCode(program: string, code: string, walk: Walk): void {
  for (const [, path = ''] of code.matchAll(/['"`]((?:[/~]|\.{1,2}\/|[A-Z]:)[^'"`\n]{1,200})['"`]/g))
    if (placesIn(path, walk).includes('secret')) readFile(path, program, walk);
}

const nameOf = (word: string): string => word.slice(word.lastIndexOf('/') + 1).replace(/\.exe$/i, '');

function startedBy(program: string, rest: readonly Word[], valued: readonly string[]): readonly Word[] {
  let at = 0;
  for (; at < rest.length; at += 1) {
    const text = rest[at]?.text ?? '';
    if (program === 'command' && /^-[vV]$/.test(text)) return [];
    if (valued.includes(text)) at += 1;
    else if (!text.startsWith('-') && !((program === 'env' || program === 'sudo') && /^[A-Za-z_]\w*=/.test(text)))
      break;
  }
  return rest.slice(at + (OPERANDS[program] ?? 0));
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
): Set<string> {
  const tags = new Set<string>();
  const take = (flow: Flow): void => {
    for (const tag of flow.tags) if (tag === 'download' || tag === 'decoded') tags.add(tag);
  };
  const again = (text: string): void => {
    if (walk.depth < DEEPEST) walkScript(readShell(text), { ...walk, depth: walk.depth + 1 }, nothing());
  };
  const takeFile = (path: string): void => {
    const plain = plainPath(path, walk.cwd);
    const how =
      walk.fetched.get(plain) ?? (path.includes('/') && isBelowAny(plain, walk.unpacked) ? 'download' : undefined);
    if (how !== undefined) tags.add(how);
  };
  takeFile(first.text);
  if (!first.text.includes('/'))
    for (const [path, how] of walk.fetched) if (path.endsWith(`/bin/${first.text}`)) tags.add(how);
  const isShell = SHELLS.has(program);
  if (isShell || INTERPRETER.test(program) || program === 'source' || program === '.') {
    const code = args.findIndex(isCode);
    const spoken = /^(?:pwsh|powershell)$/i.test(program) ? args.findIndex(arg => /^-c(?:ommand)?$/i.test(arg)) : -1;
    const script = args.findIndex(arg => !arg.startsWith('-'));
    const operand = args[script];
    if (spoken >= 0) again(args.slice(spoken + 1).join(' '));
    else if (isShell && code >= 0) {
      take(inner);
      again(args[code + 1] ?? '');
    } else if (operand !== undefined && code < 0 && !args.includes('-s')) {
      takeFile(operand);
      if ((rest[script]?.inner.length ?? 0) > 0) take(inner);
    } else if (code < 0) {
      take(input);
      if (isShell && input.text !== undefined) again(input.text);
    }
  } else if (program === 'eval') {
    take(inner);
    again(args.join(' '));
  } else if (program === 'iex') {
    take(inner);
    take(input);
    if (/\b(?:iwr|irm|invoke-webrequest|invoke-restmethod|webclient)\b/i.test(args.join(' '))) tags.add('download');
  } else if (/^cmd$/i.test(program)) {
    const said = args.findIndex(arg => /^\/[ck]$/i.test(arg));
    if (said >= 0) again(args.slice(said + 1).join(' '));
  } else if (program === 'ssh') {
    again(remoteCommand(args));
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
        run([...words, ...narrowed], nothing(), { ...walk, depth: walk.depth + 1 }, nothing(), [], false);
    }
  }
  return tags;
}

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

function findRoots(args: readonly string[]): string[] {
  const end = args.findIndex(arg => /^[-(!]/.test(arg));
  const roots = args.slice(0, end < 0 ? undefined : end);
  return roots.length > 0 ? roots : ['.'];
}

const isNarrowed = (args: readonly string[]): boolean =>
  args.some(arg => /^-(?:i?name|i?path|i?regex|mtime|mmin|newer|empty|size|user)$/.test(arg));

/** Part of a folder of one's own is no folder; elsewhere a part is too much already. */
function narrowedPath(path: string, args: readonly string[]): string {
  const name = args[args.findIndex(arg => /^-i?name$/.test(arg)) + 1] ?? '';
  if (args.some(arg => /^-i?name$/.test(arg)) && /^[\w.-]+$/.test(name)) return `${path.replace(/\/$/, '')}/${name}`;
  return /^(?:\.\/?)?$/.test(path) ? './part' : path;
}

const FETCHERS = /^(?:curl|wget|fetch|aria2c)$/;
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
    const remote = args.filter(arg => /^(?:https?|ftp):\/\//i.test(arg) || /^[\w-]+(?:\.[\w-]+)+(?:\/|$)/.test(arg));
    const isRemote = remote.some(url => !isLocal(hostOf(url)));
    const at = args.findIndex(arg => /^(?:-[a-zA-Z]*[oO]|--output|--output-document)$/.test(arg));
    const joined = args.find(arg => /^(?:-[a-zA-Z]*[oO]-|--output(?:-document)?=.)/.test(arg));
    const target = program === 'curl' && /O$/.test(args[at] ?? '') ? undefined : (args[at + 1] ?? undefined);
    const toStdout = program === 'curl' ? at < 0 : at >= 0 ? target === '-' : joined !== undefined;
    out.tags.delete('download');
    if (!isRemote) return out;
    if (toStdout || target === '-') out.tags.add('download');
    else {
      const name = at >= 0 && target !== undefined ? target : (remote[0]?.split(/[?#]/)[0]?.split('/').pop() ?? '');
      if (name !== '') walk.fetched.set(plainPath(name, walk.cwd), 'download');
    }
    return out;
  }
  if (
    (/^(?:base64|base32|gbase64)$/.test(program) && flags.some(flag => /^(?:d|D|decode)$/.test(flag))) ||
    (program === 'xxd' && flags.includes('r')) ||
    (program === 'openssl' && flags.includes('d'))
  ) {
    out.tags.add('decoded');
    return out;
  }
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
  } else if (program === 'ls') out.paths = operands.length > 0 ? operands.map(dir => `${dir}/*`) : ['*'];
  else if (program === 'git' && operands[0] === 'ls-files') out.paths = ['./part'];
  else out.paths = input.paths;
  if (program === 'tee' || program === 'cat') out.text = input.text;
  if (program === 'tee') for (const file of operands) fetch(file, out, walk);
  if (UNPACKERS.test(program) && !flags.includes('t') && !flags.includes('c')) unpack(args, operands, walk, input);
  if (READERS.has(program)) {
    const read = operands.filter(operand => placesIn(operand, walk).includes('secret'));
    if (read.length > 0) out.tags.add('secret');
    if (operands.length > 0) out.tags.add('file');
  }
  if (/^(?:wc|sha\d+sum|md5sum|cksum|test)$/.test(program)) out.tags.clear();
  return out;
}

// ---------------------------------------------------------------- files

const READERS = new Set(
  'cat less more head tail bat nl tac strings xxd od hexdump base64 base32 grep egrep fgrep rg ag awk gawk sed jq yq cut sort uniq cp mv tar zip gzip 7z scp rsync view vi vim nano open openssl sqlite3 diff column pbcopy gpg mysqldump pg_dump install tee dd'.split(
    ' ',
  ),
);
const PATTERN_FIRST = /^(?:[ef]?grep|rg|ag|g?awk|sed|jq|yq)$/;

function readFile(path: string, program: string, walk: Walk): Flow {
  const places = placesIn(path, walk);
  note(walk, 'read', { path: [plainPath(path, walk.cwd)], place: places, program: [program] });
  const flow = nothing();
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
): void {
  const last = operands.at(-1);
  const paths =
    program === 'dd' ? [] : PATTERN_FIRST.test(program) && !flags.includes('e') ? operands.slice(1) : operands;
  const sources = /^(?:cp|mv|scp|rsync|install)$/.test(program) ? paths.slice(0, -1) : paths;
  if (READERS.has(program) && !(program === 'tar' && flags.includes('t')) && program !== 'tee') {
    for (const path of sources) readFile(path, program, walk);
  }
  for (const arg of args) {
    if (program === 'dd' && arg.startsWith('of=')) writeFile(arg.slice(3), program, 'replace', walk);
    if (program === 'dd' && arg.startsWith('if=')) readFile(arg.slice(3), program, walk);
  }
  if (program === 'tee')
    for (const path of operands) writeFile(path, program, flags.includes('a') ? 'append' : 'replace', walk);
  if (/^(?:cp|mv|install|ln)$/.test(program) && last !== undefined && operands.length > 1)
    writeFile(last, program, 'replace', walk);
  if (program === 'truncate' && last !== undefined) writeFile(last, program, 'replace', walk);
  if (program === 'sed' && flags.some(flag => /^(?:i|in-place)/.test(flag)))
    for (const path of paths) writeFile(path, program, 'append', walk);
  if (/^(?:rm|unlink|shred|rmdir|trash|srm)$/.test(program) && !flags.includes('help')) {
    for (const path of operands) deleteFile(path, program, flags, walk);
    if (operands.length === 0 && input.programs.length > 0 && input.paths.length === 0)
      deleteFile('$()', program, flags, walk);
  }
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

// ---------------------------------------------------------------- names, addresses, statements

const secretName = new RegExp(SECRET_NAME, 'i');
const isSecretName = (name: string): boolean => secretName.test(name);

function assigned(text: string, walk: Walk): void {
  const at = text.indexOf('=');
  if (at > 0) note(walk, 'assign', { name: [text.slice(0, at)], value: [text.slice(at + 1)] });
}

export function urlFields(url: string, program: string): Subject['fields'] {
  const host = hostOf(url);
  return { url: [url], host: [host], where: [isLocal(host) ? 'local' : 'remote'], program: [program] };
}

export function hostOf(url: string): string {
  const [, authority = ''] = /^(?:[a-z][a-z0-9+.-]*:\/\/)?([^/?#\s]*)/i.exec(url) ?? [];
  const host = authority.slice(authority.lastIndexOf('@') + 1);
  return (/^\[([^\]]*)\]/.exec(host)?.[1] ?? host.split(':', 1)[0] ?? '').toLowerCase();
}

const isLocal = (host: string): boolean =>
  /^(?:localhost|127\.\d+\.\d+\.\d+|::1|0\.0\.0\.0|host\.docker\.internal|.*\.(?:localhost|local|test))$/.test(host);

const SQL_PROGRAMS = /^(?:psql|mysql|mariadb|sqlite3|sqlcmd|clickhouse-client|duckdb|cockroach|bq)$/;

function sql(program: string, rest: readonly Word[], operands: readonly string[], input: Flow, walk: Walk): void {
  if (!SQL_PROGRAMS.test(program)) return;
  const texts = rest.map(word => word.text).filter(text => /\s/.test(text.trim()));
  if (program === 'sqlite3') texts.push(...operands.slice(1));
  if (input.text !== undefined) texts.push(input.text);
  for (const text of new Set(texts))
    walk.subjects.push(...statementsOf(text.replace(/^(?:-[ce]|--(?:command|execute)=)/, '')));
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
  /(?:^| )(?:s3 (?:cp|mv|sync)|s3api put-object|cp|rsync|storage cp|blob upload|copy|copyto|sync|move|moveto|gist create|release upload)(?: |$)/;

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
    else what.add(placesIn(path, walk).includes('secret') ? 'secret' : 'file');
  };
  let hosts: string[] = [];
  if (/^(?:scp|rsync|sftp)$/.test(program)) {
    const target = operands.at(-1) ?? '';
    hosts = /^[^/]*:/.test(target) ? [target.split(':', 1)[0]?.split('@').pop() ?? ''] : [];
    for (const path of operands.slice(0, -1)) {
      if (placesIn(path, walk).includes('secret')) what.add('secret');
    }
  } else if (/^(?:aws|gsutil|gcloud|az|rclone|gh)$/.test(program)) {
    if (!UPLOADS.test(args.slice(0, 8).join(' '))) return;
    hosts = [program];
    for (const path of args) if (!/^[\w-]+:/.test(path) && placesIn(path, walk).includes('secret')) what.add('secret');
  } else if (/^(?:nc|ncat|netcat|socat|telnet)$/.test(program)) {
    hosts = operands
      .filter(operand => /[.:]|^localhost$/.test(operand))
      .map(operand => operand.replace(/^[A-Z]+:/i, '').split(':')[0] ?? '');
    for (const tag of input.tags) what.add(tag);
  } else {
    hosts = args.filter(arg => /^[a-z]+:\/\//i.test(arg)).map(hostOf);
    for (const [at, arg] of args.entries()) {
      const isData =
        /^(?:-[a-zA-Z]*[dFT]|--(?:data(?:-\w+)?|form|upload-file|json|post-file|body-file|post-data))(?:=|$)/.test(arg);
      if (!isData) continue;
      const value = arg.includes('=') && arg.startsWith('--') ? arg.slice(arg.indexOf('=') + 1) : (args[at + 1] ?? '');
      const isFile = /^(?:-[a-zA-Z]*T|--upload-file|--post-file|--body-file)/.test(arg);
      const [, named] = /^(?:[^=]*=)?[@<](.+)$/.exec(value) ?? [];
      if (isFile) attach(value);
      else if (named !== undefined) attach(named.split(';', 1)[0] ?? named);
      if ((rest[at + 1]?.variables ?? []).some(isSecretName)) what.add('secret');
    }
    for (const word of rest)
      if (/^[a-z]+:\/\//i.test(word.text) && word.variables.some(isSecretName)) what.add('secret');
    if (inner.tags.has('secret')) what.add('secret');
  }
  if (what.size === 0 || hosts.length === 0) return;
  const where = hosts.every(isLocal) ? 'local' : 'remote';
  note(walk, 'send', { what: [...what], where: [where], host: hosts, program: [program], flag: [...flags] });
}
