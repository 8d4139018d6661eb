#!/usr/bin/env node
/**
 * The binary. It runs for every event of an agent, so it recognizes `hook` before it loads other code. All other
 * commands are in a separate file.
 */
import { hook } from './hook/hook.ts';

const words = process.argv.slice(2);
const at = words[0] === 'hook' ? 0 : firstCommand(words);
if (words[at] === 'hook' && !words.includes('--help') && !words.includes('-h')) {
  // `hook` skips this word too.
  hook(words, `${__dirname}/deliver.js`);
} else if (words[at] === 'run-hook' && words[at + 1] !== '--help' && words[at + 1] !== '-h') {
  // Later words can be flags of the user's own command.
  require('./run-hook/program.ts');
} else if (!isShort()) {
  import('./cli.ts')
    .then(cli => cli.start(words))
    .catch(error => {
      console.error(`otel-hooks: its own program could not be loaded (${error}).\n  next: install the package again.`);
      process.exitCode = 1;
    });
}

/** A prompt of a shell runs `status --short` each time, so that it does not load the program either. */
function isShort(): boolean {
  return (
    words[at] === 'status' &&
    words.includes('--short') &&
    (require('./short.ts') as typeof import('./short.ts')).short(words)
  );
}

/** Global flags may precede the command. */
function firstCommand(argv: readonly string[]): number {
  let index = 0;
  while (argv[index]?.startsWith('--')) index += argv[index] === '--state-dir' || argv[index] === '--config' ? 2 : 1;
  return index;
}
