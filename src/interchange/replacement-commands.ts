/**
 * Commands that take the place of what a target cannot run. What a manifest says gets into them as text and as nothing
 * else.
 */
import type { Handler } from './manifest.ts';

/** A word of a POSIX shell, whatever it holds. */
export const quoted = (text: string): string => `'${text.replaceAll("'", `'\\''`)}'`;

export const blocking = (reason: string): string => `printf '%s\\n' ${quoted(reason)} >&2; exit 2`;

/** The same command, of which the code that blocks is an error like any other. */
export const softened = (command: string): string =>
  `sh -c ${quoted(command)}; code=$?; [ "$code" -eq 2 ] && code=1; exit "$code"`;

/** The request that a handler of type `http` makes. A variable is put into headers only where the manifest names it. */
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
