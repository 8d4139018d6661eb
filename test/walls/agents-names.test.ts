/** An agent's name appears only under agents/: facts about one agent have one place. */
import { expect, it } from 'vitest';
import { agents } from '../../src/agents/index.ts';
import { type Node, nodes, sources, wordOf } from './sources.ts';

/** Words of ids that are not distinctive; `cursor` has rules of its own below. */
const ordinary = ['code', 'cli', 'cursor'];

/** One word is enough to recognize an agent in any spelling: Claude Code, claude-code, CLAUDE_PROJECT_DIR. */
const telling = [
  ...agents.flatMap(agent => wordsOf(agent.id)).filter(word => !ordinary.includes(word)),
  // The name that Windsurf's hooks use.
  'cascade',
];

/** Ordinary words too: they name the agent if they are the whole text, or are beside another word of the agent. */
const ambiguous = [
  /^cursor$/,
  /\bcursor (agent|ide|cli|hooks?)\b/i,
  /(^|\/)\.cursor\b/,
  /\bcursor-agent\b/,
  /\bCURSOR_[A-Z]/,
];

const elsewhere = sources().filter(source => source.room !== 'agents');

it.each(elsewhere.map(source => [source.path, source] as const))('%s names no agent', (path, source) => {
  expect(nodes(source.program).flatMap(named)).toEqual([]);
  expect(telling.filter(name => wordsOf(path).includes(name))).toEqual([]);
});

it('every agent of the registry has a distinctive word', () => {
  const undocumented = agents
    .map(agent => agent.id)
    .filter(id => id !== 'cursor' && !wordsOf(id).some(word => telling.includes(word)));
  expect(undocumented).toEqual([]);
  expect(telling).toContain('claude');
});

function named(node: Node): string[] {
  const word = wordOf(node);
  // Imports from agents/ contain the name.
  if (word === undefined || node.type === 'ImportSpecifier') return [];
  const isText = node.type !== 'Identifier' && node.type !== 'PrivateIdentifier';
  const tells =
    wordsOf(word).some(part => telling.includes(part)) || (isText && ambiguous.some(pattern => pattern.test(word)));
  return tells ? [word] : [];
}

function wordsOf(text: string): string[] {
  return text
    .replace(/([a-z0-9])([A-Z])/g, '$1 $2')
    .toLowerCase()
    .split(/[^a-z]+/)
    .flatMap(word => [word, word.replace(/^open code$/, 'opencode')]);
}
