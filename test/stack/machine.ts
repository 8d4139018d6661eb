/** A developer's machine: a HOME of its own, the installed package, and hooks with times that the test chooses. */
import { execFile } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { FILE_WRITE } from '../../src/event/event.ts';
import { encodeFragment, fragmentName } from '../../src/hook/fragment.ts';
import { readJourney } from '../journeys/read.ts';

const run = promisify(execFile);

/** Moves the times that agents state in payloads. Loki refuses records that are much older than the others. */
const moved = (payload: string, byMs: number): string =>
  payload
    .replaceAll(/"(2026-03-02T[\d:.]+Z)"/g, (_, iso: string) => `"${new Date(Date.parse(iso) + byMs).toISOString()}"`)
    .replaceAll(/\b17724\d{8}\b/g, ms => String(Number(ms) + byMs));

export class Machine {
  readonly home = mkdtempSync(join(tmpdir(), 'otel-hooks-machine-'));
  readonly state = join(this.home, 'state');
  readonly #program: string;
  readonly #bootMs = Date.now() - 24 * 3_600_000;
  #hooks = 0;

  constructor(program: string, config: object) {
    this.#program = program;
    mkdirSync(join(this.state, 'inbox'), { recursive: true, mode: 0o700 });
    this.configure(config);
  }

  configure(config: object): void {
    writeFileSync(this.configFile, JSON.stringify(config));
  }

  get configFile(): string {
    return join(this.home, 'config.json');
  }

  /** Makes the folder of the sessions a Git repository. */
  repository(url: string, branch: string): void {
    const folder = join(this.home, '.git');
    mkdirSync(join(folder, 'refs', 'heads'), { recursive: true });
    writeFileSync(join(folder, 'HEAD'), `ref: refs/heads/${branch}\n`);
    writeFileSync(join(folder, 'refs', 'heads', branch), `${'1f'.repeat(20)}\n`);
    writeFileSync(join(folder, 'config'), `[core]\n\tbare = false\n[remote "origin"]\n\turl = ${url}\n`);
  }

  /** One hook, as the front ends write it. */
  hook(payload: object, atMs: number): void {
    this.#hooks += 1;
    const unique = randomUUID();
    const header = { at: String(Math.round(atMs)), ppid: '4711' };
    const bytes = encodeFragment(unique, header, Buffer.from(JSON.stringify(payload)));
    // The kernel's clock advances with the wall clock; the last digits keep equal times in order.
    const uptime = ((atMs - this.#bootMs) / 1_000 + this.#hooks / 1e6).toFixed(6);
    writeFileSync(join(this.state, 'inbox', fragmentName('b007', uptime, 1, unique)), bytes, { mode: 0o600 });
  }

  /** A journey that ends now, under a session id that no other test has. */
  journey(file: string): string {
    const text = readFileSync(join(import.meta.dirname, '..', 'journeys', 'cases', file), 'utf8');
    const { hooks } = readJourney(text);
    const first = hooks[0]?.payload as { session_id: string };
    const session = randomUUID();
    const lastMs = Math.max(...hooks.map(({ atMs }) => atMs));
    // All hooks are read at once: a busy machine may pause between two hooks, and then times would no longer be nested.
    const endMs = Date.now() - 1_000;
    for (const { atMs, payload } of hooks) {
      const own = moved(JSON.stringify(payload).replaceAll(first.session_id, session), endMs - lastMs);
      this.hook(JSON.parse(own) as object, endMs - (lastMs - atMs));
    }
    return session;
  }

  /** The machine of a command. */
  get flags(): string[] {
    return ['--state-dir', this.state, '--config', this.configFile];
  }

  async cli(...words: string[]): Promise<{ code: number; out: string; err: string }> {
    const env = { PATH: process.env.PATH, HOME: this.home };
    try {
      const { stdout, stderr } = await run(this.#program, [...words, ...this.flags], { env, maxBuffer: 1 << 28 });
      return { code: 0, out: stdout, err: stderr };
    } catch (error) {
      const { code, stdout, stderr } = error as { code: number; stdout: string; stderr: string };
      return { code, out: stdout, err: stderr };
    }
  }

  /** The trees that `show` prints for a session, by trace id. Each row is a span. */
  async trees(session: string): Promise<Map<string, string>> {
    const { out } = await this.cli('show', session);
    const traces = out.split(/^trace /m).slice(1);
    return new Map(
      traces.map(text => [
        text.slice(0, 32),
        text
          .slice(33)
          .replace(/^start .*\n/, '')
          .trimEnd(),
      ]),
    );
  }

  async deliver(wait = '30s'): Promise<void> {
    const { code, out, err } = await this.cli('deliver', '--wait', wait);
    if (code !== 0) throw new Error(`deliver ended with ${code}:\n${out}${err}`);
  }

  /** The agents' events in the journal, by type in the spelling of metrics. */
  journaled(): { [type: string]: number } {
    const folder = join(this.state, 'journal');
    const counts: { [type: string]: number } = {};
    for (const file of readdirSync(folder)) {
      for (const line of readFileSync(join(folder, file), 'utf8').trim().split('\n')) {
        const { event_type: type } = JSON.parse(line) as { event_type: string };
        if (type.startsWith('vendor.otel-hooks.')) continue;
        const shown = type === FILE_WRITE ? 'file.write' : type.startsWith('vendor.') ? 'other' : type;
        counts[shown] = (counts[shown] ?? 0) + 1;
      }
    }
    return counts;
  }

  async books(): Promise<{ destinations: Books[] }> {
    return JSON.parse((await this.cli('status', '--json')).out) as { destinations: Books[] };
  }

  remove(): void {
    rmSync(this.home, { recursive: true, force: true });
  }
}

interface Book {
  produced: number;
  accepted: number;
  waiting: number;
  rejected: { [reason: string]: number };
  dropped: { [reason: string]: number };
}
export interface Books {
  spans: Book;
  logs: Book;
  metrics: Book;
}
