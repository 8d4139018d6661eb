/**
 * Manifests of the Hook Interchange Format (1.0.0-draft and 0.1; the newer text has the lower number). Unknown fields
 * are kept at every level, so that reading and writing loses nothing.
 */
import * as z from 'zod';
import { isObject, type Values } from '../standards/wording.ts';
import type { Strategy } from './vocabulary.ts';

export type Element =
  | string
  | { readonly pattern: string }
  | { readonly mcp: { readonly server: string; readonly tool?: string | undefined } };
/** The tools that a hook runs for; undefined for every tool. */
export type Matcher = Element | readonly Element[];

export interface Handler {
  readonly type: string;
  readonly command?: string | undefined;
  readonly platform?: Readonly<Record<string, string>> | undefined;
  readonly cwd?: string | undefined;
  readonly env?: Readonly<Record<string, string>> | undefined;
  /** In seconds; 0 means that no timeout is set. */
  readonly timeout?: number | undefined;
  readonly timeout_action?: 'warn' | 'block' | undefined;
  readonly async?: boolean | undefined;
  readonly status_message?: string | undefined;
  readonly url?: string | undefined;
  readonly headers?: Readonly<Record<string, string>> | undefined;
  readonly allowed_env_vars?: readonly string[] | undefined;
  readonly prompt?: string | undefined;
  readonly model?: string | undefined;
  readonly [field: string]: unknown;
}

export interface Hook {
  readonly name?: string | undefined;
  readonly event: string;
  readonly matcher?: Matcher | undefined;
  readonly handler: Handler;
  readonly blocking?: boolean | undefined;
  readonly degradation?: Readonly<Record<string, Strategy>> | undefined;
  readonly provider_data?: Readonly<Record<string, Values>> | undefined;
  readonly capabilities?: readonly string[] | undefined;
  readonly [field: string]: unknown;
}

export interface Manifest {
  readonly spec: string;
  readonly hooks: readonly Hook[];
  readonly [field: string]: unknown;
}

export const SPEC = 'hooks/0.1';
/** The supported versions, as major and minor. */
export const specs = ['hooks/0.1', 'hooks/1.0'];

const texts = z.record(z.string(), z.string());

/** `misshapen` checks the shape of a matcher, because a zod union would report all its alternatives. */
const handler = z.looseObject({
  type: z.string().min(1),
  command: z.string().regex(/\S/).optional(),
  platform: z
    .looseObject({
      windows: z.string().optional(),
      linux: z.string().optional(),
      darwin: z.string().optional(),
      osx: z.string().optional(),
    })
    .optional(),
  cwd: z.string().optional(),
  env: texts.optional(),
  timeout: z.number().nonnegative().optional(),
  timeout_action: z.enum(['warn', 'block']).optional(),
  async: z.boolean().optional(),
  status_message: z.string().optional(),
  url: z.string().optional(),
  headers: texts.optional(),
  allowed_env_vars: z.array(z.string()).optional(),
  prompt: z.string().optional(),
  model: z.string().optional(),
});

const hook = z.looseObject({
  name: z.string().optional(),
  event: z.string().min(1),
  handler,
  blocking: z.boolean().optional(),
  degradation: z.record(z.string(), z.enum(['block', 'warn', 'exclude'])).optional(),
  provider_data: z.record(z.string(), z.looseObject({})).optional(),
  capabilities: z.array(z.string()).optional(),
});

export const manifestSchema = z.looseObject({
  spec: z.string().regex(/^hooks\/\d+\.\d+$/),
  hooks: z.array(hook).min(1),
});

export interface Misshapen {
  readonly path: readonly (string | number)[];
  readonly why: string;
}

/** Returns the errors in the shape of a matcher. Null is allowed, because some authors write it for every tool. */
export function misshapen(matcher: unknown, path: readonly (string | number)[] = ['matcher']): Misshapen[] {
  if (matcher === undefined || matcher === null || typeof matcher === 'string') return [];
  if (!Array.isArray(matcher)) return oddElement(matcher, path);
  return matcher.flatMap((element, i) => {
    if (typeof element === 'string') return [];
    if (Array.isArray(element)) return [{ path: [...path, i], why: 'an array inside the array of a matcher' }];
    return oddElement(element, [...path, i]);
  });
}

