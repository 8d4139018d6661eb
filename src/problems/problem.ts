import { shownStatus } from '../lib/grpc-codes.ts';
import { own } from '../lib/read.ts';
import { INSTALL_COMMAND, UPDATE } from './install.ts';

/**
 * A problem as data: tests compare codes, people read the sentences of `explain`.
 *
 * Every code has a heading in docs/problems.md. No field ever holds a credential: the code that creates a problem
 * leaves out a bad value that may be a credential.
 */
export type Problem =
  | { code: 'config-unreadable'; file: string; why: string }
  | { code: 'config-json'; file: string; line: number; column: number; why: string }
  | (Setting & { code: 'config-value'; value?: string | undefined; why: string; used: string })
  | (Setting & { code: 'config-key'; nearest?: string | undefined })
  | { code: 'config-keys'; file: string; more: number }
  | (Setting & { code: 'config-untrusted'; used: string })
  | (Setting & { code: 'config-reference' })
  | { code: 'config-place'; file: string; why: string }
  | { code: 'config-owner'; file: string; isUsed?: true }
  | { code: 'session-silenced'; key: string; file: string }
  | { code: 'variable-unsupported'; variable: string; why: string; instead: string }
  | { code: 'variable-unknown'; variable: string; nearest?: string | undefined }
  | { code: 'provider-unknown'; provider: string; from: string; known: readonly string[]; nearest?: string | undefined }
  | { code: 'destinations-full'; endpoint: string; most: number }
  | { code: 'sessions-full' }
  | { code: 'provider-not-configured'; provider: string }
  | { code: 'provider-incomplete'; provider: string; key: string }
  | { code: 'endpoint-signal-path'; endpoint: string; used: string; from: string }
  | { code: 'endpoint-grpc-port'; endpoint: string; from: string }
  | { code: 'endpoint-grpc-path'; endpoint: string; used: string; from: string }
  | { code: 'endpoint-cleartext'; endpoint: string }
  | { code: 'endpoint-unsigned'; endpoint: string }
  | { code: 'endpoint-missing'; signals: readonly string[]; key: string }
  | { code: 'credentials-withheld'; key: string; from: string; endpoint: string }
  | { code: 'delivery-failing'; endpoint: string; signal: string; why: string; failures: number }
  | { code: 'delivery-refused'; endpoint: string; status: number; keys: readonly string[] }
  | { code: 'delivery-endpoint'; endpoint: string; signal: string; status: number }
  | { code: 'delivery-rejected'; endpoint: string; signal: string; reason: string; items: number }
  | { code: 'delivery-all-refused'; endpoint: string; signal: string; reason: string; items: number }
  | SetupProblem
  | StateProblem
  | { code: 'hook-failed'; folder: string; why: string; lastMs: number }
  /** `why`: `silence`, or the reason in the quarantine. */
  | { code: 'input-not-taken'; folder: string; why: string; inputs?: number | undefined }
  /** One of the hooks that are in quarantine since then. */
  | { code: 'fragment-failed'; folder: string; why: 'failed' | 'crashed' }
  | { code: 'enrichment-failed'; enrichment: string }
  | { code: 'transcript-failed'; agent: string; why: 'row' | 'file' }
  | { code: 'program-missing'; folder: string; hooks: number | undefined; lastMs: number }
  | { code: 'fragments-newer'; folder: string; fragments: number }
  /** Without a file: this version of Node can load none. */
  | { code: 'transcripts-packed'; file?: string | undefined; why: string }
  | { code: 'program-twice'; path: string; isPython: boolean; own: string }
  | { code: 'program-temporary'; path: string; why: string }
  | { code: 'status-line-replaced'; agent: string; id: string; file: string }
  | { code: 'mode-open'; path: string; mode: string; wanted: string }
  | { code: 'hooks-stale'; agent: string; scope: string; file: string; stale: readonly string[] }
  | { code: 'hooks-twice'; agent: string; id: string; files: readonly string[]; scopes: readonly string[] }
  | { code: 'hooks-silent'; agent: string; file: string; why: string; advice: string }
  /** `newer`: its version, and the newest version that the tests ran with. */
  | { code: 'agent-newer'; agent: string; newer?: { version: string; checked: string }; unknown: readonly string[] }
  | { code: 'hook-fails'; agent: string; why: string; advice: string }
  | { code: 'books-unbalanced'; account: string }
  | { code: 'endpoint-unreachable'; endpoint: string; why: string }
  | { code: 'endpoint-tls'; endpoint: string; why: string }
  | { code: 'endpoint-protocol'; endpoint: string; why: string }
  | { code: 'endpoint-refuses'; endpoint: string; signal: string; status: number }
  | { code: 'clock-skew'; endpoint: string; seconds: number }
  | { code: 'read-back-unreachable'; key: string; address: string; why: string }
  | { code: 'not-read-back'; name: string; address: string; signal: string; waitedS: number }
  | { code: 'serve-address'; address: string; why: string }
  | { code: 'serve-open'; address: string }
  | { code: 'serve-tls'; file: string; why: string }
  | { code: 'token-unsafe'; file: string; why: string }
  | { code: 'openhook-unanswered'; file: string; folder: string; isChanged: boolean; hooks: number }
  | { code: 'openhook-invalid'; file: string; why: string }
  | { code: 'openhook-failed'; file: string; hook: number; why: string }
  | { code: 'delivery-partial'; endpoint: string; signal: string; items: number; message: string };

