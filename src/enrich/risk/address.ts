/** Hosts of addresses: which host an address names, and whether it is this machine. */
import type { Subject } from './subject.ts';

export function urlFields(url: string, program: string): Subject['fields'] {
  const host = hostOf(url);
  return { url: [url], host: [host], where: [isLocal(host) ? 'local' : 'remote'], program: [program] };
}

export function hostOf(url: string): string {
  const [, authority = ''] = /^(?:[a-z][a-z0-9+.-]*:\/\/)?([^/?#\s]*)/i.exec(url) ?? [];
  // A variable after a digit belongs to the path.
  const host = authority.slice(authority.lastIndexOf('@') + 1).replace(/(?<=\d)\$.*$/, '');
  return (/^\[([^\]]*)\]/.exec(host)?.[1] ?? host.split(':', 1)[0] ?? '').toLowerCase();
}

export const isLocal = (host: string): boolean =>
  /^(?:localhost|127\.\d+\.\d+\.\d+|::1|0\.0\.0\.0|host\.docker\.internal|.*\.(?:localhost|local|test))$/.test(host);
