/**
 * Rules for the settings of every agent: they are restored byte for byte, once and completely, and entries of other
 * programs are not changed.
 */
import fc from 'fast-check';
import { applyEdits, modify, parse } from 'jsonc-parser';
import { describe, expect, it } from 'vitest';
import {
  type Agent,
  type HookCommand,
  isAbsent,
  type Settings,
  type SettingsFile,
} from '../../src/agents/contract/contract.ts';
import { isOurCommand } from '../../src/agents/files/our-command.ts';
import { agents } from '../../src/agents/index.ts';
import { commandFor } from '../../src/setup/commands.ts';
import { broken, jsonTexts } from './json-texts.ts';

const RUNS = Number(process.env.SETTINGS_RUNS ?? 3);
const places = { home: '/home/me', project: '/shop', env: {}, platform: 'linux' };

const nothing = () => undefined;
const one = () => ['mine.json'];

interface Enabled {
  agent: Agent;
  settings: Settings;
}
const enabled: Enabled[] = agents.flatMap(agent =>
  isAbsent(agent.settings) ? [] : [{ agent, settings: agent.settings }],
);

function commandsOf(
  { agent, settings }: Enabled,
  change: { data?: string; provider?: string; isShared?: boolean; platform?: string } = {},
) {
  const events = Object.entries(agent.events).filter(
    ([, { register }]) => register !== false && register !== 'status-line',
  );
  return new Map<string, HookCommand>(
    events.map(([event, { edge }]) => [
      event,
      commandFor({
        tool: agent.id,
        event,
        edge: edge === true,
        provider: change.provider,
        reply: agent.reply.stdout,
        runs: settings.runs,
        platform: change.platform ?? 'linux',
        isShared: change.isShared === true,
        data: change.data ?? '/home/me/.local/share/otel-hooks',
        node: change.platform === 'win32' ? 'C:\\Program Files\\nodejs\\node.exe' : '/usr/bin/node',
        bin: change.platform === 'win32' ? "C:\\Users\\o'brien\\npm\\otel-hooks.cjs" : '/usr/lib/otel-hooks.cjs',
      }),
    ]),
  );
}

const added = (file: SettingsFile, text: string | undefined, commands: ReadonlyMap<string, HookCommand>) => {
  const edit = file.add?.(text, commands);
  if (!edit?.ok || edit.text === undefined) throw new Error(`refused: ${JSON.stringify(edit)}`);
  return edit.text;
};
const removed = (file: SettingsFile, text: string) => {
  const edit = file.remove(text);
  if (!edit.ok) throw new Error(`refused: ${JSON.stringify(edit)}`);
  return edit.text;
};

