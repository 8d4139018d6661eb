/**
 * `otel-hooks run-hook`: runs a hook of the Hook Interchange Format in any agent. It gives the command one document,
 * reads its answer, and answers in the agent's own dialect.
 *
 * It can stop an action, so its own faults must not let one pass in silence: they deny if the hook is blocking, and are
 * visible otherwise. It writes nothing to disk and knows nothing of telemetry.
 */
import { existsSync, writeSync } from 'node:fs';
import { dirname, isAbsolute, join, relative, resolve } from 'node:path';
import type { Answer, Call, Dialect, Heard, HookDocument, Occasion, Reply } from '../agents/contract/dialect.ts';
import { dialectNamed } from '../agents/dialects.ts';
import { at } from '../agents/shared/dialect.ts';
import { heardAsFormat } from '../agents/shared/format-answers.ts';
import type { Fields } from '../event/event.ts';
import { isFields, own, word } from '../lib/read.ts';
import { type Ran, runCommand } from './command.ts';
import { type Flags, flagsOf } from './flags.ts';
import { readPayload } from './payload.ts';
import { combined, effectsAt, type Judged, judged } from './verdict.ts';

/** The dialect of commands that were written for the format itself. */
const FORMAT = 'hook-interchange';

/** A fault of the runtime. It denies if the hook is blocking. */
class Fault extends Error {}

export async function runHook(words: readonly string[]): Promise<void> {
  const flags = flagsOf(words, process.platform);
  if ('why' in flags) return leave(misused(flags.why, words.includes('--blocking')));
  const dialect = dialectNamed(flags.as);
  const source = flags.from === undefined || flags.from === FORMAT ? FORMAT : dialectNamed(flags.from);
  if (dialect === undefined) return leave(misused(`--as ${flags.as} is not an agent that is known`, flags.isBlocking));
  // The answer to a fault needs an event; before the payload is read, it is the declared one.
  let occasion = occasionOf(dialect, flags, {});
  const onFault = (error: unknown): void => {
    const why = error instanceof Fault ? error.message : `it failed: ${error instanceof Error ? error.stack : error}`;
    leave(failed(dialect, occasion, flags, `run-hook${flags.hook === undefined ? '' : ` ${flags.hook}`}: ${why}`));
  };
  process.on('uncaughtException', onFault);
  try {
    if (source === undefined) throw new Fault(`--from ${flags.from} is not a dialect that is known`);
    const bytes = readPayload();
    const payload = payloadOf(bytes);
    occasion = occasionOf(dialect, flags, payload);
    if (occasion.native === '') throw new Fault('the payload names no event; --event names it');
    // The flag was read first, so that a forgotten command is a fault of this event.
    if (flags.command.length === 0 || flags.command.every(each => each.trim() === ''))
      throw new Fault('there is no command behind --');
    if (occasion.event === 'before_tool_execute' && occasion.calls.length === 0)
      throw new Fault('the payload names no tool');
    leave(written(dialect, occasion, await judge(dialect, source, occasion, flags, bytes)));
  } catch (error) {
    onFault(error);
  }
}

function payloadOf(bytes: Buffer): Fields {
  let payload: unknown;
  try {
    // Windows programs can begin a text with a mark of its encoding.
    payload = JSON.parse(bytes.toString('utf8').replace(/^\ufeff/, ''));
  } catch {
    throw new Fault(bytes.length === 0 ? 'the payload is empty' : 'the payload is not JSON');
  }
  if (!isFields(payload)) throw new Fault('the payload is not an object');
  return payload;
}

function occasionOf(dialect: Dialect, flags: Flags, payload: Fields): Occasion {
  const { events } = dialect;
  const named = flags.event ?? dialect.eventFields.map(field => word(payload[field])).find(each => each !== undefined);
  if (named === undefined) return { event: '', native: '', payload, calls: [] };
  const event = own(events, named);
  // `--event` can also be the name in the format.
  const native = event === undefined ? (Object.keys(events).find(each => events[each] === named) ?? named) : named;
  const isTool = ['before_tool_execute', 'after_tool_execute', 'tool_use_failure', 'permission_request'];
  const canonical = own(events, native) ?? named;
  const calls = isTool.includes(canonical) ? dialect.calls(payload, native) : [];
  return { event: canonical, native, payload, calls };
}