/** The reason why a state folder was not opened. The folder was not changed. */
export type StateProblem =
  | { code: 'state-missing'; folder: string }
  | { code: 'state-newer'; folder: string; found: number; known: number }
  | { code: 'state-foreign'; folder: string; owner: number }
  | { code: 'state-symlink'; folder: string }
  | { code: 'state-not-a-folder'; folder: string }
  | { code: 'state-unusable'; folder: string; error: string };

/** The reason why an agent's settings were not changed. */
export type SetupProblem =
  | { code: 'settings-absent'; agent: string; why: string; scopes: readonly string[] }
  | { code: 'settings-refused'; file: string; line: number; column: number; why: string }
  | { code: 'settings-file'; file: string; why: string }
  | { code: 'settings-outside'; file: string; target: string };

/** Merges problems of several signals with the same destination and the same cause into one problem. */
export function merged(problems: readonly Problem[]): Problem[] {
  const failing = new Map<string, (Problem & { code: 'delivery-failing' })[]>();
  const causeOf = (each: Problem & { code: 'delivery-failing' }): string => `${each.endpoint} ${each.why}`;
  for (const each of problems) {
    if (each.code === 'delivery-failing' && !failing.get(causeOf(each))?.push(each)) failing.set(causeOf(each), [each]);
  }
  return problems.flatMap((each): Problem[] => {
    if (each.code !== 'delivery-failing') return [each];
    const all = failing.get(causeOf(each)) ?? [each];
    if (all[0] !== each) return [];
    const signals = all.map(({ signal }) => signal);
    const last = signals.pop() ?? '';
    const signal = signals.length === 0 ? last : `${signals.join(', ')} and ${last}`;
    return [{ ...each, signal, failures: Math.max(...all.map(({ failures }) => failures)) }];
  });
}

/** The problems that the configuration of a session can have. */
const ofPin: ReadonlySet<Problem['code']> = new Set([
  ...(['config-unreadable', 'config-json', 'config-value', 'config-key', 'config-keys', 'config-untrusted'] as const),
  'config-reference',
  ...(['config-place', 'config-owner', 'session-silenced', 'variable-unsupported', 'variable-unknown'] as const),
  ...(['provider-unknown', 'provider-not-configured', 'provider-incomplete', 'credentials-withheld'] as const),
  ...(['endpoint-signal-path', 'endpoint-grpc-port', 'endpoint-grpc-path', 'endpoint-missing'] as const),
]);
export const isOfPin = ({ code }: Problem): boolean => ofPin.has(code);

/** Notes and warnings. They change no exit code, because the program does what its configuration says. */
export const isNote = ({ code }: Problem): boolean => notes.has(code);
const notes: ReadonlySet<Problem['code']> = new Set([
  ...(['endpoint-signal-path', 'session-silenced', 'endpoint-cleartext', 'endpoint-unsigned'] as const),
  'agent-newer',
]);

// biome-ignore lint/suspicious/noTemplateCurlyInString: the form of a reference
const REFERENCE_FORMS = '${env:…} and ${file:…}';

/** The place of a setting: a line of a file, a variable or a flag. */
interface Setting {
  key: string;
  file?: string | undefined;
  line?: number | undefined;
  variable?: string | undefined;
  flag?: string | undefined;
}

export interface Explanation {
  /** States the file, value or address, and the effect that is missing. */
  what: string;
  /** The next step: a command or an edit. */
  next: string;
}

export function explain(problem: Problem): Explanation {
  // The table has one entry for each member of the union, so the entry found by the code fits the problem.
  return (explanations[problem.code] as (problem: Problem) => Explanation)(problem);
}

export const problemCodes = (): string[] => Object.keys(explanations);

/** The limits of one hook, by the reason in the quarantine. */
const inputLimits = {
  'too-large': 'more than 64 MB',
  'too-many-events': 'more than 10,000 events',
  'too-many-values': 'more than 1,000,000 values',
} as const;

