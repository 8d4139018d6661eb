import { type Remark as RemarkOf, textRules } from '../standards/events-text.ts';
import type { Rule } from '../standards/validation.ts';

/** All rules of this validator. The ids are stable, so that scripts can compare them. */
export const rules = {
  ...textRules,
  'json/duplicate-key': {
    level: 'error',
    asks: 'the keys of an object differ: of two equal keys, a reviewer may see one, and a program may use the other',
    clause: 'RFC 8259 section 4',
  },
  'file/yaml': {
    level: 'error',
    asks: 'a manifest in YAML is one document of YAML 1.2 without duplicate keys',
    clause: '2',
  },
  'manifest/required': { level: 'error', asks: 'a manifest has spec and at least one hook', clause: '2' },
  'manifest/spec': {
    level: 'error',
    asks: 'spec is hooks/1.0 or hooks/0.1, and names no other major version',
    clause: '2',
  },
  'manifest/newer': {
    level: 'warning',
    asks: 'spec is a known version: additions of a later version are ignored',
    clause: '2',
  },
  'hook/required': { level: 'error', asks: 'a hook has an event and a handler', clause: '2' },
  'hook/type': { level: 'error', asks: 'fields of a hook have the types of its table', clause: '2' },
  'hook/event': {
    level: 'warning',
    asks: 'an event is in a registry: no provider has an event that is not in one',
    clause: '6',
  },
  'hook/blocking': {
    level: 'warning',
    asks: 'a hook that blocks listens to an event that can be stopped',
    clause: '6',
  },
  'hook/degradation': { level: 'error', asks: 'the strategy of a hook is block, warn or exclude', clause: '9' },
  'hook/capability': { level: 'note', asks: 'capabilities are those of the registry', clause: '8' },
  'hook/provider': { level: 'note', asks: 'the keys of provider_data are known providers', clause: '2' },
  'handler/required': {
    level: 'error',
    asks: 'a handler has a type; a handler of type command has a command',
    clause: '2',
  },
  'handler/type': {
    level: 'error',
    asks: 'fields of a handler have the types of its table; a timeout is not negative, its action warn or block',
    clause: '2',
  },
  'handler/unknown': {
    level: 'warning',
    asks: 'the type of a handler is command, http, prompt or agent: no provider runs other types',
    clause: '2',
  },
  'handler/expected': {
    level: 'warning',
    asks: 'an http handler has a url; a handler for a model has a prompt',
    clause: '2',
  },
  'handler/https': { level: 'error', asks: 'a request goes to https', clause: '8' },
  'handler/folder': {
    level: 'warning',
    asks: 'cwd is a folder of the project, relative to its root',
    clause: '2',
  },
  'handler/async': {
    level: 'warning',
    asks: 'an asynchronous hook does not block, because no agent waits for it',
    clause: '2, 8',
  },
  'handler/variables': {
    level: 'note',
    asks: 'headers with variables of the environment send their values to the owner of the address',
    clause: '8',
  },
  'handler/model': {
    level: 'note',
    asks: 'a hook that asks a model costs money, and the model reads untrusted text',
    clause: '8',
  },
  'handler/platform': {
    level: 'warning',
    asks: 'systems are windows, linux and darwin (osx in hooks/1.0)',
    clause: '2',
  },
  'matcher/shape': {
    level: 'error',
    asks: 'a matcher is a name, a pattern, an MCP server with or without a tool, or an array of these',
    clause: '5',
  },
  'matcher/pattern': {
    level: 'error',
    asks: 'a pattern is one of RE2: no look-around and no back-references',
    clause: '5',
  },
  'matcher/name': {
    level: 'warning',
    asks: 'a name is in the tool vocabulary: every other name counts as the tool of one provider',
    clause: '5',
  },
  'matcher/null': { level: 'warning', asks: 'a matcher of every tool is left out', clause: '5' },
  'matcher/empty': {
    level: 'warning',
    asks: 'an array of matchers is not empty: an empty one matches nothing',
    clause: '5',
  },
  'matcher/idle': {
    level: 'note',
    asks: 'a matcher belongs to an event of a tool: other events ignore it',
    clause: '5',
  },
} as const satisfies Record<string, Rule>;

export type RuleId = keyof typeof rules;
export type Remark = RemarkOf<RuleId>;
