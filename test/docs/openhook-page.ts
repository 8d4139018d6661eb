/** The table of docs/openhook.md: which envelopes each agent's hooks and transcripts allow, read off its tables and samples. */
import { type Agent, isAbsent } from '../../src/agents/contract.ts';
import { agents } from '../../src/agents/index.ts';
import type { EventType } from '../../src/event/event.ts';
import { writes } from '../../src/standards/openhook/out.ts';
import { hooksBecome, rowsBecome } from './agents-page.ts';

/** The page with its generated part anew. */
export function withLevels(page: string): string {
  const part = /(<!-- levels: written by `npm run docs` -->\n)[\s\S]*?(<!-- \/levels -->)/;
  if (!part.test(page)) throw new Error('docs/openhook.md has no place for the levels');
  return page.replace(part, (_, begin: string, end: string) => `${begin}\n${table()}\n\n${end}`);
}

const table = (): string =>
  [
    row(
      '',
      'level',
      'session.start',
      'session.end',
      'prompt.submit',
      'tool.start',
      'tool.end',
      'file.write',
      'transcript_path',
    ),
    row(...Array.from({ length: 9 }, () => '---')),
    ...agents.map(agent => {
      const told = toldBy(agent);
      const start = told('Session.Start');
      const others = [told('Prompt.Submitted'), told('Action.Before'), told('Action.After')];
      const isObservable = [start, ...others].every(each => each !== '');
      return row(
        agent.title,
        isObservable ? '2, 3 with our dispatch' : '1',
        start,
        told('Session.End') || 'after an hour of silence',
        ...others,
        told('Action.After') !== '' && Object.values(agent.actions).some(name => Object.hasOwn(writes, name))
          ? 'with `content.paths`'
          : '',
        transcriptOf(agent),
      );
    }),
  ].join('\n');

function toldBy(agent: Agent): (type: EventType) => string {
  const hooks = hooksBecome(agent);
  const rows = rowsBecome(agent);
  return type => [hooks.has(type) ? 'hook' : '', rows.has(type) ? 'transcript' : ''].filter(Boolean).join(', ');
}

function transcriptOf({ transcript }: Agent): string {
  if (isAbsent(transcript)) return `no: ${transcript.absent}`;
  return transcript.told === undefined ? 'no: its hooks name none' : 'as its hooks name it';
}

const row = (...cells: string[]): string => `| ${cells.map(cell => cell.replaceAll('|', '\\|')).join(' | ')} |`;
