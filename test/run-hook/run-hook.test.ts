/** `otel-hooks run-hook`, as agents start it. */
import { spawn, spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { hookDocument } from '../../src/interchange/hook-document.ts';
import { needs } from '../needs.ts';

const bin = join(import.meta.dirname, '..', '..', 'dist', 'otel-hooks.cjs');
let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'otel-hooks-run-hook-'));
  mkdirSync(join(folder, 'tools'));
  mkdirSync(join(folder, '.git'));
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const env = () => ({ HOME: folder, PATH: process.env.PATH });
const shell = (command: string) => ({
  hook_event_name: 'PreToolUse',
  session_id: 's-1',
  cwd: folder,
  tool_name: 'Bash',
  tool_input: { command, description: 'a command' },
});

function run(words: readonly string[], payload: unknown = shell('git push')) {
  const input = typeof payload === 'string' ? payload : JSON.stringify(payload);
  const done = spawnSync(process.execPath, [bin, 'run-hook', ...words], { input, env: env(), cwd: folder });
  return { code: done.status, out: String(done.stdout).trim(), err: String(done.stderr).trim() };
}

const claude = ['--as', 'claude-code'];
const denied = (reason: unknown) => ({
  hookSpecificOutput: {
    hookEventName: 'PreToolUse',
    permissionDecision: 'deny',
    permissionDecisionReason: reason,
  },
});
const answer = ({ out }: { out: string }): unknown => (out === '' ? undefined : JSON.parse(out));
const prints = (value: object): string => `printf '%s' '${JSON.stringify(value)}'`;

describe('the contract of the format', () => {
  it('gives the command a document of its schema', () => {
    run([...claude, '--hook', 'guard', '--', 'cat > seen.json']);
    const seen = JSON.parse(readFileSync(join(folder, 'seen.json'), 'utf8'));
    expect(hookDocument.parse(seen)).toMatchObject({
      tool: 'shell',
      tool_input: { command: 'git push' },
      hook: 'guard',
    });
  });

  it.each([
    ['exit 0', 0, undefined],
    ['echo no >&2; exit 2', 0, denied('no')],
    ['exit 2', 0, denied('A hook denied this.')],
    [prints({ decision: 'deny', reason: 'no' }), 0, denied('no')],
  ])('a blocking hook: %s', (command, code, expected) => {
    const done = run([...claude, '--blocking', '--', command]);
    expect([done.code, answer(done)]).toEqual([code, expected]);
  });

  it('sets a variable for the folder of the project that the command names, whichever agent sets it', () => {
    const guard = 'printf "%s %s" "$FACTORY_PROJECT_DIR" "$GEMINI_PROJECT_DIR" > named';
    run(['--as', 'codex', '--', guard]);
    expect(readFileSync(join(folder, 'named'), 'utf8')).toBe(`${folder} ${folder}`);
    run(['--as', 'codex', '--cwd', '$CLAUDE_PROJECT_DIR/tools', '--', 'pwd > ../place']);
    expect(readFileSync(join(folder, 'place'), 'utf8').trim()).toBe(join(folder, 'tools'));
  });

  it.each([
    ['echo broken >&2; exit 1', 'broken'],
    ['exit 127', 'exit code 127'],
    ['echo no JSON', 'no JSON object'],
    [prints({ decision: 'maybe' }), 'unknown'],
  ])('an error of a blocking hook is visible, and denies only if the hook fails closed: %s', (command, text) => {
    const open = answer(run([...claude, '--blocking', '--', command]));
    expect(open).toEqual({ systemMessage: expect.stringContaining(text) });
    const closed = answer(run([...claude, '--blocking', '--fail', 'closed', '--', command]));
    expect(closed).toEqual(denied(expect.stringContaining(text)));
  });

  it('exit code 2 of a hook that does not block is a visible error', () => {
    expect(answer(run([...claude, '--', 'echo no >&2; exit 2']))).toEqual({
      systemMessage: expect.stringContaining('exit code 2 of a hook that does not block: no'),
    });
  });

  it('changes the input, and keeps the fields that only the agent knows', () => {
    const command = prints({ updated_input: { command: 'git status' } });
    expect(answer(run([...claude, '--', command]))).toMatchObject({
      hookSpecificOutput: { updatedInput: { command: 'git status', description: 'a command' } },
    });
  });
});

