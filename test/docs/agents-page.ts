/** docs/agents.md and the README's table of agents, read off the agents' own tables, samples and sources. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Agent, isAbsent } from '../../src/agents/contract/contract.ts';
import { agents } from '../../src/agents/index.ts';
import { type Fact, facts } from '../../src/agents/shared/truth.ts';
import { eventTypes } from '../../src/event/event.ts';
import { samplesOf } from '../agents/samples.ts';

const root = join(import.meta.dirname, '..', '..');

export function agentsPage(): string {
  const told = agents.map(agent => ({ agent, hooks: hooksBecome(agent), rows: rowsBecome(agent) }));
  return `${[
    '<!-- Written by `npm run docs`; edits are overwritten. -->',
    '',
    '# Agents',
    '',
    'What is known of the sessions of each agent, how well, and against what that was checked.',
    '',
    '## How well it is known',
    '',
    '*exact*: the agent says so itself, and it is told as it was said. *derived*: it is concluded from what the agent says.',
    '*unknown*: nobody says, so nothing is claimed; a number that is unknown is absent, never 0. Below, each agent has the reasons.',
    '',
    row('', ...agents.map(agent => agent.title)),
    row('---', ...agents.map(() => '---')),
    ...factNames.map(fact => row(facts[fact], ...agents.map(agent => agent.truth[fact].known))),
    '',
    '## What is told',
    '',
    'The 23 types of Agent Hooks 0.1: told by a hook, by a transcript, or by both, which then are one event. `Session.Abort` is also',
    "concluded from an hour's silence, whoever the agent is. What no agent tells is left to those who judge.",
    '',
    row('', ...agents.map(agent => agent.title)),
    row('---', ...agents.map(() => '---')),
    ...eventTypes.map(type =>
      row(
        code(type),
        ...told.map(({ hooks, rows }) =>
          [hooks.has(type) ? 'hook' : '', rows.has(type) ? 'transcript' : ''].filter(Boolean).join(', '),
        ),
      ),
    ),
    '',
    ...told.flatMap(({ agent, hooks }) => section(agent, hooks)),
  ]
    .join('\n')
    .trimEnd()}\n`;
}

const factNames = Object.keys(facts) as Fact[];

function section(agent: Agent, hooks: Map<string, Set<string>>): string[] {
  const silent = Object.entries(agent.events).flatMap(([name, event]) =>
    event.register === false ? [code(name)] : [],
  );
  const kept = [...(hooks.get('vendor') ?? [])].map(code);
  return [
    `## ${agent.title}`,
    '',
    `${code(`--tool ${agent.id}`)}${(agent.aliases ?? []).map(name => `, also ${code(name)}`).join('')}. Version ${agent.source.version}, checked ${agent.source.checked} against`,
    `[its documentation](${agent.source.docs}). Its samples follow: ${followed(agent.id).join('; ')}.`,
    '',
    `* Settings: ${isAbsent(agent.settings) ? agent.settings.absent : 'written by `enable`, given back by `disable`'}.`,
    `* Transcripts: ${isAbsent(agent.transcript) ? agent.transcript.absent : 'read'}.`,
    `* [Setting it up, and what is peculiar to it](agents/${agent.id}.md).`,
    '',
    row('what', 'known', 'how, or why not'),
    row('---', '---', '---'),
    ...factNames.map(fact => row(facts[fact], agent.truth[fact].known, agent.truth[fact].how)),
    '',
    row('event', 'hooks'),
    row('---', '---'),
    ...eventTypes.flatMap(type => {
      const names = [...(hooks.get(type) ?? [])].map(code);
      return names.length === 0 ? [] : [row(code(type), names.join(', '))];
    }),
    ...(kept.length === 0 ? [] : [row('kept as `vendor.*`', kept.join(', '))]),
    ...(silent.length === 0 ? [] : [row('understood, not registered', silent.join(', '))]),
    '',
  ];
}

/** What was a sample's model, as its first line says; what is special about the one sample comes after that. */
function followed(id: string): string[] {
  const heads = samplesOf(id).map(({ head }) => /^# ([^;\n]+)/.exec(head)?.[1]?.trim() ?? '');
  return [...new Set(heads)].filter(Boolean).sort();
}

/** Event type, or `vendor`, to the native hooks that become one: the samples are what the agents' tests hold against the code. */
function hooksBecome(agent: Agent): Map<string, Set<string>> {
  const found = new Map<string, Set<string>>();
  for (const { payload, expected } of samplesOf(agent.id)) {
    const native = agent.eventName(payload) ?? agent.eventByShape?.(payload) ?? '';
    for (const [type = ''] of expected.matchAll(/^\S+/gm)) {
      const key = type.startsWith('vendor.') ? 'vendor' : type;
      found.set(key, (found.get(key) ?? new Set()).add(native));
    }
  }
  return found;
}

/** A reader makes no event of a type that neither its source nor what it takes from its folder names. */
function rowsBecome({ id, transcript }: Agent): Set<string> {
  if (isAbsent(transcript)) return new Set();
  const source = (file: string): string => readFileSync(join(root, 'src', 'agents', id, file), 'utf8');
  const reader = source('transcript.ts');
  const taken = [...reader.matchAll(/ from '\.\/([\w-]+\.ts)';/g)].map(([, file = '']) => source(file));
  return new Set(eventTypes.filter(type => [reader, ...taken].some(text => text.includes(`'${type}'`))));
}

/** The README with its generated part anew. */
export function withAgents(readme: string): string {
  const part = /(<!-- agents: written by `npm run docs` -->\n)[\s\S]*?(<!-- \/agents -->)/;
  if (!part.test(readme)) throw new Error('README.md has no place for the table of agents');
  return readme.replace(part, (_, begin: string, end: string) => `${begin}\n${agentsTable()}\n\n${end}`);
}

function agentsTable(): string {
  return [
    row('agent', 'checked with', 'hooks', 'transcripts', 'tokens', 'cost', 'subagents', 'settings'),
    row('---', '---', '---', '---', '---', '---', '---', '---'),
    ...agents.map(({ title, source, events, transcript, truth, settings }) =>
      row(
        title,
        source.version,
        `${Object.values(events).filter(event => event.register !== false).length} of ${Object.keys(events).length}`,
        isAbsent(transcript) ? 'no' : 'read',
        truth.input.known === truth.output.known ? truth.output.known : `${truth.output.known} (output)`,
        truth.cost.known,
        truth.subagents.known,
        isAbsent(settings) ? 'by hand' : '`enable`',
      ),
    ),
  ].join('\n');
}

const row = (...cells: string[]): string => `| ${cells.map(cell => cell.replaceAll('|', '\\|')).join(' | ')} |`;
const code = (text: string): string => `\`${text}\``;
