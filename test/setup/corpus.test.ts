/** `enable` and `disable` over settings files as users have them: the samples `test/agents/<agent>/*.settings`. */
import { parse } from 'jsonc-parser';
import { describe, expect, it } from 'vitest';
import { isAbsent, type SettingsFile } from '../../src/agents/contract/contract.ts';
import { agentNamed, agents } from '../../src/agents/index.ts';
import { commandFor } from '../../src/setup/commands.ts';
import { settingsOf } from '../agents/samples.ts';

const home = '/home/me';

const corpus = agents.flatMap(({ id }) =>
  settingsOf(id).map(({ name, file, text }) => [id, name, file, text] as const),
);

it.each(agents)(
  '$id has a sample of each kind of settings file that holds hooks of other programs',
  ({ id, settings }) => {
    if (isAbsent(settings)) return;
    const places = { home, project: '/shop', env: {}, platform: 'linux' };
    const written = settings
      .files(
        'global',
        places,
        () => undefined,
        () => ['mine.json'],
      )
      .filter(file => file.add);
    const shared = written.filter(file => file.others).map(({ path }) => path.slice(home.length + 1));
    expect(settingsOf(id).map(({ file }) => file)).toEqual(expect.arrayContaining(shared));
  },
);

function fileOf(id: string, path: string, text: string): SettingsFile & Required<Pick<SettingsFile, 'add'>> {
  const agent = agentNamed(id);
  if (!agent || isAbsent(agent.settings)) throw new Error(id);
  const places = { home, project: '/shop', env: {}, platform: 'linux' };
  const at = (name: string) => (name === `${home}/${path}` ? text : undefined);
  const found = agent.settings.files('global', places, at, () => ['mine.json']).find(each => each.path.endsWith(path));
  if (!found?.add) throw new Error(`${path} is not written`);
  return { ...found, add: found.add };
}

function commandsFor(id: string) {
  const agent = agentNamed(id);
  if (!agent || isAbsent(agent.settings)) throw new Error(id);
  const { settings, reply } = agent;
  const common = {
    tool: id,
    edge: false,
    reply: reply.stdout,
    runs: settings.runs,
    platform: 'linux',
    isShared: false,
  };
  const where = { data: `${home}/.local/share/otel-hooks`, node: '/usr/bin/node', bin: '/usr/lib/otel-hooks.cjs' };
  return new Map(
    Object.entries(agent.events)
      .filter(([, { register }]) => register !== false && register !== 'status-line')
      .map(([event]) => [event, commandFor({ ...common, ...where, event })]),
  );
}

describe.each(corpus)('%s %s', (id, _, path, text) => {
  const file = fileOf(id, path, text);
  const commands = commandsFor(id);
  const edit = file.add(text, commands);
  const enabled = edit.ok && edit.text !== undefined ? edit.text : '';

  it('is restored byte for byte by a removal, and a second addition changes nothing', () => {
    expect(file.remove(enabled)).toMatchObject({ ok: true, text });
    expect(file.add(enabled, commands)).toMatchObject({ ok: true, changed: false, text: enabled });
    expect(file.remove(text)).toMatchObject({ ok: true, changed: false, text });
  });

  it('keeps everything, in the same order', () => {
    let at = 0;
    for (const char of enabled) if (char === text[at]) at++;
    expect(at).toBe(text.length);
    expect(parse(enabled)).toMatchObject(withoutLists(parse(text)));
  });

  it('keeps changes that a user made after the addition', () => {
    const changed = (each: string) =>
      each
        .replace('{', '{ "added": "by hand", ')
        .replace(/"(model|name|type|command)": "((?:(?!otel_hooks)[^"])*)"/, '"$1": "$2!"');
    expect(file.remove(changed(enabled))).toMatchObject({ ok: true, text: changed(text) });
  });
});

/** Without lists: our entries are behind the entries of a list, which the shared suite checks. */
function withoutLists(value: unknown): object {
  return JSON.parse(JSON.stringify(value, (_, each: unknown) => (Array.isArray(each) ? undefined : each)));
}
