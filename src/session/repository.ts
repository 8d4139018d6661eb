/**
 * The repository of a working folder, read from its files. git is never run, because git would run commands that the
 * configuration of the repository names. Each file is read up to a limit, and a value of unexpected form is unknown.
 */
import { dirname, isAbsolute, join, resolve } from 'node:path';
import { type Repository, repositoryParts } from '../assemble/finished.ts';
import { withoutSecrets } from '../enrich/secrets.ts';
import type { Eyes } from '../transcripts/eyes.ts';

export type Look = Pick<Eyes, 'stat' | 'read'>;

const MOST_FOLDERS = 64;
const SMALL = 4_096;
const CONFIG = 256 * 1024;
const PACKED = 8 * 1024 * 1024;
const LOG = 64 * 1024;

const SHA = /^(?:[0-9a-f]{40}|[0-9a-f]{64})$/;
const REF = /^ref: (refs\/(?!.*(?:\.\.|\/\.|\/\/|@\{|\.lock$))[^\s\p{Cc}~^:?*[\\]{1,250})$/u;

/** Undefined when the folder is in no repository. */
export function repositoryAt(cwd: string, look: Look): Repository | undefined {
  const place = placeOf(cwd, look);
  if (place === undefined) return undefined;
  const { branch, revision } = headOf(place, look);
  const config = textOf(look, join(place.common, 'config'), CONFIG);
  const address = config === undefined ? undefined : addressOf(remoteIn(config) ?? '');
  const found: Repository = { ...address, branch, revision };
  for (const part of repositoryParts) {
    const text = found[part];
    // A commit hash looks like a secret. Its form was checked, so it is not redacted.
    if (text !== undefined && part !== 'revision') found[part] = withoutSecrets(text);
  }
  return found;
}

/** The commits since `revision`, oldest first, and the present state. Undefined when nothing changed. */
export function movedSince(
  cwd: string,
  revision: string | undefined,
  look: Look,
): { commits: string[]; branch: string | undefined; revision: string } | undefined {
  const place = placeOf(cwd, look);
  const head = place && headOf(place, look);
  if (place === undefined || head?.revision === undefined || head.revision === revision) return undefined;
  const lines = tailOf(look, join(place.git, 'logs', 'HEAD'), LOG).split('\n');
  const steps = lines.flatMap(line => {
    const [, to = '', what = ''] = /^[0-9a-f]{40,64} ([0-9a-f]{40,64}) [^\t]*\t(\w*)/.exec(line) ?? [];
    return SHA.test(to) ? [{ to, what }] : [];
  });
  const last = revision === undefined ? -1 : steps.findLastIndex(({ to }) => to === revision);
  // Without the starting commit, only the last commit is certain to be new.
  const made = last < 0 && revision !== undefined ? steps.slice(-1) : steps.slice(last + 1);
  const commits = made.flatMap(({ to, what }) => (what === 'commit' ? [to] : []));
  return { commits, branch: head.branch && withoutSecrets(head.branch), revision: head.revision };
}

/** The top folder of the working tree. */
export const topOf = (cwd: string, look: Look): string | undefined => placeOf(cwd, look)?.top;

/** `git`: the folder of this working tree. `common`: the folder that linked working trees share. */
interface Place {
  top: string;
  git: string;
  common: string;
}

function placeOf(cwd: string, look: Look): Place | undefined {
  if (!isAbsolute(cwd)) return undefined;
  let folder = cwd;
  for (let up = 0; up < MOST_FOLDERS; up += 1) {
    const git = gitIn(folder, look);
    if (git !== undefined) {
      const common = textOf(look, join(git, 'commondir'), SMALL)?.trim();
      return { top: folder, git, common: common === undefined || common === '' ? git : resolve(git, common) };
    }
    const above = dirname(folder);
    if (above === folder) return undefined;
    folder = above;
  }
  return undefined;
}

/**
 * `.git` is a folder or, in a linked working tree and in a submodule, a file that names the folder. A `.git` of another
 * user is ignored: any user may create one in a shared folder above, with a branch and a remote of their choice.
 */
function gitIn(folder: string, look: Look): string | undefined {
  const git = join(folder, '.git');
  if (isOwnFile(look, join(git, 'HEAD'))) return git;
  const [, place] = (isOwnFile(look, git) && /^gitdir: (.+)$/m.exec(textOf(look, git, SMALL) ?? '')) || [];
  const linked = place === undefined ? undefined : resolve(folder, place.trim());
  return linked !== undefined && isOwnFile(look, join(linked, 'HEAD')) ? linked : undefined;
}

function isOwnFile(look: Look, path: string): boolean {
  const stat = look.stat(path);
  return stat !== undefined && stat.isForeign !== true;
}

function headOf({ git, common }: Place, look: Look): { branch: string | undefined; revision: string | undefined } {
  const head = textOf(look, join(git, 'HEAD'), SMALL)?.trim() ?? '';
  if (SHA.test(head)) return { branch: undefined, revision: head };
  const [, ref] = REF.exec(head) ?? [];
  if (ref === undefined) return { branch: undefined, revision: undefined };
  const branch = ref.startsWith('refs/heads/') ? ref.slice('refs/heads/'.length) : undefined;
  for (const place of [git, common]) {
    const loose = textOf(look, join(place, ref), SMALL)?.trim();
    if (loose !== undefined && SHA.test(loose)) return { branch, revision: loose };
  }
  const packed = textOf(look, join(common, 'packed-refs'), PACKED) ?? '';
  const at = packed.indexOf(` ${ref}\n`);
  const revision = at < 0 ? '' : packed.slice(packed.lastIndexOf('\n', at) + 1, at);
  return { branch, revision: SHA.test(revision) ? revision : undefined };
}

/** The URL of `origin`, else of the first remote. */
function remoteIn(config: string): string | undefined {
  let remote: string | undefined;
  const found = new Map<string, string>();
  for (const line of config.split('\n')) {
    const section = /^\s*\[(.*)\]\s*$/.exec(line);
    if (section) remote = /^remote "([^"]*)"$/.exec(section[1] ?? '')?.[1];
    const [, url] = remote === undefined ? [] : (/^\s*url\s*=\s*"?([^"\s]+)"?\s*$/.exec(line) ?? []);
    if (remote !== undefined && url !== undefined && !found.has(remote)) found.set(remote, url);
  }
  return found.get('origin') ?? found.values().next().value;
}

