/** The documents in the package. Texts name them by their path in the package, such as `docs/serve.md`. */
import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { distFolder } from './place.ts';

/** Replaces these names with absolute paths on this machine. */
export function withPaths(text: string): string {
  return text.replace(/(?<![\w/.~-])(?:docs|collector-config)\/[\w./-]*\w\.(?:md|yaml)\b/g, name => {
    const path = join(packageFolder(), name);
    return existsSync(path) ? path : name;
  });
}

/** The folder of the documents; undefined if the program was copied without them. */
export function docsFolder(): string | undefined {
  const folder = join(packageFolder(), 'docs');
  return existsSync(folder) ? folder : undefined;
}

const packageFolder = (): string => dirname(distFolder());
