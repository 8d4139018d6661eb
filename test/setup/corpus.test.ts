/** Settings as people have them, one and more for each agent: what enabling leaves as it is, and what disabling gives back. */
import { parse } from 'jsonc-parser';
import { describe, expect, it } from 'vitest';
import { isAbsent, type SettingsFile } from '../../src/agents/contract/contract.ts';
import { agentNamed } from '../../src/agents/index.ts';
import { commandFor } from '../../src/setup/commands.ts';

const home = '/home/me';

const corpus: [agent: string, file: string, text: string][] = [
  [
    'claude-code',
    '.claude/settings.json',
    `{
  "$schema": "https://json.schemastore.org/claude-code-settings.json",
  "permissions": {
    "allow": ["Bash(npm run lint)", "Read(~/.zshrc)"],
    "deny": []
  },
  "statusLine": { "type": "command", "command": "~/.claude/statusline.sh" },
  "hooks": {
    "PostToolUse": [
      {
        "matcher": "Edit|Write",
        "hooks": [{ "type": "command", "command": "jq -r '.tool_input.file_path' | xargs prettier --write", "timeout": 30 }]
      }
    ],
    "Notification": [{ "hooks": [{ "type": "command", "command": "notify-send 'Claude Code' waiting" }] }]
  },
  "enabledPlugins": { "formatter@team": true }
}
`,
  ],
  [
    'codex',
    '.codex/hooks.json',
    `{"description":"what we check","hooks":{"PreToolUse":[{"matcher":"Bash","hooks":[{"type":"command","command":"python3 ~/.codex/guard.py","timeout":5,"statusMessage":"looking"}]}]}}\n`,
  ],
  [
    'gemini-cli',
    '.gemini/settings.json',
    `{
    // which login
    "security": { "auth": { "selectedType": "oauth-personal" } },
    "ui": { "theme": "GitHub" }, /* dark is too dark */
    "hooksConfig": { "enabled": true, "disabled": ["noisy"] },
    "hooks": {
        "AfterTool": [
            { "matcher": "write_file|replace", "sequential": true, "hooks": [ { "type": "command", "name": "fmt", "command": "make fmt", "timeout": 60000 } ] },
        ],
    },
    "mcpServers": {},
}`,
  ],
  [
    'cursor',
    '.cursor/hooks.json',
    `{
\t"version": 1,
\t"hooks": {
\t\t"beforeShellExecution": [
\t\t\t{ "command": "./hooks/block-rm.sh", "failClosed": true, "matcher": "^rm " }
\t\t],
\t\t"stop": []
\t}
}
`,
  ],
  ['cursor', '.cursor/hooks.json', '{\r\n  "hooks": {\r\n  }\r\n}\r\n'],
  [
    'copilot',
    '.copilot/hooks/otel-hooks.json',
    '{\n  "version": 1,\n  "disableAllHooks": false,\n  "hooks": {\n    "sessionStart": [ { "type": "http", "url": "https://hooks.example/x", "headers": {"X-A": "$T"}, "allowedEnvVars": ["T"] } ]\n  }\n}\n',
  ],
  [
    'windsurf',
    '.codeium/windsurf/hooks.json',
    '{ "hooks": { "pre_run_command": [ { "command": "bash ~/bin/audit.sh", "powershell": "~/bin/audit.ps1", "show_output": true, "working_directory": "." } ] } }',
  ],
  [
    'kiro',
    '.kiro/agents/mine.json',
    `{
  "name": "mine",
  "description": "Reviews.",
  "prompt": "file://./review.md",
  "tools": ["fs_read", "@git"],
  "allowedTools": ["fs_read"],
  "hooks": {
    "agentSpawn": [{ "command": "git status --short" }],
    "preToolUse": [{ "matcher": "execute_bash", "command": "~/bin/guard", "timeout_ms": 1000, "cache_ttl_seconds": 5 }]
  },
  "model": "claude-sonnet-4.5"
}
`,
  ],
  [
    'kiro',
    '.kiro/hooks/otel-hooks.json',
    '{\n  "version": "v1",\n  "hooks": [\n    { "name": "mine", "trigger": "PostFileSave", "matcher": "\\\\.ts$", "action": { "type": "agent", "prompt": "look at it" }, "enabled": false }\n  ]\n}\n',
  ],
  [
    'antigravity',
    '.gemini/config/hooks.json',
    `{
  "lint": {
    "enabled": true,
    "PostToolUse": [ { "matcher": "write_to_file", "hooks": [ { "type": "command", "command": "/usr/local/bin/lint", "timeout": 5 } ] } ],
    "Stop": [ { "type": "command", "command": "/usr/bin/true" } ]
  }
}
`,
  ],
  [
    'droid',
    '.factory/settings.json',
    `{
  "model": "opus",
  "enableHooks": true,
  // company rule
  "hooks": {
    "PreToolUse": [ { "matcher": "Execute", "commandRegex": "^git push", "hooks": [ { "type": "command", "command": "~/bin/ask" } ] } ]
  }
}`,
  ],
];

