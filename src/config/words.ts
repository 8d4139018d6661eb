/**
 * Types of settings that are also options of the library. This file imports no package, because the library's
 * declarations contain it.
 */

export const contentPlaces = ['both', 'spans', 'events'] as const;
export type ContentPlaces = (typeof contentPlaces)[number];

export const included = [
  'session.id',
  'gen_ai.tool.name',
  'gen_ai.agent.name',
  'agent_hooks.mcp.server',
  'agent_hooks.agent.mode',
  'vcs.repository.name',
  'vcs.ref.head.name',
  'user.id',
] as const;
export type Included = (typeof included)[number];
/** The narrowest value first. */
export const levels = ['error', 'warn', 'info', 'debug'] as const;
export type LogLevel = (typeof levels)[number];

/** Spans that a session keeps although it is not sampled. */
export const keptKinds = ['failures', 'denials', 'risk'] as const;
export type Kept = (typeof keptKinds)[number];

/** The levels of records of one event type; `off` sends none of them. */
export const typeLevels = ['off', ...levels] as const;
export type TypeLevel = (typeof typeLevels)[number];

export const semconvs = ['latest', 'v1.36', 'both'] as const;
export type Semconv = (typeof semconvs)[number];
