/** `openhook`: shows the commands of a project's discovery file in full, and records the user's answer. */
import { existsSync } from 'node:fs';
import { resolve } from 'node:path';
import { commandsConsents, consentToCommands, type Place } from '../config/files.ts';
import { asShown } from '../lib/shown.ts';
import { type Discovery, discover, isInCi } from '../openhook/project.ts';
import type { Subscription } from '../standards/openhook/subscriptions.ts';
import { flagText, type Io, UsageError, type Words } from './command.ts';
import { foldersOf } from './place.ts';
import { table } from './text.ts';

const actions = ['show', 'list', 'trust', 'revoke'] as const;

export async function run(words: Words, io: Io): Promise<number> {
  const [action = 'show', folder = '.', ...more] = words.rest;
  if (!(actions as readonly string[]).includes(action) || more.length > 0)
    throw new UsageError('openhook takes list, trust or revoke, and a folder');
  const { config } = foldersOf(words, io);
  const isOn = config.values['openhook.enabled'] === true;
  const cwd = resolve(io.cwd, folder);
  const place = { env: io.env, home: io.home, platform: io.platform, cwd, file: flagText(words, '--config') };
  if (action === 'list') return list(place, isOn, words, io);
  const project = discover(cwd, place);
  if (project === undefined) throw new UsageError(`there is no folder ${cwd}`);
  const paths = config.values['content.paths'] ?? 'off';
  const areKept = paths === 'redacted' || paths === 'full';
  if (action === 'show') return show(project, isOn, areKept, words, io);
  if (action === 'revoke') return revoke(project, place, io);
  return await trust(project, place, isOn, words, io);
}

function show(project: Discovery, isOn: boolean, areKept: boolean, words: Words, io: Io): number {
  const isInvalid = project.found && project.why !== undefined;
  if (words.flags['--json']) {
    io.out(`${JSON.stringify({ v: 1, enabled: isOn, project }, null, 2)}\n`);
    return isInvalid ? 1 : 0;
  }
  if (!project.found) io.out(`There is no ${project.file}: no command is run here.\n`);
  else if (project.why !== undefined)
    io.err(`otel-hooks: ${project.file} cannot be used (${project.why}); none of its commands is run.\n`);
  else {
    io.out(commandsText(project.file, project.hooks));
    const answers = {
      yes: isOn ? 'They are run' : 'You agreed to them',
      no: 'You refused them: they are not run',
      new: 'You did not agree to them yet: they are not run',
      changed: 'The file has changed since you agreed to it: they are not run',
    };
    io.out(`${answers[project.answer]}${project.ci ? ', where CI is set, too' : ''}.\n`);
    if (project.answer !== 'yes') io.out('  next: otel-hooks openhook trust\n');
    if (!areKept && project.hooks.some(({ events }) => events.includes('file.write')))
      io.out(
        'file.write has a keyed hash in place of each path.\n  next: otel-hooks config set content.paths redacted\n',
      );
  }
  if (!isOn) io.out('OpenHook is off.\n  next: otel-hooks enable --openhook\n');
  return isInvalid ? 1 : 0;
}

function list(place: Place, isOn: boolean, words: Words, io: Io): number {
  const rows = [...commandsConsents(place)].map(([file, { answer, ci, hash }]) => ({
    file,
    answer,
    ci: ci === true,
    hash,
  }));
  if (words.flags['--json']) io.out(`${JSON.stringify({ v: 1, enabled: isOn, files: rows }, null, 2)}\n`);
  else if (rows.length === 0) io.out('You have agreed to no .openhook.json.\n');
  else
    io.out(
      table([
        ['answer', 'CI', 'file'],
        ...rows.map(({ file, answer, ci }) => [
          answer,
          ci ? 'yes' : 'no',
          `${asShown(file)}${existsSync(file) ? '' : ' (gone)'}`,
        ]),
      ]),
    );
  return 0;
}

function revoke(project: Discovery, place: Place, io: Io): number {
  // The refusal of an existing file is kept, so that the user is not asked again.
  const consent =
    project.found && project.why === undefined ? { hash: project.hash, answer: 'no' as const } : undefined;
  consentToCommands(place, project.file, consent);
  io.out(`No command of ${project.file} is run any more.\n`);
  return 0;
}

async function trust(project: Discovery, place: Place, isOn: boolean, words: Words, io: Io): Promise<number> {
  const { file } = project;
  if (!project.found || project.why !== undefined) {
    io.err(
      `otel-hooks: ${file} ${project.found ? `cannot be used (${project.why})` : 'is not there'}; nothing was agreed to.\n`,
    );
    return 1;
  }
  const ci = words.flags['--ci'] !== undefined;
  const isDone = project.answer === 'yes' && project.ci === ci;
  io.out(commandsText(file, project.hooks));
  if (isDone) {
    io.out('You agreed to them before; nothing was changed.\n');
    return 0;
  }
  io.out(warning(project.hooks, project.root));
  if (isInCi(io.env) && !ci) {
    io.err(
      'otel-hooks: CI is set here, where commands of a project are run only if that is asked for; nothing was agreed to.\n  next: otel-hooks openhook trust --ci --yes\n',
    );
    return 1;
  }
  if (!words.flags['--yes']) {
    if (!io.isTerminal) throw new UsageError('No TTY detected. Use --yes to agree to what is printed above.');
    const answer = await io.ask(`Run them${ci ? ', where CI is set, too' : ''}? [y/N] `);
    if (!/^y(es)?$/i.test(answer.trim())) {
      consentToCommands(place, file, { hash: project.hash, answer: 'no' });
      io.out('They are not run; you are asked again when the file changes.\n');
      return 0;
    }
  }
  consentToCommands(place, file, { hash: project.hash, answer: 'yes', ...(ci ? { ci: true } : {}) });
  io.out('Agreed. A change of the file asks again; otel-hooks openhook revoke takes it back.\n');
  if (!isOn) io.out('OpenHook is off.\n  next: otel-hooks enable --openhook\n');
  return 0;
}

function commandsText(file: string, hooks: readonly Subscription[]): string {
  if (hooks.length === 0) return `${asShown(file)} has no hooks.\n`;
  const rows = hooks.map(
    ({ number, command, events, isAsync }) =>
      `${number}. ${asShown(command)}\n   for ${events.length === 0 ? 'no event' : events.includes('*') ? 'every event' : asShown(events.join(', '))}, ${isAsync ? 'not waited for, at most 10 min' : 'one after the other, at most 30 s'}\n`,
  );
  return `${asShown(file)} would run, as you and in this folder:\n\n${rows.join('')}\n`;
}

/** Files of the project that a command names change without the discovery file changing. */
function warning(hooks: readonly Subscription[], root: string): string {
  const named = hooks.flatMap(({ command }) =>
    (command.match(/[^\s"'`;&|<>()]+/g) ?? []).filter(
      word => word.length < 1_024 && existsSync(resolve(root, word)) && resolve(root, word).startsWith(`${root}/`),
    ),
  );
  return [
    'Each gets names of tools, numbers, this folder and the path of the transcript on standard input, and may do with them what',
    'you may do.',
    ...[...new Set(named)].map(
      word => `${asShown(word)} lies in this project: a pull can change it without asking you again.`,
    ),
    '',
  ].join('\n');
}
