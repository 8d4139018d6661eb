import { dirname } from 'node:path';
import type { Beyond } from '../config/config.ts';
import { destinationsOf } from '../config/destinations.ts';
import { exposuresOf } from '../config/exposures.ts';
import { type LoadedConfig, trustProject } from '../config/files.ts';
import { jsonSchema, keys } from '../config/schema.ts';
import { shownJson, shownValue, writtenValue } from '../config/shown.ts';
import { realPathOf } from '../lib/real-path.ts';
import { asShown } from '../lib/shown.ts';
import { isNote, type Problem } from '../problems/problem.ts';
import { flagText, type Io, UsageError, type Words } from './command.ts';
import { getKey, setKey, unsetKey } from './config-edit.ts';
import { foldersOf } from './place.ts';
import { problemText, table } from './text.ts';

export async function run(words: Words, io: Io): Promise<number> {
  const [action] = words.rest;
  if (action === 'get') return getKey(words, io);
  if (action === 'set') return setKey(words, io);
  if (action === 'unset') return unsetKey(words, io);
  if (action !== undefined) throw new UsageError(`takes get, set or unset, not ${action}`);
  if (words.flags['--schema']) {
    io.out(`${JSON.stringify(jsonSchema(), null, 2)}\n`);
    return 0;
  }
  const { config, state } = foldersOf(words, io);
  if (words.flags['--trust']) {
    return await trust(config, words, io);
  }
  const { destinations, problems: mistakes } = destinationsOf(config);
  const exposures = exposuresOf(destinations, io.env);
  const problems = [...config.problems, ...mistakes, ...exposures];
  const shown = keys.filter(key => config.values[key] !== undefined);
  if (words.flags['--json']) {
    const values = Object.fromEntries(
      shown.map(key => [key, { value: shownJson(key, writtenValue(config, key)), origin: config.origins[key] }]),
    );
    const files = {
      global: config.globalFile,
      project: config.projectFile,
      projectTrusted: config.projectTrusted,
      state,
    };
    io.out(`${JSON.stringify({ v: 1, files, values, problems }, null, 2)}\n`);
  } else {
    io.out(table(shown.map(key => [key, shownValue(key, writtenValue(config, key)), `(${config.origins[key]})`])));
    io.out(
      `\n${table([
        ['global file', config.globalFile],
        [
          'project file',
          config.projectFile === undefined
            ? 'none'
            : `${config.projectFile}${config.projectTrusted ? '' : ' (not trusted: it may only narrow)'}`,
        ],
        ['state folder', state],
      ])}`,
    );
    for (const problem of problems) io.err(problemText(problem));
  }
  return problems.every(problem => isNote(problem) && exposures.includes(problem)) ? 0 : 1;
}

/** Shows the rights that the project's file asks for, and asks the user. The user agrees to the text that was shown. */
async function trust(config: LoadedConfig, words: Words, io: Io): Promise<number> {
  const { projectFile: file, projectText: text, beyond } = config;
  if (file === undefined || text === undefined) {
    for (const problem of config.problems.filter(isAboutProject)) io.err(problemText(problem));
    io.err(`otel-hooks: no .otel-hooks.json in ${io.cwd} or above can be read; nothing was accepted.\n`);
    return 1;
  }
  const shown = asShown(file);
  if (config.projectTrusted) {
    io.out(`${shown} was accepted before as it stands; nothing was changed.\n`);
    return 0;
  }
  if (beyond.length === 0) io.out(`${shown} sets nothing that needs your consent.\n`);
  else {
    io.out(`${shown} would set, for every session in ${asShown(dirname(file))}:\n\n`);
    io.out(`${table(beyond.map(each => [`line ${each.line ?? '?'}`, asShown(each.key), asShown(reachOf(each))]))}\n`);
    io.out('It decides where the data of these sessions goes, or which files are read and run, with your rights.\n');
  }
  if (beyond.length > 0 && !words.flags['--yes']) {
    if (!io.isTerminal) throw new UsageError('No TTY detected. Use --yes to agree to what is printed above.');
    const answer = await io.ask('Accept it? [y/N] ');
    if (!/^y(es)?$/i.test(answer.trim())) {
      io.out('Nothing was accepted.\n');
      return 0;
    }
  }
  const place = { env: io.env, home: io.home, platform: io.platform, cwd: io.cwd, file: flagText(words, '--config') };
  trustProject(place, file, text);
  io.out(`Accepted ${shown} as it stands now; a change of it asks again.\n`);
  return 0;
}

/** A path, and the target if it is a link. */
function reachOf({ value, path }: Beyond): string {
  if (path === undefined) return value;
  const real = realPathOf(path);
  return real === path ? path : `${path} (a link to ${real})`;
}

const isAboutProject = ({ code }: Problem): boolean =>
  code === 'config-unreadable' || code === 'config-json' || code === 'config-owner';
