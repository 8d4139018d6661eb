/**
 * The token of the senders: 32 random bytes in a file that only its owner can read. The file is checked every second,
 * so that a rotation replaces the old token without a restart. Without such a file no sender is accepted.
 */
import { randomBytes, timingSafeEqual } from 'node:crypto';
import { lstatSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { replaceConfig } from '../config/files.ts';
import { configFolder, type Surroundings } from '../config/folders.ts';
import { readKey, readPrivate } from '../lib/private-file.ts';
import type { Problem } from '../problems/problem.ts';

export interface Token {
  /** Compares in constant time. The length of a token is not secret. */
  isShownIn(authorization: string | undefined): boolean;
  /** The problem of the file, if it has one. */
  problem(): Problem | undefined;
  /** Checks the file again. */
  refresh(): void;
}

export const tokenFile = (where: Surroundings): string => join(configFolder(where), 'token');

export function rotateToken(file: string): void {
  replaceConfig(file, `${randomBytes(32).toString('base64url')}\n`);
}

/** Opens the token file in the configuration folder, and creates it if it does not exist. */
export function openToken(file: string): Token {
  if (lstatSync(file, { throwIfNoEntry: false }) === undefined) rotateToken(file);
  return tokenIn(file, { facts: lstatSync, read: readPrivate });
}

/**
 * Opens a token file that a service manager or an orchestrator provides. It may be a link, belong to root, and be readable
 * by its group, because they provide secrets in this way.
 */
export const openGivenToken = (file: string): Token =>
  tokenIn(file, { facts: statSync, read: path => readKey(path).toString('utf8') });

interface TokenAccess {
  facts: typeof lstatSync | typeof statSync;
  /** Throws an error that states the problem. */
  read: (file: string) => string;
}

function tokenIn(file: string, access: TokenAccess): Token {
  let seen: string | undefined;
  let shown: Buffer | undefined;
  let problem: Problem | undefined;
  const refresh = (): void => {
    const facts = access.facts(file, { throwIfNoEntry: false, bigint: true });
    const state = facts === undefined ? '' : `${facts.ino} ${facts.mtimeNs} ${facts.ctimeNs} ${facts.mode}`;
    if (state === seen) return;
    seen = state;
    const read = facts === undefined ? { why: 'it is not there' } : readToken(file, access);
    shown = 'text' in read ? Buffer.from(`Bearer ${read.text}`) : undefined;
    problem = 'text' in read ? undefined : { code: 'token-unsafe', file, why: read.why };
  };
  refresh();
  return {
    isShownIn(authorization = '') {
      if (shown === undefined || authorization.length !== shown.length) return false;
      // The scheme is not case-sensitive; the token is.
      const given = Buffer.from(`Bearer${authorization.slice(6)}`, 'latin1');
      return /^bearer /i.test(authorization) && given.length === shown.length && timingSafeEqual(given, shown);
    },
    problem: () => problem,
    refresh,
  };
}

function readToken(file: string, { read }: TokenAccess): { text: string } | { why: string } {
  try {
    const text = read(file).trim();
    return /^[A-Za-z0-9._~+/=-]{32,512}$/.test(text) ? { text } : { why: 'it holds no token' };
  } catch (error) {
    return { why: error instanceof Error ? error.message : String(error) };
  }
}
