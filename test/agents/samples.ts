/** The samples of an agent's payloads in its test folder. */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

export interface Sample {
  file: string;
  path: string;
  head: string;
  payload: Record<string, unknown>;
  expected: string;
}

export function samplesOf(agent: string): Sample[] {
  const folder = join(import.meta.dirname, agent);
  if (!existsSync(folder)) return [];
  return readdirSync(folder)
    .filter(file => file.endsWith('.sample'))
    .sort()
    .map(file => {
      const path = join(folder, file);
      const [head = '', expected = ''] = readFileSync(path, 'utf8').split(/^---- events\n/m);
      const json = head.replace(/^#.*$/gm, '');
      return { file, path, head, payload: JSON.parse(json) as Record<string, unknown>, expected };
    });
}

/** All samples of an agent that `conformance` replays, as the package contains them. */
export function textsOf(agent: string): [file: string, text: string][] {
  const folder = join(import.meta.dirname, agent);
  return readdirSync(folder)
    .filter(file => /\.(sample|transcript)$/.test(file))
    .sort()
    .map(file => [file, readFileSync(join(folder, file), 'utf8')]);
}

/** A settings file of a user of the agent. */
export interface SettingsSample {
  name: string;
  /** Below the home folder. */
  file: string;
  text: string;
}

/** The `*.settings` of an agent: `# path below the home`, then the file byte for byte. */
export function settingsOf(agent: string): SettingsSample[] {
  const folder = join(import.meta.dirname, agent);
  return readdirSync(folder)
    .filter(name => name.endsWith('.settings'))
    .sort()
    .map(name => {
      const [, file = '', text = ''] = /^# (.+)\n([\s\S]*)$/.exec(readFileSync(join(folder, name), 'utf8')) ?? [];
      return { name, file, text };
    });
}

/** Fields that an agent fills with closed sets, ids and names, beside those of every agent: one name per line. */
export function closedFieldsOf(agent: string): ReadonlySet<string> {
  const path = join(import.meta.dirname, agent, 'closed-fields.txt');
  return new Set(existsSync(path) ? readFileSync(path, 'utf8').split(/\s+/) : []);
}

/** A payload after `change` of each of its texts; `path` names the fields that lead to the text. */
export function withTexts(value: unknown, change: (text: string, path: string) => string, path = ''): unknown {
  if (Array.isArray(value)) return value.map(item => withTexts(item, change, path));
  if (typeof value === 'object' && value !== null)
    return Object.fromEntries(
      Object.entries(value).map(([name, item]) => [name, withTexts(item, change, `${path}.${name}`)]),
    );
  return typeof value === 'string' ? change(value, path) : value;
}

/** Ids of sessions, turns, calls, subagents and the like, under the agents' own names. */
export const isIdPath = (path: string): boolean => /(^|[_.-])(id|ids)$|[a-z](Id|ID)$/.test(path);
