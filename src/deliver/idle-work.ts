/** What a delivery does while no fragment waits: it repairs the index of sessions, and packs old journals. */
import type { Store } from '../store/store.ts';
import { IndexRepair } from './index-repair.ts';
import { Packer } from './packer.ts';

export class IdleWork {
  private readonly index: IndexRepair;
  private readonly packer: Packer;

  constructor(store: Store) {
    this.index = new IndexRepair(store);
    this.packer = new Packer(store);
  }

  pass(): void {
    this.index.pass();
    this.packer.pass();
  }
}
