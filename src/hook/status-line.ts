/**
 * The front end for a status line: a command that an agent runs again and again to print a line, with the state of the
 * session on its standard input. Our command records this input and then runs the command that the user had before,
 * with the same input, output and exit code.
 *
 * The input is read once and recorded first, which takes a few milliseconds and waits for nothing. The agent may end the
 * command at any time, for example when the state changes again. So the part that records ignores the signals that end
 * it, and writes a complete fragment.
 */

export interface StatusLineCommand {
  /** The script of this file, and the words for the script that records. */
  script: string;
  tool: string;
  event: string;
  provider?: string | undefined;
}

/**
 * The text for an agent's settings, still without the command of the user, which stands between the first quotes
 * (`withUsersLine`). The line stays the same if the script is gone.
 */
export function statusLineCommand({ script, tool, event, provider }: StatusLineCommand): string {
  const words = [tool, event, ...(provider === undefined ? [] : ['-', provider])];
  for (const word of words) {
    if (!/^[0-9A-Za-z._:,/-]+$/.test(word))
      throw new RangeError(`not a word for a status line: ${JSON.stringify(word)}`);
  }
  const path = quote(script);
  return `otel_hooks_line=''; otel_hooks='${words.join(' ')}'; if [ -r ${path} ]; then . ${path}; else eval "$otel_hooks_line"; fi`;
}

export interface StatusLineScript {
  /** The script that records. */
  hook: string;
  /** Absolute path of `cat`. */
  cat: string;
}

/** The script's text. It prints only what the user's command prints; without one, a short line of ours. */
export function statusLineScript({ hook, cat }: StatusLineScript): string {
  return `# The otel-hooks front end for a status line. Written by \`otel-hooks enable --status-line\`; changes are overwritten.
# The braces make the shell read the whole script before it runs any of it.
{
oh_cat=${quote(cat)}
[ -x "$oh_cat" ] || oh_cat=cat
# A command substitution drops line ends at the end of the input; the letter keeps them.
oh_input=$("$oh_cat"; printf x)
oh_input=\${oh_input%x}
if [ -n "$oh_input" ] && [ -r ${quote(hook)} ]; then
  (
    trap '' HUP INT QUIT TERM
    printf '%s' "$oh_input" | (. ${quote(hook)})
  ) >/dev/null 2>&1
fi
case $otel_hooks_line in
?*)
  printf '%s' "$oh_input" 2>/dev/null | (eval "$otel_hooks_line")
  exit $?
  ;;
esac

# The number behind a name, within the first \`}\` or the name of another part. The program writes its JSON without blanks.
oh_number() {
  oh_rest=\${oh_input#*"\\"$1\\":"}
  oh_found=
  case $oh_rest in "$oh_input") return ;; esac
  oh_rest=\${oh_rest%%"\\"$3\\":"*}
  oh_left=\${oh_rest#*"\\"$2\\":"}
  case $oh_left in "$oh_rest") return ;; esac
  oh_left=\${oh_left# }
  oh_found=\${oh_left%%[!0-9.]*}
}
oh_line=
oh_add() {
  case $2 in '') ;; *) oh_line="\${oh_line:+$oh_line | }$1$2$3" ;; esac
}
oh_rest=\${oh_input#*'"display_name":"'}
case $oh_rest in
"$oh_input") ;;
*) oh_add '' "\${oh_rest%%[\\"\\\\]*}" '' ;;
esac
oh_number context_window used_percentage rate_limits
oh_add 'context ' "\${oh_found%%.*}" ' %'
oh_number five_hour used_percentage seven_day
oh_add '5 h ' "\${oh_found%%.*}" ' %'
oh_number seven_day used_percentage five_hour
oh_add '7 d ' "\${oh_found%%.*}" ' %'
oh_number cost total_cost_usd context_window
case $oh_found in
*.*)
  oh_rest=\${oh_found#*.}00
  oh_found=\${oh_found%%.*}.\${oh_rest%"\${oh_rest#??}"}
  ;;
esac
oh_add '$' "$oh_found" ''
printf '%s\\n' "$oh_line"
exit 0
}
`;
}

const quote = (text: string): string => `'${text.replaceAll("'", "'\\''")}'`;
