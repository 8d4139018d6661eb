import { existsSync } from 'node:fs';
import { agentNamed, agents } from '../agents/index.ts';
import type { Event } from '../event/event.ts';
import { openStore } from '../store/store.ts';
import { type EventFormat, eventFormats, isEventFormat, liveWriter } from '../view/formats.ts';
import { drawLine, type Follower, follow, lastOf, levels, matcher, type Wanted } from '../view/tail.ts';
import { flagText, type Io, interruptible, UsageError, type Words } from './command.ts';
import { foldersOf } from './place.ts';

const EACH_MS = 300;

export async function run(words: Words, io: Io): Promise<number> {
  const isWanted = matcher(wantedOf(words));
  const lines = linesOf(words);
  const { state } = foldersOf(words, io);
  const stop = interruptible();
  const format = formatOf(words);
  const written = format && liveWriter(format);
  const print = (events: readonly Event[]): void => {
    const lines = events.flatMap(event => written?.(event).map(each => JSON.stringify(each)) ?? drawLine(event, io));
    if (lines.length > 0) io.out(`${lines.join('\n')}\n`);
  };
  const open = () => openStore({ folder: state, access: 'read' });
  try {
    let more: Follower | undefined;
    const past = new Set<string>();
    if (!existsSync(state)) io.err('otel-hooks: no hook has run yet; waiting for the first.\n');
    while (!stop.isAsked()) {
      if (more !== undefined) {
        print(more(event => isWanted(event) && !past.delete(event.event_id)));
      } else if (existsSync(state)) {
        more = follow(open);
        const store = open();
        const last = lastOf(store, lines, isWanted);
        store.close();
        print(last);
        // What came between the two looks is in both.
        for (const { event_id } of last) past.add(event_id);
      }
      await stop.pause(EACH_MS);
    }
    return 0;
  } finally {
    stop.end();
  }
}

function wantedOf(words: Words): Wanted {
  const agent = flagText(words, '--tool');
  if (agent !== undefined && agentNamed(agent) === undefined) {
    throw new UsageError(`there is no agent ${agent}; known are ${agents.map(({ id }) => id).join(', ')}`);
  }
  const level = flagText(words, '--level')?.toLowerCase();
  if (level !== undefined && !(levels as readonly string[]).includes(level)) {
    throw new UsageError(`--level takes ${levels.join(', ')}, not ${level}`);
  }
  return {
    agent: agent === undefined ? undefined : agentNamed(agent)?.id,
    session: flagText(words, '--session'),
    types: flagText(words, '--type')
      ?.split(',')
      .map(type => type.trim()),
    level: level as Wanted['level'],
    trials: words.flags['--all'] !== undefined,
  };
}

function formatOf(words: Words): EventFormat | undefined {
  const format = flagText(words, '--format');
  if (format === undefined) return words.flags['--json'] ? 'agent-hooks' : undefined;
  if (!isEventFormat(format)) throw new UsageError(`--format takes ${eventFormats.join(', ')}, not ${format}`);
  return format;
}

function linesOf(words: Words): number {
  const lines = flagText(words, '--lines') ?? '10';
  if (!/^\d{1,6}$/.test(lines)) throw new UsageError(`--lines takes a number, not ${lines}`);
  return Number(lines);
}
