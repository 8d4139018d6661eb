import { textRules } from '../events-text.ts';
import type { Rule } from '../validation.ts';

/** All rules of this validator. The ids are stable, so that scripts can compare them. */
export const rules = {
  ...textRules,
  'envelope/key': {
    level: 'error',
    asks: 'an envelope is an object with the key openhook',
    clause: 'Envelope Format',
  },
  'envelope/required': {
    level: 'error',
    asks: 'openhook, id, source, type, time and session_id are present',
    clause: 'Envelope Format',
  },
  'envelope/type': {
    level: 'error',
    asks: 'the required fields and context are strings, data and extensions objects',
    clause: 'Envelope Format',
  },
  'envelope/empty': { level: 'error', asks: 'no required field is empty', clause: 'Envelope Format' },
  'envelope/version': { level: 'error', asks: 'openhook is MAJOR.MINOR', clause: 'Versioning' },
  'envelope/unknown-version': {
    level: 'warning',
    asks: 'the version is known to this validator (0.1); another version is judged by the rules of 0.1',
    clause: 'Versioning',
  },
  'envelope/source': { level: 'error', asks: 'source is lower-case kebab-case', clause: 'Envelope Format' },
  'envelope/event-type': {
    level: 'error',
    asks: 'type is one of the six types of this version; of another version, dotted lower case',
    clause: 'Lifecycle Events, Artifact Events',
  },
  'envelope/time': { level: 'error', asks: 'time is an ISO 8601 time with a zone', clause: 'Envelope Format' },
  'envelope/extra': {
    level: 'warning',
    asks: 'there are no other fields at the top: data of vendors belongs into extensions',
    clause: 'envelope schema, additionalProperties',
  },
  'envelope/context': { level: 'warning', asks: 'context is a URI', clause: 'Envelope Format' },
  'envelope/cwd': {
    level: 'warning',
    asks: 'context names the place of the work; in drafts of 0.1 its name was cwd',
    clause: 'Envelope Format',
  },
  'data/required': { level: 'error', asks: 'file.write has its path', clause: 'Data Schemas, file.write' },
  'data/type': { level: 'error', asks: 'fields of data have the types of their schema', clause: 'Data Schemas' },
  'data/enum': {
    level: 'error',
    asks: 'reason, status and operation hold one of the listed words',
    clause: 'Data Schemas',
  },
  'data/range': {
    level: 'error',
    asks: 'lengths, durations and tokens are from 0, lines from 1',
    clause: 'Data Schemas',
  },
  'data/lines': { level: 'error', asks: 'end_line is not before start_line', clause: 'Data Schemas, file.write' },
  'data/transcript-path': {
    level: 'warning',
    asks: 'transcript_path is absolute',
    clause: 'Data Schemas, session.end',
  },
  'privacy/content': {
    level: 'warning',
    asks: 'an envelope contains no prompt, input, output or file content',
    clause: 'Data Schemas, prompt.submit',
  },
  'stream/repeated': { level: 'warning', asks: 'an event is sent once', clause: 'Envelope Format, id' },
  'stream/id-reused': {
    level: 'error',
    asks: 'two different events of one source have different ids',
    clause: 'Envelope Format, id',
  },
  'session/source': {
    level: 'error',
    asks: 'all events of a session have the same source',
    clause: 'Envelope Format, source',
  },
  'session/no-end': {
    level: 'error',
    asks: 'every session ends with session.end (not checked for a single envelope, or with --open)',
    clause: 'Conformance Levels, Level 1',
  },
  'session/start-first': { level: 'warning', asks: 'session.start comes first', clause: 'Lifecycle Events' },
  'session/end-last': {
    level: 'warning',
    asks: 'no event of a session follows its session.end, unless the session starts again',
    clause: 'Lifecycle Events',
  },
  'session/clock': {
    level: 'warning',
    asks: 'times of a session do not run backwards by more than a second',
    clause: 'Envelope Format, time',
  },
  'session/transcript': {
    level: 'note',
    asks: 'session.end names the transcript, or states that there is none',
    clause: 'Conformance Levels, Level 2',
  },
  'tool/end-without-start': {
    level: 'warning',
    asks: 'tool.end follows the tool.start with its tool_call_id or, without ids, of its tool',
    clause: 'Lifecycle Events',
  },
  'tool/unfinished': {
    level: 'warning',
    asks: 'every tool.start has its tool.end before the session ends',
    clause: 'Lifecycle Events',
  },
  'file/no-call': {
    level: 'note',
    asks: 'tool_call_id of file.write is that of a tool.start or tool.end',
    clause: 'Data Schemas, file.write',
  },
  'level/not-reached': {
    level: 'error',
    asks: 'every source reaches the level that --level names',
    clause: 'Conformance Levels',
  },
  'discovery/hooks': {
    level: 'error',
    asks: '.openhook.json is an object with openhook and an array of hooks, each an object',
    clause: 'Hook Discovery',
  },
  'discovery/command': {
    level: 'error',
    asks: 'a hook has a command, which is not an empty string',
    clause: 'Hook Discovery',
  },
  'discovery/events': { level: 'error', asks: 'events is an array of strings', clause: 'Hook Discovery' },
  'discovery/event-type': {
    level: 'warning',
    asks: 'an entry of events is one of the six types or "*"; another one matches nothing',
    clause: 'Hook Discovery',
  },
  'discovery/no-events': {
    level: 'warning',
    asks: 'events is not empty: a hook with an empty list never runs; without events, a hook gets all of them',
    clause: 'Hook Discovery',
  },
  'discovery/async': { level: 'error', asks: 'async is true or false', clause: 'Hook Discovery' },
  'discovery/unknown-key': {
    level: 'warning',
    asks: 'a discovery file holds openhook and hooks, a hook command, events and async',
    clause: 'Hook Discovery',
  },
} as const satisfies Record<string, Rule>;

export type RuleId = keyof typeof rules;
