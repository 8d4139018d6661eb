import type { Memory } from '../contract/contract.ts';

/** Returns 1, 2, 3 and so on: numbers for calls or rows without an id. */
export function nextNumber(kind: 'calls' | 'rows', memory: Memory): number {
  const next = Number(memory.recall('numbers', kind) ?? '0') + 1;
  memory.remember('numbers', kind, String(next));
  return next;
}