describe('faults of the runtime itself', () => {
  it.each([
    ['no command', [], shell('x')],
    ['a blank command', ['--', ' '], shell('x')],
    ['a command that does not exist', ['--', './missing.sh'], shell('x')],
    ['a program that does not exist', ['--', 'missing-program', 'word'], shell('x')],
    ['an empty payload', ['--', 'exit 0'], ''],
    ['a payload that is not JSON', ['--event', 'PreToolUse', '--', 'exit 0'], '{"a":'],
    ['a payload without a tool', ['--', 'exit 0'], { hook_event_name: 'PreToolUse' }],
    ['a folder that does not exist', ['--cwd', 'nowhere', '--', 'exit 0'], shell('x')],
    ['a folder outside the project', ['--cwd', 'tools/../..', '--', 'exit 0'], shell('x')],
    ['a command that is killed', ['--', 'kill -9 $$'], shell('x')],
    ['an unknown dialect', ['--from', 'nobody', '--', 'exit 0'], shell('x')],
  ])('%s: denied if the hook is blocking, visible otherwise', (_name, words, payload) => {
    const blocking = run([...claude, '--blocking', ...words], payload);
    const isDenied = blocking.code === 2 ? blocking.err : JSON.stringify(answer(blocking) ?? '');
    expect(isDenied).toMatch(blocking.code === 2 ? /denied/ : /"permissionDecision":"deny"/);
    const other = run([...claude, ...words], payload);
    expect(`${other.out}${other.err}`).toMatch(/otel-hooks: /);
    expect(other.code).not.toBe(2);
  });

  it.each([[['--as', 'nobody']], [['--as', 'claude-code', '--unknown', 'x']], [[]]])('wrong flags: %s', words => {
    expect(run([...words, '--blocking', '--', 'exit 0']).code).toBe(2);
    expect(run([...words, '--', 'exit 0']).code).toBe(1);
  });
});

describe('timeouts, folders, variables and signals', () => {
  it('ends a command with its children, and says so', () => {
    const fromMs = Date.now();
    const warned = run([...claude, '--blocking', '--timeout', '0.3', '--', 'sleep 33.25 & sleep 33.25']);
    expect(answer(warned)).toEqual({ systemMessage: expect.stringContaining('timeout') });
    expect(Date.now() - fromMs).toBeLessThan(10_000);
    expect(commandLines().filter(line => line.includes('33.25'))).toEqual([]);
    const words = ['--blocking', '--timeout', '0.3', '--timeout-action', 'block', '--', 'sleep 33.25'];
    expect(answer(run([...claude, ...words]))).toEqual(denied(expect.stringContaining('longer than 0.3 s')));
  });

  it('a child that holds the output open delays nothing', () => {
    const fromMs = Date.now();
    expect(answer(run([...claude, '--', `sleep 3 & ${prints({ decision: 'deny', reason: 'no' })}`]))).toEqual(
      denied('no'),
    );
    expect(Date.now() - fromMs).toBeLessThan(2_500);
  });

  it('sets the folder, the variables and the command of the system', () => {
    const words = [
      '--cwd',
      'tools',
      '--env',
      'A=b c',
      '--env',
      'X=1',
      '--linux',
      'echo "$(basename $PWD) $A $X" >&2; exit 2',
    ];
    const own = process.platform === 'linux' ? words : [...words.slice(0, 6), '--darwin', String(words[7])];
    expect(answer(run([...claude, '--blocking', ...own, '--', 'exit 0']))).toEqual(denied('tools b c 1'));
  });

  it('several words are a program with its arguments', () => {
    const program = 'console.error(process.argv[1]); process.exitCode = 2;';
    expect(answer(run([...claude, '--blocking', '--', process.execPath, '-e', program, '$HOME; "x"']))).toEqual(
      denied('$HOME; "x"'),
    );
  });

  it('a command that does not read a large payload does no harm, and one that does gets all of it', () => {
    const large = shell('x'.repeat(10_000_000));
    expect(answer(run([...claude, '--blocking', '--', 'echo no >&2; exit 2'], large))).toEqual(denied('no'));
    expect(answer(run([...claude, '--blocking', '--native', '--', 'wc -c >&2; exit 2'], large))).toEqual(
      denied(expect.stringContaining(String(JSON.stringify(large).length))),
    );
  });

  it.each(['SIGTERM', 'SIGINT'] as const)('passes %s on to the command, and denies', async signal => {
    const script = join(folder, `wait-${signal}.sh`);
    writeFileSync(
      script,
      `trap 'touch "$0.${signal}"; exit 0' ${signal.slice(3)}\necho > "$0.ready"\nwhile :; do sleep 0.05; done\n`,
    );
    const child = spawn(process.execPath, [bin, 'run-hook', ...claude, '--blocking', '--', 'sh', script], {
      env: env(),
      cwd: folder,
    });
    let out = '';
    child.stdout.on('data', data => {
      out += data;
    });
    child.stdin.end(JSON.stringify(shell('x')));
    while (!existsSync(`${script}.ready`)) await new Promise(resolve => setTimeout(resolve, 20));
    child.kill(signal);
    await new Promise(resolve => child.on('close', resolve));
    expect(existsSync(`${script}.${signal}`)).toBe(true);
    expect(JSON.parse(out)).toEqual(denied(expect.stringContaining(`interrupted by ${signal}`)));
  });
});

