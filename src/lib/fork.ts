import { type ChildProcess, type ForkOptions, fork } from 'node:child_process';

/**
 * Starts a Node program with these flags of Node, and a channel for messages. Its output is not read: on a lack of
 * memory, V8 prints its state. Windows shows no window for it.
 */
export function forkSilently(
  program: string,
  args: readonly string[],
  options: { flags: readonly string[]; env?: NodeJS.ProcessEnv; serialization?: 'advanced' },
): ChildProcess {
  const { flags, ...others } = options;
  const all: ForkOptions & { windowsHide: boolean } = {
    ...others,
    execArgv: [...flags],
    stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
    windowsHide: true,
  };
  return fork(program, args, all);
}
