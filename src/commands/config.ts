import { shownJson, shownValue } from '../config/config.ts';
import { destinationsOf } from '../config/destinations.ts';
import { trustProject } from '../config/files.ts';
import { jsonSchema, keys } from '../config/schema.ts';
import { flagText, type Io, type Words } from './command.ts';
import { foldersOf } from './place.ts';
import { problemText, table } from './text.ts';

export function run(words: Words, io: Io): number {
  if (words.flags['--schema']) {
    io.out(`${JSON.stringify(jsonSchema(), null, 2)}\n`);
    return 0;
  }
  const { config, state } = foldersOf(words, io);
  if (words.flags['--trust']) {
    if (config.projectFile === undefined) {
      io.err(`otel-hooks: there is no .otel-hooks.json in ${io.cwd} or above; nothing was accepted.\n`);
      return 1;
    }
    const place = { env: io.env, home: io.home, platform: io.platform, cwd: io.cwd, file: flagText(words, '--config') };
    trustProject(place, config.projectFile);
    io.out(`Accepted ${config.projectFile} as it stands now; a change of it asks again.\n`);
    return 0;
  }
  const problems = [...config.problems, ...destinationsOf(config).problems];
  const shown = keys.filter(key => config.values[key] !== undefined);
  if (words.flags['--json']) {
    const values = Object.fromEntries(
      shown.map(key => [key, { value: shownJson(key, config.values[key]), origin: config.origins[key] }]),
    );
    const files = {
      global: config.globalFile,
      project: config.projectFile,
      projectTrusted: config.projectTrusted,
      state,
    };
    io.out(`${JSON.stringify({ v: 1, files, values, problems }, null, 2)}\n`);
  } else {
    io.out(table(shown.map(key => [key, shownValue(key, config.values[key]), `(${config.origins[key]})`])));
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
  return problems.length > 0 ? 1 : 0;
}