export const exceedsHook = (reason: string): boolean => Object.hasOwn(inputLimits, reason);

const enrichmentWords: Readonly<Record<string, string>> = {
  risk: 'the risk',
  cost: 'the cost',
  content: 'the content',
  watch: 'loops and budgets',
};

const transcriptWords: Readonly<Record<'row' | 'file', (agent: string) => string>> = {
  row: agent =>
    `otel-hooks could not process a row of a transcript of ${agent}; the row was skipped, and the other rows were read`,
  file: agent => `otel-hooks could not import a session of ${agent}; nothing of that session was imported`,
};

/** Added to past problems for which no present state shows that they are solved. */
const FORGET = '`otel-hooks prune --problems` removes this message.';

const REPORT = `${UPDATE}; if it happens again, report it with the output of \`otel-hooks status --json\`. ${FORGET}`;

const explanations: { [C in Problem['code']]: (problem: Extract<Problem, { code: C }>) => Explanation } = {
  'config-unreadable': ({ file, why }) => ({
    what: `${file} cannot be read (${why}); nothing in it was used.`,
    next: `make ${file} readable, or remove it.`,
  }),
  'config-json': ({ file, line, column, why }) => ({
    what: `${file} is not valid JSON (line ${line}, column ${column}: ${why}); nothing in it was used.`,
    next: `fix line ${line}, then run \`otel-hooks deliver\` to send the data that waited; \`otel-hooks config\` shows the present configuration.`,
  }),
  'config-value': ({ value, why, used, ...setting }) => ({
    what: `${placeOf(setting)}: ${value === undefined ? 'its value' : `the value ${value}`} ${why}; ${used} is used instead.`,
    next: 'correct it; `otel-hooks config --schema` lists the values of each key.',
  }),
  'config-key': ({ nearest, ...setting }) => ({
    what: `${placeOf(setting)}: there is no such key; it was ignored.`,
    next:
      nearest === undefined ? 'remove it; `otel-hooks config --schema` lists the keys.' : `did you mean ${nearest}?`,
  }),
  'config-keys': ({ file, more }) => ({
    what: `${file}: ${more === 1 ? '1 further key does not exist; it was' : `${more} further keys do not exist; they were`} ignored.`,
    next: `remove ${more === 1 ? 'it' : 'them'} from ${file}; \`otel-hooks config --schema\` lists the keys.`,
  }),
  'config-untrusted': ({ used, ...setting }) => ({
    what: `${placeOf(setting)}: a project's file may not set this without your consent; ${used} is used instead.`,
    next: 'read the file, then run `otel-hooks config --trust` in that project.',
  }),
  'config-reference': setting => ({
    what: `${placeOf(setting)}: ${REFERENCE_FORMS} in a project's file are read only with your consent; the text stays as it is.`,
    next: 'read the file, then run `otel-hooks config --trust` in that project, or move the setting to your own file.',
  }),
  'config-place': ({ file, why }) => ({
    what: `OTEL_HOOKS_CONFIG names ${file}, but ${why}; it was not read.`,
    next: 'name a file outside of the project by its absolute path, or `otel-hooks config --trust` a .otel-hooks.json.',
  }),
  'config-owner': ({ file, isUsed }) =>
    isUsed
      ? {
          what: `${file} belongs to another user, who can read the credentials in it and change it.`,
          next: `replace it by your own copy: cp ${file} ${file}.own && mv -f ${file}.own ${file}`,
        }
      : {
          what: `${file} belongs to another user; it was not read.`,
          next: 'remove it, or create your own file in the project.',
        },
  'session-silenced': ({ key, file }) => ({
    what: `${file} sets ${key}, so no spans of its sessions are sent.`,
    next: 'to forbid this, set projects.may_silence to false in your own file.',
  }),
  'variable-unsupported': ({ variable, why, instead }) => ({
    what: `${variable} is set, but ${why}; it was ignored.`,
    next: instead,
  }),
  'variable-unknown': ({ variable, nearest }) => ({
    what: `${variable} is set, but otel-hooks has no such variable; it was ignored.`,
    next: nearest === undefined ? 'unset it; docs/configuration.md lists the variables.' : `did you mean ${nearest}?`,
  }),
  'provider-unknown': ({ provider, from, known, nearest }) => ({
    what: `${from}: there is no provider ${provider}; nothing is sent to it.`,
    next: `${nearest === undefined ? '' : `did you mean ${nearest}? `}Providers: ${known.join(', ')}.`,
  }),
  'destinations-full': ({ endpoint, most }) => ({
    what: `${most} destinations are stored, which is the limit, so ${endpoint} was not added; sessions without another destination are kept on this machine.`,
    next: 'let sessions share endpoints; a destination that no session used for a week is removed, and `otel-hooks deliver` then sends the data that was kept.',
  }),
  'sessions-full': () => ({
    what: 'too many sessions are open, so those with the longest silence were ended; their journals are kept.',
    next: `check with \`otel-hooks show\` whether a program starts sessions without end; an ended session continues when its hooks resume. ${FORGET}`,
  }),
  'provider-not-configured': ({ provider }) => ({
    what: `--provider ${provider} is set in the hook, but no such provider is configured; nothing is sent to it.`,
    next: `add "${provider}" to "provider" in the config file, or remove --provider from the hook's command.`,
  }),
  'provider-incomplete': ({ provider, key }) => ({
    what: `provider ${provider} needs ${key}, which is not set; nothing is sent to it.`,
    next: `set ${key} in the config file.`,
  }),
  'endpoint-signal-path': ({ endpoint, used, from }) => ({
    what: `${from}: ${endpoint} ends in one signal's path; ${used} is used as the base of all signals.`,
    next: `set it to ${used}.`,
  }),
  'endpoint-cleartext': ({ endpoint }) => ({
    what: `${endpoint} is outside of this network, and data is sent to it in cleartext: others in between can read and change it.`,
    next: 'use an https:// address, or a collector on this machine that sends over TLS.',
  }),
  'endpoint-unsigned': ({ endpoint }) => ({
    what: `events are sent to ${endpoint} without a signature, so its receiver cannot verify who sent them.`,
    next: 'run `otel-hooks signing-key`, set `hooks.sign_key` to the file that it names, and give the receiver the public part.',
  }),
  'endpoint-grpc-port': ({ endpoint, from }) => ({
    what: `${from}: ${endpoint} has the port of OTLP over gRPC, but the protocol is HTTP; it sends there nevertheless.`,
    next: `${
      from === 'global file'
        ? 'run `otel-hooks doctor --fix`, which sets otlp.protocol to grpc'
        : `set ${from.startsWith('environment ') ? 'OTEL_EXPORTER_OTLP_PROTOCOL' : 'otlp.protocol'} to grpc`
    }; or use the HTTP port, usually 4318.`,
  }),
  'endpoint-grpc-path': ({ endpoint, used, from }) => ({
    what: `${from}: addresses of OTLP over gRPC have no path; data is sent to ${used}, not to ${endpoint}.`,
    next: `set it to ${used}; or set otlp.protocol to http/protobuf, if the path is right.`,
  }),
  'endpoint-missing': ({ signals, key }) => ({
    what: `only some signals have an endpoint; ${signals.join(' and ')} are not sent.`,
    next: `set ${key}, or OTEL_${(signals[0] ?? 'logs').toUpperCase()}_EXPORTER=none if that is meant.`,
  }),
  'credentials-withheld': ({ key, from, endpoint }) => ({
    what: `${key} (${from}) was set for another host and is not sent to ${endpoint}.`,
    next: `set ${key} in the same place as the endpoint.`,
  }),
  'delivery-failing': ({ endpoint, signal, why, failures }) => ({
    what: `${endpoint} has not accepted ${signal} in ${failures} ${failures === 1 ? 'try' : 'tries'} (${why}); they are kept and tried again.`,
    next: `${mendPlace(endpoint) ?? mendAddress(why) ?? 'check the address, and that the collector runs.'} Then \`otel-hooks deliver\`.`,
  }),
  'delivery-refused': ({ endpoint, status, keys }) => ({
    what: `${endpoint} refuses our credentials (${shownStatus(status)}); its data is kept.`,
    next: `correct ${keys.join(' or ')}, then \`otel-hooks deliver\`.`,
  }),
  'delivery-endpoint': ({ endpoint, signal, status }) => ({
    what: `${endpoint} does not accept ${signal} (${shownStatus(status)}); they are kept. Redirects are not followed.`,
    next: `correct the endpoint, then \`otel-hooks deliver\`; or set OTEL_${signal.toUpperCase()}_EXPORTER=none, then \`otel-hooks destinations drop ${endpoint}\` for the waiting data.`,
  }),
  'delivery-rejected': ({ endpoint, signal, reason, items }) => ({
    what: `${endpoint} rejected ${items === 1 ? `one item of the ${signal}` : `${items} items of the ${signal}`} (${reason}); ${signal === 'metrics' ? 'the next metrics contain their values' : `${items === 1 ? 'it is' : 'they are'} in quarantine for 24 hours`}.`,
    next:
      signal === 'metrics'
        ? 'check the limits of the collector, then `otel-hooks deliver`.'
        : `check the limits of the collector, then \`otel-hooks destinations resend ${endpoint}\`.`,
  }),
  'delivery-all-refused': ({ endpoint, signal, reason, items }) => ({
    what: `${endpoint} refused the last ${items} ${signal} one by one (${reason}), so the rest is kept and not tried for a while.`,
    next: 'check that an OTLP receiver answers there, then `otel-hooks deliver`.',
  }),
  'settings-absent': ({ agent, why, scopes }) => ({
    what: `${agent} cannot be set up (${why}); nothing was changed.`,
    next:
      scopes.length === 0
        ? 'name other agents with --tool.'
        : `run the command again with ${scopes.map(scope => `--${scope}`).join(' or ')}.`,
  }),
  'settings-refused': ({ file, line, column, why }) => ({
    what: `${file}: ${why} (line ${line}, column ${column}); nothing was changed.`,
    next: `fix line ${line}, then run the command again.`,
  }),
  'settings-outside': ({ file, target }) => ({
    what: `${file} is a link out of the project, to ${target}; nothing was changed.`,
    next: 'replace the link by a file of the project, or change the target itself, with --global.',
  }),
  'settings-file': ({ file, why }) => ({
    what: `${file} cannot be used (${why}); nothing was changed.`,
    next: `make it a plain file that you can read and write (ls -ld ${file} shows its kind, owner and mode), then run the command again.`,
  }),
  'state-missing': ({ folder }) => ({
    what: `${folder} does not exist; nothing was received yet.`,
    next: '`otel-hooks enable` writes the hooks that fill it.',
  }),
  'state-newer': ({ folder, found, known }) => ({
    what: `${folder} has the format ${found} of a later otel-hooks (this one knows ${known}); it was not changed.`,
    next: UPDATE,
  }),
  'state-foreign': ({ folder, owner }) => ({
    what: `${folder} belongs to another user (uid ${owner}); nothing is read from it or written to it.`,
    next: `remove it, or choose another with OTEL_HOOKS_STATE_DIR.`,
  }),
  'state-symlink': ({ folder }) => ({
    what: `${folder} is a symbolic link; nothing is read through it or written through it.`,
    next: 'name its target with OTEL_HOOKS_STATE_DIR, or put a folder in its place.',
  }),
  'state-not-a-folder': ({ folder }) => ({
    what: `${folder} is not a folder; nothing can be received.`,
    next: `move it away; the next hook creates the folder.`,
  }),
  'state-unusable': ({ folder, error }) => ({
    what: `${folder} cannot be used (${error}); until then, hooks are not recorded.`,
    next: own(unusable, error)?.(folder) ?? `check its mode and the disk: ls -ld ${folder}; df ${folder}`,
  }),
  'hook-failed': ({ folder, why, lastMs }) => ({
    what: `a hook could not write its event into ${folder} (${why}, last at ${new Date(lastMs).toISOString()}); that event is lost.`,
    next: `check its mode and the disk: ls -ld ${folder}; df ${folder}. The next hook that is recorded removes this message, and so does \`otel-hooks prune --problems\`.`,
  }),
  'input-not-taken': ({ folder, why, inputs }) => ({
    what:
      why === 'silence'
        ? `\`otel-hooks hook\` stopped reading${inputs === undefined ? '' : ` ${inputs} inputs`} because the writer sent nothing for 5 s and kept the pipe open; it recorded the events before the silence.`
        : `an input of \`otel-hooks hook\` was refused, because it has ${own(inputLimits, why) ?? why}; it is in ${folder}/quarantine for 24 hours.`,
    next: `${why === 'silence' ? 'send a stream of events with `otel-hooks ingest - --follow`; an agent that keeps its pipe open needs `otel-hooks hook --tool AGENT`' : 'send the input with `otel-hooks ingest FILE`, which has no such limit'}. \`otel-hooks prune --problems\` removes this message.`,
  }),
  'fragment-failed': ({ folder, why }) => ({
    what:
      why === 'failed'
        ? `otel-hooks could not process a hook event; the event is in ${folder}/quarantine for 24 hours and is not sent.`
        : `two deliveries ended abruptly while they processed the same hook event; the event is in ${folder}/quarantine for 24 hours and is not sent.`,
    next: REPORT,
  }),
  'enrichment-failed': ({ enrichment }) => ({
    what: `computing ${own(enrichmentWords, enrichment) ?? enrichment} of an event failed; the event was recorded without it.`,
    next: REPORT,
  }),
  'transcript-failed': ({ agent, why }) => ({
    what: `${transcriptWords[why](agent)}.`,
    next: REPORT,
  }),
  'program-missing': ({ hooks, lastMs }) => ({
    what: `${hooks === undefined ? 'hooks' : hooks === 1 ? '1 hook' : `${hooks} hooks`} ran while the package was missing (last at ${new Date(lastMs).toISOString()}); ${hooks === 1 ? 'its event was' : 'their events were'} not recorded.`,
    next: 'during an upgrade this is expected; otherwise install the package where it was, or run `otel-hooks enable` to register its new place. The next hook that is recorded removes this message, and so does `otel-hooks prune --problems`.',
  }),
  'fragments-newer': ({ folder, fragments }) => ({
    what: `${fragments === 1 ? '1 hook' : `${fragments} hooks`} in ${folder}/inbox ${fragments === 1 ? 'was' : 'were'} written by a later otel-hooks; ${fragments === 1 ? 'it is' : 'they are'} not changed.`,
    next: 'update otel-hooks, or run the newer one: `otel-hooks deliver`.',
  }),
  'transcripts-packed': ({ file, why }) => ({
    what: `${file === undefined ? 'packed transcripts (.jsonl.zst)' : `${file}.zst`} cannot be read (${why}); ${file === undefined ? 'their' : 'its'} content is not recorded.`,
    next:
      file === undefined
        ? `unpack each in its folder (zstd -d FILE), or use Node 22.15 or later; then \`otel-hooks import --all\`. ${FORGET}`
        : `unpack it in its folder, zstd -d ${file}.zst, or remove it if zstd cannot unpack it either; then \`otel-hooks import ${file}\`.`,
  }),
  'program-twice': ({ path, isPython, own }) => ({
    what: `${path} is another otel-hooks${isPython ? ', the Python package of the same name' : ''}; this one is ${own}.`,
    next: isPython
      ? 'remove it: `uv tool uninstall otel-hooks`, `pipx uninstall otel-hooks` or `pip uninstall otel-hooks`.'
      : 'remove one of them; committed project files run the first in PATH.',
  }),
  'program-temporary': ({ path, why }) => ({
    what: `the program is in ${why} (${path}); hooks contain this path, and record nothing once it is removed.`,
    next: `install it for good, from a clone that stays (${INSTALL_COMMAND}), then run \`otel-hooks enable\` again.`,
  }),
  'status-line-replaced': ({ agent, id, file }) => ({
    what: `${file} sets a status line of its own for ${agent}; in this folder it replaces the recorded one, so limits, context and cost are not recorded here.`,
    next: `run \`otel-hooks enable --tool ${id} --local --status-line\` in this folder: it keeps that line and records its input.`,
  }),
  'mode-open': ({ path, mode, wanted }) => ({
    what: `${path} has the mode ${mode}; it should be ${wanted}, so that you can use it and others on this machine cannot.`,
    next: `chmod ${wanted} ${path}, or \`otel-hooks doctor --fix\`.`,
  }),
  'hooks-stale': ({ agent, scope, file, stale }) => ({
    // Entries of another version or kind may run another script, so the sentence does not name the script.
    what: `${agent} (${scope}): ${stale
      .filter(each => each !== 'script' || !stale.includes('entries'))
      .map(each => own(staleWords, each) ?? each)
      .join('; ')} (${file}).`,
    next: '`otel-hooks doctor --fix` writes the hooks of this version.',
  }),
  'hooks-twice': ({ agent, id, files, scopes }) => ({
    what: `${agent} calls otel-hooks from ${files.join(' and ')}, so each hook runs more than once.`,
    next: `keep one; for example run \`otel-hooks disable --tool ${id} --${scopes.at(-1) ?? 'project'}\`.`,
  }),
  'hooks-silent': ({ agent, file, why, advice }) => ({
    what: `${agent}: hooks are registered, but ${why} (${file}).`,
    next: advice,
  }),
  'agent-newer': ({ agent, newer, unknown }) => ({
    what: `${[
      ...(newer
        ? [`${agent} ${newer.version} is newer than ${newer.checked}, the version that otel-hooks was checked with`]
        : []),
      ...(unknown.length > 0 ? [`${agent} sent hooks that otel-hooks does not know: ${unknown.join(', ')}`] : []),
    ].join('. ')}.`,
    next: `unknown hooks are recorded as vendor events; a newer otel-hooks may know them: ${UPDATE}`,
  }),
  'hook-fails': ({ agent, why, advice }) => ({ what: `${agent}: the hook was tried, and ${why}.`, next: advice }),
  'books-unbalanced': ({ account }) => ({
    what: `the books do not balance: ${account}.`,
    next: 'please report it with the output of `otel-hooks status --json`.',
  }),
  'endpoint-unreachable': ({ endpoint, why }) => ({
    what: `${endpoint} does not answer (${why}); nothing was sent.`,
    next: mendAddress(why) ?? 'check the address, and that no firewall or proxy blocks it.',
  }),
  'endpoint-tls': ({ endpoint, why }) => ({
    what: `${endpoint} and this machine do not agree on TLS (${why}); nothing was sent.`,
    next: mendAddress(why) ?? 'check the certificates that otlp.certificate and otlp.client_certificate name.',
  }),
  'endpoint-protocol': ({ endpoint, why }) => ({
    what: isOfGrpc(why)
      ? `${endpoint} does not speak gRPC (${why}). Nothing was sent.`
      : `${endpoint} does not speak HTTP/1.1 (${why}); a port of OTLP over gRPC behaves in this way. Nothing was sent.`,
    next: mendAddress(why) ?? USE_GRPC,
  }),
  'endpoint-refuses': ({ endpoint, signal, status }) => ({
    what: `${endpoint} refuses ${signal} (${shownStatus(status)}).`,
    next: `find the program that listens there, and read its log; OTLP receivers answer ${shownStatus(status < 100 ? 0 : 200)}.`,
  }),
  'clock-skew': ({ endpoint, seconds }) => ({
    what: `the clock here is ${Math.abs(seconds)} s ${seconds > 0 ? 'ahead of' : 'behind'} that of ${endpoint}; back ends hide or refuse data whose time is far from theirs.`,
    next: 'set the clock of the machine that is wrong: timedatectl set-ntp true.',
  }),
  'read-back-unreachable': ({ key, address, why }) => ({
    what: `${key}: ${address} does not answer queries (${why}); nothing was read back there.`,
    next: `correct ${key}, or remove it.`,
  }),
  'not-read-back': ({ name, address, signal, waitedS }) => ({
    what: `${name} at ${address} did not have the accepted ${signal} within ${waitedS} s.`,
    next: `check the collector's log for errors of its exporter to ${name}.`,
  }),
  'serve-address': ({ address, why }) => ({
    what: `nothing can be received at ${address} (${why}).`,
    next: 'find the program that listens there, or choose another address with --listen.',
  }),
  'serve-open': ({ address }) => ({
    what: `${address} can be reached from other machines, and a token would be sent there in cleartext; the server was not started.`,
    next: 'name a certificate and its key with --cert and --key, or listen at 127.0.0.1; if a proxy or a mesh does TLS, use --tls-elsewhere.',
  }),
  'serve-tls': ({ file, why }) => ({
    what: `${file} cannot be used for TLS (${why}); the server was not started.`,
    next: why.startsWith('others can')
      ? `remove the rights of others: chmod 600 ${file} (640 if its group must read it)`
      : why === 'ENOENT'
        ? 'it does not exist: correct --cert, --key or --client-ca.'
        : `inspect it: openssl x509 -in ${file} -noout -text, or openssl pkey -in ${file} -noout`,
  }),
  'token-unsafe': ({ file, why }) => ({
    what: `${file} cannot be used as the token of \`otel-hooks serve\` (${why}); no sender is accepted.`,
    next: 'make a new one: `otel-hooks serve --rotate-token`; a file of --token-file belongs to you or root, mode 0400 or 0440.',
  }),
  'openhook-unanswered': ({ file, folder, isChanged, hooks }) => ({
    what: `${file} ${isChanged ? 'has changed since you agreed to it' : 'was not agreed to'}; ${hooks === 1 ? 'its command is' : `its ${hooks} commands are`} not run.`,
    next: `see them, and agree or refuse: otel-hooks openhook trust ${folder}`,
  }),
  'openhook-invalid': ({ file, why }) => ({
    what: `${file} cannot be used (${why}); none of its commands is run.`,
    next: `\`otel-hooks validate --standard openhook ${file}\` names the place; correct it there.`,
  }),
  'openhook-failed': ({ file, hook, why }) => ({
    what: `hook ${hook} of ${file} ${why}; it does not get the event again.`,
    next: `run its command by hand with an envelope on standard input; docs/openhook.md has one. ${FORGET}`,
  }),
  'delivery-partial': ({ endpoint, signal, items, message }) => ({
    what: `${endpoint} took a request but rejected ${items === 1 ? `one item of its ${signal}` : `${items} items of its ${signal}`}${message === '' ? '' : ` ("${message}")`}; ${items === 1 ? 'it is' : 'they are'} lost there and not sent again.`,
    next: `check the limits of the collector, then \`otel-hooks destinations resend ${endpoint} --session SESSION\` for a session that matters. ${FORGET}`,
  }),
};