function oddElement(element: unknown, path: readonly (string | number)[]): Misshapen[] {
  const odd = (why: string, ...more: string[]): Misshapen[] => [{ path: [...path, ...more], why }];
  if (!isObject(element)) return odd('a matcher is a name, a pattern, an MCP tool, or an array of these');
  const { pattern, mcp } = element;
  if ('pattern' in element && 'mcp' in element) return odd('a matcher is either a pattern or an mcp, not both');
  if ('pattern' in element) return typeof pattern === 'string' ? [] : odd('pattern is not a string', 'pattern');
  if (!('mcp' in element)) return odd('a matcher that is an object has pattern or mcp');
  if (!isObject(mcp)) return odd('mcp is not an object', 'mcp');
  if (typeof mcp.server !== 'string' || mcp.server === '') return odd('mcp names no server', 'mcp');
  return mcp.tool === undefined || typeof mcp.tool === 'string' ? [] : odd('tool is not a string', 'mcp', 'tool');
}

/** The elements of a matcher; undefined for every tool. */
export function elementsOf(matcher: Matcher | null | undefined): readonly Element[] | undefined {
  if (matcher === undefined || matcher === null) return undefined;
  return isList(matcher) ? matcher : [matcher];
}

const isList = (matcher: Matcher): matcher is readonly Element[] => Array.isArray(matcher);

export const matcherOf = (elements: readonly Element[] | undefined): Matcher | undefined =>
  elements?.length === 1 ? elements[0] : elements;

/**
 * Returns a valid manifest in one spelling: the system `darwin` for a Mac, no matcher instead of null, and fields of
 * older drafts in their current place. Only the order and remarks in `_` fields are lost.
 */
export function normalized(value: Values): Manifest {
  const spec = String(value.spec);
  const hooks = (Array.isArray(value.hooks) ? value.hooks : []).filter(isObject);
  return { ...withoutRemarks(value), spec, hooks: hooks.map(each => normalizedHook(each)) };
}

function normalizedHook(value: Values): Hook {
  const { matcher, handler: native, provider_data: data, ...rest } = withoutRemarks(value);
  const given = isObject(native) ? withoutRemarks(native) : {};
  const { platform, allowedEnvVars, allowed_env_vars: allowed = allowedEnvVars, ...others } = given;
  const waits = isObject(data) && Object.values(data).some(each => isObject(each) && each.timeout_behavior === 'block');
  const fields = {
    ...others,
    ...(platform === undefined ? {} : { platform: isObject(platform) ? renamed(platform, 'osx', 'darwin') : platform }),
    ...(allowed === undefined ? {} : { allowed_env_vars: allowed }),
    ...(waits && others.timeout_action === undefined ? { timeout_action: 'block' } : {}),
  };
  return {
    ...rest,
    event: String(rest.event),
    ...(matcher === undefined || matcher === null ? {} : { matcher: matcher as Matcher }),
    handler: fields as unknown as Handler,
    ...(data === undefined ? {} : { provider_data: data as Hook['provider_data'] }),
  };
}

const withoutRemarks = (value: Values): Values =>
  Object.fromEntries(Object.entries(value).filter(([key]) => !key.startsWith('_')));

function renamed(table: Values, from: string, to: string): Values {
  return Object.fromEntries(
    Object.entries(table).flatMap(([key, value]) => (key !== from ? [[key, value]] : to in table ? [] : [[to, value]])),
  );
}

/** Returns the manifest in the spelling of its own version. */
export function spelled(manifest: Manifest): Manifest {
  if (manifest.spec !== 'hooks/1.0') return manifest;
  const hooks = manifest.hooks.map(each =>
    each.handler.platform === undefined
      ? each
      : { ...each, handler: { ...each.handler, platform: renamed(each.handler.platform, 'darwin', 'osx') } },
  );
  return { ...manifest, hooks } as Manifest;
}

/** Returns the name of a hook for messages. */
export const nameOf = ({ name }: Hook, index: number): string => name || `Hook ${index + 1}`;
