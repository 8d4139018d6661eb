/** Small parts that several views use. */
import { type ComponentChildren, h, type JSX } from 'preact';
import type { Failure } from './api.ts';
import type { SessionRow } from './data.ts';
import { minute, utc } from './format.ts';

/** A time in the viewer's zone, with UTC on hover. */
export const Time = ({ ms, text }: { ms: number; text?: string }): JSX.Element =>
  h('time', { dateTime: utc(ms), title: `${utc(ms)} (UTC)` }, text ?? minute(ms));

export const FailureNote = ({ failure }: { failure: Failure | undefined }): JSX.Element | null =>
  failure === undefined
    ? null
    : h(
        'div',
        { class: 'note note-bad', role: 'alert' },
        failure.message,
        failure.next === undefined ? null : h('span', null, ' Next: ', h('code', null, failure.next)),
      );

/** Text of unknown authors: its direction does not affect the text around it. */
export const Foreign = ({ children }: { children?: ComponentChildren }): JSX.Element => h('bdi', null, children);

export const Mark = ({ kind, children }: { kind: string; children?: ComponentChildren }): JSX.Element =>
  h('span', { class: `mark mark-${kind}` }, children);

export const stateWords = { running: 'running', ended: 'ended', aborted: 'aborted' } as const;

export const riskKind = (risk: string | undefined): string =>
  risk === 'high' || risk === 'critical' ? 'bad' : risk === 'medium' ? 'warn' : 'plain';

const errorWords: { readonly [type: string]: string } = {
  tool_error: 'the action reported an error',
  exit_code: 'the command ended with an exit code other than 0',
  abandoned: 'no end was reported',
  model_error: 'the model reported an error',
  rate_limit: 'a limit of requests',
  _OTHER: 'an error of an unknown kind',
};

/** A kind of error in words, with the name that telemetry has. */
export const errorText = (type: string): string =>
  Object.hasOwn(errorWords, type) ? `${errorWords[type]} (${type})` : type;

/** The repository, or the end of the working folder. */
export function placeOf({ repository, cwd = '–' }: SessionRow): string {
  return repository ?? (cwd.length > 32 ? `…${cwd.slice(-32)}` : cwd);
}
