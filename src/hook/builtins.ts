/**
 * The functions of Node that every hook needs, imported in one place. In the bundle, an import in each file would be a
 * `require` of its own, which costs time.
 */
export {
  existsSync,
  fstatSync,
  lstatSync,
  mkdirSync,
  openSync,
  readFileSync,
  readSync,
  statSync,
  writeSync,
} from 'node:fs';
