/**
 * The sh front end: a script that `enable` writes into the user's data folder, and the command in agents' settings.
 *
 * Constraints. A second process costs more than all other work together, so the script starts only one, `cat`, and uses
 * builtins for the rest. Agents pass the command to `sh -c`, which may be dash, bash (also as sh), busybox ash or zsh.
 * The command sources the script in this shell, because another shell would cost a third more. Therefore the script
 * sets all state that it relies on (functions, IFS, locale, options, umask) and prints nothing. It always ends its
 * shell with 0, even if the shell exits after an error (the trap) or reaches a limit on the size of files (XFSZ).
 *
 * The Node front end creates missing folders, once. If a folder is a link, is not writable or has another owner, no
 * front end can use it: the script records nothing and does not start Node.
 *
 * If the writer keeps the pipe open, `cat` waits: a shell has no timer. Agents end hooks after their own time limit;
 * the file then has no trailer and counts as torn.
 */
import { travelling } from './environment.ts';
import { KICK_STEP_S, NOT_FOR_DELIVERY, ROOM } from './kick.ts';

export interface ShellHook {
  stateFolder: string;
  /**
   * Absolute path of Node. If the file is missing later (a version manager removed it), the script searches PATH
   * outside of the project.
   */
  node: string;
  /** The Node front end, otel-hooks.cjs. */
  bin: string;
  deliver: string;
  /** Absolute path of `cat`, with the same search. */
  cat: string;
  /** Absolute path of `setsid`, if the system has it. */
  setsid?: string | undefined;
}

export interface ShellCommand {
  script: string;
  tool: string;
  event: string;
  /** True: the hook starts deliver without checking the lock. */
  edge?: boolean | undefined;
  provider?: string | undefined;
  /**
   * The text that this agent requires on standard output. The command prints it with or without the script. It is never
   * a decision.
   */
  reply?: string | undefined;
}

/** Returns the command for an agent's settings. It does nothing if the script is missing. */
export function shellCommand({ script, tool, event, edge, provider, reply }: ShellCommand): string {
  const words = [tool, event];
  if (edge || provider) words.push(edge ? 'edge' : '-');
  if (provider) words.push(provider);
  for (const word of words) {
    if (!/^[0-9A-Za-z._:,/-]+$/.test(word))
      throw new RangeError(`not a word for a hook command: ${JSON.stringify(word)}`);
  }
  const path = quote(script);
  // An agent that has closed the output must not end the script before the event is stored, and must not get an error.
  const say = reply ? `trap '' PIPE; printf '%s\\n' ${quote(reply)} 2>/dev/null; ` : '';
  // A shell that cannot read the sourced file exits with 2, which some agents take as a decision.
  return `trap 'exit 0' 0; ${say}otel_hooks='${words.join(' ')}'; [ ! -r ${path} ] || . ${path} 2>/dev/null`;
}

