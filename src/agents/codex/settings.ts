/**
 * Codex's hooks (source of 0.149, published schemas of 0.159; checked 2026-11-18) are in `hooks.json`, or in tables of
 * `config.toml`. If a folder has both, Codex runs both with a warning, so our entries are written into the file that
 * has hooks already. Timeouts are in seconds; those of `SessionEnd` and `Interrupt` are cut to 3. A person approves
 * each command once. The approval is a hash of the command and its timeout, so both should never change. Our entries
 * are not asynchronous: versions before 0.148 skip asynchronous hooks.
 *
 * The Python package of this name registered no hook. It wrote its endpoint into `[otel]`, as an exporter of logs with
 * the address of traces. This combination identifies the package.
 */
import { join } from 'node:path';
import type { Fields } from '../../event/event.ts';
import { fieldsOf, text } from '../../lib/read.ts';
import type {
  Edit,
  HookCommand,
  Obstacle,
  Places,
  Scope,
  Settings,
  SettingsFile,
  SettingsPlaces,
} from '../contract/contract.ts';
import { jsonHooks, type Shape } from '../files/json-hooks.ts';
import { commandOf, isOurHandler } from '../files/our-command.ts';
import { appendTable, cutTable, readToml, type Table } from '../files/toml-edit.ts';

const timeoutOf = (event: string): number => (event === 'SessionEnd' || event === 'Interrupt' ? 3 : 5);

const handler = ({ posix, windows }: HookCommand, event: string) => ({
  type: 'command',
  command: posix ?? windows,
  ...(posix === undefined || windows === undefined ? {} : { commandWindows: windows }),
  timeout: timeoutOf(event),
});

const shape: Shape = { root: 'hooks', entry: (command, event) => ({ hooks: [handler(command, event)] }) };

export const settings: Settings = {
  scopes: ['global', 'project'],
  installed: { programs: ['codex'], folders: ({ home, env }) => [env.CODEX_HOME || join(home, '.codex')] },
  runs: { posix: 'any shell', windows: 'cmd' },
  files(scope, places, read) {
    const folder = folderOf(scope, places);
    const json = jsonHooks(join(folder, 'hooks.json'), shape);
    const toml = tomlHooks(join(folder, 'config.toml'));
    const inToml = read(json.path) === undefined && hasTables(read(toml.path) ?? '');
    return inToml ? [{ ...json, add: undefined }, toml] : [json, { ...toml, add: undefined }];
  },
  afterwards:
    'Codex runs new hooks only after you approve them: start it, open /hooks and approve them once. It asks again when a command changes. Hooks of a project require a trusted folder.',
  obstacles,
  proof: (session, cwd) => ({
    event: 'SessionStart',
    payload: {
      session_id: session,
      transcript_path: null,
      cwd,
      hook_event_name: 'SessionStart',
      model: 'unknown',
      permission_mode: 'default',
      source: 'startup',
    },
  }),
};

const folderOf = (scope: Scope, { home, project, env }: Places): string =>
  scope === 'global' ? env.CODEX_HOME || join(home, '.codex') : join(project, '.codex');

function hasTables(toml: string): boolean {
  const read = readToml(toml);
  return read.ok && read.tables.some(({ path, isArray }) => isArray && path[0] === 'hooks');
}

function tomlHooks(path: string): SettingsFile {
  return {
    path,
    add(before, commands): Edit {
      const read = readToml(before ?? '');
      if (!read.ok) return read;
      const events = [...commands.keys()];
      const tables = [...commands].map(([event, command]) => [
        `[[hooks.${event}]]`,
        `hooks = [${inline(handler(command, event))}]`,
      ]);
      const ours = read.tables.filter(isOurTable);
      const isComplete =
        ours.length === tables.length &&
        !read.tables.some(isOfThePythonPackage(read.value)) &&
        ours.every(
          (table, at) => before?.slice(table.start, table.end).trim().split(/\r?\n/).join() === tables[at]?.join(),
        );
      if (before !== undefined && isComplete) return { ok: true, text: before, changed: false, events };
      let edited = before === undefined ? undefined : removeOurs(before);
      for (const table of tables) edited = appendTable(edited, table);
      const result = readToml(edited ?? '');
      return result.ok ? { ok: true, text: edited, changed: true, events } : result;
    },
    remove(before): Edit {
      const read = readToml(before);
      if (!read.ok) return read;
      const isIts = isOfThePythonPackage(read.value);
      const ours = read.tables.filter(table => isOurTable(table) || isIts(table));
      const events = [...new Set(ours.map(({ path: [first, event] }) => (first === 'hooks' && event) || 'otel'))];
      if (ours.length === 0) return { ok: true, text: before, changed: false, events };
      return { ok: true, text: removeOurs(before), changed: true, events };
    },
    entries(toml) {
      const read = readToml(toml);
      if (!read.ok) return [];
      return read.tables
        .filter(isOurTable)
        .map(table => ({ event: table.path[1] ?? '', command: commandOf(handlersOf(table)[0] ?? {}) }));
    },
    others(toml) {
      const read = readToml(toml);
      const tables = read.ok ? read.tables.filter(({ path: [first], isArray }) => isArray && first === 'hooks') : [];
      return tables.filter(table => !isOurTable(table)).reduce((sum, table) => sum + handlersOf(table).length, 0);
    },
  };
}

