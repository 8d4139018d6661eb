/**
 * The discovery file of the project that an agent works in, and what its user said to it. It comes with a clone, so its author
 * is a stranger: its commands are nothing but text until the user has said yes to this very text at this very place.
 */
import { realpathSync } from 'node:fs';
import { isAbsolute, join } from 'node:path';
import { commandsConsents, contentHash, type Place } from '../config/files.ts';
import { asShown } from '../lib/shown.ts';
import { readSmallFile } from '../lib/small-file.ts';
import { isTrustedOwner } from '../lib/trusted-owner.ts';
import type { Problem } from '../problems/problem.ts';
import { topOf } from '../session/repository.ts';
import { quoted } from '../setup/commands.ts';
import { type Subscription, subscriptionsIn } from '../standards/openhook/subscriptions.ts';
import { diskEyes } from '../transcripts/eyes.ts';

const DISCOVERY_FILE = '.openhook.json';

/** new: nobody was asked yet. changed: the yes was to another text. */
export type Answer = 'yes' | 'no' | 'new' | 'changed';

export type Discovery = { root: string; file: string } & (
  | { found: false }
  | { found: true; why: string }
  | { found: true; why?: undefined; hooks: Subscription[]; hash: string; answer: Answer; ci: boolean }
);

/**
 * At the top of the working tree, or in the folder itself where it is in none; nowhere else. Undefined: there is no
 * such folder.
 */
export function discover(cwd: string, place: Place): Discovery | undefined {
  const root = isAbsolute(cwd) ? realFolder(topOf(cwd, diskEyes()) ?? cwd) : undefined;
  if (root === undefined) return undefined;
  const file = join(root, DISCOVERY_FILE);
  const refuse = ({ uid }: { uid: bigint }) => (isTrustedOwner(uid) ? undefined : 'it belongs to another user');
  const read = readSmallFile(file, { refuse });
  if (read === undefined) return { root, file, found: false };
  if ('why' in read) return { root, file, found: true, why: read.why };
  // From here on the text is what was hashed; the file is not read again.
  const subscriptions = subscriptionsIn(read.text);
  if ('why' in subscriptions) return { root, file, found: true, why: subscriptions.why };
  const hash = contentHash(read.text);
  const said = commandsConsents(place).get(file);
  const answer =
    said === undefined ? 'new' : said.hash === hash ? said.answer : said.answer === 'yes' ? 'changed' : 'new';
  const ci = said?.hash === hash && said.ci === true;
  return { root, file, found: true, hooks: subscriptions.hooks, hash, answer, ci };
}

function realFolder(folder: string): string | undefined {
  try {
    return realpathSync(folder);
  } catch {
    // Gone, or never on this machine: nothing can be discovered there.
    return undefined;
  }
}

/** What keeps commands of these folders' files from being run, each file once. */
export function unansweredIn(folders: Iterable<string>, place: Place): Problem[] {
  const found = new Map<string, Problem>();
  for (const folder of new Set(folders)) {
    const project = discover(folder, place);
    if (project === undefined || !project.found) continue;
    // Both come with an event, and what is printed here is pasted.
    const root = pasted(asShown(project.root));
    const file = asShown(project.file);
    if (project.why !== undefined) found.set(file, { code: 'openhook-invalid', file, why: project.why });
    else if (project.answer === 'new' || project.answer === 'changed') {
      const isChanged = project.answer === 'changed';
      found.set(file, { code: 'openhook-unanswered', file, folder: root, isChanged, hooks: project.hooks.length });
    }
  }
  return [...found.values()];
}

/** Nobody watches there, and a branch of anybody may be checked out. */
export function isInCi(env: Readonly<Record<string, string | undefined>>): boolean {
  const { CI } = env;
  if (CI !== undefined && !['', '0', 'false'].includes(CI.toLowerCase())) return true;
  return ['TF_BUILD', 'JENKINS_URL', 'TEAMCITY_VERSION', 'BUILDKITE', 'CODEBUILD_BUILD_ID'].some(name => env[name]);
}

const pasted = (path: string): string => (/^[\w@%+=:,./-]+$/.test(path) ? path : quoted(path));
