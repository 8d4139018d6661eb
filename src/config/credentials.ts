/** The sources of headers that change: a command of the user, or a token server of OAuth 2. */
import type { Problem } from '../problems/problem.ts';
import type { Config } from './config.ts';
import type { Key } from './schema.ts';

export type Credentials =
  | { kind: 'command'; command: string | readonly string[]; seconds: number }
  | {
      kind: 'oauth';
      tokenUrl: string;
      clientId: string;
      clientSecret: string;
      auth: 'basic' | 'post';
      scope?: string | undefined;
      audience?: string | undefined;
      ca?: string | undefined;
    };

export const changingKeys: readonly Key[] = [
  'otlp.headers_command',
  'otlp.oauth_token_url',
  'otlp.oauth_client_id',
  'otlp.oauth_client_secret',
];

export const changingKeysOf = ({ kind }: Credentials): Key[] =>
  kind === 'command' ? ['otlp.headers_command'] : ['otlp.oauth_client_id', 'otlp.oauth_client_secret'];

/** A command counts before OAuth. Both are sent to the hosts for which they were set. */
export function changingCredentials(
  config: Config,
  url: URL,
  problems: Problem[],
  isAllowed: (config: Config, key: Key, url: URL, problems: Problem[]) => boolean,
): Credentials | undefined {
  const { values } = config;
  const command = values['otlp.headers_command'];
  if (command !== undefined) {
    const seconds = values['otlp.headers_command_seconds'] ?? 300;
    return isAllowed(config, 'otlp.headers_command', url, problems) ? { kind: 'command', command, seconds } : undefined;
  }
  const { 'otlp.oauth_token_url': server, 'otlp.oauth_client_id': clientId } = values;
  const clientSecret = values['otlp.oauth_client_secret'];
  if (server === undefined && clientId === undefined && clientSecret === undefined) return undefined;
  if (server === undefined || clientId === undefined || clientSecret === undefined) {
    for (const key of changingKeys) {
      const missing: Problem = { code: 'provider-incomplete', provider: 'otlp', key };
      const isKnown = problems.some(each => JSON.stringify(each) === JSON.stringify(missing));
      if (key.startsWith('otlp.oauth_') && values[key] === undefined && !isKnown) problems.push(missing);
    }
    return undefined;
  }
  const hosts = [new URL(server), url];
  if (!hosts.every(each => isAllowed(config, 'otlp.oauth_client_secret', each, problems))) return undefined;
  return {
    kind: 'oauth',
    tokenUrl: withoutCredentials(new URL(server)),
    clientId,
    clientSecret,
    auth: values['otlp.oauth_auth'] === 'post' ? 'post' : 'basic',
    scope: values['otlp.oauth_scope'],
    audience: values['otlp.oauth_audience'],
    ca: values['otlp.oauth_certificate'],
  };
}

/** User and password of an address are sent as a header, or not at all. */
export function withoutCredentials(url: URL): string {
  const named = new URL(url);
  named.username = '';
  named.password = '';
  named.hash = '';
  return named.href;
}
