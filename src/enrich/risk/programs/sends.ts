/** Data that programs send to other machines, and the hosts that get it. */
import { hostOf } from '../address.ts';
import { isSecretName } from '../named.ts';
import { plainPath } from '../places.ts';
import type { Invocation, Sent } from '../program.ts';
import type { Word } from '../shell.ts';
import { isPersonal, isSecretFile, LONGEST_WORD, placesIn, type Walk } from '../walk.ts';

/** Hosts of a private network. */
export const OWN_NETWORK =
  /\.(?:internal|lan|corp|intranet|home|svc)$|^(?:10|192\.168|172\.(?:1[6-9]|2\d|3[01]))\.|^[a-z][\w-]*$/;
/** Folders in which services keep their data. */
const SERVICE_DATA = /^\/(?:srv|data|mnt|backups?|var\/(?:lib|backups?|mail|spool))\/(?!www|releases|http|sites)/;

/** Adds the kind of a file that is sent. */
function addFile(what: Set<string>, path: string, { walk, input }: Invocation): void {
  if (path === '-' || path === '/dev/stdin') {
    for (const tag of ['input', ...input.tags]) what.add(tag);
    return;
  }
  const places = placesIn(path, walk);
  // Build results are meant to be uploaded.
  const isBuilt = places.includes('rebuilt') && !places.includes('temporary') && !places.includes('personal');
  if (!isBuilt) what.add(places.includes('secret') ? 'secret' : 'file');
}

/** Adds the kind of a file if it is secret or personal: copies of other files are usual. */
function addPrivateFile(what: Set<string>, path: string, walk: Walk): void {
  if (isSecretFile(path, walk)) what.add('secret');
  else if (isPersonal(path, walk) || SERVICE_DATA.test(plainPath(path, walk.cwd))) what.add('personal');
}

// ---------------------------------------------------------------- copies to a host

const hostOfTarget = (target: string): string => target.split(':', 1)[0]?.split('@').pop() ?? '';

/** `scp` and `rsync`: the last operand is `HOST:PATH`, or a local path. */
export function copied({ operands, walk }: Invocation): Sent {
  const target = operands.at(-1) ?? '';
  const isRemote = /^[^/]*:/.test(target) && !/^[A-Za-z]:[\\/]/.test(target);
  return privately(isRemote ? [hostOfTarget(target)] : [], operands.slice(0, -1), walk);
}

/** `sftp`: its input has the commands. */
export function copiedBySftp({ operands, walk, input }: Invocation): Sent {
  const commands = (input.text ?? '').slice(0, LONGEST_WORD);
  const puts = [...commands.matchAll(/\bput (\S+)/g)].map(([, path = '']) => path);
  return privately([hostOfTarget(operands.at(-1) ?? '')], [...operands.slice(0, -1), ...puts], walk);
}

function privately(hosts: readonly string[], paths: readonly string[], walk: Walk): Sent {
  const what = new Set<string>();
  for (const path of paths) addPrivateFile(what, path, walk);
  if (hosts.every(host => OWN_NETWORK.test(host))) what.delete('personal');
  return { what, hosts };
}

/** `ssh` sends its input. */
export function pipedToSsh({ args, input }: Invocation): Sent {
  const host = hostOfSsh(args);
  const what = new Set<string>();
  if (input.tags.has('secret')) what.add('secret');
  if (input.tags.has('personal') && !OWN_NETWORK.test(host)) what.add('personal');
  return { what, hosts: [host] };
}

function hostOfSsh(args: readonly string[]): string {
  const at = args.findIndex((arg, i) => !arg.startsWith('-') && !/^-[bcDEeFIiJLlmOopQRSWw]$/.test(args[i - 1] ?? ''));
  return (args[at] ?? '').split('@').pop() ?? '';
}

// ---------------------------------------------------------------- uploads to a provider

const UPLOADS =
  /(?:^| )(?:s3 (?:cp|mv|sync)|s3api put-object|put|cp|rsync|storage cp|blob upload(?:-batch)?|copy|copyto|sync|move|moveto|gist create|release upload)(?: |$)/;

/**
 * Uploads with the program of a provider. Personal files count only if the upload is public: a private upload is a
 * backup.
 */
export const uploaded =
  (isPublic: (line: string) => boolean = line => /gist create|public/.test(line)) =>
  ({ program, args, walk }: Invocation): Sent | undefined => {
    const line = args.slice(0, 8).join(' ');
    if (!UPLOADS.test(line)) return undefined;
    const what = new Set<string>();
    for (const path of args) {
      if (/^[\w-]{2,}:/.test(path)) continue;
      if (isSecretFile(path, walk)) what.add('secret');
      else if (isPersonal(path, walk) && isPublic(line)) what.add('personal');
    }
    return { what, hosts: [program] };
  };

// ---------------------------------------------------------------- sockets and messages

/** Public hosts that accept any data. */
const PUBLIC_DROPS = /(?:^|\.)(?:termbin\.com|ix\.io|0x0\.st|transfer\.sh|paste\.\w+|sprunge\.us)$/;

/** `nc` and the like send their input. */
export function pipedToSocket({ operands, input }: Invocation): Sent {
  const hosts = operands
    .filter(operand => /[.:]|^localhost$/.test(operand))
    .map(operand => operand.replace(/^[A-Z]+:/i, '').split(':')[0] ?? '');
  const what = new Set(input.tags);
  if (input.programs.length > 0 && hosts.some(host => PUBLIC_DROPS.test(host))) what.add('input');
  return { what, hosts };
}

