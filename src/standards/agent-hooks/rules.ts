import { textRules } from '../events-text.ts';
import type { Rule } from '../validation.ts';

/** All rules of this validator. The ids are stable, so that scripts can compare them. */
export const rules = {
  ...textRules,
  'stream/duplicate-event-id': { level: 'warning', asks: 'each event has a different id', clause: '6.1 event_id' },
  'envelope/type': { level: 'error', asks: 'fields of the envelope have the types of its schema', clause: '6.1' },
  'envelope/required': {
    level: 'error',
    asks: 'spec_version, event_id, event_type, timestamp, source with tool, and session_id are present',
    clause: '6.1',
  },
  'envelope/spec-version': {
    level: 'error',
    asks: 'spec_version is three numbers with dots',
    clause: '6.1 spec_version',
  },
  'envelope/newer-version': {
    level: 'warning',
    asks: 'spec_version has a major version that this validator knows (0)',
    clause: '10.1',
  },
  'envelope/event-id': { level: 'error', asks: 'event_id has the form of a UUID', clause: '6.1 event_id' },
  'envelope/timestamp': {
    level: 'error',
    asks: 'timestamp is an RFC 3339 date-time with a time zone',
    clause: '6.1 timestamp',
  },
  'envelope/enum': {
    level: 'error',
    asks: 'actor.type, agent_mode and risk.level hold one of the listed words',
    clause: '6.1',
  },
  'envelope/range': { level: 'error', asks: 'risk.score is an integer from 0 to 100', clause: '6.1 risk' },
  'envelope/empty': { level: 'warning', asks: 'session_id and source.tool are not empty', clause: '6.1' },
  'event-type/unknown': {
    level: 'warning',
    asks: 'event_type is one of the 23 types of the taxonomy or starts with vendor.',
    clause: '7, 10.3',
  },
  'event-type/vendor': { level: 'warning', asks: 'a custom type has the form vendor.<vendor>.<name>', clause: '10.3' },
  'data/type': {
    level: 'error',
    asks: 'fields of data have the types of the definitions and examples',
    clause: '6.1 $defs, 7',
  },
  'data/enum': {
    level: 'error',
    asks: 'fields of data with a closed list hold one of its words',
    clause: '6.1 $defs, 7.1',
  },
  'data/range': { level: 'error', asks: 'percentage_used is from 0 to 100', clause: '6.1 $defs/context' },
  'data/placeholder': {
    level: 'error',
    asks: "a field holds one word; 'a | b' in the standard's text means a choice of one",
    clause: '7',
  },
  'data/listed': {
    level: 'warning',
    asks: 'plan_type, type of a notification and error_type of an error hold a word of their example',
    clause: '7.3, 7.7',
  },
  'data/expected': {
    level: 'warning',
    asks: 'an action event has its action, a decision its outcome',
    clause: '7.5, 6.1 $defs/decision',
  },
  'data/negative': { level: 'warning', asks: 'counts, lengths and durations are not negative', clause: '7' },
  'data/consistent': {
    level: 'warning',
    asks: 'numbers of one context event agree with each other',
    clause: '6.1 $defs/context, 7.6',
  },
  'data/convention': {
    level: 'warning',
    asks: 'fields that the standard leaves open hold the values that otel-hooks writes',
    clause: 'docs/agent-hooks.md',
  },
  'metadata/key': { level: 'warning', asks: 'keys of metadata are reverse domain names', clause: '10.2' },
  'privacy/user': {
    level: 'warning',
    asks: 'user.id is an identifier of an organization, not an e-mail address',
    clause: '9',
  },
  'privacy/name': { level: 'warning', asks: 'people are not named', clause: '9' },
  'privacy/prompt': {
    level: 'warning',
    asks: 'a prompt is recorded by its hash and its length, not by its text',
    clause: '7.2, 9',
  },
  'privacy/reasoning': {
    level: 'warning',
    asks: 'responses and reasoning are recorded by lengths, hashes and summaries, not by their text',
    clause: '7.3',
  },
  'privacy/output': {
    level: 'warning',
    asks: 'the output of an action is summarized or cut (to 1,024 characters here), not given in full',
    clause: '9',
  },
  'privacy/email': { level: 'warning', asks: 'data, risk and metadata contain no e-mail address', clause: '9' },
  'privacy/secret': { level: 'warning', asks: 'data, risk and metadata contain no credential', clause: '9' },
  'action/name': {
    level: 'note',
    asks: 'an action has its standard name, if the standard has one; each other name is reported once',
    clause: '7.5',
  },
  'model/id': {
    level: 'note',
    asks: 'model_id has the form provider/model; each other form is reported once',
    clause: '6.1 $defs/model',
  },
  'stream/context': {
    level: 'note',
    asks: 'a stream with responses of models has events about the use of the context',
    clause: '7.6',
  },
  'sequence/without-start': {
    level: 'warning',
    asks: 'Action.After and Agent.Plan.End follow their start (in sessions whose start is in the stream)',
    clause: '7.3, 7.5',
  },
  'sequence/start-unseen': {
    level: 'note',
    asks: 'in a session without its start, an end may have its start before the stream; reported once',
    clause: '7.3, 7.5',
  },
  'sequence/unfinished': {
    level: 'warning',
    asks: 'an action that was not denied has an Action.After before the session ends',
    clause: '7.5',
  },
  'sequence/start-late': { level: 'warning', asks: 'Session.Start of a new session is its first event', clause: '7.1' },
  'sequence/after-end': {
    level: 'warning',
    asks: 'a session has no event more than a second after its end, unless it starts again',
    clause: '7.1',
  },
  'sequence/source': { level: 'warning', asks: 'all events of a session have one source.tool', clause: '6.1 source' },
  'sequence/clock': {
    level: 'note',
    asks: 'timestamps of a session do not run backwards by more than a second',
    clause: '6.1 timestamp',
  },
  'sequence/parent': {
    level: 'note',
    asks: 'the session that parent_session_id names is in the stream',
    clause: '6.1 parent_session_id',
  },
} as const satisfies Record<string, Rule>;

export type RuleId = keyof typeof rules;
