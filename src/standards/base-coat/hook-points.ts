/**
 * The eleven hook points of Base Coat (its hooks document of 2026, checked 2026-11-18) and their names on platforms.
 * `hooksFile` is the name in `.github/hooks/*.json`, `settingsFile` the name in settings files with PascalCase events,
 * and `also` lists other spellings of platforms. The document uses `Stop` for the end of the session, but platforms
 * fire it at the end of each turn. As a native event it is therefore the end of a turn, and an envelope with
 * `SessionEnd` is the end of the session.
 */
export const hookPoints = [
  'SessionStart',
  'SessionEnd',
  'UserPromptSubmitted',
  'PreToolUse',
  'PostToolUse',
  'SubagentStart',
  'SubagentStop',
  'PreCompact',
  'PostCompact',
  'OnError',
  'OnBudgetExceeded',
] as const;

/**
 * A hook point of Base Coat.
 *
 * @example
 * ```ts
 * const point: HookPoint = 'PreToolUse';
 * ```
 */
export type HookPoint = (typeof hookPoints)[number];

export type Platform = 'hooksFile' | 'settingsFile';

interface Names {
  /** Undefined: the platform has no such event, so its own logic or a middleware must send it. */
  readonly hooksFile: string | undefined;
  readonly settingsFile: string | undefined;
  readonly also: readonly string[];
}

const names: Readonly<Record<HookPoint, Names>> = {
  SessionStart: { hooksFile: 'SessionStart', settingsFile: 'SessionStart', also: ['sessionStart'] },
  SessionEnd: { hooksFile: 'Stop', settingsFile: 'SessionEnd', also: ['sessionEnd', 'agentStop', 'stop'] },
  UserPromptSubmitted: {
    hooksFile: 'UserPromptSubmit',
    settingsFile: 'UserPromptSubmit',
    also: ['userPromptSubmitted', 'userPromptSubmit'],
  },
  PreToolUse: { hooksFile: 'preToolUse', settingsFile: 'PreToolUse', also: [] },
  PostToolUse: { hooksFile: 'postToolUse', settingsFile: 'PostToolUse', also: [] },
  SubagentStart: { hooksFile: 'SubagentStart', settingsFile: 'SubagentStart', also: ['subagentStart'] },
  SubagentStop: { hooksFile: 'SubagentStop', settingsFile: 'SubagentStop', also: ['subagentStop'] },
  PreCompact: { hooksFile: 'PreCompact', settingsFile: 'PreCompact', also: ['preCompact'] },
  PostCompact: { hooksFile: undefined, settingsFile: 'PostCompact', also: ['postCompact'] },
  OnError: {
    hooksFile: 'errorOccurred',
    settingsFile: 'PostToolUseFailure',
    also: ['ErrorOccurred', 'postToolUseFailure'],
  },
  OnBudgetExceeded: { hooksFile: undefined, settingsFile: undefined, also: [] },
};

/** Returns the name of a hook point on a platform. */
export const platformName = (point: HookPoint, platform: Platform): string | undefined => names[point][platform];

/** Returns the hook point of a name in any spelling. */
export const hookPointOf = (name: string): HookPoint | undefined => points.get(name);

const points: ReadonlyMap<string, HookPoint> = new Map(
  hookPoints.flatMap(point => {
    const { hooksFile, settingsFile, also } = names[point];
    return [point, hooksFile, settingsFile, ...also].flatMap(name => (name === undefined ? [] : [[name, point]]));
  }),
);

/** Events of hooks files that are not hook points. */
const besides = ['PermissionRequest', 'permissionRequest', 'Notification', 'notification'];

/** Returns true for a name that platforms accept in hooks files, in the document's table or beyond it. */
export const isNativeName = (name: string): boolean => besides.includes(name) || nativeNames.has(name);

const nativeNames: ReadonlySet<string> = new Set(
  Object.values(names).flatMap(({ hooksFile, settingsFile, also }) => [hooksFile ?? '', settingsFile ?? '', ...also]),
);

/** Names of platforms for the end of a turn. This list is independent of the document's table. */
export const endsTurn = (name: string): boolean => ['Stop', 'stop', 'agentStop'].includes(name);