async function judge(
  dialect: Dialect,
  source: Dialect | typeof FORMAT,
  occasion: Occasion,
  flags: Flags,
  bytes: Buffer,
): Promise<Judged> {
  const { event, calls } = occasion;
  const base = documentOf(dialect, occasion, flags);
  const root = projectOf(dialect, base.cwd);
  const isNative = flags.isNative || source === dialect;
  const documents =
    isNative || calls.length === 0 ? [withCall(base, calls[0])] : calls.map(call => withCall(base, call));
  const answers: Answer[] = [];
  const warnings: string[] = [];
  for (const document of documents) {
    const input = isNative ? bytes : JSON.stringify(source === FORMAT ? document : source.payload(document));
    const heard = heardOf(await ran(flags, input, root, source), source, document);
    const { answer, warning } = settled(heard, flags, effectsAt(dialect, occasion).includes('deny'), event);
    answers.push(answer);
    if (warning !== undefined) warnings.push(warning);
    if (answer.decision === 'deny') break;
  }
  const inputs = answers.map(({ updated_input: input }) => input);
  const isRewritten = inputs.some(input => input !== undefined);
  const updated = isRewritten ? nativeInput(dialect, source, occasion, inputs, isNative) : undefined;
  const answer = { ...combined(answers), ...(isRewritten ? { updated_input: {} } : {}) };
  const result = judged(answer, updated, dialect, occasion, flags);
  return { ...result, warnings: [...warnings, ...result.warnings] };
}

/** Returns the native input of an answer; undefined if the agent cannot take it. */
function nativeInput(
  dialect: Dialect,
  source: Dialect | typeof FORMAT,
  { payload, native, calls }: Occasion,
  inputs: readonly (Fields | undefined)[],
  isNative: boolean,
): Fields | undefined {
  // A command that saw the native payload answers with native fields, which no table renames.
  if (isNative && source === FORMAT) return dialect.rewritten === undefined ? undefined : inputs[0];
  // It saw all calls at once, and its answer does not say which one it changes.
  if (isNative && calls.length > 1) return undefined;
  return dialect.rewritten?.(payload, native, inputs);
}

/** Decides what a denial by exit code and a fault of the command mean, as the hook declares. */
function settled(heard: Heard, flags: Flags, canDeny: boolean, event: string): { answer: Answer; warning?: string } {
  if (heard.kind === 'answer') return { answer: heard.answer };
  // After a tool nothing is left to block: the text is for the model.
  const counts = flags.isBlocking || event === 'after_tool_execute';
  if (heard.kind === 'denial' && counts)
    return { answer: { decision: 'deny', ...(heard.reason === '' ? {} : { reason: heard.reason }) } };
  const why = heard.kind === 'denial' ? `exit code 2 of a hook that does not block: ${heard.reason}` : heard.why;
  const name = `the hook${flags.hook === undefined ? '' : ` ${flags.hook}`} failed: ${why}`;
  if (flags.failsClosed && heard.kind === 'fault' && canDeny) return { answer: { decision: 'deny', reason: name } };
  return { answer: {}, warning: `${name}; the action goes on` };
}

/** The variables in which agents name the folder of the project. */
const projectVariables = /[A-Z][A-Z0-9]*_PROJECT_DIR(?![A-Za-z0-9_])/g;
/** Such a variable at the beginning of a path. */
const inProject = /^(?:\$\{?|%)[A-Z][A-Z0-9]*_PROJECT_DIR[}%]?(?:[\\/]|$)/;

async function ran(flags: Flags, input: string | Buffer, root: string, source: Dialect | typeof FORMAT): Promise<Ran> {
  const folder = flags.cwd?.replace(inProject, '');
  const cwd = folder === undefined ? process.cwd() : join(root, folder);
  if (folder !== undefined) {
    const inside = relative(root, cwd);
    if (isAbsolute(folder) || inside.startsWith('..')) throw new Fault(`--cwd ${flags.cwd} leads out of the project`);
    if (!existsSync(cwd)) throw new Fault(`--cwd ${flags.cwd} does not exist in ${root}`);
  }
  // A script reads the variable of the agent that it was written for; a line can name the variable of any agent.
  const own = source === FORMAT || source.projectVariable === undefined ? [] : [source.projectVariable];
  const named = flags.command.flatMap(each => each.match(projectVariables) ?? []);
  const folders = (names: readonly string[]) => Object.fromEntries(names.map(name => [name, root]));
  const env = { ...folders(named), ...process.env, ...folders(own), ...flags.env };
  const done = await runCommand({ command: flags.command, input, cwd, env, timeoutMs: flags.timeoutMs });
  if (done.kind === 'failed') throw new Fault(`the command ${done.why}`);
  // The shell says with these codes that it found no program.
  const isMissing = done.kind === 'ended' && (done.ended.code === 127 || done.ended.code === 126);
  if (isMissing && !isThere(flags.command, cwd))
    throw new Fault(`the command does not exist: ${flags.command.join(' ')}`);
  if (done.kind === 'timed out' && flags.timeoutBlocks)
    return {
      kind: 'ended',
      ended: { code: 2, stdout: '', stderr: `a hook took longer than ${flags.timeoutMs / 1000} s` },
    };
  return done;
}

