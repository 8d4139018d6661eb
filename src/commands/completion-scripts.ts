/**
 * Completions for shells, generated from the table of commands. Each script contains commands, flags and fixed values.
 * It runs the program for values of this machine (sessions, destinations, keys of named destinations).
 */
import { type Command, type Flag, globalFlags } from './command.ts';

export const shells = ['bash', 'zsh', 'fish'] as const;
export type Shell = (typeof shells)[number];
export const isShell = (word: string): word is Shell => (shells as readonly string[]).includes(word);

/** Fixed values, by their placeholder in the help. */
export type Candidates = Readonly<Record<string, readonly string[]>>;

export function completionFor(shell: Shell, commands: readonly Command[], lists: Candidates): string {
  const table = commands.map((command): Entry => {
    const flags = [...command.flags, ...globalFlags];
    return { command, flags, words: command.words ?? [] };
  });
  return scripts[shell](table, lists);
}

interface Entry {
  command: Command;
  flags: readonly Flag[];
  /** The candidates of each word after the command. */
  words: readonly (string | readonly string[])[];
}

const scripts: { readonly [S in Shell]: (table: readonly Entry[], lists: Candidates) => string } = { bash, zsh, fish };

/** The source of a value's candidates: a list, files, folders, or a call of the program. */
type Kind =
  | { list: readonly string[] }
  | 'files'
  | 'folders'
  | { ask: 'sessions' | 'destinations' | 'keys' }
  | undefined;

function kindOf(word: string | readonly string[], lists: Candidates): Kind {
  if (typeof word !== 'string') return { list: word };
  const list = lists[word];
  if (list !== undefined) return { list };
  if (word === 'SESSION' || word === 'ID') return { ask: 'sessions' };
  if (word === 'DESTINATION') return { ask: 'destinations' };
  if (word === 'KEY') return { ask: 'keys' };
  if (word === 'FILE' || word === 'PATH') return 'files';
  return word === 'DIR' || word === 'FOLDER' ? 'folders' : undefined;
}

const flagKind = (flag: Flag, lists: Candidates): Kind => kindOf(flag.choices ?? flag.value ?? '', lists);

const namesOf = (flag: Flag): string[] => [flag.name, ...(flag.short === undefined ? [] : [flag.short])];

/** Returns one quoted word for sh-like shells. */
const quoted = (text: string): string => `'${text.replaceAll("'", `'\\''`)}'`;

const HEAD = (shell: Shell, use: string): string =>
  `# Completions of otel-hooks for ${shell}, written by \`otel-hooks completion ${shell}\`.\n# ${use}\n`;

// ---------------------------------------------------------------- bash and zsh

/** Returns the branches of `case "$command"`, each with the result of `printed` for one command. */
const branches = (table: readonly Entry[], printed: (entry: Entry) => string): string =>
  table
    .map(entry => [entry.command.name, printed(entry)])
    .filter(([, body]) => body !== '')
    .map(([name, body]) => `    ${name}) ${body} ;;\n`)
    .join('');

function answerOf(kind: Kind): string {
  if (kind === undefined) return '';
  if (kind === 'files') return 'echo @files';
  if (kind === 'folders') return 'echo @folders';
  if ('ask' in kind) return `"$program" completion --values ${kind.ask} 2>/dev/null`;
  return `printf '%s\\n' ${kind.list.map(quoted).join(' ')}`;
}

/** Functions for bash and zsh: they print the candidates, one per line. */
function posix(table: readonly Entry[], lists: Candidates): string {
  const flagValues = branches(table, ({ flags }) => {
    const valued = flags.filter(flag => flag.value !== undefined);
    const cases = valued.map(flag => `${namesOf(flag).join('|')}) ${answerOf(flagKind(flag, lists)) || ':'} ;;`);
    return `case "$2" in ${cases.join(' ')} *) return 1 ;; esac`;
  });
  const words = branches(table, ({ words }) => {
    const cases = words.map((word, i) => `${i + 1}) ${answerOf(kindOf(word, lists)) || ':'} ;;`);
    return cases.length === 0 ? '' : `case "$2" in ${cases.join(' ')} esac`;
  });
  return `_otel_hooks_commands() {
  printf '%s\\n' ${table.map(({ command }) => command.name).join(' ')} help
}

_otel_hooks_flags() {
  case "$1" in
${branches(table, ({ flags }) => `printf '%s\\n' ${flags.map(({ name }) => name).join(' ')}`)}    *) printf '%s\\n' ${globalFlags.map(({ name }) => name).join(' ')} --version ;;
  esac
}

# COMMAND FLAG: the values of a flag; fails for a flag without one.
_otel_hooks_flag_values() {
  case "$1" in
${flagValues}    *) return 1 ;;
  esac
}

# COMMAND N: the values of the N-th word behind the command.
_otel_hooks_words() {
  case "$1" in
    help) [ "$2" = 1 ] && _otel_hooks_commands ;;
${words}  esac
}

# The words of the line up to the one that is completed: prints its candidates.
_otel_hooks_candidates() {
  local program=$1 current=$2 command= previous= word count=0
  shift 2
  for word; do
    if [ -z "$command" ]; then
      case "$word" in -*) ;; *) command=$word ;; esac
    elif ! _otel_hooks_flag_values "$command" "$previous" >/dev/null; then
      case "$word" in -*) ;; *) count=$((count + 1)) ;; esac
    fi
    previous=$word
  done
  if [ -n "$command" ] && _otel_hooks_flag_values "$command" "$previous"; then return; fi
  case "$current" in
    -*) _otel_hooks_flags "$command" ;;
    *) if [ -z "$command" ]; then _otel_hooks_commands; else _otel_hooks_words "$command" $((count + 1)); fi ;;
  esac
}
`;
}