const staleWords: Readonly<Record<string, string>> = {
  entries: 'its entries are not those that this version writes',
  script: 'the script that its entries run is missing, belongs to another version, or names a Node that has moved',
  twice: 'an event has several of our entries',
};

const unusable: Readonly<Record<string, (folder: string) => string>> = {
  EISDIR: folder =>
    `${folder}/version is a folder and should be a file: move it away; the next delivery makes the file.`,
  ENOTDIR: folder => `a file is in the place of a folder above ${folder}: move this file away.`,
};

/** Error codes of TLS. */
const TLS = /^(CERT_|ERR_TLS|ERR_SSL|DEPTH_ZERO|SELF_SIGNED|UNABLE_TO|EPROTO|TLS file )/;
export const isOfTls = (why: string): boolean => TLS.test(why);

/** Failures of src/ship/grpc.ts: the server speaks another protocol. */
export const isOfGrpc = (why: string): boolean =>
  /^(ERR_NO_HTTP2|ERR_NO_GRPC|ERR_SSL_TLSV1_ALERT_NO_APPLICATION_PROTOCOL)\b/.test(why);
const USE_GRPC = 'set otlp.protocol to grpc, or use the HTTP port, usually 4318.';

/** For destinations that are files. */
const mendPlace = (endpoint: string): string | undefined =>
  URL.canParse(endpoint) ? undefined : 'check that a plain file can be written there.';

