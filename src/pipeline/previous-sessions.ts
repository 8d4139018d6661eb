/** Which session a process of an agent began last, kept in a document. A round's changes go into its documents. */
import type { Event } from '../event/event.ts';
import type { Fragment } from '../hook/fragment.ts';
import { begun, notePrevious, PROCESSES_DOCUMENT, type Processes } from '../receive/previous.ts';
import { type SessionState, sessionKey } from '../session/session-state.ts';

export class PreviousSessions {
  private processes: Processes | undefined;
  private readonly document: (name: string) => unknown;
  private readonly sessionOf: (key: string) => SessionState | undefined;

  constructor(document: (name: string) => unknown, sessionOf: (key: string) => SessionState | undefined) {
    this.document = document;
    this.sessionOf = sessionOf;
  }

  /** Completes the event's link to the previous session of the same process. Changes the event. */
  note(event: Event, fragment: Fragment, agent: string): void {
    const known = this.processes ?? ((this.document(PROCESSES_DOCUMENT) ?? []) as Processes);
    const found = begun(known, fragment, event, agent);
    if (found !== undefined) this.processes = found.processes;
    notePrevious(event, found?.previous, session => this.sessionOf(sessionKey(agent, session))?.fold.segment?.number);
  }

  documents(): { name: string; value: unknown }[] {
    return this.processes === undefined ? [] : [{ name: PROCESSES_DOCUMENT, value: this.processes }];
  }
}