for (const each of enabled) {
  const { agent, settings } = each;
  const commands = commandsOf(each);

  describe(agent.id, () => {
    const files = settings.scopes.flatMap(scope =>
      settings
        .files(scope, places, nothing, one)
        .map(file => [file.path.replace(/^.*\/(home\/me|shop)\//, ''), file] as const),
    );
    const written = files.filter(([, file]) => file.add);

    it('has a file for each scope', () => {
      for (const scope of settings.scopes) {
        const found = settings.files(scope, places, nothing, one);
        expect(found.filter(file => file.add).length, scope).toBeGreaterThan(0);
        for (const { path } of found) expect(path.startsWith(scope === 'global' ? '/home/me/' : '/shop/')).toBe(true);
      }
    });

    it.each(written)('%s: a file that was made for our hooks is removed with them', (_, file) => {
      const text = added(file, undefined, commands);
      expect(removed(file, text)).toBe(undefined);
      expect(file.add?.(text, commands)).toMatchObject({ ok: true, changed: false, text });
      expect(file.remove(text)).toMatchObject({ ok: true, changed: true });
    });

    it.each(settings.scopes)('%s: our entries are found again in every form', scope => {
      for (const change of [{}, { provider: 'otlp' }, { isShared: true }, { platform: 'win32' }]) {
        const inForm = commandsOf(each, change);
        for (const file of settings.files(scope, { ...places, ...change }, nothing, one).filter(({ add }) => add)) {
          const edit = file.add?.(undefined, inForm);
          const entries = file.entries(added(file, undefined, inForm));
          expect(entries.length).toBeGreaterThan(0);
          expect(entries.map(({ event }) => event).sort()).toEqual(edit?.ok ? [...edit.events].sort() : []);
          for (const { command } of entries) {
            expect(command.posix ?? command.windows).toBeTypeOf('string');
            for (const text of [command.posix, command.windows]) if (text) expect(isOurCommand(text), text).toBe(true);
          }
        }
      }
    });

    it('it is not registered for events in which a silent hook would change the outcome', () => {
      const events = new Set(
        written.flatMap(([, file]) => file.entries(added(file, undefined, commands)).map(({ event }) => event)),
      );
      for (const event of events) expect(agent.events[event]?.register, event).not.toBe(false);
      for (const [event, { edge, register }] of Object.entries(agent.events)) {
        if (edge && register !== false && !aliasesOfOthers.has(event)) expect(events, event).toContain(event);
      }
    });

    it('it is tried with a payload of its own', () => {
      const session = '019a97d0-6c00-7000-8000-000000000001';
      const { event, payload } = settings.proof(session, '/shop', 1_790_000_000_000);
      expect(agent.signs(payload)).toBeGreaterThan(0);
      expect(agent.eventName(payload) ?? event).toBe(event);
      expect(agent.session(payload, {})).toContain(session);
      expect([...commands.keys()]).toContain(event);
    });

    it('names the step that a person has to take', () => {
      expect(settings.afterwards).toMatch(/[.]$/);
    });

    // Other scopes have the same shape at other paths.
    for (const file of settings
      .files('global', places, nothing, one)
      .filter(({ path, add }) => add && path.endsWith('.json'))) {
      const made = parse(added(file, undefined, commands));
      const its = new Set(file.entries(added(file, undefined, commands)).map(({ event }) => event));
      const few = new Map([...commands].filter(([event]) => its.has(event)).slice(0, 3));
      const root = Object.keys(made).find(key => key !== 'version') ?? 'hooks';
      const isList = Array.isArray(made[root]);
      const events = isList ? [] : Object.keys(made[root]);
      const anyFile = jsonTexts({ root, events, isList });

      describe(file.path, () => {
        it('remove after add restores the file', () => {
          fc.assert(
            fc.property(anyFile, text => {
              expect(removed(file, added(file, text, few))).toBe(text);
            }),
            { numRuns: RUNS * 3 },
          );
        });

        it('add after add is add', () => {
          fc.assert(
            fc.property(anyFile, text => {
              const once = added(file, text, few);
              expect(file.add?.(once, few)).toMatchObject({ changed: false, text: once });
            }),
            { numRuns: RUNS },
          );
        });

        it('a change of the commands leaves no trace of the former ones', () => {
          const older = commandsOf(each, { data: '/old/otel-hooks', provider: 'datadog' });
          fc.assert(
            fc.property(anyFile, text => {
              expect(added(file, added(file, text, older), few)).toBe(added(file, text, few));
            }),
            { numRuns: RUNS },
          );
        });

        it('entries of others keep their value and order', () => {
          fc.assert(
            fc.property(anyFile, text => {
              const theirs = parse(text) ?? {};
              const after = parse(added(file, text, few));
              for (const [key, value] of Object.entries<unknown>(theirs)) {
                if (key !== root) expect(after[key]).toEqual(value);
              }
              const lists = isList ? { '': theirs[root] ?? [] } : (theirs[root] ?? {});
              for (const [event, list] of Object.entries<unknown[]>(lists)) {
                expect((isList ? after[root] : after[root][event]).slice(0, list.length)).toEqual(list);
              }
            }),
            { numRuns: RUNS },
          );
        });

        it('changes of a person stay as if our hooks had never existed', () => {
          fc.assert(
            fc.property(anyFile, text => {
              fc.pre(parse(text) !== undefined);
              const noted = (each: string) => `// mine\n${each.replace(/^\ufeff/, '')}`;
              expect(removed(file, noted(added(file, text, few)))).toBe(noted(text));
            }),
            { numRuns: RUNS },
          );
        });

        it('text that a person writes right after our hooks stays, also after a comment', () => {
          const behind = (each: string) => applyEdits(each, modify(each, ['new'], 1, {}));
          fc.assert(
            fc.property(anyFile, text => {
              fc.pre(parse(text) !== undefined);
              expect(parse(removed(file, behind(added(file, text, few))) ?? '')).toEqual(parse(behind(text)));
            }),
            { numRuns: RUNS },
          );
        });

        it('a broken file is edited exactly or refused with its place, without a throw', () => {
          fc.assert(
            fc.property(broken(anyFile), text => {
              const edit = file.add?.(text, few);
              if (edit?.ok) expect(removed(file, edit.text ?? '')).toBe(text);
              else
                expect([(edit?.line ?? 0) > 0, (edit?.column ?? 0) > 0, (edit?.why ?? '') !== '']).toEqual([
                  true,
                  true,
                  true,
                ]);
            }),
            { numRuns: RUNS * 2 },
          );
        });
      });
    }
  });
}

/** Names that only another generation of an agent, or its other files, use. */
const aliasesOfOthers = new Set<string>([]);