function mendAddress(why: string): string | undefined {
  if (why.startsWith('headers_command: '))
    return 'run the command of otlp.headers_command by hand, as the same user, and correct it.';
  if (why.startsWith('token server '))
    return 'check otlp.oauth_token_url, otlp.oauth_client_id, otlp.oauth_client_secret and otlp.oauth_auth.';
  if (why.startsWith('proxy ')) return mendProxy(why);
  if (why.includes(' behind proxy '))
    return 'if the proxy inspects TLS, name the file with its authority in proxy.ca; or name the host in NO_PROXY or proxy.direct.';
  if (why.startsWith('TLS file '))
    return 'check that it exists, that it can be read, and that it is a PEM file: otlp.certificate, otlp.client_certificate and otlp.client_key name such files.';
  if (why === 'ERR_TLS_EXPECTED') return 'it speaks TLS: write https:// instead of http://.';
  if (isOfGrpc(why))
    return 'use the port of OTLP over gRPC, usually 4317, and https:// if it speaks TLS; or set otlp.protocol to http/protobuf.';
  if (why === 'EPROTO' || why === 'ERR_SSL_WRONG_VERSION_NUMBER')
    return 'if it does not speak TLS, write http:// instead of https://.';
  if (why.endsWith('_CERTIFICATE_REQUIRED'))
    return 'it expects a certificate of the client: set otlp.client_certificate and otlp.client_key.';
  if (isOfTls(why))
    return 'name the authority that signed it with otlp.certificate; the host must be one that the certificate names.';
  if (why.startsWith('HPE_')) return `a port of OTLP over gRPC behaves in this way: ${USE_GRPC}`;
  return own(reachable, why);
}

