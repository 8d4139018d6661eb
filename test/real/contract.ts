/**
 * The words of the harness for real agents.
 *
 * A scenario is a file of data: `scenarios/<agent>/<name>.yaml`. A driver (`agents/<agent>.ts`) starts and configures
 * one agent. `stage.ts` runs the agent in a network namespace of its own and records the results. `judge.ts` compares
 * these with the truth: the responses of the model server, and the expectations of the scenario.
 */

export interface Scenario {
  /** One sentence: the events that the agent meets. */
  about: string;
  /** Runs in CI. Otherwise only with `--all`. */
  ci?: boolean;
  /** The dialect of the model server, for agents that support several. */
  dialect?: string;
  /** Files of the project, by relative path. */
  files?: Record<string, string>;
  /** Passed to the driver: it writes them into the agent's own settings. */
  settings?: Record<string, unknown>;
  /** More flags of `enable`. */
  enable?: string[];
  /** Environment variables of the agent, beside those of the driver. `$PORT`: the model server, `$BIN`: otel-hooks. */
  environment?: Record<string, string>;
  /** The responses of the model, by tag. A prompt names its tag as `[[tag]]`. */
  model: Record<string, Reply[]>;
  steps: Step[];
  expect: Expectation;
}

/** One response of the model. */
export interface Reply {
  thinking?: string;
  text?: string;
  calls?: { name: string; input: Record<string, unknown> | string; namespace?: string; kind?: 'custom' }[];
  /** Used instead of the unique numbers of the server. */
  tokens?: Partial<Tokens>;
  /** Answer this status first: `times` times, or for ever (without `times`). */
  error?: { status: number; times?: number; type?: string };
  /** `early`: the first answer ends after its first half, as if the connection broke. `event`: with an error event. */
  cut?: 'early' | 'event';
  /** Wait before the first byte. */
  stallMs?: number;
  /** Wait between the blocks. */
  paceMs?: number;
}

/** Input leaves caches out; output includes reasoning. */
export interface Tokens {
  input: number;
  cacheRead: number;
  cacheWrite: number;
  cacheWrite1h: number;
  output: number;
  reasoning: number;
}

export interface Step {
  /** The prompt, with a tag. Runs the agent headless. */
  prompt?: string;
  /** More arguments of the agent. `$PREVIOUS` becomes the id of the session of the step before, if the driver knows it. */
  args?: string[];
  /** Lines for the standard input, in place of /dev/null. `after`: when the model server has served this response. */
  input?: (string | { line: string; after: string })[];
  /** Sends a signal to the process group: after `afterMs`, counted from the moment when the response `served` is complete. */
  stop?: { signal: 'SIGINT' | 'SIGTERM' | 'SIGKILL'; served: string; afterMs?: number };
  /** The expected exit code of the agent: default 0; a signal's name if it ends by one. `any` if it varies. */
  exit?: number | string;
  /** The step runs beside the next one. */
  beside?: boolean;
  /** A command of the shell in the project, in place of the agent. */
  shell?: string;
  /** Steps in the agent's terminal. */
  terminal?: TerminalStep[];
  /** Wait before the step. */
  pauseMs?: number;
}

/** `wait`: until this text is on the screen. `type`: these characters. `key`: Enter, Escape, Up, Down, Tab, Ctrl-C, ... */
export interface TerminalStep {
  wait?: string;
  type?: string;
  key?: string;
  pauseMs?: number;
  /** Until the model server served this response. */
  served?: string;
}

export interface Expectation {
  /** The traces, as `tree.ts` draws them. */
  tree: string;
  /** Why nothing tells of the end of the session. The harness lets an hour pass, and delivers. */
  silent?: string;
  /** The number of sessions whose root never ends, because their process was killed. Default 0. */
  open?: number;
  /** True if `usage.complete=false` is right, because a run was cut. */
  incomplete?: boolean;
  /** Labels of served responses that cannot have a span, with the reason. Metrics and sums still count them. */
  withoutSpan?: Record<string, string>;
  /** Labels of responses whose tokens are recorded nowhere, with the reason. */
  uncounted?: Record<string, string>;
  /**
   * The inevitable differences between import and hooks, because of the agent's files: a pattern of lines, and its
   * reason.
   */
  importDiffers?: Record<string, string>;
  /** The agent's files contain no session, so nothing is imported: the reason. */
  notImported?: string;
  /** Texts that the requests of the run with hooks contain, such as parts of results. */
  requests?: string[];
  /** `doctor` finds problems: the codes or words it must show. */
  doctor?: string[];
  /** The output with hooks differs from the output without: patterns of lines that are left out, with their reason. */
  output?: Record<string, string>;
  /** The run without hooks cannot be compared: the reason. */
  notCompared?: string;
  /**
   * Actions that no response calls by their id, such as the tools that a script calls, with the reason. The tree names
   * them.
   */
  nested?: string;
  /** Vendor events that must come, beside those of the driver, which may come. */
  vendor?: string[];
  /**
   * The parents of the spans that `$TRACED_BUILD` sent, in the order of time. In the run without hooks, each of these
   * spans is a root.
   */
  parentsOfCommands?: ('session' | 'action')[];
}

