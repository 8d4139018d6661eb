/**
 * Checks clause 9: events hold no personal data, no prompts, no full outputs and no credentials unless the user asks
 * for them.
 */

import { holdsSecret } from '../../enrich/secrets.ts';
import type { Path } from '../../lib/json-position.ts';
import { own } from '../../lib/read.ts';
import type { Remark } from '../events-text.ts';
import { isObject, type Values } from '../wording.ts';
import type { RuleId } from './rules.ts';

const MAX_OUTPUT = 1_024;
const MAX_FOUND = 10;
const MAX_LEVELS = 16;

/** Fields in which implementations write texts, by event type or category. */
const contents: Readonly<Record<string, readonly [rule: RuleId, fields: readonly string[]]>> = {
  Prompt: ['privacy/prompt', ['prompt', 'prompt_text', 'pprompt_text', 'text', 'content', 'message']],
  Agent: ['privacy/reasoning', ['response', 'text', 'content', 'thought', 'thinking', 'reasoning', 'chain_of_thought']],
  Model: [
    'privacy/reasoning',
    ['prompt', 'messages', 'response', 'text', 'content', 'completion', 'thinking', 'reasoning'],
  ],
};

export function judgePrivacy(value: Values, remarks: Remark<RuleId>[]): void {
  const { event_type: type, user, actor, data } = value;
  const id = isObject(user) ? user.id : undefined;
  if (typeof id === 'string' && /^[^@\s]+@[^@\s]+$/.test(id)) {
    remarks.push({ rule: 'privacy/user', path: ['user', 'id'], why: 'user.id looks like an e-mail address' });
  }
  if (isObject(user) && hasText(user.name)) {
    remarks.push({ rule: 'privacy/name', path: ['user', 'name'], why: 'user.name is the name of a person' });
  }
  if (isObject(actor) && actor.type === 'user' && hasText(actor.name)) {
    remarks.push({ rule: 'privacy/name', path: ['actor', 'name'], why: 'actor.name is the name of a person' });
  }
  if (isObject(data)) judgeContent(typeof type === 'string' ? type : '', data, remarks);
  let found = 0;
  for (const part of ['data', 'metadata', 'risk']) {
    texts(value[part], [part], (text, path) => {
      const rule = holdsSecret(text) ? 'privacy/secret' : EMAIL.test(text) ? 'privacy/email' : undefined;
      if (rule === undefined || found++ >= MAX_FOUND) return;
      const what = rule === 'privacy/secret' ? 'a credential' : 'an e-mail address';
      remarks.push({ rule, path, why: `${path.join('.')} holds ${what}` });
    });
  }
}

function judgeContent(type: string, data: Values, remarks: Remark<RuleId>[]): void {
  const [rule, fields] = own(contents, type.split('.')[0] ?? '') ?? [];
  // The message of a notification is what the agent showed to the person, and the standard has a field for it.
  for (const field of type === 'Agent.Notification' || type === 'Agent.Error' ? [] : (fields ?? [])) {
    const value = data[field];
    if (rule === undefined || !(hasText(value) || (Array.isArray(value) && value.length > 0))) continue;
    remarks.push({ rule, path: ['data', field], why: `data.${field} holds the text itself` });
  }
  const result = isObject(data.action) && isObject(data.action.result) ? data.action.result : {};
  const { output } = result;
  if (typeof output === 'string' && output.length > MAX_OUTPUT) {
    const path = ['data', 'action', 'result', 'output'];
    remarks.push({ rule: 'privacy/output', path, why: `output of ${output.length} characters` });
  }
  for (const field of ['stdout', 'stderr']) {
    if (!hasText(result[field])) continue;
    remarks.push({
      rule: 'privacy/output',
      path: ['data', 'action', 'result', field],
      why: `${field} contains the full text`,
    });
  }
}

const hasText = (value: unknown): boolean => typeof value === 'string' && value.trim() !== '';

/** `git@host:path` is an address of a repository and not an e-mail address. */
const EMAIL = /(?<![\w.%+-])(?!git@)[\w.%+-]{1,64}@(?:[A-Za-z0-9-]{1,63}\.){1,6}[A-Za-z]{2,24}\b/;

function texts(value: unknown, path: Path, see: (text: string, path: Path) => void): void {
  if (typeof value === 'string') see(value, path);
  else if (typeof value === 'object' && value !== null && path.length < MAX_LEVELS) {
    const isList = Array.isArray(value);
    for (const [key, inner] of Object.entries(value)) texts(inner, [...path, isList ? Number(key) : key], see);
  }
}
