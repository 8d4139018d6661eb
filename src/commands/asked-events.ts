/** `--all-events`, `--include` and `--status-line` of `enable`. */
import { type Agent, isAbsent, type Scope } from '../agents/contract/contract.ts';
import { nearest } from '../lib/nearest.ts';
import { type Asked, hasStatusLine } from '../setup/registered-events.ts';
import { flagText, UsageError, type Words } from './command.ts';

export function askedIn(words: Words): Asked | undefined {
  // A repeated flag is one list with commas.
  const named = (flagText(words, '--include') ?? '').split(',').filter(text => text !== '');
  const include = new Map(named.map(eventIn));
  const asked = {
    all: words.flags['--all-events'] !== undefined,
    include,
    statusLine: words.flags['--status-line'] !== undefined,
  };
  return asked.all || asked.statusLine || include.size > 0 ? asked : undefined;
}

const MOST_FILES = 64;

/** `EVENT`, or `EVENT=FILE|FILE`. */
function eventIn(text: string): [event: string, files: string | undefined] {
  const equals = text.indexOf('=');
  if (equals < 0) return [text, undefined];
  const names = text
    .slice(equals + 1)
    .split('|')
    .map(name => name.trim());
  const odd = names.find(name => name === '' || /[\0-\x1f]/.test(name));
  if (odd !== undefined || names.length > MOST_FILES)
    throw new UsageError(
      `--include ${text.slice(0, equals)} takes up to ${MOST_FILES} names of files with | between them, such as 'package.json|.env'`,
    );
  return [text.slice(0, equals), names.join('|')];
}

/** Refuses events that none of the agents can have, and a status line where none can be written. */
export function checkAsked(
  { include, statusLine }: Asked,
  agents: readonly Agent[],
  { scope, platform }: { scope: Scope; platform: string },
): void {
  const able = agents.filter(({ settings }) => !isAbsent(settings));
  for (const [event, files] of include) checkEvent(event, files, able);
  if (!statusLine) return;
  if (platform === 'win32')
    throw new UsageError(
      '--status-line needs sh: on Windows the agent chooses the shell of a status line, and a command around yours would change it. Forward its input instead: docs/setting-up.md',
    );
  if (!hasStatusLine(scope, platform))
    throw new UsageError('--status-line takes --global or --local: a shared file would change the line of every user');
  if (!able.some(({ events }) => Object.values(events).some(({ register }) => register === 'status-line')))
    throw new UsageError(`--status-line: ${titles(able)} has no status line that a command prints`);
}

function checkEvent(event: string, files: string | undefined, agents: readonly Agent[]): void {
  const rows = agents.flatMap(agent => (Object.hasOwn(agent.events, event) ? [agent.events[event]] : []));
  if (rows.length === 0) {
    const names = agents.flatMap(({ events }) =>
      Object.entries(events).flatMap(([name, { register }]) => (register === false ? [] : [name])),
    );
    const meant = nearest(event, names);
    throw new UsageError(
      `--include: ${titles(agents)} has no event ${event}${meant === undefined ? '' : `; did you mean ${meant}?`}`,
    );
  }
  const registers = rows.map(row => row?.register);
  if (registers.every(register => register === false))
    throw new UsageError(
      `--include: ${event} is never registered: a hook that prints nothing would change what the agent does, or another event reports the same`,
    );
  if (registers.every(register => register === 'status-line'))
    throw new UsageError(`--include: ${event} is no hook; use --status-line`);
  if (files === undefined && registers.every(register => register === 'files'))
    throw new UsageError(`${event} needs the names of the files to watch: --include '${event}=package.json|.env'`);
  if (files !== undefined && !registers.includes('files'))
    throw new UsageError(`--include: ${event} watches no files; leave out what follows the =`);
}

const titles = (agents: readonly Agent[]): string => agents.map(({ title }) => title).join(' or ') || 'no agent here';