const providers: readonly [host: RegExp, provider: string][] = [
  [/(^|\.)github\./, 'github'],
  [/(^|\.)gitlab\./, 'gitlab'],
  [/(^|\.)bitbucket\./, 'bitbucket'],
  [/(^|\.)gitea\./, 'gitea'],
];

/** AWS CodeCommit's helper puts a profile before the name. */
const CODE_COMMIT = /^codecommit:(?::([a-z0-9-]{4,32}):)?\/\/(?:[^@/\s]*@)*([\w.-]{1,100})\/?$/;

/** The remote as a web URL without user, from any form that git accepts. Undefined for a path of this machine. */
function addressOf(remote: string): Repository {
  const [, region, bucket] = CODE_COMMIT.exec(remote) ?? [];
  if (bucket !== undefined) {
    const url = region === undefined ? undefined : `https://git-codecommit.${region}.amazonaws.com/v1/repos/${bucket}`;
    return { url, name: bucket };
  }
  // The text behind the name of a remote helper is an address of its own.
  const given = remote.replace(/^[A-Za-z][A-Za-z0-9+.-]{0,40}::/, '');
  const short = /^(?:[^@/\s]+@)?([A-Za-z0-9.-]{2,}):(?!\/\/)(?!:)(.+)$/.exec(given);
  const text = short ? `ssh://${short[1]}/${short[2]}` : given;
  if (!URL.canParse(text)) return {};
  const { protocol, hostname, host, pathname } = new URL(text);
  if (!['https:', 'http:', 'ssh:', 'git:', 'git+ssh:'].includes(protocol) || hostname === '') return {};
  const path = pathname.replace(/\/+$/, '').replace(/\.git$/, '');
  // Some forms have a user in the path as well. No provider allows `@` in a name.
  const parts = path.split('/').flatMap(part => part.slice(part.lastIndexOf('@') + 1) || []);
  const name = parts.at(-1);
  if (name === undefined || path.length > 500) return {};
  const isWeb = protocol === 'https:' || protocol === 'http:';
  return {
    url: `${isWeb ? protocol : 'https:'}//${isWeb ? host : hostname}/${parts.join('/')}`,
    name,
    owner: parts.length > 1 ? parts.slice(0, -1).join('/') : undefined,
    provider: providers.find(([pattern]) => pattern.test(hostname))?.[1],
  };
}

function textOf(look: Look, path: string, most: number): string | undefined {
  const stat = look.stat(path);
  return stat === undefined || stat.sizeBytes > most ? undefined : look.read(path, 0, stat.sizeBytes).toString('utf8');
}

function tailOf(look: Look, path: string, length: number): string {
  const { sizeBytes = 0 } = look.stat(path) ?? {};
  const from = Math.max(0, sizeBytes - length);
  const text = look.read(path, from, sizeBytes - from).toString('utf8');
  return from === 0 ? text : text.slice(text.indexOf('\n') + 1);
}