/** Bash splits words at \`:\` and \`=\`, so the line is split here at blanks alone. */
function bash(table: readonly Entry[], lists: Candidates): string {
  return `${HEAD('bash', 'Use: source <(otel-hooks completion bash), for example in ~/.bashrc')}
${posix(table, lists)}
_otel_hooks() {
  local line=\${COMP_LINE:0:COMP_POINT} current= words=() found
  read -ra words <<<"$line"
  case "$line" in *[[:blank:]]) ;; *) current=\${words[\${#words[@]} - 1]}; unset "words[\${#words[@]} - 1]" ;; esac
  found=$(_otel_hooks_candidates "\${words[0]:-otel-hooks}" "$current" "\${words[@]:1}")
  COMPREPLY=()
  local IFS=$'\\n'
  case "$found" in
    @files) COMPREPLY=($(compgen -f -- "$current")); compopt -o filenames 2>/dev/null ;;
    @folders) COMPREPLY=($(compgen -d -- "$current")); compopt -o filenames 2>/dev/null ;;
    *) COMPREPLY=($(compgen -W "$found" -- "$current")) ;;
  esac
  # The part up to the last colon is a word of its own for bash.
  case "$current" in
    *:*) local head=\${current%"\${current##*:}"} i
      for i in "\${!COMPREPLY[@]}"; do COMPREPLY[i]=\${COMPREPLY[i]#"$head"}; done ;;
  esac
}

complete -F _otel_hooks otel-hooks
`;
}

function zsh(table: readonly Entry[], lists: Candidates): string {
  const summaries = table.map(({ command }) => quoted(`${command.name}  -- ${command.summary}`)).join('\n    ');
  return `#compdef otel-hooks
${HEAD('zsh', 'Use: source <(otel-hooks completion zsh) behind compinit, or save it as _otel-hooks in a folder of $fpath')}
${posix(table, lists)}
_otel-hooks() {
  emulate -L zsh
  local -a before found described
  before=("\${(@)words[2,CURRENT-1]}")
  found=("\${(@f)$(_otel_hooks_candidates "\${words[1]}" "\${words[CURRENT]}" "\${before[@]}")}")
  found=("\${(@)found:#}")
  described=(
    ${summaries}
    'help  -- show how a command is used'
  )
  if [[ "\${found[1]}" == @files ]]; then _files
  elif [[ "\${found[1]}" == @folders ]]; then _files -/
  elif [[ "\${found[1]}" == ${table[0]?.command.name ?? 'hook'} ]]; then compadd -l -d described -a found
  elif ((\${#found})); then compadd -a found
  fi
}

if [[ "\${funcstack[1]}" == _otel-hooks ]]; then _otel-hooks "$@"; else compdef _otel-hooks otel-hooks; fi
`;
}

// ---------------------------------------------------------------- fish

function fish(table: readonly Entry[], lists: Candidates): string {
  const lines: string[] = ['complete -c otel-hooks -f'];
  for (const { command } of table)
    lines.push(`complete -c otel-hooks -n __fish_use_subcommand -a ${command.name} -d ${fishQuoted(command.summary)}`);
  lines.push(`complete -c otel-hooks -n __fish_use_subcommand -a help -d ${fishQuoted('show how a command is used')}`);
  const names = table.map(({ command }) => command.name).join(' ');
  lines.push(`complete -c otel-hooks -n '__fish_seen_subcommand_from help' -a ${fishQuoted(names)}`);
  for (const { command, flags, words } of table) {
    const seen = `__fish_seen_subcommand_from ${command.name}`;
    for (const [i, word] of words.entries())
      lines.push(...fishWords(`__otel_hooks_word ${command.name} ${i + 1}`, kindOf(word, lists)));
    for (const flag of flags) {
      const long = `-l ${flag.name.slice(2)}${flag.short === undefined ? '' : ` -s ${flag.short.slice(1)}`}`;
      const value = flag.value === undefined ? '' : fishValue(flagKind(flag, lists));
      lines.push(`complete -c otel-hooks -n '${seen}' ${long}${value} -d ${fishQuoted(flag.summary)}`);
    }
  }
  return `${HEAD('fish', 'Use: otel-hooks completion fish > ~/.config/fish/completions/otel-hooks.fish')}
# True when the word that is completed is the N-th behind the command.
function __otel_hooks_word
    set -l words (commandline -opc)
    set -e words[1]
    test "$words[1]" = $argv[1]; or return 1
    set -e words[1]
    set -l count 1
    for word in $words
        string match -q -- '-*' $word; or set count (math $count + 1)
    end
    test $count -eq $argv[2]
end

${lines.join('\n')}
`;
}

function fishWords(when: string, kind: Kind): string[] {
  if (kind === undefined) return [];
  const start = `complete -c otel-hooks -n '${when}'`;
  if (kind === 'files') return [`${start} -F`];
  if (kind === 'folders') return [`${start} -a '(__fish_complete_directories)'`];
  return [`${start} -a ${fishList(kind)}`];
}

function fishValue(kind: Kind): string {
  if (kind === undefined) return ' -x';
  if (kind === 'files') return ' -r -F';
  if (kind === 'folders') return " -x -a '(__fish_complete_directories)'";
  return ` -x -a ${fishList(kind)}`;
}

const fishList = (kind: { list: readonly string[] } | { ask: string }): string =>
  'ask' in kind ? `'(otel-hooks completion --values ${kind.ask} 2>/dev/null)'` : fishQuoted(kind.list.join(' '));

const fishQuoted = (text: string): string => `'${text.replaceAll('\\', '\\\\').replaceAll("'", "\\'")}'`;
