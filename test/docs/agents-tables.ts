/** The tables with one row per agent in docs/setting-up.md and docs/who-decided.md. */
import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import {
  type Agent,
  isAbsent,
  type Scope,
  type Settings,
  type SettingsFile,
} from '../../src/agents/contract/contract.ts';
import { agents } from '../../src/agents/index.ts';

/** docs/setting-up.md with its table of settings files. */
export const withSettings = (page: string): string => withTable(page, 'settings', settingsTable());

/** docs/who-decided.md with its table of decisions. */
export const withDecisions = (page: string): string => withTable(page, 'decisions', decisionsTable());

export function withTable(page: string, name: string, lines: readonly string[]): string {
  const part = new RegExp(`(<!-- ${name}: written by \`npm run docs\` -->\\n)[\\s\\S]*?(<!-- /${name} -->)`);
  if (!part.test(page)) throw new Error(`the page has no place for the table "${name}"`);
  return page.replace(part, (_, begin: string, end: string) => `${begin}${lines.join('\n')}\n${end}`);
}

function settingsTable(): string[] {
  return [
    row('agent', '`--global`', '`--project`', 'after `enable`'),
    row('---', '---', '---', '---'),
    ...agents.map(({ title, settings }) => {
      if (isAbsent(settings)) return row(title, '', '', settings.absent);
      const local = settings.scopes.includes('local') ? `; \`--local\`: ${filesOf(settings, 'local')}` : '';
      return row(title, filesOf(settings, 'global'), filesOf(settings, 'project') + local, settings.afterwards);
    }),
  ];
}

/** The files that `enable` writes on a new machine, and the files that it writes only if they exist. */
function filesOf(settings: Settings, scope: Scope): string {
  const variables = new Set<string>();
  const env = new Proxy({}, { get: (_, name) => void variables.add(String(name)) });
  const filesWith = (read: (path: string) => string | undefined, names: readonly string[]) =>
    settings.files(scope, { home: '~', project: '', env, platform: 'linux' }, read, () => names);
  const written = (found: readonly SettingsFile[]) =>
    found.flatMap(({ path, add }) => (add === undefined ? [] : [path]));
  const always = written(filesWith(() => undefined, []));
  const candidates = HOOKS_OF_OTHERS.flatMap(text => filesWith(() => text, ['*.json']).map(({ path }) => path));
  const sometimes = [...new Set(candidates)].filter(
    path =>
      !always.includes(path) &&
      [path, ...always].some(taken =>
        HOOKS_OF_OTHERS.some(text =>
          written(filesWith(each => (each === taken ? text : undefined), ['*.json'])).includes(path),
        ),
      ),
  );
  const moved = variables.size === 0 ? '' : ` (${[...variables].map(code).join(', ')})`;
  const or = sometimes.length === 0 ? '' : `; where hooks exist already: ${placesOf(sometimes)}`;
  return `${placesOf(always)}${moved}${or}`;
}

/** Files that hold hooks already, as JSON, TOML and a script. */
const HOOKS_OF_OTHERS = ['{ "hooks": { "Stop": [] } }', '[[hooks.Stop]]\n', '#!/bin/sh\n'];

/** Files with one name per event are shown as their folder. */
function placesOf(paths: readonly string[]): string {
  const short = paths.map(path => path.replace(/^\//, ''));
  const folders = new Set(short.map(path => dirname(path)));
  const places = short.length > 2 ? [...folders].map(folder => `${folder}/`) : short;
  return places.map(code).join(', ');
}

function decisionsTable(): string[] {
  return [
    row('agent', 'known', 'how, or why not', 'observed in its samples', 'inferred in its samples'),
    row('---', '---', '---', '---', '---'),
    ...agents.map(agent => {
      const { known, how } = agent.truth.decisions;
      const decisions = decisionsOf(agent);
      return row(agent.title, known, how, listed(decisions, 'observed'), listed(decisions, 'inferred'));
    }),
  ];
}

interface Decision {
  outcome: string;
  source: string;
  basis: string;
}

/** The decisions in the expected events of an agent's samples and transcripts. */
function decisionsOf({ id }: Agent): Decision[] {
  const folder = join(import.meta.dirname, '..', 'agents', id);
  return readdirSync(folder)
    .filter(file => /\.(sample|transcript)$/.test(file))
    .flatMap(file => (readFileSync(join(folder, file), 'utf8').split(/^---- \w+\n/m)[1] ?? '').split('\n'))
    .flatMap(line => {
      const [, source = '', basis = ''] = /"decision":\{"source":"(\w+)","basis":"(\w+)"/.exec(line) ?? [];
      const [, outcome] = /"decision":\{"outcome":"(\w+)"/.exec(line) ?? [];
      return outcome === undefined || source === '' ? [] : [{ outcome, source, basis }];
    });
}

const listed = (decisions: readonly Decision[], basis: string): string =>
  [
    ...new Set(
      decisions
        .filter(each => each.basis === basis)
        .map(({ outcome, source }) => `${code(outcome)} by ${code(source)}`)
        .sort(),
    ),
  ].join(', ');

const row = (...cells: string[]): string => `| ${cells.map(cell => cell.replaceAll('|', '\\|')).join(' | ')} |`;
const code = (text: string): string => `\`${text}\``;
