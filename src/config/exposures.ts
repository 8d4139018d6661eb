/**
 * Warnings about destinations: data and credentials that are sent in cleartext, events that are sent without a signature, and a
 * connection string that only a collector can use. They are computed when a command asks for them; no session stores
 * them.
 */
import type { Problem } from '../problems/problem.ts';
import type { Destination } from './destinations.ts';

export function exposuresOf(
  destinations: readonly Destination[],
  env: Readonly<Record<string, string | undefined>>,
): Problem[] {
  const found: Problem[] = destinations.flatMap(({ provider, endpoint, signals }) => {
    const targets = Object.values(signals).filter(({ url }) => url !== undefined && isExternal(new URL(url).hostname));
    const warnings: Problem[] = [];
    if (targets.some(({ url }) => url?.startsWith('http:'))) warnings.push({ code: 'endpoint-cleartext', endpoint });
    const servers = Object.values(signals).flatMap(({ credentials }) =>
      credentials?.kind === 'oauth' ? [new URL(credentials.tokenUrl)] : [],
    );
    const exposed = servers.find(({ protocol, hostname }) => protocol === 'http:' && isExternal(hostname));
    if (exposed !== undefined) warnings.push({ code: 'endpoint-cleartext', endpoint: exposed.origin });
    if (provider === 'agent-hooks-http' && targets.some(({ sign }) => sign === undefined))
      warnings.push({ code: 'endpoint-unsigned', endpoint });
    return warnings;
  });
  const isAzure = destinations.some(({ provider }) => provider === 'azure-monitor');
  const variable = connectionStrings.find(name => env[name]?.trim());
  if (variable !== undefined && !isAzure)
    found.push({
      code: 'variable-unsupported',
      variable,
      why: 'Application Insights takes no OTLP, so otel-hooks cannot send to it directly',
      instead:
        'run a collector with collector-config/azure-monitor.yaml of this package, which reads this variable. Then run `otel-hooks config set provider azure-monitor` and `otel-hooks config set azure_monitor.endpoint http://127.0.0.1:4318`.',
    });
  return found;
}

const connectionStrings = ['APPINSIGHTS_CONNECTION_STRING', 'APPLICATIONINSIGHTS_CONNECTION_STRING'];

/**
 * Returns true if a host is outside of this machine and its private network. A name without a dot, such as that of a
 * container, and names under `.local`, `.internal`, `.svc` and `.localhost` are inside.
 */
function isExternal(host: string): boolean {
  const name = host.replace(/^\[|\]$/g, '').toLowerCase();
  if (name.includes(':')) return !/^(::1$|f[cd]|fe[89ab]|::ffff:(127|10)\.)/.test(name);
  if (/^\d+\.\d+\.\d+\.\d+$/.test(name))
    return !/^(127|10)\.|^192\.168\.|^172\.(1[6-9]|2\d|3[01])\.|^169\.254\.|^0\.0\.0\.0$/.test(name);
  return name.includes('.') && !/\.(local|internal|localhost|test|invalid|svc|svc\.cluster\.local)$/.test(name);
}
