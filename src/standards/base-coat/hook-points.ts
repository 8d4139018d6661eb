/**
 * The eleven hook points of Base Coat (its hooks document of 2026, checked 2026-11-18) and what platforms call them.
 * `hooksFile` is the name in `.github/hooks/*.json`, `settingsFile` the one in a settings file of PascalCase events;
 * `also` are other spellings that platforms send. The document holds `Stop` for the end of the session; the platforms
 * fire it at the end of each turn, so as a native event it is that, and an envelope that says `SessionEnd` is the end
 * of the session.
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

export type HookPoint = (typeof hookPoints)[number];

export type Platform = 'hooksFile' | 'settingsFile';

interface Names {
  /** Undefined: the platform has no such event; its own logic or a middleware must tell it. */
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

/** What a platform calls a hook point. */
export const platformName = (point: HookPoint, platform: Platform): string | undefined => names[point][platform];

/** The hook point of a name, in whichever spelling. */
export const hookPointOf = (name: string): HookPoint | undefined => points.get(name);

const points: ReadonlyMap<string, HookPoint> = new Map(
  hookPoints.flatMap(point => {
    const { hooksFile, settingsFile, also } = names[point];
    return [point, hooksFile, settingsFile, ...also].flatMap(name => (name === undefined ? [] : [[name, point]]));
  }),
);

/** Names under which platforms tell the end of a turn, whatever the document calls them. */
export const endsTurn = (name: string): boolean => ['Stop', 'stop', 'agentStop'].includes(name);
