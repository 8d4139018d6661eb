import { existsSync } from 'node:fs';
import { StdioServerTransport } from '@modelcontextprotocol/sdk/server/stdio.js';
import { localDay } from '../lib/local-day.ts';
import { mcpServer, notice } from '../mcp/server.ts';
import { openStore } from '../store/store.ts';
import { type Io, interruptible, sinceOf, untilOf, type Words } from './command.ts';
import { foldersOf } from './place.ts';

const LOOK_MS = 60_000;

export async function run(words: Words, io: Io): Promise<number> {
  const { state } = foldersOf(words, io);
  const withContent = words.flags['--content'] !== undefined;
  const server = mcpServer({
    open: () => (existsSync(state) ? openStore({ folder: state, access: 'read' }) : undefined),
    withContent,
    sinceOf: word => sinceOf(word, io.now()),
    untilOf: word => untilOf(word, io.now()),
    dayOf: localDay,
  });
  io.err(`otel-hooks mcp: ${notice(withContent)}\n`);
  if (io.isTerminal)
    io.err('Waiting for a client on standard input; docs/mcp.md shows how agents start it. Ctrl-C ends.\n');
  const stop = interruptible();
  // The transport does not notice that the client closed its end.
  process.stdin.once('end', stop.ask);
  try {
    await server.connect(new StdioServerTransport());
    while (!stop.isAsked()) await stop.pause(LOOK_MS);
    return 0;
  } finally {
    process.stdin.off('end', stop.ask);
    stop.end();
    await server.close();
  }
}