/** `socat` also sends files that its addresses name. */
export function pipedToSocat(invocation: Invocation): Sent {
  const { what, hosts } = pipedToSocket(invocation);
  const all = new Set(what);
  for (const operand of invocation.operands) {
    const [, path] = /^(?:FILE|OPEN|GOPEN):([^,]+)/i.exec(operand) ?? [];
    if (path !== undefined) addFile(all, path, invocation);
  }
  return { what: all, hosts };
}

export const pipedToTls = (invocation: Invocation): Sent | undefined =>
  invocation.args[0] === 's_client' ? pipedToSocket(invocation) : undefined;

/** Mails, and files for another person. */
export function mailed({ program, operands, walk, input }: Invocation): Sent {
  const what = new Set<string>();
  for (const path of operands) if (/[./]/.test(path) && !path.includes('@')) addPrivateFile(what, path, walk);
  for (const tag of input.tags) if (tag === 'secret' || tag === 'personal') what.add(tag);
  return { what, hosts: [program] };
}

/** Pastes are public: any file counts. */
export function pasted(invocation: Invocation): Sent {
  const { what, hosts } = mailed(invocation);
  return { what: invocation.input.tags.has('file') ? new Set([...what, 'file']) : what, hosts };
}

// ---------------------------------------------------------------- requests

/** Options whose value is data of a request. */
const DATA =
  /^(?:-[a-zA-Z]*[dFT]|--(?:data(?:-\w+)?|form(?:-string)?|upload-file|json|post-file|body-file|post-data|body-data)|-(?:infile|body))(?:=|$)/i;
const DATA_FILE = /^(?:-[a-zA-Z]*T|--upload-file|--post-file|--body-file|-infile)/i;
/** `-dVALUE` of `curl`. */
const JOINED_DATA = /^-[dFT](?=[^-])(?=.{2})/;
/** A secret after one of these names is a credential of the request: it is used, not leaked. */
const CREDENTIAL =
  /(?:key|token|secret|passw(?:or)?d|pass|pwd|auth\w*|credential|code|app_?id|sig(?:nature)?|assertion|verifier|bot|\/\/[^/@\s]{0,40}:|basic|bearer)["'\\]*\s*[=:]?\s*["'\\]*$/i;
const BARE_HOST = /^(?:[\w-]+@)?[a-z0-9-]+(?:\.[a-z0-9-]+)+(?::\d+)?(?:\/\S*)?$/i;
const ADDRESS = /^[a-z]+:\/\//i;

/** Returns true if a word uses the variable of a secret, but not as a credential of the request. */
const leaksSecret = ({ text, variables }: Word): boolean =>
  variables.some(name => {
    if (!isSecretName(name)) return false;
    const at = text.indexOf(`$${name}`);
    return at >= 0 && !CREDENTIAL.test(text.slice(Math.max(0, at - 40), at));
  });

/** `curl` also takes `-dVALUE`. */
export const requestedByCurl = (invocation: Invocation): Sent => requestedWith(invocation, true);
export const requested = (invocation: Invocation): Sent => requestedWith(invocation, false);

function requestedWith(invocation: Invocation, hasJoined: boolean): Sent {
  const { args, words } = invocation;
  const what = new Set<string>();
  for (const [at, arg] of args.entries()) {
    const isJoined = hasJoined && JOINED_DATA.test(arg) && !DATA.test(arg);
    if (!isJoined && !DATA.test(arg)) continue;
    const value = isJoined ? arg.slice(2) : dataValue(arg, args[at + 1]);
    addData(what, arg, value, invocation);
    const word = words[isJoined || value !== args[at + 1] ? at : at + 1];
    if (word !== undefined && leaksSecret(word)) what.add('secret');
  }
  return withSecretsOf(invocation, what);
}

const dataValue = (arg: string, next: string | undefined): string =>
  arg.includes('=') && arg.startsWith('--') ? arg.slice(arg.indexOf('=') + 1) : (next ?? '');

/** `@FILE`, `name=@FILE`, `name=<FILE` or the file itself. */
function addData(what: Set<string>, option: string, value: string, invocation: Invocation): void {
  const [, named] =
    /^(?:[^=@<]*=)?[@<](.+)$/.exec(value) ?? (/urlencode/.test(option) ? /^\w*@(.+)$/.exec(value) : undefined) ?? [];
  if (DATA_FILE.test(option)) addFile(what, value, invocation);
  else if (named !== undefined) addFile(what, named.split(';', 1)[0] ?? named, invocation);
}

/** `http`: arguments are data, `name=@FILE` or `@FILE` are files. */
export function requestedByHttpie(invocation: Invocation): Sent {
  const what = new Set<string>();
  for (const arg of invocation.args) {
    const [, named] = /^(?:[\w.-]{0,64}=?)?@(.+)$/.exec(arg) ?? [];
    if (named !== undefined && !arg.includes('://')) addFile(what, named, invocation);
  }
  return withSecretsOf(invocation, what);
}

/** Secrets in an address, and secrets that a substitution puts into an argument. */
function withSecretsOf({ args, words, operands, substituted }: Invocation, what: Set<string>): Sent {
  const urls = args.filter(arg => ADDRESS.test(arg));
  const hosts = (urls.length > 0 ? urls : operands.filter(arg => BARE_HOST.test(arg))).map(hostOf);
  const isInAddress = words.some(word => ADDRESS.test(word.text) && leaksSecret(word));
  const isSubstituted =
    substituted.tags.has('secret') &&
    words.some(word => word.inner.length > 0 && !CREDENTIAL.test(word.text.split('$()', 1)[0] ?? ''));
  if (isInAddress || isSubstituted) what.add('secret');
  return { what, hosts };
}
