/** Commands that replace handlers which a target cannot run. Texts of the manifest are always quoted. */
import type { Handler } from './manifest.ts';

/** Quotes any text as one word of a POSIX shell. */
export const quoted = (text: string): string => `'${text.replaceAll("'", `'\\''`)}'`;

export const blocking = (reason: string): string => `printf '%s\\n' ${quoted(reason)} >&2; exit 2`;

/** Returns the command with the blocking exit code replaced by an ordinary error. */
export const softened = (command: string): string =>
  `sh -c ${quoted(command)}; code=$?; [ "$code" -eq 2 ] && code=1; exit "$code"`;

/** Returns the request of an `http` handler. Only variables that the manifest names are put into headers. */
export function request({ url = '', headers = {}, allowed_env_vars: allowed = [], timeout }: Handler): string {
  const words = [
    'curl -fsS',
    `--max-time ${Math.ceil(timeout || 30)}`,
    `-H ${quoted('Content-Type: application/json')}`,
    ...Object.entries(headers).map(([name, value]) => `-H ${withVariables(`${name}: ${value}`, allowed)}`),
    '--data-binary @-',
    quoted(url),
  ];
  return words.join(' ');
}

function withVariables(text: string, allowed: readonly string[]): string {
  const pieces = text.replace(/[\r\n]+/g, ' ').split(/(\$\{?[A-Za-z_]\w*\}?)/);
  return pieces
    .filter(piece => piece !== '')
    .map(piece => {
      const name = /^\$\{?([A-Za-z_]\w*)\}?$/.exec(piece)?.[1];
      return name !== undefined && allowed.includes(name) ? `"\${${name}}"` : quoted(piece);
    })
    .join('');
}
