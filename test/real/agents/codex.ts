import { mkdirSync, readdirSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Driver, Place } from '../contract.ts';

/**
 * `files`: further files of the home, by relative path. `trusted`: whether the project's folder and the hooks are
 * trusted.
 */
interface Settings {
  model?: string;
  approval?: string;
  sandbox?: string;
  trusted?: boolean;
  toml?: string;
  files?: Record<string, string>;
}

const settingsOf = (settings: Record<string, unknown> | undefined): Settings => settings ?? {};

export const driver: Driver = {
  id: 'codex',
  dialect: 'responses',
  command: 'codex',
  transcripts: ['.codex/sessions'],
  // The terminal writes the hashes of trusted hooks and the dialogs that were answered.
  rewrites: ['.codex/config.toml'],
  notices: [
    { line: /^hook: /, reason: 'Codex prints a line for each hook that starts and ends' },
    { line: /failed to record rollout items/, reason: 'Codex prints it in some runs that end while a command runs' },
  ],
  // Headless runs skip the review of hooks, which a person does in the terminal.
  doctor: ['they are not approved yet'],
  importDiffers: {
    '^session .*: agent_hooks.(event.id|session.end_reason) ': 'no row states how a run ended',
    '^session .*: vcs.': 'import does not look at the repository of the past',
  },
  prepare({ home, project, modelPort }, scenario) {
    const { model, approval, sandbox, trusted, toml, files } = settingsOf(scenario.settings);
    const named = model ?? 'gpt-5.5';
    const lines = [
      `model = "${named}"`,
      'model_provider = "mock"',
      `approval_policy = "${approval ?? 'never'}"`,
      `sandbox_mode = "${sandbox ?? 'danger-full-access'}"`,
      'check_for_update_on_startup = false',
      '[model_providers.mock]',
      'name = "mock"',
      `base_url = "http://127.0.0.1:${modelPort}/v1"`,
      'env_key = "MOCK_KEY"',
      'wire_api = "responses"',
      'request_max_retries = 2',
      'stream_max_retries = 2',
      '[analytics]',
      'enabled = false',
      // The dialog about a newer model was answered.
      '[notice.model_migrations]',
      `"${named}" = "gpt-6-sol"`,
      ...(trusted === false ? [] : [`[projects."${project}"]`, 'trust_level = "trusted"']),
      ...(toml === undefined ? [] : [toml.replaceAll('$HOME', home)]),
    ];
    write(join(home, '.codex', 'config.toml'), `${lines.join('\n')}\n`);
    for (const [path, text] of Object.entries(files ?? {})) write(join(home, path), text);
  },
  environment: () => ({ MOCK_KEY: 'dummy' }),
  headless: step => [
    'exec',
    '--dangerously-bypass-hook-trust',
    ...(step.args ?? []),
    ...(step.prompt === undefined ? [] : [step.prompt]),
  ],
  // With its background server, Codex leaves a process behind.
  terminal: step => ['--no-daemon', ...(step.args ?? [])],
  plain: line =>
    line
      // The order of its fields varies.
      .replace(/"client_metadata":\{.*$/s, '')
      // The ids of the model server contain the number of the response.
      .replaceAll(/((?:resp|call)_[a-z]\w*?)(?:_\d+)+(?!\w)/g, '$1')
      .replaceAll(/Chunk ID: [0-9a-f]{6}/g, 'Chunk ID: <id>')
      .replaceAll(/(session ID|session_id\\*":|cell ID|process_id\\*":) ?"?\w+/g, '$1 <id>')
      .replaceAll(/(chunk_id\\*":\\*")[0-9a-f]{6}/g, '$1<id>')
      .replaceAll(/(wall_time_seconds\\*":)[\d.e-]+/g, '$1<duration>')
      .replaceAll(/Wall time:? [\d.]+/g, 'Wall time <duration>')
      .replaceAll(/(nickname\\*":\\*")[^"\\]+/g, '$1<name>')
      .replaceAll(/ in [\d.]+m?s:?$/g, ' in <duration>')
      // The sum of tokens depends on the order of parallel requests.
      .replace(/^[\d,]+$/, '<tokens>'),
  newestSession({ home }: Place) {
    const sessions = join(home, '.codex', 'sessions');
    const files = readdirSync(sessions, { recursive: true, encoding: 'utf8' })
      .filter(name => name.endsWith('.jsonl'))
      .map(name => ({ name, atMs: statSync(join(sessions, name)).mtimeMs }));
    const newest = files.sort((a, b) => b.atMs - a.atMs)[0]?.name;
    return newest === undefined ? undefined : /([0-9a-f]{8}-[0-9a-f-]{27})\.jsonl$/.exec(newest)?.[1];
  },
};

function write(path: string, text: string): void {
  mkdirSync(join(path, '..'), { recursive: true });
  writeFileSync(path, text);
}
