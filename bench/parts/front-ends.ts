/** The front ends of a benchmark: the script of the shell hook, both commands, and the payload that they get. */
import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { shellCommand, shellHook } from '../../src/hook/script.ts';

export interface Place {
  /** The folder of the script and of the payload. */
  folder: string;
  dist: string;
  state: string;
}

/** Writes the script of the shell hook as `enable` writes it. Returns its path. */
export function writeScript({ folder, dist, state }: Place, name = 'hook.sh'): string {
  const script = join(folder, name);
  const [bin, deliver] = [join(dist, 'otel-hooks.cjs'), join(dist, 'deliver.js')];
  const setsid = ['/usr/bin/setsid', '/bin/setsid'].find(path => existsSync(path));
  writeFileSync(
    script,
    shellHook({ stateFolder: state, node: process.execPath, bin, deliver, cat: '/bin/cat', setsid }),
  );
  return script;
}

/** Writes the script and the file `payload` for a burst. Returns the commands of both front ends. */
export function commandsOfBurst(place: Place): { node: string[]; sh: string[] } {
  const script = writeScript(place);
  const text = 'drwxr-xr-x 2 user user 4096 Jan 1 00:00 folder\n'.repeat(64);
  const payload = { session_id: '0f9d', hook_event_name: 'PostToolUse', tool_name: 'Bash', tool_response: text };
  writeFileSync(join(place.folder, 'payload'), JSON.stringify(payload));
  const bin = join(place.dist, 'otel-hooks.cjs');
  return {
    node: [process.execPath, bin, 'hook', '--tool', 'claude-code', '--state-dir', place.state],
    sh: ['/bin/sh', '-c', shellCommand({ script, tool: 'claude-code', event: 'PostToolUse' })],
  };
}
