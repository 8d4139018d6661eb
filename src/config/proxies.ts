/**
 * Decides which HTTP proxy a request goes through.
 *
 * The settings come from two places: the global file (`proxy.*`), and the environment of the process that delivers. They
 * never come from a fragment or from a project's file, because the proxy password of one project must not serve another.
 * With `proxy.url` in the global file, no variable counts: a process that a hook started has the variables of that hook.
 *
 * A request to a loopback address never goes through a proxy.
 */
import { BlockList, isIP } from 'node:net';
import { loadConfig, type Place } from './files.ts';
import type { Values } from './schema.ts';
import { shownEndpoint } from './shown.ts';

/** A proxy, or the reason why the setting names none. A request that needs such a proxy is not sent. */
export type Proxy = { url: URL } | { from: string; why: string };

export interface Proxies {
  /** The proxy for requests to `http://` addresses, and for requests to `https://` addresses. */
  http: Proxy | undefined;
  https: Proxy | undefined;
  /** Addresses that are reached without a proxy. */
  direct: readonly DirectAddress[];
  /** File with the authorities that sign the certificate of the proxy, or the certificates that it puts in place. */
  ca: string | undefined;
}

export const noProxies: Proxies = { http: undefined, https: undefined, direct: [], ca: undefined };

type Env = Readonly<Record<string, string | undefined>>;

/** Reads the global file and the environment. */
export function loadProxies({ env, home, platform, file }: Pick<Place, 'env' | 'home' | 'platform' | 'file'>): Proxies {
  // Of the variables, only those count that say where the global file is.
  const { XDG_CONFIG_HOME, APPDATA, OTEL_HOOKS_CONFIG } = env;
  const place = { env: { XDG_CONFIG_HOME, APPDATA, OTEL_HOOKS_CONFIG }, home, platform, cwd: home, file };
  return proxiesOf(loadConfig({ ...place, project: false }).values, env);
}

/** `values` are those of the global file. */
export function proxiesOf(values: Values, env: Env): Proxies {
  const ca = values['proxy.ca'];
  const own = values['proxy.url'];
  if (own !== undefined) {
    const proxy = { url: new URL(own) };
    return { http: proxy, https: proxy, direct: directAddresses(values['proxy.direct']), ca };
  }
  const direct = directAddresses(values['proxy.direct'] ?? variable(env, 'no_proxy')?.text);
  const all = variable(env, 'all_proxy');
  // A web server passes the header `Proxy` of a request to its programs as HTTP_PROXY.
  const http = variable(env, 'http_proxy', env.REQUEST_METHOD !== undefined);
  return { http: proxyIn(http ?? all), https: proxyIn(variable(env, 'https_proxy') ?? all), direct, ca };
}

/** Returns the proxy for this request, or undefined if the request goes to the server itself. */
export function proxyFor(url: URL, { http, https, direct }: Proxies): Proxy | undefined {
  const proxy = url.protocol === 'https:' ? https : http;
  if (proxy === undefined) return undefined;
  const host = bareHost(url.hostname);
  if (isLoopback(host)) return undefined;
  const port = Number(url.port) || (url.protocol === 'https:' ? 443 : 80);
  return direct.some(each => (each.port === undefined || each.port === port) && each.holds(host)) ? undefined : proxy;
}

/** The address of a proxy for people, without credentials. */
export const shownProxy = (proxy: URL): string => shownEndpoint(proxy.href);

interface Variable {
  name: string;
  text: string;
}

/** The variable in lower case comes first, as in curl. An empty variable counts as unset. */
function variable(env: Env, name: string, isLowerOnly = false): Variable | undefined {
  const names = isLowerOnly ? [name] : [name, name.toUpperCase()];
  for (const each of names) {
    const text = env[each]?.trim();
    if (text) return { name: each, text };
  }
  return undefined;
}

function proxyIn(given: Variable | undefined): Proxy | undefined {
  if (given === undefined) return undefined;
  const text = /^[a-z][a-z\d+.-]*:\/\//i.test(given.text) ? given.text : `http://${given.text}`;
  if (!URL.canParse(text)) return { from: given.name, why: 'its value is not an address' };
  const url = new URL(text);
  if (url.protocol === 'http:' || url.protocol === 'https:') return { url };
  return { from: given.name, why: `${url.protocol.replace(':', '')} proxies are not supported` };
}

export interface DirectAddress {
  port: number | undefined;
  holds(host: string): boolean;
}

/**
 * Reads NO_PROXY: names, addresses, networks (`10.0.0.0/8`) and patterns with `*`, each with a port if it applies to
 * this port only. A name also holds for the hosts below it, with and without a dot in front.
 */
export function directAddresses(given: string | readonly string[] | undefined): DirectAddress[] {
  const words = typeof given === 'string' ? given.split(/[\s,]+/) : (given ?? []);
  return words.filter(word => word !== '').map(word => directAddress(word.toLowerCase()));
}

function directAddress(word: string): DirectAddress {
  const { host, port } = withoutPort(word);
  const network = networkOf(host);
  if (network !== undefined) return { port, holds: each => isIn(network, each) };
  if (host.includes('*')) {
    const parts = host.split(/\*+/);
    return { port, holds: each => fits(parts, each) };
  }
  const name = host.replace(/^\./, '').replace(/\.$/, '');
  return { port, holds: each => each === name || each.endsWith(`.${name}`) };
}

/** `parts` are the texts between the stars. The search is linear, which a regular expression with many stars is not. */
function fits(parts: readonly string[], text: string): boolean {
  const [first = '', ...others] = parts;
  const last = others.pop() ?? '';
  if (!text.startsWith(first)) return false;
  let at = first.length;
  for (const part of others) {
    const found = text.indexOf(part, at);
    if (found < 0) return false;
    at = found + part.length;
  }
  return text.length - last.length >= at && text.endsWith(last);
}

/** An address of IPv6 has a port only if it is in brackets. */
function withoutPort(word: string): { host: string; port: number | undefined } {
  const bracketed = /^\[([^\]]*)\](?::(\d+))?(\/\d+)?$/.exec(word);
  if (bracketed !== null) {
    const [, address = '', port, prefix = ''] = bracketed;
    return { host: address + prefix, port: port === undefined ? undefined : Number(port) };
  }
  const named = /^([^:]*):(\d+)$/.exec(word);
  return named === null ? { host: word, port: undefined } : { host: named[1] ?? '', port: Number(named[2]) };
}

function networkOf(text: string): BlockList | undefined {
  const [address = '', prefix] = text.split('/');
  const family = isIP(address);
  if (family === 0) return undefined;
  const longest = family === 4 ? 32 : 128;
  const length = prefix === undefined ? longest : Number(prefix);
  if (!Number.isInteger(length) || length < 0 || length > longest) return undefined;
  const list = new BlockList();
  list.addSubnet(address, length, family === 4 ? 'ipv4' : 'ipv6');
  return list;
}

function isIn(list: BlockList, host: string): boolean {
  const family = isIP(host);
  return family !== 0 && list.check(host, family === 4 ? 'ipv4' : 'ipv6');
}

const loopback = new BlockList();
loopback.addSubnet('127.0.0.0', 8, 'ipv4');
loopback.addAddress('::1', 'ipv6');
loopback.addSubnet('::ffff:127.0.0.0', 104, 'ipv6');

const isLoopback = (host: string): boolean =>
  host === 'localhost' || host.endsWith('.localhost') || isIn(loopback, host);

const bareHost = (hostname: string): string =>
  hostname
    .replace(/^\[|\]$/g, '')
    .replace(/\.$/, '')
    .toLowerCase();