function removeOurs(toml: string): string | undefined {
  for (let edited = toml; ; ) {
    const read = readToml(edited);
    if (!read.ok) return edited;
    // Tables are removed from the end, so that the first entry of a file that `enable` created is removed last.
    const last = read.tables.findLast(isOurTable) ?? read.tables.findLast(isOfThePythonPackage(read.value));
    if (!last) return edited;
    const rest = cutTable(edited, last);
    if (rest === undefined) return undefined;
    edited = rest;
  }
}

/** A group that holds only handlers of ours. */
function isOurTable(table: Table): boolean {
  const { path, isArray, value } = table;
  const handlers = handlersOf(table);
  return (
    isArray &&
    path.length === 2 &&
    path[0] === 'hooks' &&
    Object.keys(value).every(key => key === 'hooks' || key === 'matcher') &&
    handlers.length > 0 &&
    handlers.every(isOurHandler)
  );
}

const handlersOf = ({ value }: Table): Fields[] => (Array.isArray(value.hooks) ? value.hooks.map(fieldsOf) : []);

/** The package wrote its exporter as one line, or as a table with another one for headers. */
function isOfThePythonPackage({ otel }: Fields): (table: Table) => boolean {
  const { exporter, ...others } = fieldsOf(otel);
  const { 'otlp-http': http, ...otherExporters } = fieldsOf(exporter);
  const { endpoint, protocol, headers: _, ...otherFields } = fieldsOf(http);
  const isIts =
    protocol === 'json' &&
    /\/v1\/traces\/?$/.test(text(endpoint) ?? '') &&
    [others, otherExporters, otherFields].every(each => Object.keys(each).length === 0);
  return ({ path }) => isIts && path[0] === 'otel';
}

const inline = (value: Readonly<Record<string, unknown>>): string =>
  `{ ${Object.entries(value)
    .map(([key, each]) => `${key} = ${JSON.stringify(each)}`)
    .join(', ')} }`;

/** The switch for all hooks, and the list of hooks that the user approved. */
function obstacles(places: SettingsPlaces, read: (path: string) => string | undefined): Obstacle[] {
  const file = join(folderOf('global', places), 'config.toml');
  const toml = readToml(read(file) ?? '');
  if (!toml.ok) return [];
  const { hooks, codex_hooks: former } = fieldsOf(toml.value.features);
  if (hooks === false || (hooks === undefined && former === false)) {
    const name = hooks === false ? 'hooks' : 'codex_hooks';
    return [{ file, why: `[features] ${name} = false switches all hooks off`, next: `set ${name} = true in ${file}.` }];
  }
  const [known] = settings
    .files('global', places, read, () => [])
    .filter(each => each.entries(read(each.path) ?? '').length > 0);
  if (known === undefined) return [];
  const looked = (event: string) =>
    toml.tables.filter(
      ({ path: [hooks, state, source] }) =>
        hooks === 'hooks' && state === 'state' && source?.startsWith(`${known.path}:${snake(event)}:`),
    );
  const events = known.entries(read(known.path) ?? '').map(({ event }) => event);
  const waiting = events.filter(event => looked(event).length === 0);
  const off = events.filter(event => looked(event).some(({ value }) => fieldsOf(value).enabled === false));
  const found: Obstacle[] = [];
  // The hash that Codex keeps of a command is internal: a changed command must be approved in /hooks.
  if (waiting.length > 0) {
    const which =
      waiting.length === events.length ? 'they are not approved yet' : `${waiting.join(', ')} wait for approval`;
    found.push({ file: known.path, why: which, next: 'start codex, open /hooks and approve them, once.' });
  }
  if (off.length > 0)
    found.push({ file, why: `${off.join(', ')} are switched off`, next: 'start codex and switch them on in /hooks.' });
  return found;
}

const snake = (event: string): string => event.replace(/(?<!^)[A-Z]/g, '_$&').toLowerCase();
