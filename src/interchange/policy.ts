/** Decides whether a hook may run under the policy of the administrator of a machine. */
import * as z from 'zod';
import { isObject, kindOf } from '../standards/wording.ts';
import { capabilitiesOf } from './hook-capabilities.ts';
import type { Hook } from './manifest.ts';
import { readSource } from './source.ts';

const word = z.enum(['allow', 'deny', 'managed_only']);

const policySchema = z.looseObject({
  disable_all_hooks: z.boolean().optional(),
  allow_managed_only: z.boolean().optional(),
  capability_restrictions: z.record(z.string(), word).optional(),
  event_restrictions: z.record(z.string(), word).optional(),
});

export interface Policy {
  readonly disable_all_hooks?: boolean | undefined;
  readonly allow_managed_only?: boolean | undefined;
  readonly capability_restrictions?: Readonly<Record<string, 'allow' | 'deny' | 'managed_only'>> | undefined;
  readonly event_restrictions?: Readonly<Record<string, 'allow' | 'deny' | 'managed_only'>> | undefined;
}

/** Reads a policy in JSON or YAML. An unreadable policy allows no hook, so it is an error. */
export function policyIn(text: string, name: string): { policy: Policy } | { why: string } {
  const source = readSource(text, name);
  if (!source.ok) return { why: source.errors.map(({ why, at }) => `line ${at.line}: ${why}`).join('; ') };
  if (!isObject(source.value)) return { why: `it is ${kindOf(source.value)}, not an object` };
  const read = policySchema.safeParse(source.value);
  if (read.success) return { policy: read.data };
  return { why: read.error.issues.map(({ path, message }) => `${path.join('.')}: ${message}`).join('; ') };
}

export interface Permission {
  readonly isAllowed: boolean;
  /** The line of the policy that denies the hook. */
  readonly why?: string | undefined;
}

/** The first denial decides. */
export function permissionOf(hook: Hook, policy: Policy, isManaged: boolean): Permission {
  const no = (why: string): Permission => ({ isAllowed: false, why });
  if (policy.disable_all_hooks === true) return no('disable_all_hooks');
  if (policy.allow_managed_only === true && !isManaged) return no('allow_managed_only');
  if (isRefused(policy.event_restrictions, hook.event, isManaged)) return no(`event_restrictions.${hook.event}`);
  const refused = capabilitiesOf(hook).find(each => isRefused(policy.capability_restrictions, each, isManaged));
  return refused === undefined ? { isAllowed: true } : no(`capability_restrictions.${refused}`);
}

function isRefused(words: Policy['event_restrictions'], key: string, isManaged: boolean): boolean {
  const word = words && Object.hasOwn(words, key) ? words[key] : 'allow';
  return word === 'deny' || (word === 'managed_only' && !isManaged);
}
