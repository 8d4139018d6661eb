/** The packed program and a Chromium, for tests of the page. */
import { type ChildProcess, execFileSync, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Browser, type BrowserContext, chromium, type Page } from 'playwright-core';
import { expect } from 'vitest';
import { isInstalled } from '../needs.ts';
import { packInto } from '../package/tarball.ts';

type Options = Parameters<Browser['newContext']>[0];

/** The program of the packed tarball, and its servers and pages. */
export class Installed {
  readonly place: string;
  readonly browser: Browser;
  /** Errors and dialogs of all pages. */
  errors: string[] = [];
  private readonly program: string;
  private servers: ChildProcess[] = [];
  private contexts: BrowserContext[] = [];

  /** Undefined where there is no Chromium: the tests are skipped with this reason. */
  static async packed(): Promise<Installed | undefined> {
    if (!isInstalled('chromium')) return undefined;
    const place = mkdtempSync(join(tmpdir(), 'otel-hooks-page-'));
    const tarball = packInto(place, { PATH: process.env.PATH, HOME: place });
    execFileSync('tar', ['-xzf', tarball, '-C', place]);
    const executablePath = execFileSync('sh', ['-c', 'command -v chromium'], { encoding: 'utf8' }).trim();
    return new Installed(place, await chromium.launch({ executablePath, args: ['--no-sandbox'] }));
  }

  private constructor(place: string, browser: Browser) {
    this.place = place;
    this.browser = browser;
    this.program = join(place, 'package', 'dist', 'otel-hooks.cjs');
  }

  /** A home folder of its own. */
  home(): string {
    return mkdtempSync(join(this.place, 'home-'));
  }

  /** The process of the newest server. */
  get pid(): number {
    return this.servers.at(-1)?.pid ?? 0;
  }

  /** Runs a command to its end, and returns its output. */
  run(home: string, input: string, ...words: string[]): string {
    const done = spawnSync(process.execPath, [this.program, ...words], { ...where(home), input, encoding: 'utf8' });
    expect(done.status, done.stderr).toBe(0);
    return done.stdout;
  }

  /** Starts the server, and returns its link. */
  async serve(home: string, ...words: string[]): Promise<string> {
    const args = [this.program, 'view', '--no-open', '--json', ...words];
    const server = spawn(process.execPath, args, { ...where(home), stdio: ['ignore', 'pipe', 'inherit'] });
    this.servers.push(server);
    let text = '';
    for await (const part of server.stdout) {
      text += String(part);
      if (text.includes('\n')) break;
    }
    return JSON.parse(text).address;
  }

  async open(address: string, options: Options = {}): Promise<Page> {
    const context = await this.browser.newContext({ viewport: { width: 1_400, height: 900 }, ...options });
    this.contexts.push(context);
    const page = await context.newPage();
    page.on('pageerror', error => this.errors.push(error.message));
    page.on('dialog', dialog => this.errors.push(`dialog ${dialog.message()}`));
    await page.goto(address);
    return page;
  }

  /** Kills the servers of the test, as a closed terminal does. */
  async stop(): Promise<void> {
    for (const server of this.servers.splice(0)) {
      if (server.exitCode !== null || server.signalCode !== null) continue;
      const over = once(server, 'exit');
      server.kill('SIGKILL');
      await over;
    }
  }

  /** Ends what one test has started. */
  async reset(): Promise<void> {
    for (const context of this.contexts.splice(0)) await context.close();
    await this.stop();
    this.errors = [];
  }

  async close(): Promise<void> {
    await this.reset();
    await this.browser.close();
    rmSync(this.place, { recursive: true, force: true });
  }
}

const where = (home: string) => ({
  env: { PATH: process.env.PATH, HOME: home, OTEL_HOOKS_STATE_DIR: join(home, 'state'), TZ: 'Europe/Berlin' },
  cwd: home,
});
