/** The identity of this installation, made by its first round. */
import { randomBytes } from 'node:crypto';
import { changeOf, type DocumentChange } from '../store/document.ts';
import type { Store } from '../store/store.ts';
import { documents } from './documents.ts';

export interface Installation {
  /** The id in resources. */
  id: string;
  /** The key of content hashes. */
  key: string;
}

/** Returns the stored installation, or a new one with the change that stores it. */
export function installationOf(store: Pick<Store, 'read'>): { installation: Installation; changes: DocumentChange[] } {
  const stored = store.read(documents.installation);
  if (stored !== undefined) return { installation: stored, changes: [] };
  const installation = { id: randomBytes(16).toString('hex'), key: randomBytes(32).toString('hex') };
  return { installation, changes: [changeOf(documents.installation, installation)] };
}
