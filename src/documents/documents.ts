/**
 * The table of the documents that the state folder keeps besides sessions and journals: the name of each, the version
 * of its schema, and how its value is parsed. The type of a value is defined in the folder that owns the document.
 *
 *     document              owner                                value
 *     installation          documents/installation.ts            id of this installation, and key of its hashes
 *     destination-<id>      config/destinations.ts               address, credentials and signals of a destination
 *     metrics-<id>          telemetry/metric-state.ts            counters and histograms of a destination
 *     ship                  ship/standing.ts                     failures, waits, and times of the last sending
 *     problems              problems/noted-problems.ts           problems that sessions and deliveries ran into
 *     processes             receive/previous.ts                  the session that each agent process began last
 *     origins-<agent>       transcripts/origins.ts               the session that each transcript file began with
 *     openhook-<session>    openhook/mark.ts                     how far a journal was dispatched to project commands
 *     erased                receive/erased.ts                    the sessions that a person erased
 *     index-<digits>        journal/session-index.ts             the index of the sessions whose keys begin so
 *     short                 journal/short-status.ts              the line of `status --short`
 *     ingested              receive/ingested.ts                  how far each file was ingested
 *     calendar, left-alone  store/limits.ts                      days of delivery, and fragments of later versions
 *
 * Other versions of the program read these files as well, so a parse function accepts all that its schema allows and
 * rejects only values that its callers could not use.
 */
import type { Destination } from '../config/destinations.ts';
import { indexDocument } from '../journal/session-index.ts';
import { shortDocument } from '../journal/short-status.ts';
import { fieldsOf, isFields, number, text } from '../lib/read.ts';
import { type Mark, parseMark } from '../openhook/mark.ts';
import { type NotedProblems, parseNoted } from '../problems/noted-problems.ts';
import { type Erased, parseErased } from '../receive/erased.ts';
import { type Ingested, parseIngested } from '../receive/ingested.ts';
import type { Processes } from '../receive/previous.ts';
import { parseStanding, type Standing } from '../ship/standing.ts';
import { documentFamily, documentNamed } from '../store/document.ts';
import { calendarDocument, leftAloneDocument } from '../store/limits.ts';
import type { MetricState } from '../telemetry/metric-state.ts';
import type { Owners } from '../transcripts/origins.ts';
import type { Installation } from './installation.ts';

export const documents = {
  installation: documentNamed('installation', 1, (value): Installation | undefined => {
    const [id, key] = [text(fieldsOf(value).id), text(fieldsOf(value).key)];
    return id === undefined || key === undefined ? undefined : { id, key };
  }),
  destinations: documentFamily('destination', 1, value =>
    isFields(value) && text(value.id) && text(value.provider) && isFields(value.signals)
      ? (value as unknown as Destination)
      : undefined,
  ),
  metrics: documentFamily('metrics', 1, value =>
    isFields(value) && isFields(value.resources) && [value.version, value.accepted, value.lastMs].every(isNumber)
      ? (value as unknown as MetricState)
      : undefined,
  ),
  ship: documentNamed<Standing>('ship', 1, parseStanding),
  problems: documentNamed<NotedProblems>('problems', 1, parseNoted),
  processes: documentNamed('processes', 1, value => (Array.isArray(value) ? (value as Processes) : undefined)),
  origins: documentFamily('origins', 1, value => (isFields(value) ? (value as Owners) : undefined)),
  openhook: documentFamily<Mark>('openhook', 1, parseMark),
  erased: documentNamed<Erased>('erased', 1, parseErased),
  index: indexDocument,
  short: shortDocument,
  ingested: documentNamed<Ingested>('ingested', 1, parseIngested),
  calendar: calendarDocument,
  leftAlone: leftAloneDocument,
} as const;

const isNumber = (value: unknown): boolean => number(value) !== undefined;
