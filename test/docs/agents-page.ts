/** docs/agents.md, computed from the agents' tables, samples and sources. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Agent, isAbsent, type Registration } from '../../src/agents/contract/contract.ts';
import { agents } from '../../src/agents/index.ts';
import { type Fact, facts } from '../../src/agents/shared/truth.ts';
import { eventTypes } from '../../src/event/event.ts';
import { samplesOf } from '../agents/samples.ts';
import { knownBy, meaningOfKnown, ranWith } from './real-agents-page.ts';

const root = join(import.meta.dirname, '..', '..');

export function agentsPage(): string {
  const rowsOfAgents = agents.map(agent => ({ agent, hooks: hooksBecome(agent), rows: rowsBecome(agent) }));
  return `${[
    '<!-- Written by `npm run docs`; edits are overwritten. -->',
    '',
    '# Agents',
    '',
    'This page lists which facts otel-hooks knows about the sessions of each agent, how it knows them, and which version of the',
    'agent was checked: *checked with* has the version that the [scenarios](real-agents.md) ran with, or the versions of the',
    'samples. Column *hooks* has the number of hooks that `enable` registers, and the number that otel-hooks understands.',
    '',
    ...summary(),
    '',
    '## How each fact is known',
    '',
    ...meaningOfKnown,
    '',
    'The section of each agent has the reasons.',
    '',
    row('', ...agents.map(agent => agent.title)),
    row('---', ...agents.map(() => '---')),
    ...factNames.map(fact => row(facts[fact], ...agents.map(agent => knownBy(agent, fact)))),
    '',
    '## Where each event comes from',
    '',
    'Agent Hooks 0.1 has 23 event types. A cell says whether a hook, a transcript or both report the event. When both report it, the',
    'journal has one event. otel-hooks itself records `Session.Abort` after an hour without events, for every agent. An empty row means',
    'that no agent reports this type.',
    '',
    row('', ...agents.map(agent => agent.title)),
    row('---', ...agents.map(() => '---')),
    ...eventTypes.map(type =>
      row(
        code(type),
        ...rowsOfAgents.map(({ hooks, rows }) =>
          [hooks.has(type) ? 'hook' : '', rows.has(type) ? 'transcript' : ''].filter(Boolean).join(', '),
        ),
      ),
    ),
    '',
    ...rowsOfAgents.flatMap(({ agent, hooks }) => section(agent, hooks)),
  ]
    .join('\n')
    .trimEnd()}\n`;
}

const factNames = Object.keys(facts) as Fact[];

function section(agent: Agent, hooks: Map<string, Set<string>>): string[] {
  const named = (...kinds: readonly Registration[]): string[] =>
    Object.entries(agent.events).flatMap(([name, { register }]) =>
      register !== undefined && kinds.includes(register) ? [code(name)] : [],
    );
  const rowOf = (when: string, names: readonly string[]): string[] =>
    names.length > 0 ? [row(when, names.join(', '))] : [];
  const kept = [...(hooks.get('vendor') ?? [])].map(code);
  return [
    `## ${agent.title}`,
    '',
    `${code(`--tool ${agent.id}`)}${(agent.aliases ?? []).map(name => `, also ${code(name)}`).join('')}. Version ${agent.source.version}, checked ${agent.source.checked} against`,
    `[its documentation](${agent.source.docs}). The samples of its payloads follow: ${followed(agent.id).join('; ')}.`,
    '',
    `* Settings: ${isAbsent(agent.settings) ? agent.settings.absent : '`enable` writes them, `disable` restores them'}.`,
    `* Transcripts: ${isAbsent(agent.transcript) ? agent.transcript.absent : 'read'}.`,
    `* [Setup and peculiarities](agents/${agent.id}.md).`,
    '',
    row('fact', 'known', 'how, or why not'),
    row('---', '---', '---'),
    ...factNames.map(fact => row(facts[fact], knownBy(agent, fact), agent.truth[fact].how)),
    '',
    row('event', 'hooks'),
    row('---', '---'),
    ...eventTypes.flatMap(type => {
      const names = [...(hooks.get(type) ?? [])].map(code);
      return names.length === 0 ? [] : [row(code(type), names.join(', '))];
    }),
    ...(kept.length === 0 ? [] : [row('recorded as `vendor.*`', kept.join(', '))]),
    ...rowOf('registered with `--all-events`', named('all')),
    ...rowOf('registered with `--include EVENT`', named('named')),
    ...rowOf('registered with `--include EVENT=FILE`', named('files')),
    ...rowOf('registered with `--status-line`', named('status-line')),
    ...rowOf('understood, but never registered', named(false)),
    '',
  ];
}

/** The versions and dates that the first lines of the samples name. */
function followed(id: string): string[] {
  const heads = samplesOf(id).map(({ head }) => /^# ([^;\n]+)/.exec(head)?.[1]?.trim() ?? '');
  return [...new Set(heads)].filter(Boolean).sort();
}

/** Maps each event type, or `vendor`, to the native hooks that become such an event, according to the samples. */
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

/** The event types that the source of a transcript reader names, itself or in the files of its folder that it imports. */
function rowsBecome({ id, transcript }: Agent): Set<string> {
  if (isAbsent(transcript)) return new Set();
  const source = (file: string): string => readFileSync(join(root, 'src', 'agents', id, file), 'utf8');
  const reader = source('transcript.ts');
  const taken = [...reader.matchAll(/ from '\.\/([\w-]+\.ts)';/g)].map(([, file = '']) => source(file));
  return new Set(eventTypes.filter(type => [reader, ...taken].some(text => text.includes(`'${type}'`))));
}

function summary(): string[] {
  return [
    row('agent', 'checked with', 'hooks', 'transcripts', 'tokens', 'cost', 'subagents', 'settings'),
    row('---', '---', '---', '---', '---', '---', '---', '---'),
    ...agents.map(agent => {
      const { title, source, events, transcript, settings } = agent;
      const [input, output] = [knownBy(agent, 'input'), knownBy(agent, 'output')];
      return row(
        title,
        ranWith(agent.id).join(', ') || `${source.version} (samples)`,
        `${Object.values(events).filter(event => event.register === undefined).length} of ${Object.keys(events).length}`,
        isAbsent(transcript) ? 'no' : 'read',
        input === output ? output : `${output} (output)`,
        knownBy(agent, 'cost'),
        knownBy(agent, 'subagents'),
        isAbsent(settings) ? 'by hand' : '`enable`',
      );
    }),
  ];
}

const row = (...cells: string[]): string => `| ${cells.map(cell => cell.replaceAll('|', '\\|')).join(' | ')} |`;
const code = (text: string): string => `\`${text}\``;