/** The code for one agent. One file in `agents/` exports it as `driver`. */
export interface Driver {
  /** As in `enable --tool`. */
  id: string;
  /** The dialect that the agent speaks unless the scenario names another. */
  dialect: string;
  /** The program in `node_modules/.bin`. */
  command: string;
  /** Writes the settings and the first-run files of the agent. */
  prepare(place: Place, scenario: Scenario): void;
  environment(place: Place, scenario: Scenario): Record<string, string>;
  /** The arguments of a headless run. */
  headless(step: Step, place: Place, scenario: Scenario): string[];
  /** The arguments for the terminal. */
  terminal?(step: Step, place: Place, scenario: Scenario): string[];
  /** The folders of the home that hold transcripts; the harness fails if a run leaves none there. */
  transcripts: string[];
  /** Settings files that the agent itself rewrites: their content is compared after `disable`, not their bytes. */
  rewrites?: string[];
  /** Lines that are left out before outputs are compared, such as announcements of hooks: a pattern, and the reason. */
  notices?: { line: RegExp; reason: string }[];
  /** Replaces values of a line of output that differ in every run. */
  plain?(line: string): string;
  /**
   * The reason why the agent states no tokens for single responses. Then only the sums of sessions and metrics are
   * compared.
   */
  sumsOnly?: string;
  /** As `importDiffers` of a scenario, for all scenarios of the agent. */
  importDiffers?: Record<string, string>;
  /** The findings of `doctor` in every scenario without `doctor` of its own. */
  doctor?: string[];
  /** Names of vendor events that the agent sends in any run. */
  vendor?: string[];
  /** The id of the newest session, for `$PREVIOUS`. */
  newestSession?(place: Place): string | undefined;
}

/** The folders of a run, and the ports inside its namespace. */
export interface Place {
  folder: string;
  home: string;
  temporary: string;
  project: string;
  /** The folder of the installed agent, with its `node_modules`. */
  agent: string;
  modelPort: number;
}

/** A record of the model server, in the order of time. */
export interface Served {
  /** `<tag>.<step>`, such as `main.2`; a repetition of a step after a complete response is `main.2+1`; side requests are `side.N`. */
  label: string;
  id: string;
  kind: 'response' | 'side' | 'error' | 'cut';
  status: number;
  model: string;
  tokens: Tokens | undefined;
  calls: { id: string; label: string; name: string }[];
  fromMs: number;
  toMs: number;
}

/** The state of the run in plain values, as `stage.ts` writes it into `seen.json`. */
export interface Seen {
  served: Served[];
  unknownPaths: string[];
  /** One for each agent process: with hooks. */
  runs: AgentRun[];
  /** The same steps without hooks. */
  plainRuns: AgentRun[];
  plainServed: Served[];
  status: unknown;
  doctor: { exit: number | string; output: string };
  shows: { session: string; tree: string }[];
  commands: { words: string[]; exit: number | string; stdout: string; stderr: string }[];
  /** Differences between the settings before `enable` and after `disable`. */
  settingsLeft: string[];
  /** Hooks that the agent killed when it ended: their fragments have no end, so they are waiting and later set aside. */
  killedHooks: number;
  /** One of several repetitions: only the run with hooks, without the commands and imports after it. */
  isRepeated: boolean;
  /** Spans and records that came only after `otel-hooks deliver`. */
  late: number;
  quietAfterMs: number;
}

export interface AgentRun {
  step: number;
  exit: number | string;
  stdout: string;
  stderr: string;
  tookMs: number;
  fromMs: number;
  toMs: number;
}
