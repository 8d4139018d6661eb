/** Makes the n-th system call of a process fail, by a library that is compiled here and preloaded. */
import { spawnSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { constants } from 'node:os';
import { join } from 'node:path';

export type Fault = 'ENOSPC' | 'EIO' | 'EMFILE' | 'EACCES' | 'EINTR' | 'EROFS' | 'EDQUOT' | 'ENOMEM' | 'short';
export const faults: readonly Fault[] = [
  'ENOSPC',
  'EIO',
  'EMFILE',
  'short',
  'EACCES',
  'EINTR',
  'EROFS',
  'EDQUOT',
  'ENOMEM',
];

export interface Injection {
  /** Counted from 1; 0 only counts. */
  call: number;
  fault: Fault;
  /** Whether all later calls fail too. */
  lasting: boolean;
  /** The call at which counting begins. */
  from?: { file: string; whenClosed: boolean };
  /** Calls that never fail. */
  except?: readonly string[];
  /** Only calls that concern this folder count. */
  within?: string;
}

export interface Injector {
  /** The environment variables that make calls of a process fail. */
  env(injection: Injection): Record<string, string>;
  /** The number of calls since the last `env`, and the first that failed. */
  result(): { calls: number; failed: string | undefined };
}

/** Undefined if there is no compiler. Only one injection runs at a time. */
export function compileInjector(folder: string): Injector | undefined {
  const library = join(folder, 'nth-call.so');
  const shared = join(folder, 'nth-call.shared');
  const source = join(import.meta.dirname, 'nth-call.c');
  if (spawnSync('cc', ['-O1', '-shared', '-fPIC', '-o', library, source, '-ldl']).status !== 0) return undefined;
  return {
    env({ call, fault, lasting, from, within, except = [] }) {
      writeFileSync(shared, Buffer.alloc(4_096));
      return {
        LD_PRELOAD: library,
        NTH_SHARED: shared,
        NTH_CALL: String(call),
        NTH_ERROR: String(fault === 'short' ? 0 : constants.errno[fault]),
        NTH_LASTING: lasting ? '1' : '0',
        NTH_FROM: from?.file ?? '',
        NTH_AFTER: from?.whenClosed ? '1' : '0',
        NTH_WITHIN: within ?? '',
        NTH_EXCEPT: except.length === 0 ? '' : `,${except.join()},`,
        // Processes that hooks start have tests of their own.
        NTH_NOT: from === undefined ? '' : 'deliver.js',
      };
    },
    result() {
      const bytes = readFileSync(shared);
      const failed = bytes.subarray(12, bytes.indexOf(0, 12)).toString();
      return { calls: bytes.readInt32LE(4), failed: failed === '' ? undefined : failed };
    },
  };
}
