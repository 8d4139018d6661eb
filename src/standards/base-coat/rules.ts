import { type Remark as RemarkOf, textRules } from '../events-text.ts';
import type { Rule } from '../validation.ts';

/** All rules of this validator. The ids are stable, so that scripts can compare them. */
export const rules = {
  ...textRules,
  'value/unknown': {
    level: 'error',
    asks: 'a text holds event envelopes, response envelopes or one file that registers hooks',
    clause: '4, 5',
  },
  'event/required': {
    level: 'error',
    asks: 'an event has hook, timestamp and sessionId, its tool a name',
    clause: '4',
  },
  'event/type': {
    level: 'error',
    asks: 'fields of an event have the types of its example; texts are not empty and counts not negative',
    clause: '4',
  },
  'event/hook': { level: 'error', asks: 'hook is one of the eleven hook points', clause: '2' },
  'event/timestamp': { level: 'error', asks: 'timestamp is an ISO 8601 date-time with a time zone', clause: '4' },
  'event/repository': { level: 'error', asks: 'repository has the form owner/name', clause: '4' },
  'event/expected': {
    level: 'warning',
    asks: 'PreToolUse and PostToolUse name their tool, PostToolUse has its success, OnBudgetExceeded its budget',
    clause: '2, 4',
  },
  'event/privacy': {
    level: 'warning',
    asks: 'an event for other programs contains no prompt, no input or output, and no personal data',
    clause: '6',
  },
  'response/required': { level: 'error', asks: 'a response has an action', clause: '4' },
  'response/type': { level: 'error', asks: 'fields of a response have the types of its example', clause: '4' },
  'response/action': { level: 'error', asks: 'action is passThrough, injectContext, block or modify', clause: '3' },
  'response/modified': {
    level: 'error',
    asks: 'only responses that modify have modifiedInput or modifiedOutput',
    clause: '3, 4',
  },
  'response/expected': {
    level: 'warning',
    asks: 'injectContext has additionalContext, modify the changed value, block a reason',
    clause: '3',
  },
  'file/required': {
    level: 'error',
    asks: 'a file has hooks; an entry of mcp.json has a tool, any other entry a command; a hooks file has version 1',
    clause: '5',
  },
  'file/type': { level: 'error', asks: 'fields of a registration have the types of the examples', clause: '5' },
  'file/part': {
    level: 'warning',
    asks: 'hook points are below the key hooks: without it, the text is only a part of a file',
    clause: '5',
  },
  'file/extension': {
    level: 'error',
    asks: 'no platform reports PostCompact and OnBudgetExceeded: a middleware must report them',
    clause: '2',
  },
  'file/unknown-event': { level: 'warning', asks: 'hooks are registered for hook points', clause: '2' },
  'file/platform-name': {
    level: 'warning',
    asks: 'mcp.json has the names of Base Coat, files of a platform the names of that platform',
    clause: '5',
  },
  'file/native-name': {
    level: 'note',
    asks: "the document's table of platform names has another name, or no name; platforms also accept the name of the file",
    clause: '5',
  },
  'file/bash': {
    level: 'warning',
    asks: 'an entry has bash, or command as a fallback: a platform that reads only bash ignores the rest',
    clause: '5',
  },
  'file/tool': { level: 'warning', asks: 'a tool of mcp.json has the form server.tool', clause: '5' },
  'file/yaml': {
    level: 'error',
    asks: "the head of an agent's page is YAML between two lines of three dashes",
    clause: '5',
  },
  'file/empty': { level: 'warning', asks: 'a file that registers hooks has at least one hook', clause: '5' },
  'file/turn-end': {
    level: 'note',
    asks: 'Stop fires at the end of each turn, although the document lists it as the end of the session; a session ends with sessionEnd',
    clause: '2',
  },
  'file/dialects': {
    level: 'note',
    asks: 'one spelling per file: a platform sends different payloads for camelCase and PascalCase events',
    clause: '5',
  },
} as const satisfies Record<string, Rule>;

export type RuleId = keyof typeof rules;
export type Remark = RemarkOf<RuleId>;