/** A failure of the proxy, in the form of ProxyFailure (src/ship/proxy.ts). */
function mendProxy(why: string): string {
  if (why.endsWith(': 407'))
    return 'the proxy expects a user and a password: write them into its address, as in http://user:password@host:port.';
  if (why.endsWith(': 403')) return 'the proxy does not allow this host and port: ask its administrator.';
  if (isOfTls(why.slice(why.lastIndexOf(': ') + 2)))
    return 'name the file with the authority of the proxy in proxy.ca; write http:// if the proxy itself speaks no TLS.';
  return 'correct HTTP_PROXY, HTTPS_PROXY or proxy.url; or name the host in NO_PROXY or proxy.direct.';
}

const reachable: Readonly<Record<string, string>> = {
  ECONNREFUSED:
    'no program listens there: start the collector, or correct the port (OTLP over HTTP is usually 4318, over gRPC 4317).',
  ENOTFOUND: 'there is no such host: correct the name.',
  EAI_AGAIN: 'names cannot be resolved at the moment: check the network.',
  ECONNRESET:
    'it closes the connection: if it speaks TLS, write https:// instead of http://; a port of OTLP over gRPC also closes it.',
  timeout: 'the connection stays open without an answer: check firewall and VPN.',
};

function placeOf({ key, file, line, variable, flag }: Setting): string {
  if (variable !== undefined) return variable;
  if (flag !== undefined) return flag;
  if (file === undefined) return key;
  return line === undefined ? `${file}, ${key}` : `${file}, line ${line}, ${key}`;
}
