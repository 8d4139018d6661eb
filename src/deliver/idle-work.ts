/**
 * What a delivery does while no fragment waits: it repairs the index of sessions, packs old journals and checks the
 * packed ones.
 */
import type { Store } from '../store/store.ts';
import { IndexRepair } from './index-repair.ts';
import { PackedCheck } from './packed-check.ts';
import { Packer } from './packer.ts';

export class IdleWork {
  private readonly index: IndexRepair;
  private readonly packer: Packer;
  private readonly check: PackedCheck;

  constructor(store: Store) {
    this.index = new IndexRepair(store);
    this.packer = new Packer(store);
    this.check = new PackedCheck(store);
  }

  pass(): void {
    this.index.pass();
    this.packer.pass();
    this.check.pass();
  }
}
