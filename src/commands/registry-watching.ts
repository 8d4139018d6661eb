/** The commands that watch running sessions, and that answer questions of people and programs about recorded ones. */
import { exampleAgent } from '../agents/index.ts';
import type { Command } from './command.ts';

export const commandsOfWatching: Command[] = [
  {
    name: 'top',
    summary: 'watch running sessions: what each does now, its context, its cost, and whether it waits for a person',
    usage: 'otel-hooks top [--tool AGENT] [--once] [--json]',
    notes: [
      'On a terminal: a screen that is drawn each second, with the sessions that wait for a person first. q or Ctrl-C quits.',
      'Elsewhere: a line for each change, until Ctrl-C; with --json an object for each change. A plus sign behind a cost says that',
      'some tokens have no price. A narrow terminal drops columns, but never the cost.',
    ],
    flags: [
      { name: '--tool', value: 'AGENT', summary: `only this agent's, such as ${exampleAgent.id}` },
      { name: '--once', summary: 'print the present state and end' },
    ],
    example: 'otel-hooks top',
    load: () => import('./top.ts'),
  },
  {
    name: 'mcp',
    summary: 'answer questions of agents about recorded sessions, as an MCP server on standard input and output',
    usage: 'otel-hooks mcp [--content]',
    notes: [
      'Agents start it; docs/mcp.md has the settings of each. Its tools only read: list_sessions, session_tree, cost_report, failures',
      'and risky_actions. Answers reach the model that asks, and so its vendor. They consist of names, numbers and closed words, and',
      'leave out content (prompts, responses, commands, paths, outputs), also if the journals hold it.',
    ],
    flags: [{ name: '--content', summary: 'also return the content that the journals hold' }],
    example: 'otel-hooks mcp',
    load: () => import('./mcp.ts'),
  },
  {
    name: 'query',
    summary: 'run an SQL query over sessions, turns, responses, actions, decisions and events',
    usage: "otel-hooks query 'SQL' [--since 30d] [--csv] [--json] [--limit N] | --schema",
    notes: [
      "The dialect is SQLite's; - reads the query from standard input. It reads the journals of this machine into memory, changes",
      'nothing and sends nothing. A query of sessions alone reads the index only. docs/query.md has ten queries with their output.',
      'Exits 1 when the query cannot be run, and shows the place.',
    ],
    flags: [
      { name: '--schema', summary: 'list the tables and their columns' },
      { name: '--since', value: 'TIME', summary: 'only sessions with events since then (12h, 30d, 2026-11-30)' },
      { name: '--csv', summary: 'print CSV' },
      { name: '--limit', value: 'N', summary: 'print at most N rows (default 10000; 0 for all)' },
    ],
    words: ['SQL'],
    mostWords: 1,
    example: "otel-hooks query 'SELECT repository, sum(cost_usd) FROM sessions GROUP BY 1'",
    load: () => import('./query.ts'),
  },
];
