/** What the agents need beyond their drivers: calls of their tools, an MCP server, and trust in the project's hooks. */
import { cpSync, existsSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { Place, Reply } from '../contract.ts';
import type { Thing } from './cases.ts';

type Call = NonNullable<Reply['calls']>[number];

export interface GuardTarget {
  /** The name in the format. */
  readonly slug: string;
  call(thing: Thing, name: string, project: string): Call;
  readonly settings?: (place: Place) => Record<string, unknown>;
  readonly environment?: Record<string, string>;
  readonly args?: readonly string[];
  /** A denial ends the whole run, so each guard has a run of its own. */
  readonly stops?: true;
  /** The folder of its own records, in the home. */
  readonly logs?: string;
  /** Further files, after `convert` has written the hooks. */
  prepare?(place: Place): void;
}

const server = (place: Place): { command: string; args: string[] } => ({
  command: 'python3',
  args: [join(place.project, 'server.py')],
});

export const targets: Readonly<Record<string, GuardTarget>> = {
  'claude-code': {
    slug: 'claude-code',
    args: ['--mcp-config', 'mcp.json', '--allowedTools', 'Bash,Write,mcp__box__put'],
    prepare: place => write(join(place.project, 'mcp.json'), { mcpServers: { box: server(place) } }),
    call: (thing, name, project) =>
      thing === 'shell'
        ? { name: 'Bash', input: { command: `touch ${project}/${name}`, description: 'A file' } }
        : thing === 'MCP'
          ? { name: 'mcp__box__put', input: { text: name } }
          : { name: 'Write', input: { file_path: `${project}/${name}`, content: 'text\n' } },
  },
  codex: {
    slug: 'codex',
    settings: place => ({
      toml: `[mcp_servers.box]\ncommand = "python3"\nargs = ["${join(place.project, 'server.py')}"]\n`,
    }),
    call: (thing, name, project) =>
      thing === 'shell'
        ? { name: 'exec_command', input: { cmd: `touch ${project}/${name}`, yield_time_ms: 5000 } }
        : thing === 'MCP'
          ? { name: 'put', namespace: 'mcp__box', input: { text: name } }
          : {
              name: 'apply_patch',
              kind: 'custom',
              input: `*** Begin Patch\n*** Add File: ${project}/${name}\n+text\n*** End Patch\n`,
            },
  },
  'gemini-cli': {
    slug: 'gemini-cli',
    prepare(place) {
      const path = join(place.home, '.gemini', 'settings.json');
      write(path, { ...read(path), mcpServers: { box: { ...server(place), trust: true } } });
    },
    call: (thing, name, project) =>
      thing === 'shell'
        ? { name: 'run_shell_command', input: { command: `touch ${project}/${name}` } }
        : thing === 'MCP'
          ? { name: 'mcp_box_put', input: { text: name } }
          : { name: 'write_file', input: { file_path: `${project}/${name}`, content: 'text\n' } },
  },
  opencode: {
    slug: 'opencode',
    // The package that it fetches for a folder with plugins.
    prepare({ agent, project }) {
      const folder = join(project, '.opencode');
      mkdirSync(folder, { recursive: true });
      for (const name of ['package.json', 'package-lock.json']) cpSync(join(agent, name), join(folder, name));
      symlinkSync(join(agent, 'node_modules'), join(folder, 'node_modules'));
    },
    settings: place => {
      const { command, args } = server(place);
      return { mcp: { box: { type: 'local', command: [command, ...args], enabled: true } } };
    },
    call: (thing, name, project) =>
      thing === 'shell'
        ? { name: 'bash', input: { command: `touch ${project}/${name}`, description: 'A file' } }
        : thing === 'MCP'
          ? { name: 'box_put', input: { text: name } }
          : { name: 'write', input: { filePath: `${project}/${name}`, content: 'text\n' } },
  },
  copilot: {
    slug: 'copilot-cli',
    environment: { GITHUB_COPILOT_PROMPT_MODE_REPO_HOOKS: 'true', COPILOT_ALLOW_ALL: 'true' },
    prepare(place) {
      const box = { type: 'local', ...server(place), tools: ['*'] };
      write(join(place.home, '.copilot', 'mcp-config.json'), { mcpServers: { box } });
      const path = join(place.home, '.copilot', 'config.json');
      write(path, { ...read(path), trusted_folders: [place.project], trustedFolders: [place.project] });
    },
    call: (thing, name, project) =>
      thing === 'shell'
        ? { name: 'bash', input: { command: `touch ${project}/${name}`, description: 'A file' } }
        : thing === 'MCP'
          ? { name: 'box-put', input: { text: name } }
          : { name: 'create', input: { path: `${project}/${name}`, file_text: 'text\n' } },
  },
  cline: {
    slug: 'cline',
    stops: true,
    logs: '.cline/data',
    prepare(place) {
      const folder = join(place.home, '.cline', 'data', 'settings');
      write(join(folder, 'cline_mcp_settings.json'), { mcpServers: { box: { ...server(place), disabled: false } } });
    },
    call: (thing, name, project) =>
      thing === 'shell'
        ? { name: 'run_commands', input: { commands: [`touch ${project}/${name}`] } }
        : thing === 'MCP'
          ? { name: 'box__put', input: { text: name } }
          : { name: 'editor', input: { path: `${project}/${name}`, new_text: 'text\n' } },
  },
  droid: {
    slug: 'factory-droid',
    prepare: place =>
      write(join(place.home, '.factory', 'mcp.json'), {
        mcpServers: { box: { type: 'stdio', ...server(place), disabled: false } },
      }),
    call: (thing, name, project) =>
      thing === 'shell'
        ? {
            name: 'Execute',
            input: {
              command: `touch ${project}/${name}`,
              summary: 'A file',
              riskLevel: 'low',
              riskLevelReason: 'none',
            },
          }
        : thing === 'MCP'
          ? { name: 'box___put', input: { text: name } }
          : { name: 'Create', input: { file_path: `${project}/${name}`, content: 'text\n' } },
  },
};

export const mcpServer = `import json, sys
tool = {"name": "put", "description": "put", "inputSchema": {"type": "object", "properties": {"text": {"type": "string"}}}}
for line in sys.stdin:
    asked = json.loads(line)
    if "id" not in asked:
        continue
    method = asked["method"]
    if method == "initialize":
        result = {"protocolVersion": asked["params"]["protocolVersion"], "capabilities": {"tools": {}}, "serverInfo": {"name": "box", "version": "1"}}
    elif method == "tools/list":
        result = {"tools": [tool]}
    elif method == "tools/call":
        with open(sys.argv[0] + "." + asked["params"]["arguments"].get("text", "none"), "w") as file:
            file.write("put")
        result = {"content": [{"type": "text", "text": "put"}]}
    else:
        result = {}
    print(json.dumps({"jsonrpc": "2.0", "id": asked["id"], "result": result}), flush=True)
`;

function write(path: string, value: object): void {
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, JSON.stringify(value, null, 2));
}

const read = (path: string): object => (existsSync(path) ? (JSON.parse(readFileSync(path, 'utf8')) as object) : {});
