import { createReadStream } from 'node:fs';
import { hookInterchange } from '../interchange/manifest-validator.ts';
import { standards } from '../standards/standards.ts';
import type { Asked, Report, Standard } from '../standards/validation.ts';
import { flagText, type Io, UsageError, type Words } from './command.ts';
import { sarifOf } from './sarif.ts';
import { cannotRead } from './text.ts';

const formats = ['text', 'json', 'sarif'];

export async function run(words: Words, io: Io): Promise<number> {
  const standard = standardNamed(flagText(words, '--standard'));
  const format = flagText(words, '--format') ?? (words.flags['--json'] ? 'json' : 'text');
  if (!formats.includes(format)) throw new UsageError(`unknown format ${format}; known: ${formats.join(', ')}`);
  const level = flagText(words, '--level');
  if (level !== undefined && !/^[1-3]$/.test(level)) throw new UsageError(`--level is 1, 2 or 3, not ${level}`);
  const asked: Asked = {
    strict: words.flags['--strict'] === true,
    open: words.flags['--open'] === true,
    level: level === undefined ? undefined : Number(level),
    interchange: standard === hookInterchange ? (await import('./interchange.ts')).known : undefined,
  };
  if (words.rest.length === 0) throw new UsageError('a FILE is needed (- for standard input)');
  const reports: Report[] = [];
  let isUnread = false;
  for (const file of words.rest) {
    try {
      reports.push(await reportOn(file, standard, asked));
    } catch (error) {
      isUnread = true;
      io.err(`otel-hooks: ${cannotRead(file, error)}\n`);
    }
  }
  const [only, ...others] = reports;
  if (format === 'sarif') io.out(`${JSON.stringify(sarifOf(reports, standard), null, 2)}\n`);
  else if (format === 'json')
    io.out(`${JSON.stringify(others.length === 0 && only !== undefined ? only : reports, null, 2)}\n`);
  else for (const report of reports) io.out(textOf(report, standard));
  return isUnread || reports.some(report => !report.ok) ? 1 : 0;
}

function standardNamed(name: string | undefined): Standard {
  const known = Object.keys(standards).join(', ');
  if (name === undefined) throw new UsageError(`--standard is missing: ${known}`);
  const standard = standards[name];
  if (standard === undefined) throw new UsageError(`unknown standard ${name}; known: ${known}`);
  return standard;
}

async function reportOn(file: string, standard: Standard, asked: Asked): Promise<Report> {
  const validation = standard.validation(file === '-' ? 'standard input' : file, asked);
  // Not through the descriptor, because the writer may have made the pipe non-blocking.
  const stream =
    file === '-'
      ? process.stdin.setEncoding('utf8')
      : createReadStream(file, { encoding: 'utf8', highWaterMark: 1 << 20 });
  for await (const piece of stream) validation.write(String(piece));
  return validation.end();
}

function textOf(report: Report, { rules }: Standard): string {
  const lines = report.findings.map(({ level, rule, line, column, field, why }) => {
    const asks = rules[rule];
    const where = field === '' ? '' : ` ${field}`;
    return `${report.name}:${line}:${column} ${level} ${rule}${where}\n  ${why}${asks ? `\n  ${asks.asks} (${asks.clause})` : ''}`;
  });
  if (report.omitted > 0) lines.push(`and ${report.omitted} more`);
  for (const { source, level, missing } of report.levels ?? []) {
    const lacks = missing.length === 0 ? '' : `; the next one lacks ${missing.join(', ')}`;
    lines.push(`${report.name}: ${source} reaches level ${level}${lacks}`);
  }
  const noun = report.events === 1 ? 'event' : 'events';
  const counted = report.format === 'file' ? '' : `: ${report.valid} of ${report.events} ${noun}`;
  const notes = report.notes === 0 ? '' : `, ${report.notes} notes`;
  lines.push(
    `${report.name}: ${report.ok ? 'valid' : 'not valid'}${counted} (${report.standard} ${report.version}, ${report.format}), ${report.errors} errors, ${report.warnings} warnings${notes}`,
  );
  return `${lines.join('\n')}\n`;
}
