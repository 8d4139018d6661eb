import { describe, expect, it } from 'vitest';
import { isOurCommand } from '../../src/agents/files/our-command.ts';
import { shellCommand } from '../../src/hook/script.ts';

describe('ours', () => {
  it.each([
    shellCommand({ script: "/home/o'brien/.local/share/otel-hooks/hook.sh", tool: 't', event: 'Stop', edge: true }),
    shellCommand({
      script: '/x/otel-hooks/hook.sh',
      tool: 't',
      event: 'Stop',
      provider: 'otlp',
      reply: '{"ok":"it\'s; fine"}',
    }),
    '"C:\\Program Files\\nodejs\\node.exe" "C:\\Users\\me\\npm\\otel-hooks.cjs" hook --tool t --event Stop',
    'C:\\Users\\me\\npm\\otel-hooks.cmd hook --tool t',
    '& "C:\\Program Files\\nodejs\\node.exe" "C:\\otel-hooks.cjs" hook',
    '! command -v otel-hooks >/dev/null || otel-hooks hook --tool t --event Stop --edge',
    '! command -v otel-hooks >/dev/null 2>&1 || NODE_OPTIONS= otel-hooks hook --tool t --event Stop',
    "otel_hooks='t Stop'; [ ! -r '/x/otel-hooks/hook.sh' ] || . '/x/otel-hooks/hook.sh'",
    'command -v otel-hooks >/dev/null 2>&1 && exec otel-hooks hook; exit 0',
    'otel-hooks hook',
    'otel-hooks hook --provider langfuse --tool copilot',
    'OTEL_HOOKS_SOURCE_TOOL=claude otel-hooks hook --provider=otlp',
    'uvx otel-hooks hook --provider otlp',
    'pipx run otel-hooks hook --provider otlp',
    'npx -y otel-hooks@latest hook',
    'npx -p otel-hooks otel-hooks hook',
    '/usr/local/bin/otel-hooks hook 2>/dev/null',
  ])('%s', command => expect(isOurCommand(command)).toBe(true));

  it('the exec form', () => {
    expect(isOurCommand('otel-hooks', ['hook', '--tool', 't'])).toBe(true);
    expect(isOurCommand('/usr/bin/node', ['/x/otel-hooks.cjs', 'hook'])).toBe(true);
    expect(isOurCommand('echo', ['otel-hooks', 'hook'])).toBe(false);
    expect(isOurCommand('otel-hooks', [7])).toBe(false);
  });
});

describe('not ours', () => {
  it.each([
    'echo "otel-hooks hook"',
    "echo 'otel-hooks' hook",
    'lint && otel-hooks hook',
    'otel-hooks status',
    'my-otel-hooks hook',
    'otel-hooks-extra hook',
    '. /x/hook.sh',
    "otel_hooks='a b'; . /x/other.sh",
    "otel_hooks='a b'; rm -rf /; . /x/hook.sh",
    "trap 'rm -rf /' 0; otel_hooks='a b'; . /x/hook.sh",
    "otel_hooks='a b'; . ./hook.sh",
    "otel_hooks='a b'; . ./otel-hooks/hook.sh",
    "otel_hooks='a b'; . /x/hook.sh",
    "otel_hooks='a b'; . /x/otel-hooks/../hook.sh",
    "otel_hooks='a b'; . $PWD/otel-hooks/hook.sh",
    "otel_hooks='a b'; . ~/otel-hooks/hook.sh",
    "otel_hooks='a b' PATH=.; . /x/otel-hooks/hook.sh",
    './node_modules/.bin/otel-hooks hook',
    'node_modules/.bin/otel-hooks hook',
    '../otel-hooks hook',
    '"$PWD"/otel-hooks hook',
    'NODE_OPTIONS=--require=./evil.js otel-hooks hook',
    'PATH=. otel-hooks hook',
    'BASH_ENV=./x otel-hooks hook',
    'LD_PRELOAD=./x.so otel-hooks hook',
    'env PATH=. otel-hooks hook',
    'node --require=./evil.js /x/otel-hooks.cjs hook',
    'node --import ./evil.js /x/otel-hooks.cjs hook',
    'node ./otel-hooks.cjs hook',
    './node /x/otel-hooks.cjs hook',
    './otel-hooks-agent.sh Stop',
    '/x/otel-hooks-agent.sh Stop',
    "printf '' >/x/.bashrc; otel-hooks hook",
    "printf '' > /x/.bashrc; otel-hooks hook",
    'otel-hooks hook <./fifo',
    "/bin/sh -c 'otel_hooks='\\''x y'\\''; . ./hook.sh'",
    '# otel-hooks hook',
    'sh -c "otel-hooks hook"',
    'otel-hooks hook | tee log',
    'otel-hooks "hook',
    '$(which otel-hooks) hook',
    '',
    ' '.repeat(10_000),
  ])('%s', command => expect(isOurCommand(command)).toBe(false));

  it('values that are not texts', () => {
    for (const value of [undefined, null, 7, {}, ['otel-hooks', 'hook']]) expect(isOurCommand(value)).toBe(false);
  });
});
