/**
 * What every hook needs of Node, asked for in one place: in the bundle each file's own import would be a `require` of
 * its own, and be paid for.
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
