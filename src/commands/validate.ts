import { readFileSync } from 'node:fs';
import { rules } from '../standards/agent-hooks/rules.ts';
import { validateAgentHooks } from '../standards/agent-hooks/validate.ts';
import type { Report, Rule } from '../standards/report.ts';
import { flagText, type Io, UsageError, type Words } from './command.ts';

const standards = ['agent-hooks'];

export function run(words: Words, io: Io): number {
  const standard = flagText(words, '--standard');
  if (standard === undefined) throw new UsageError(`--standard is missing: ${standards.join(', ')}`);
  if (!standards.includes(standard))
    throw new UsageError(`unknown standard ${standard}; known: ${standards.join(', ')}`);
  const [file, ...more] = words.rest;
  if (file === undefined || more.length > 0) throw new UsageError('one FILE is needed (- for standard input)');
  let text: string;
  try {
    text = readFileSync(file === '-' ? 0 : file, 'utf8');
  } catch (error) {
    io.err(`otel-hooks: ${file} cannot be read: ${error instanceof Error ? error.message : String(error)}\n`);
    return 1;
  }
  const report = validateAgentHooks(text, file === '-' ? 'standard input' : file);
  io.out(words.flags['--json'] ? `${JSON.stringify(report, null, 2)}\n` : textOf(report));
  return report.ok ? 0 : 1;
}

function textOf(report: Report): string {
  const known: Readonly<Record<string, Rule>> = rules;
  const lines = report.findings.map(({ level, rule, line, column, field, why }) => {
    const asks = known[rule];
    return `${report.name}:${line}:${column} ${level} ${rule} ${field}\n  ${why}${asks ? `\n  ${asks.asks} (${asks.clause})` : ''}`;
  });
  if (report.omitted > 0) lines.push(`and ${report.omitted} more`);
  const verdict = report.ok ? 'valid' : 'not valid';
  const noun = report.events === 1 ? 'event' : 'events';
  lines.push(
    `${report.name}: ${verdict}: ${report.valid} of ${report.events} ${noun} (${report.standard} ${report.version}, ${report.format}), ${report.errors} errors, ${report.warnings} warnings`,
  );
  return `${lines.join('\n')}\n`;
}
