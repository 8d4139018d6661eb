/**
 * Loaded into a process before the program: behaves as a disk of Windows with a virus scanner, which holds each new or
 * renamed file for HELD_MS. Meanwhile the file cannot be opened, renamed or removed (EBUSY), nor can a folder be renamed
 * in which it is. HELD_FOLDER is the part of the disk, HELD_PART the share of its files. A file younger than LATE_MS does
 * not appear in listings yet.
 */
const fs = require('node:fs');
const { createHash } = require('node:crypto');
const { basename, join } = require('node:path');
const { syncBuiltinESMExports } = require('node:module');

const { HELD_FOLDER = '', HELD_MS = '0', HELD_PART = '1', HELD_LOG, LATE_MS = '0' } = process.env;
const { lstatSync, readdirSync, openSync, renameSync, unlinkSync, opendirSync, appendFileSync } = fs;

const isWithin = path => typeof path === 'string' && path.startsWith(HELD_FOLDER);
const ageMs = path => Date.now() - lstatSync(path).ctimeMs;
const isChosen = path => createHash('sha256').update(basename(path)).digest()[0] / 256 < Number(HELD_PART);

function isHeld(path) {
  if (!isWithin(path)) return false;
  try {
    if (lstatSync(path).isDirectory()) return readdirSync(path).some(name => isHeld(join(path, name)));
    return isChosen(path) && ageMs(path) < Number(HELD_MS);
  } catch (error) {
    if (error.code === 'ENOENT') return false;
    throw error;
  }
}

function note(call, path) {
  if (HELD_LOG) appendFileSync(HELD_LOG, `${call} ${path.slice(HELD_FOLDER.length)}\n`);
}

function refuse(call, ...paths) {
  const held = paths.find(isHeld);
  if (held === undefined) return;
  note(call, held);
  throw Object.assign(new Error(`EBUSY: resource busy or locked, ${call} '${held}'`), { code: 'EBUSY', syscall: call });
}

fs.openSync = (path, ...rest) => {
  refuse('open', path);
  return openSync(path, ...rest);
};
fs.renameSync = (from, to) => {
  refuse('rename', from, to);
  return renameSync(from, to);
};
fs.unlinkSync = path => {
  refuse('unlink', path);
  return unlinkSync(path);
};
fs.opendirSync = (path, options) => {
  const folder = opendirSync(path, options);
  if (!isWithin(path)) return folder;
  const { readSync } = folder;
  folder.readSync = () => {
    for (let entry = readSync.call(folder); ; entry = readSync.call(folder)) {
      if (entry === null || !entry.isFile() || ageMs(join(path, entry.name)) >= Number(LATE_MS)) return entry;
      note('late', join(path, entry.name));
    }
  };
  return folder;
};
syncBuiltinESMExports();