function fileOf(id: string, path: string, text: string): SettingsFile & Required<Pick<SettingsFile, 'add'>> {
  const agent = agentNamed(id);
  if (!agent || isAbsent(agent.settings)) throw new Error(id);
  const places = { home, project: '/shop', env: {}, platform: 'linux' };
  const at = (name: string) => (name === `${home}/${path}` ? text : undefined);
  const found = agent.settings.files('global', places, at, () => ['mine.json']).find(each => each.path.endsWith(path));
  if (!found?.add) throw new Error(`${path} is not written`);
  return { ...found, add: found.add };
}

function commandsFor(id: string) {
  const agent = agentNamed(id);
  if (!agent || isAbsent(agent.settings)) throw new Error(id);
  const { settings, reply } = agent;
  const common = {
    tool: id,
    edge: false,
    reply: reply.stdout,
    runs: settings.runs,
    platform: 'linux',
    isShared: false,
  };
  const where = { data: `${home}/.local/share/otel-hooks`, node: '/usr/bin/node', bin: '/usr/lib/otel-hooks.cjs' };
  return new Map(
    Object.entries(agent.events)
      .filter(([, { register }]) => register !== false)
      .map(([event]) => [event, commandFor({ ...common, ...where, event })]),
  );
}

describe.each(corpus)('%s %s', (id, path, text) => {
  const file = fileOf(id, path, text);
  const commands = commandsFor(id);
  const edit = file.add(text, commands);
  const enabled = edit.ok && edit.text !== undefined ? edit.text : '';

  it('comes back byte for byte, and twice is once', () => {
    expect(file.remove(enabled)).toMatchObject({ ok: true, text });
    expect(file.add(enabled, commands)).toMatchObject({ ok: true, changed: false, text: enabled });
    expect(file.remove(text)).toMatchObject({ ok: true, changed: false, text });
  });

  it('takes nothing away and moves nothing', () => {
    let at = 0;
    for (const char of enabled) if (char === text[at]) at++;
    expect(at).toBe(text.length);
    expect(parse(enabled)).toMatchObject(withoutLists(parse(text)));
  });

  it('gives back what a person changed meanwhile, as it would be without us', () => {
    const changed = (each: string) =>
      each
        .replace('{', '{ "added": "by hand", ')
        .replace(/"(model|name|type|command)": "((?:(?!otel_hooks)[^"])*)"/, '"$1": "$2!"');
    expect(file.remove(changed(enabled))).toMatchObject({ ok: true, text: changed(text) });
  });
});

/** What is in lists stands before ours; the shared suite looks at that. */
function withoutLists(value: unknown): object {
  return JSON.parse(JSON.stringify(value, (_, each: unknown) => (Array.isArray(each) ? undefined : each)));
}
