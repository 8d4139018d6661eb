/**
 * The discovery file of the project that an agent works in, and the user's answer to it. The file comes with a clone,
 * so its author is untrusted: no command runs until the user has agreed to exactly this text at exactly this path.
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

/** `new`: the user has not answered. `changed`: the user agreed to another text. */
export type Answer = 'yes' | 'no' | 'new' | 'changed';

export type Discovery = { root: string; file: string } & (
  | { found: false }
  | { found: true; why: string }
  | { found: true; why?: undefined; hooks: Subscription[]; hash: string; answer: Answer; ci: boolean }
);

/**
 * Looks only at the top of the working tree, or in the folder itself outside of one. Undefined: the folder does not
 * exist.
 */
export function discover(cwd: string, place: Place): Discovery | undefined {
  const root = isAbsolute(cwd) ? realFolder(topOf(cwd, diskEyes()) ?? cwd) : undefined;
  if (root === undefined) return undefined;
  const file = join(root, DISCOVERY_FILE);
  const refuse = ({ uid }: { uid: bigint }) => (isTrustedOwner(uid) ? undefined : 'it belongs to another user');
  const read = readSmallFile(file, { refuse });
  if (read === undefined) return { root, file, found: false };
  if ('why' in read) return { root, file, found: true, why: read.why };
  // The commands come from the text that is hashed; a second read could return another text.
  const subscriptions = subscriptionsIn(read.text);
  if ('why' in subscriptions) return { root, file, found: true, why: subscriptions.why };
  const hash = contentHash(read.text);
  const consent = commandsConsents(place).get(file);
  const answer = consent === undefined ? 'new' : answerTo(consent, hash);
  const ci = consent?.hash === hash && consent.ci === true;
  return { root, file, found: true, hooks: subscriptions.hooks, hash, answer, ci };
}

function answerTo(consent: { hash: string; answer: 'yes' | 'no' }, hash: string): Answer {
  if (consent.hash === hash) return consent.answer;
  return consent.answer === 'yes' ? 'changed' : 'new';
}

function realFolder(folder: string): string | undefined {
  try {
    return realpathSync.native(folder);
  } catch {
    // The folder was deleted, or it is on another machine.
    return undefined;
  }
}

/** Returns the problems that keep the commands of these folders' files from running, one per file. */
export function unansweredIn(folders: Iterable<string>, place: Place): Problem[] {
  const found = new Map<string, Problem>();
  for (const folder of new Set(folders)) {
    const project = discover(folder, place);
    if (project === undefined || !project.found) continue;
    // Both paths come from an event, and users paste the printed command into a shell.
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

/** In CI, no person watches, and the branch that is checked out may come from an untrusted author. */
export function isInCi(env: Readonly<Record<string, string | undefined>>): boolean {
  const { CI } = env;
  if (CI !== undefined && !['', '0', 'false'].includes(CI.toLowerCase())) return true;
  return ['TF_BUILD', 'JENKINS_URL', 'TEAMCITY_VERSION', 'BUILDKITE', 'CODEBUILD_BUILD_ID'].some(name => env[name]);
}

const pasted = (path: string): string => (/^[\w@%+=:,./-]+$/.test(path) ? path : quoted(path));
