/** Programs that start the program that their arguments name. */
import type { Program, Starter } from '../program.ts';
import type { Word } from '../shell.ts';

/** A starter whose listed options take a value. */
export const starter = (valued: readonly string[] = [], more: Omit<Starter, 'valued'> = {}): Program => ({
  starts: { valued, ...more },
});

/** Returns the words of the program that a starter starts; empty if it starts no program. */
export function startedBy({ valued, operands, hasAssignments, unless }: Starter, words: readonly Word[]): Word[] {
  let at = 0;
  for (; at < words.length; at += 1) {
    const text = words[at]?.text ?? '';
    // `wsl --unregister` deletes a system; no other starter has this option.
    if (unless?.test(text) || text === '--unregister') return [];
    if (valued.includes(text)) at += 1;
    else if (!text.startsWith('-') && !(hasAssignments && /^[A-Za-z_]\w*=/.test(text))) break;
  }
  return words.slice(at + (operands ?? 0));
}

/** A runner of a project starts a program after this word: `poetry run`. */
export const runner = (word: string): Program => ({ startsWithin: words => startedAfter(word, words) });

const startedAfter = (word: string, words: readonly Word[]): readonly Word[] =>
  words[0]?.text === word ? words.slice(1).filter(({ text }, at) => at > 0 || text !== '--') : [];

/** A finder downloads a package and starts its program: `npx`. */
export const finder: Program = { startsWithin: startedByFinder };

/** `yarn dlx`, and `pnpm dlx` beside `pnpm exec`. */
export const finderOfDlx: Program = { startsWithin: words => startedByDlx(words) };
export const runnerOrFinder = (word: string): Program => ({
  startsWithin: words => (words[0]?.text === word ? startedAfter(word, words) : startedByDlx(words)),
});

const startedByDlx = (words: readonly Word[]): readonly Word[] =>
  words[0]?.text === 'dlx' ? startedByFinder(words) : [];

function startedByFinder(words: readonly Word[]): readonly Word[] {
  const at = words.findIndex(
    ({ text }, i) => !text.startsWith('-') && text !== 'dlx' && !/^(?:-p|--package)$/.test(words[i - 1]?.text ?? ''),
  );
  return at < 0 || words[at]?.text.includes('/') ? [] : words.slice(at);
}

/** Options of container programs that take a value. */
const CONTAINER_OPTION =
  /^(?:-[ceunwf]|--(?:env|user|workdir|env-file|index|namespace|container|context|file|kubeconfig))$/;

const dashesAfter = (words: readonly Word[], exec: number): number =>
  words.findIndex(({ text }, at) => at > exec && text === '--');

/** The command that `exec` runs in a container or a pod: after `--`, else after the name of the container. */
export function startedInContainer(words: readonly Word[]): readonly Word[] {
  const exec = execOf(words);
  if (exec === undefined) return [];
  const dashes = dashesAfter(words, exec);
  if (dashes >= 0) return words.slice(dashes + 1);
  let at = exec + 1;
  while (words[at]?.text.startsWith('-')) at += CONTAINER_OPTION.test(words[at]?.text ?? '') ? 2 : 1;
  return words.slice(at + 1);
}

/** `lxc exec NAME COMMAND`: there are no options before the name. */
export function startedInSystemContainer(words: readonly Word[]): readonly Word[] {
  const exec = execOf(words);
  if (exec === undefined) return [];
  const dashes = dashesAfter(words, exec);
  return words.slice(dashes >= 0 ? dashes + 1 : exec + 2);
}

const LATEST_EXEC = 6;

function execOf(words: readonly Word[]): number | undefined {
  const exec = words.findIndex(({ text }) => text === 'exec');
  return exec < 0 || exec > LATEST_EXEC ? undefined : exec;
}
