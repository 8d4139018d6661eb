/**
 * Droid's hooks (observed with 0.215, checked 2026-11-19): events are members of `hooks.json` itself, or of `hooks` in
 * `settings.json`. Droid reads an event from `settings.json` only if `hooks.json` lacks it. So our hook is written into
 * `hooks.json` for the events that this file has, and into `settings.json` for the others. This way it never disables a
 * hook of the user. Handlers run in parallel; the timeout is in seconds.
 */
import { join } from 'node:path';
import type { Settings, SettingsFile } from '../contract/contract.ts';
import { members, readJson } from '../files/json-edit.ts';
import { jsonHooks, type Shape } from '../files/json-hooks.ts';

const entry: Shape['entry'] = ({ posix, windows }, event) => ({
  ...(/ToolUse$/.test(event) ? { matcher: '*' } : {}),
  hooks: [{ type: 'command', command: posix ?? windows, timeout: 5 }],
});

export const settings: Settings = {
  scopes: ['global', 'project'],
  installed: { programs: ['droid'], folders: ({ home }) => [join(home, '.factory')] },
  runs: { posix: 'sh', windows: 'either' },
  files(scope, { home, project }, read) {
    const folder = join(scope === 'global' ? home : project, '.factory');
    const own = join(folder, 'hooks.json');
    const inOwn = eventsIn(read(own) ?? '');
    const inFile = ownFile(own, { entry, isFor: event => inOwn.includes(event) });
    return [
      inOwn.length === 0 ? { ...inFile, add: undefined } : inFile,
      jsonHooks(join(folder, 'settings.json'), { root: 'hooks', entry, isFor: event => !inOwn.includes(event) }),
    ];
  },
  afterwards:
    'Restart Droid: it reads its hooks when it starts; /hooks lists them. An organization can allow only its own hooks.',
  proof: (session, cwd) => ({
    event: 'SessionStart',
    payload: {
      session_id: session,
      transcript_path: '',
      cwd,
      permission_mode: 'auto-low',
      hook_event_name: 'SessionStart',
      source: 'startup',
    },
  }),
};

/** `hooks.json`. Versions of otel-hooks before 0.2 wrote their entries below a member `hooks`, which Droid ignores. */
function ownFile(path: string, shape: Shape): SettingsFile {
  const file = jsonHooks(path, shape);
  const former = jsonHooks(path, { root: 'hooks', entry });
  return {
    ...file,
    add(text, commands) {
      const cleared = text === undefined ? undefined : former.remove(text);
      if (cleared?.ok === false) return cleared;
      const kept = cleared?.text;
      const edit = file.add(kept, commands);
      return edit.ok ? { ...edit, changed: edit.text !== text } : edit;
    },
    remove(text) {
      const cleared = former.remove(text);
      if (!cleared.ok || cleared.text === undefined) return cleared;
      const edit = file.remove(cleared.text);
      if (!edit.ok) return edit;
      return { ...edit, changed: cleared.changed || edit.changed, events: [...cleared.events, ...edit.events] };
    },
  };
}

function eventsIn(text: string): string[] {
  const read = readJson(text);
  return read.ok ? members(read.root).flatMap(([event, list]) => (list.type === 'array' ? [event] : [])) : [];
}