/** Returns the text of the script. It contains all paths, so the agent's environment cannot change them. */
export function shellHook({ stateFolder, node, bin, deliver, cat, setsid }: ShellHook): string {
  const all = travelling()
    .map(name => `\${${name}-}`)
    .join('');
  return `# The otel-hooks front end for shells. Written by \`otel-hooks enable\`; changes are overwritten. The command in the
# agent's settings names the event and sources this file. The file may be removed when no settings source it.
unset -f trap exec unset set umask exit eval break continue [ printf read kill cd rm date 2>/dev/null || :
trap 'exit 0' 0
trap '' XFSZ
exec 2>/dev/null
case \${ZSH_VERSION+zsh} in zsh) emulate sh; unalias -a ;; esac
set +eu
set -C
umask 077
LC_ALL=C
IFS=' '
# The braces make the shell read the whole script before it runs any of it: a truncated read runs nothing.
{
[ -t 0 ] && exit 0

oh_state=${quote(stateFolder)}
case \${OTEL_HOOKS_STATE_DIR-} in
'') ;;
/*) oh_state=$OTEL_HOOKS_STATE_DIR ;;
*) oh_state=$PWD/$OTEL_HOOKS_STATE_DIR ;;
esac
# With a slash behind it a link would be its target.
while case $oh_state in ?*/) ;; *) ! : ;; esac do oh_state=\${oh_state%/}; done
oh_inbox=$oh_state/inbox

# Looks for a program that is missing at its path, as Node is after an upgrade by a version manager. Folders of PATH that
# are relative or in the project of the working folder are passed over: the project's author would choose what runs.
# The project is found as lib/project-top.ts finds it. No process is started.
oh_search() {
  oh_found=/bin/$1
  oh_top=$PWD oh_at=$PWD
  while case $oh_at in /?*) ;; *) ! : ;; esac do
    case \${HOME:-/}/ in "$oh_at"/*) break ;; esac
    if [ "$oh_at" -ef "\${HOME:-/}" ]; then break; fi
    if [ -e "$oh_at/.git" ]; then oh_top=$oh_at; fi
    oh_at=\${oh_at%/*}
  done
  # A project that holds the home folder holds the user's own programs.
  case \${HOME:-/}/ in "$oh_top"/*) oh_top= ;; esac
  if [ "$oh_top" -ef "\${HOME:-/}" ]; then oh_top=; fi
  set -f
  IFS=:
  for oh_folder in \${PATH-} /usr/local/bin /usr/bin; do
    IFS=' '
    oh_at=
    case $oh_folder in
    /*) if [ -f "$oh_folder/$1" ] && [ -x "$oh_folder/$1" ]; then oh_at=$oh_folder; fi ;;
    esac
    case $oh_at in '') continue ;; esac
    while case $oh_at in /?*) ;; *) ! : ;; esac do
      if [ -n "$oh_top" ] && [ "$oh_at" -ef "$oh_top" ]; then continue 2; fi
      oh_at=\${oh_at%/*}
    done
    oh_found=$oh_folder/$1
    break
  done
  IFS=' '
}
oh_node=${quote(node)}
[ -x "$oh_node" ] || { oh_search node; oh_node=$oh_found; }
oh_cat=${quote(cat)}
[ -x "$oh_cat" ] || { oh_search cat; oh_cat=$oh_found; }
oh_deliver=${quote(deliver)}

# Leaves a sign in the folder problems; its time is the time of the file, its text the number of times. Another entry
# of this name is removed: a redirection would follow a link.
oh_note() {
  oh_sign=$oh_state/problems/$1
  oh_times=
  if [ -L "$oh_state/problems" ]; then return; fi
  if [ -f "$oh_sign" ] && ! [ -L "$oh_sign" ]; then read -r oh_times <"$oh_sign"; fi
  PATH=/bin:/usr/bin rm -f "$oh_sign"
  if [ -e "$oh_sign" ] || [ -L "$oh_sign" ]; then return; fi
  case $oh_times in '' | 0* | *[!0-9]* | ??????????*) oh_times=0 ;; esac
  printf '%s\\n' "$((oh_times + 1))" >"$oh_sign"
}

# Only folders of this user, and no links: a redirection follows them.
if [ -L "$oh_state" ] || [ -L "$oh_inbox" ]; then exit 0; fi
if [ -O "$oh_inbox" ] && [ -O "$oh_state" ] && [ -d "$oh_inbox" ]; then :
else
  if [ -e "$oh_inbox" ]; then exit 0; fi
  if [ -e "$oh_state" ]; then
    [ -O "$oh_state" ] && [ -w "$oh_state" ] || exit 0
  elif [ -d "\${oh_state%/*}" ] && ! [ -w "\${oh_state%/*}" ]; then exit 0
  fi
  # Root would leave folders in the home of a user that this user cannot write to.
  case $oh_state in "\${HOME:-/}"/*) [ -O "$HOME" ] || exit 0 ;; esac
  if ! [ -r "$oh_deliver" ]; then
    "$oh_cat" >/dev/null
    exit 0
  fi
  unset NODE_OPTIONS
  set -- $otel_hooks
  case \${3-} in edge) oh_edge=--edge ;; *) oh_edge= ;; esac
  "$oh_node" ${quote(bin)} hook --state-dir "$oh_state" --tool "$1" --event "$2" --provider "\${4-}" $oh_edge >/dev/null
  exit 0
fi

# The package was removed, or an upgrade is replacing it. Without a program to deliver events they would pile up, so
# nothing is recorded. The payload is read all the same: an agent may fail when it writes to a closed pipe.
if ! [ -r "$oh_deliver" ]; then
  oh_note hook-kick-missing
  "$oh_cat" >/dev/null
  exit 0
fi

set -- $otel_hooks
oh_head="otel-hooks/1 tool=\${#1}:$1 event=\${#2}:$2 cwd=\${#PWD}:$PWD ppid=\${#PPID}:$PPID"
[ -z "\${4-}" ] || oh_head="$oh_head provider=\${#4}:$4"
case "${all}" in
'') ;;
*)
  for oh_key in ${travelling().join(' ')}; do
    eval "oh_value=\\\${$oh_key-}"
    [ -z "$oh_value" ] || oh_head="$oh_head $oh_key=\${#oh_value}:$oh_value"
  done
  ;;
esac

oh_boot= oh_up= oh_uuid= oh_opened= oh_done= oh_try=0
read -r oh_boot </proc/sys/kernel/random/boot_id
read -r oh_up oh_rest </proc/uptime
read -r oh_uuid </proc/sys/kernel/random/uuid
oh_boot=\${oh_boot%%-*}
while
  oh_unique=\${oh_uuid:-$PPID.$oh_try}
  {
    oh_opened=1
    printf '%s\\n' "$oh_head" && "$oh_cat" && printf '\\n%s\\n' "$oh_unique" && oh_done=1
  } >"$oh_inbox/\${oh_boot:-0}-\${oh_up:-0}-$$-$oh_unique"
  [ -z "$oh_opened$oh_uuid" ] && [ "$oh_try" -lt 99 ]
do oh_try=$((oh_try + 1)); done
if [ -z "$oh_done" ]; then
  oh_note hook-write-sh
  exit 0
fi

# The event is kept. Start deliver unless it runs. An edge does not look at the lock: the process that it starts does.
case \${3-} in
edge) ;;
*)
  oh_pid=
  # The read of a pipe in its place would not end.
  [ -f "$oh_state/lock" ] && read -r oh_pid oh_rest <"$oh_state/lock"
  case $oh_pid in
  '' | 0* | *[!0-9]*) ;;
  *) kill -0 "$oh_pid" && exit 0 ;;
  esac
  ;;
esac

# Of the hooks of one burst, the one that creates the marker starts deliver (kick.ts has the rules). Only a system without
# /proc needs a process to know the time. The payload may have arrived slowly, so the time is read again.
oh_up=
read -r oh_up oh_rest </proc/uptime
case $oh_up in '') oh_up=$(PATH=/bin:/usr/bin date +%s) ;; esac
oh_up=\${oh_up%%.*}
case $oh_up in
'' | *[!0-9]*) oh_step= ;;
0*) oh_step=0 ;;
*) oh_step=$((oh_up / ${KICK_STEP_S})) ;;
esac
oh_mark=$oh_state/kick.\${oh_boot:-0}-$oh_step
case $oh_step/\${3-} in
# A marker without a time would never expire.
/edge) ;;
*)
  if [ -e "$oh_mark" ] || [ -L "$oh_mark" ]; then exit 0; fi
  if printf '' >"$oh_mark"; then :
  elif [ -e "$oh_mark" ]; then exit 0
  # No marker can be created: only edges start deliver.
  else case \${3-} in edge) ;; *) exit 0 ;; esac
  fi
  ;;
esac
(
  # Removes markers that killed processes left. The marker of the step before may still hold back slow hooks.
  set +f
  for oh_old in "$oh_state"/kick.*; do
    case $oh_old in
    "$oh_mark" | "\${oh_mark%-*}-$((oh_step - 1))") ;;
    *) [ -e "$oh_old" ] && PATH=/bin:/usr/bin rm -f "$oh_old" ;;
    esac
  done
  oh_from=$PWD
  # The part of a status line that records ignores these signals; delivery must not.
  trap - HUP INT QUIT TERM
  cd /
  unset ${NOT_FOR_DELIVERY}
  exec ${setsid === undefined ? '' : `${quote(setsid)} `}"$oh_node" ${ROOM} "$oh_deliver" --kicked --from "$oh_from" --state-dir "$oh_state"
) </dev/null >/dev/null 3>&- 4>&- 5>&- 6>&- 7>&- 8>&- 9>&- &
exit 0
}
`;
}

const quote = (text: string): string => `'${text.replaceAll("'", "'\\''")}'`;
