/** The events of an agent that `enable` registers: the default ones, those that the user asks for, and those that it has. */
import type { Agent, Entry, HookEvent, Scope } from '../agents/contract/contract.ts';

/** The choice of the command line. */
export interface Asked {
  /** Every event that a hook cannot disturb. */
  all: boolean;
  /** Events by name; for some, the names of the files that the agent watches. */
  include: ReadonlyMap<string, string | undefined>;
  statusLine: boolean;
}

export interface RegisteredEvent {
  event: string;
  isEdge: boolean;
  /** It is the command of a status line, and not a hook. */
  isLine: boolean;
  files?: string | undefined;
}

/** `present`: our entries in the file. Hooks that are renewed keep the events that they have. */
export function registeredEvents(agent: Agent, asked: Asked | undefined, present: readonly Entry[]): RegisteredEvent[] {
  return Object.entries(agent.events).flatMap(([event, row]) => {
    const known = present.find(entry => entry.event === event);
    if (!isWanted(row, event, asked, known)) return [];
    const files = row.register === 'files' ? (asked?.include.get(event) ?? known?.command.files) : undefined;
    return [{ event, isEdge: row.edge === true, isLine: row.register === 'status-line', files }];
  });
}

function isWanted({ register }: HookEvent, event: string, asked: Asked | undefined, known: Entry | undefined): boolean {
  switch (register) {
    case undefined:
      return true;
    case 'all':
      return asked?.all === true || asked?.include.has(event) === true || known !== undefined;
    case 'named':
      return asked?.include.has(event) === true || known !== undefined;
    case 'files':
      return asked?.include.get(event) !== undefined || known?.command.files !== undefined;
    case 'status-line':
      return asked?.statusLine === true || known !== undefined;
    case false:
      return false;
  }
}

/**
 * A shared file would change the status line of every user of the project. On Windows, a status line does not name the
 * shell that runs it.
 */
export const hasStatusLine = (scope: Scope, platform: string): boolean => scope !== 'project' && platform !== 'win32';
