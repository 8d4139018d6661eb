/** What the benchmarks of single hooks share: a small shell that starts the commands, and a collector that discards. */
import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { closeSync, existsSync, mkdtempSync, openSync, readFileSync, readSync, unlinkSync, writeSync } from 'node:fs';
import { join } from 'node:path';

export interface Started {
  name: string;
  command: string[];
  payload: Buffer;
  /** The environment variables of the variant. */
  env?: Record<string, string>;
}

export interface Starter {
  /** Runs a variant and returns its wall time. */
  run(variant: Started): number;
  /** User and system time of all its processes so far; 0 where there is no /proc. */
  childrenCpuMs(): number;
  end(): void;
}

/** The number of pipes for payloads that are made at once. */
const PIPES = 64;

/**
 * One arm per variant; the payload and the report go through named pipes, so everything here can wait synchronously.
 *
 * Each run has its own pipe for the payload. A process that the command of the last run has left behind may still have
 * that run's pipe as its standard input. It would take the next payload, and the next command would wait forever.
 */
export function startStarter(folder: string, variants: readonly Started[], env: Record<string, string>): Starter {
  const pipes = mkdtempSync(join(folder, 'pipes-'));
  const [order, report] = [join(pipes, 'order'), join(pipes, 'report')];
  spawnSync('mkfifo', [order, report]);
  let made = 0;
  let payloads: string[] = [];
  const nextPayload = (): string => {
    if (payloads.length === 0) {
      payloads = Array.from({ length: PIPES }, (_, n) => join(pipes, `payload-${made + n}`));
      made += PIPES;
      spawnSync('mkfifo', payloads);
    }
    return payloads.pop() ?? '';
  };
  const quote = (text: string): string => `'${text.replaceAll("'", "'\\''")}'`;
  const arms = variants.map(({ command, env: own = {} }, index) => {
    const set = Object.entries(own).map(([name, value]) => `${name}=${quote(value)} `);
    return `${index}) ${set.join('')}${command.map(quote).join(' ')} <"$payload" >&9 2>/dev/null 8<&- 9>&- ;;`;
  });
  const script = `exec 8<${quote(order)} 9>${quote(report)}
while read -r arm payload <&8; do
case $arm in
${arms.join('\n')}
esac
printf '\\n%s\\n' "$?" >&9
done`;
  const shell = spawn('/bin/sh', ['-c', script], { env, cwd: folder, stdio: 'ignore' });
  const orders = openSync(order, 'w');
  const reports = openSync(report, 'r');
  const answer = Buffer.alloc(4096);
  return {
    run(variant) {
      const payload = nextPayload();
      const start = process.hrtime.bigint();
      writeSync(orders, `${variants.indexOf(variant)} ${payload}\n`);
      const input = openSync(payload, 'w');
      for (let at = 0; at < variant.payload.length; ) at += writeSync(input, variant.payload, at);
      closeSync(input);
      let output = '';
      while (!/\n[0-9]+\n$/.test(output)) output += answer.toString('utf8', 0, readSync(reports, answer));
      const wallMs = Number(process.hrtime.bigint() - start) / 1e6;
      unlinkSync(payload);
      if (output !== '\n0\n') throw new Error(`${variant.name} printed, or ended with, ${JSON.stringify(output)}`);
      return wallMs;
    },
    childrenCpuMs() {
      if (process.platform !== 'linux') return 0;
      const stat = readFileSync(`/proc/${shell.pid}/stat`, 'latin1');
      const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
      return (Number(fields[13]) + Number(fields[14])) * 10;
    },
    end() {
      closeSync(orders);
      closeSync(reports);
    },
  };
}

/** Runs in a process of its own: this one only waits for the hooks. */
export function startCollector(folder: string): { process: ChildProcess; url: string } {
  const file = join(folder, 'port');
  const program = `require('node:http').createServer((q, a) => q.resume().on('end', () => a.end()))
    .listen(0, '127.0.0.1', function () { require('node:fs').writeFileSync(process.argv[1], String(this.address().port)) })`;
  const child = spawn(process.execPath, ['-e', program, file], { stdio: 'ignore' });
  for (let waited = 0; !existsSync(file) || readFileSync(file, 'utf8') === ''; waited++) {
    if (waited > 1_000) throw new Error('the collector did not start');
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 10);
  }
  return { process: child, url: `http://127.0.0.1:${readFileSync(file, 'utf8')}` };
}