/** Whether the first word of a command is a program. A script that itself ends with 127 is one. */
function isThere([line = '', ...words]: readonly string[], cwd: string): boolean {
  const [, quoted, double, plain] = /^\s*(?:'([^']*)'|"([^"]*)"|(\S+))/.exec(line) ?? [];
  const first = words.length > 0 ? line : (quoted ?? double ?? plain ?? '');
  // A line of the shell can begin with a builtin, a variable or an assignment.
  if (words.length === 0 && !/^[\w./~-]+$/.test(first)) return true;
  if (first.includes('/')) return existsSync(resolve(cwd, first));
  const isBuiltin = ['exit', 'exec', 'return', 'eval', 'test', 'if', 'set', 'cd', 'command'].includes(first);
  return isBuiltin || (process.env.PATH ?? '').split(':').some(folder => existsSync(join(folder, first)));
}

function heardOf(done: Ran, source: Dialect | typeof FORMAT, document: HookDocument): Heard {
  if (done.kind === 'timed out') return { kind: 'fault', why: 'it took longer than its timeout' };
  if (done.kind === 'failed') return { kind: 'fault', why: done.why };
  return source === FORMAT ? heardAsFormat(done.ended) : source.heard(done.ended, document);
}

function documentOf(dialect: Dialect, { event, native, payload }: Occasion, flags: Flags): HookDocument {
  const plain: Record<string, unknown> = {};
  for (const [field, paths] of Object.entries(dialect.fields)) {
    const value = paths.map(path => at(payload, path)).find(each => each !== undefined && each !== null && each !== '');
    if (value !== undefined) plain[field] = value;
  }
  return {
    spec: 'hooks/0.1',
    version: 1,
    event,
    native_event: native,
    agent: dialect.slug,
    ...(flags.hook === undefined ? {} : { hook: flags.hook }),
    ...plain,
  };
}

const withCall = (document: HookDocument, call: Call | undefined): HookDocument =>
  call === undefined
    ? document
    : {
        ...document,
        tool: call.tool,
        native_tool: call.nativeTool,
        ...(call.mcp === undefined ? {} : { mcp: call.mcp }),
        tool_input: call.input,
      };

/** The folder of the project: the agent's own variable, or the nearest folder with a repository. */
function projectOf({ projectVariable }: Dialect, cwd: string | undefined): string {
  const named = projectVariable === undefined ? undefined : word(process.env[projectVariable]);
  const start = named ?? (cwd !== undefined && existsSync(cwd) ? cwd : process.cwd());
  if (named !== undefined) return start;
  for (let folder = start; ; folder = dirname(folder)) {
    if (existsSync(join(folder, '.git'))) return folder;
    if (dirname(folder) === folder) return start;
  }
}

/** The reply of an agent, with the warnings where a person sees them. */
function written(dialect: Dialect, occasion: Occasion, { verdict, warnings }: Judged): Reply {
  if (warnings.length === 0) return dialect.reply(verdict, occasion);
  const text = warnings.map(each => `otel-hooks: ${each}`).join('\n');
  if (effectsAt(dialect, occasion).includes('system_message')) {
    const message = [verdict.system_message, text].filter(each => each !== undefined).join('\n');
    return dialect.reply({ ...verdict, system_message: message }, occasion);
  }
  const reply = dialect.reply(verdict, occasion);
  return { ...reply, stderr: [reply.stderr, text].filter(each => each !== undefined).join('\n') };
}

/** The reply to a fault of the runtime itself. */
function failed(dialect: Dialect, occasion: Occasion, flags: Flags, why: string): Reply {
  const isDenied = flags.isBlocking || flags.failsClosed;
  if (!isDenied) return written(dialect, occasion, { verdict: {}, warnings: [`${why}; the action goes on`] });
  const takes = effectsAt(dialect, occasion);
  // An event that the agent does not know could be one that can be stopped.
  const canDeny = takes.includes('deny') || occasion.event === '';
  const reason = `otel-hooks: ${why}`;
  if (!canDeny) return { code: 2, stderr: reason };
  if (occasion.event === '') return misused(why, true);
  return dialect.reply({ decision: 'deny', reason }, occasion);
}

/** Without an event or an agent, the code that most agents read as a denial is the safest answer. */
const misused = (why: string, isBlocking: boolean): Reply => ({
  code: isBlocking ? 2 : 1,
  stderr: `otel-hooks: run-hook: ${why}${isBlocking ? '; the action is denied' : ''}`,
});

/** Writes the reply and ends the process, even if children of the command still run. */
function leave({ code = 0, stdout, stderr }: Reply): void {
  const text = typeof stdout === 'object' ? JSON.stringify(stdout) : stdout;
  let ending = code;
  if (stderr !== undefined && stderr !== '') print(2, `${stderr}\n`);
  if (text !== undefined && text !== '' && !print(1, `${text}\n`)) ending = 2;
  process.exit(ending);
}

/** Returns false if the text could not be written completely. */
function print(fd: number, text: string): boolean {
  const bytes = Buffer.from(text);
  for (let done = 0; done < bytes.length; )
    try {
      done += writeSync(fd, bytes, done);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EAGAIN') return false;
      // The reader of a pipe without blocking is slow.
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 1);
    }
  return true;
}