describe('answers that an agent cannot honour', () => {
  const windsurf = { agent_action_name: 'pre_run_command', tool_info: { command_line: 'git push', cwd: folder } };
  const rewrite = prints({ updated_input: { command: 'ls' } });

  it('another input denies, unless the hook degrades to a warning', () => {
    expect(run(['--as', 'windsurf', '--', rewrite], windsurf)).toMatchObject({ code: 2 });
    const warned = run(['--as', 'windsurf', '--degrade', 'input_rewrite=warn', '--', rewrite], windsurf);
    expect(warned).toMatchObject({ code: 0, err: expect.stringContaining('goes on unchanged') });
  });

  it('a question denies where a hook cannot ask', () => {
    const asks = prints({ decision: 'ask', reason: 'sure?' });
    expect(run(['--as', 'windsurf', '--', asks], windsurf)).toMatchObject({
      code: 2,
      err: expect.stringContaining('sure?'),
    });
  });

  it('texts become a warning, or deny if the hook says so', () => {
    const tells = prints({ context: 'mind the branch' });
    expect(run(['--as', 'windsurf', '--', tells], windsurf)).toMatchObject({
      code: 0,
      err: expect.stringContaining('mind the branch'),
    });
    expect(run(['--as', 'windsurf', '--degrade', 'structured_output=block', '--', tells], windsurf)).toMatchObject({
      code: 2,
    });
  });

  it('a denial of an event that cannot be stopped is a warning', () => {
    const ended = { hook_event_name: 'SessionEnd', session_id: 's', cwd: folder };
    const done = run([...claude, '--blocking', '--', 'echo stay >&2; exit 2'], ended);
    expect(done).toMatchObject({ code: 0, err: expect.stringContaining('cannot stop SessionEnd') });
  });
});

describe('commands that were written for another agent', () => {
  it('a patch of several files is one run for each of them', context => {
    needs(context, 'grep');
    const patch =
      '*** Begin Patch\n*** Add File: a.txt\n+one\n*** Update File: secret/b.txt\n@@\n-x\n+y\n*** End Patch\n';
    const payload = { ...shell(''), tool_name: 'apply_patch', tool_input: { command: patch } };
    const guard = 'grep -q \'"file_path":"secret\' && { echo secret >&2; exit 2; }; exit 0';
    const done = run(['--as', 'codex', '--from', 'claude-code', '--blocking', '--', guard], payload);
    expect(answer(done)).toEqual(denied('secret'));
  });

  it('allow of an agent where it grants nothing grants nothing elsewhere', () => {
    const says = prints({ permission: 'allow' });
    expect(run([...claude, '--from', 'cursor', '--', says])).toEqual({ code: 0, out: '', err: '' });
    const grants = prints({ hookSpecificOutput: { hookEventName: 'PreToolUse', permissionDecision: 'allow' } });
    expect(answer(run([...claude, '--from', 'factory-droid', '--', grants]))).toMatchObject({
      hookSpecificOutput: { permissionDecision: 'allow' },
    });
  });

  it('exit code 1 of Copilot CLI before a tool denies, as it does there', () => {
    expect(answer(run([...claude, '--from', 'copilot-cli', '--blocking', '--', 'exit 1']))).toEqual(
      denied('exit code 1'),
    );
  });
});

it('writes nothing into the state folder', () => {
  run([...claude, '--', 'exit 0']);
  expect(readdirSync(folder).filter(name => /local|config|otel/.test(name))).toEqual([]);
});

/** The command lines of all processes; empty where the system does not list them. */
function commandLines(): string[] {
  if (process.platform !== 'linux') return [];
  return readdirSync('/proc')
    .filter(name => /^\d+$/.test(name))
    .flatMap(name => {
      try {
        return [readFileSync(`/proc/${name}/cmdline`, 'utf8')];
      } catch {
        return [];
      }
    });
}
