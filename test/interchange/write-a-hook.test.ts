/** The page for authors: its commands run in an empty folder, and its guard stops the tool of three agents. */
import { spawnSync } from 'node:child_process';
import { chmodSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, it } from 'vitest';
import { ranIn } from '../commands/ran.ts';
import { needs } from '../needs.ts';

const root = join(import.meta.dirname, '..', '..');
const page = join(root, 'docs', 'write-a-hook.md');
const docs = readFileSync(page, 'utf8');
const folder = mkdtempSync(join(tmpdir(), 'otel-hooks-author-'));
const user = join(folder, 'home');
const home = join(user, 'guard');
const programs = join(folder, 'bin');
mkdirSync(home, { recursive: true });
mkdirSync(programs);
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const program = join(root, 'dist', 'otel-hooks.cjs');
writeFileSync(join(programs, 'otel-hooks'), `#!/bin/sh\nexec '${process.execPath}' '${program}' "$@"\n`, {
  mode: 0o755,
});
const env = { HOME: user, PATH: `${programs}:${process.env.PATH}` };

/** The native hook of each agent, and a call of its shell tool. */
const agents = {
  '.claude/settings.json': { event: 'PreToolUse', tool: 'Bash', variables: { CLAUDE_PROJECT_DIR: home } },
  '.codex/hooks.json': { event: 'PreToolUse', tool: 'Bash', variables: {} },
  '.gemini/settings.json': { event: 'BeforeTool', tool: 'run_shell_command', variables: { GEMINI_PROJECT_DIR: home } },
};

interface Group {
  matcher: string;
  hooks: { command: string }[];
}

function isStopped(file: keyof typeof agents, command: string): boolean {
  const { event, tool, variables } = agents[file];
  const [group] = JSON.parse(readFileSync(join(home, file), 'utf8')).hooks[event] as Group[];
  expect(tool).toMatch(new RegExp(`^(?:${group?.matcher})$`));
  const payload = { session_id: 's', cwd: home, hook_event_name: event, tool_name: tool, tool_input: { command } };
  const ran = spawnSync('sh', ['-c', group?.hooks[0]?.command ?? 'exit 9'], {
    ...{ cwd: home, input: JSON.stringify(payload), encoding: 'utf8', env: { ...env, ...variables } },
  });
  const isDenied = ran.status === 2 || /"(?:permissionDecision|decision)":"(?:deny|block)"/.test(ran.stdout);
  if (isDenied) expect(ran.stderr + ran.stdout).toContain('Force pushes are not allowed here.');
  else expect(ran.status).toBe(0);
  return isDenied;
}

/** Writes the files that the page shows. */
function writeFiles(): void {
  for (const [, name = '', text = ''] of docs.matchAll(/`([\w.-]+)`:\n\n```\w+\n([\s\S]*?)```/g))
    writeFileSync(join(home, name), text);
}

it('docs/write-a-hook.md leads to a guard that stops the tool of three agents', async context => {
  needs(context, 'grep');
  writeFiles();
  let whole = '';
  let last = 0;
  for (const block of docs.matchAll(/```\n(\$ [\s\S]*?)```/g)) {
    if (block[0].includes('--remove'))
      for (const file of Object.keys(agents) as (keyof typeof agents)[])
        expect([file, isStopped(file, 'git push --force'), isStopped(file, 'git status')]).toEqual([file, true, false]);
    let shown = '';
    for (const [, command = ''] of (block[1] ?? '').matchAll(/^\$ (.*)$/gm)) shown += await outputOf(command);
    whole += `${docs.slice(last, block.index)}\`\`\`\n${shown}\`\`\``;
    last = block.index + block[0].length;
  }
  whole += docs.slice(last);
  if (process.env.UPDATE) writeFileSync(page, whole);
  expect(whole).toBe(readFileSync(page, 'utf8'));
  expect(readdirSync(home).sort()).toEqual(['hook.yaml', 'no-force-push.sh']);
});

/** A command with its output, as a person sees both. Only `otel-hooks` runs in this process. */
async function outputOf(line: string): Promise<string> {
  const [name, ...words] = line.split(' ');
  // The samples of `hook-test` are part of the built program.
  if (name === 'otel-hooks' && words[0] !== 'hook-test') {
    const paths = words.map(word => (words[0] === 'validate' && word === 'hook.yaml' ? join(home, word) : word));
    const { out, err } = await ranIn(user, paths, { cwd: home });
    return `$ ${line}\n${out}${err}`.replaceAll('~/guard/hook.yaml', 'hook.yaml');
  }
  const { stdout, stderr } = spawnSync('sh', ['-c', `{ ${line}; } 2>&1`], { cwd: home, encoding: 'utf8', env });
  expect(stderr).toBe('');
  return `$ ${line}\n${stdout}`;
}

it('the script of the page is a program', () => {
  writeFiles();
  chmodSync(join(home, 'no-force-push.sh'), 0o755);
  expect(spawnSync(join(home, 'no-force-push.sh'), { input: '{}', encoding: 'utf8' }).status).toBe(0);
});
