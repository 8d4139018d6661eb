/**
 * Decides which requests are accepted, from their heads alone. A web page in a browser of this machine can send
 * requests to this server. With a host name that it controls, the page can even make the browser treat this server as
 * the page's own (DNS rebinding). So the server refuses all requests of browsers, and all host names that may not be
 * its own.
 */
import type { X509Certificate } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';
import { isIP } from 'node:net';

/** The host names that a sender may use. */
export interface Names {
  /** Only this machine reaches the server, so only the addresses and the name of the loopback interface are accepted. */
  isLoopback: boolean;
  certificate?: X509Certificate | undefined;
  /** Names that the user allows, in lower case. */
  allowed: readonly string[];
}

export function isLoopback(host: string): boolean {
  const address = host.replace(/^::ffff:/, '');
  return address === 'localhost' || address === '::1' || (isIP(address) === 4 && address.startsWith('127.'));
}

/** Returns the rule that a head breaks, if any. */
export function doorFor(names: Names): (headers: IncomingHttpHeaders) => 'browser' | 'host' | undefined {
  /** A cache of the last accepted name, because nearly all senders use the same one. */
  let known: string | undefined;
  return headers => {
    // Browsers add these headers, and no page can remove them. `none`: a person typed the address.
    if (headers.origin !== undefined) return 'browser';
    const { host, 'sec-fetch-site': site } = headers;
    if (site !== undefined && site !== 'none') return 'browser';
    if (host !== undefined && host === known) return undefined;
    if (!isOurs(host, names)) return 'host';
    known = host;
    return undefined;
  };
}

function isOurs(header: string | undefined, names: Names): boolean {
  const [, bracketed, bare] = /^(?:\[([0-9A-Fa-f:.]+)\]|([A-Za-z0-9._-]+))(?::[0-9]{1,5})?$/.exec(header ?? '') ?? [];
  const host = (bracketed ?? bare)?.toLowerCase();
  if (host === undefined) return false;
  if (names.allowed.includes(host)) return true;
  if (names.isLoopback) return isLoopback(host);
  // An address is accepted, because it does not depend on a DNS server.
  return isIP(host) !== 0 || names.certificate?.checkHost(host) !== undefined;
}

/** The number of requests per second that a client may send, and the largest number at once. */
export interface Rates {
  /** Undefined: accepted. Otherwise the seconds after which the client may retry. */
  waitFor(client: string, nowMs: number): number | undefined;
}

const MOST_CLIENTS = 4_096;

export function ratesOf(perSecond: number): Rates {
  const known = new Map<string, { left: number; atMs: number }>();
  return {
    waitFor(client, nowMs) {
      const before = known.get(client) ?? { left: perSecond, atMs: nowMs };
      const left = Math.min(perSecond, before.left + ((nowMs - before.atMs) / 1000) * perSecond);
      // The client with the longest silence is evicted. It starts again with a full budget.
      known.delete(client);
      known.set(client, { left: left < 1 ? left : left - 1, atMs: nowMs });
      if (known.size > MOST_CLIENTS) known.delete(known.keys().next().value ?? '');
      return left < 1 ? Math.max(1, Math.ceil((1 - left) / perSecond)) : undefined;
    },
  };
}

/** Returns the client of an address: for IPv6 its network, because one host has 2^64 addresses. */
export function clientOf(address: string | undefined): string {
  if (address === undefined) return '';
  return isIP(address) === 6 && !address.startsWith('::ffff:') ? address.split(':').slice(0, 4).join(':') : address;
}
