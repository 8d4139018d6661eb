/** Arguments of `find`: its roots, and the files below them that its tests select. */
import { placesOf } from '../places.ts';
import { LONGEST_LINE } from '../walk.ts';

/** Names that `find` searches for; `! -name` excludes its name. */
const namesSought = (args: readonly string[]): string[] =>
  args.filter(
    (_, at) => /^-i?(?:name|path|wholename)$/.test(args[at - 1] ?? '') && !/^(?:!|-not)$/.test(args[at - 2] ?? ''),
  );

function findRoots(args: readonly string[]): string[] {
  const end = args.findIndex(arg => /^[-(!]/.test(arg));
  const roots = args.slice(0, end < 0 ? undefined : end);
  return roots.length > 0 ? roots : ['.'];
}

const isNarrowed = (args: readonly string[]): boolean =>
  args.some(arg => /^-(?:i?name|i?path|i?regex|mtime|mmin|newer|empty|size|user)$/.test(arg));

/** A part of the working folder is not the whole folder; a part of any other folder counts as the folder. */
function narrowedPath(path: string, args: readonly string[]): string {
  const name = namesSought(args)
    .map(sought => sought.slice(0, LONGEST_LINE).replace(/^\*\//, ''))
    .find(
      sought =>
        /^[\w./-]+$/.test(sought) || (/^[\w.*/-]+$/.test(sought) && placesOf(sought, undefined).includes('secret')),
    );
  if (name !== undefined) return `${path.replace(/\/$/, '')}/${name}`;
  return /^(?:\.\/?)?$/.test(path) ? './part' : path;
}

/** Returns one path for each root: the root, or the narrower path that the tests select. */
export const foundPaths = (args: readonly string[]): string[] =>
  findRoots(args).map(root => (isNarrowed(args) ? narrowedPath(root, args) : root));
