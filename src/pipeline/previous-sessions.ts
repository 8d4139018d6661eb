/** Stores, in a document, the last session that each process of an agent began. */
import type { ChangedDocuments } from '../documents/changed-documents.ts';
import { documents } from '../documents/documents.ts';
import type { Event } from '../event/event.ts';
import type { Fragment } from '../hook/fragment.ts';
import { begun, notePrevious } from '../receive/previous.ts';
import { type SessionState, sessionKey } from '../session/session-state.ts';

export class PreviousSessions {
  private readonly changed: ChangedDocuments;
  private readonly sessionOf: (key: string) => SessionState | undefined;

  constructor(changed: ChangedDocuments, sessionOf: (key: string) => SessionState | undefined) {
    this.changed = changed;
    this.sessionOf = sessionOf;
  }

  /** Adds the link to the previous session of the same process. Changes the event in place. */
  note(event: Event, fragment: Fragment, agent: string): void {
    const found = begun(this.changed.read(documents.processes) ?? [], fragment, event, agent);
    if (found !== undefined) this.changed.write(documents.processes, found.processes);
    notePrevious(event, found?.previous, session => this.sessionOf(sessionKey(agent, session))?.fold.segment?.number);
  }
}
