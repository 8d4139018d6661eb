/**
 * The variable PATH. Windows spells it `Path`, and finds it under every spelling. A copy of the environment finds it
 * under the stored spelling only.
 */

type Environment = Readonly<Record<string, string | undefined>>;

const isPath = (name: string): boolean => name.toUpperCase() === 'PATH';

export const pathIn = (env: Environment): string | undefined =>
  env.PATH ?? env[Object.keys(env).find(isPath) ?? 'PATH'];

/** Returns a copy of the environment with this PATH, and no other spelling of it. */
export const withPath = (env: Environment, path: string): Record<string, string | undefined> => ({
  ...Object.fromEntries(Object.entries(env).filter(([name]) => !isPath(name))),
  PATH: path,
});
