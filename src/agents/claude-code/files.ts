/** The files of sessions: `<session>.jsonl` of the main agent, `agent-<id>.jsonl` and a card for each subagent. */
import type { Fields } from '../../event/event.ts';
import { text, word } from '../../lib/read.ts';
import type { FoundSession, Look, Places, SessionPlace, Start, TranscriptFile } from '../contract/contract.ts';
import { isInternal } from './place.ts';

export function filesOf({ main, session, subagents }: SessionPlace, look: Look): TranscriptFile[] {
  if (main === undefined) return [];
  const [folder, stem] = splitPath(main);
  const known = [
    ...subagents,
    ...agentFilesIn(`${stem}/subagents`, look),
    ...look
      .names(`${stem}/subagents/workflows`)
      .flatMap(run => agentFilesIn(`${stem}/subagents/workflows/${run}`, look)),
    ...agentFilesBeside(folder, session, look),
  ];
  const files = new Map<string, TranscriptFile>([[main, { path: main }]]);
  for (const { id, path } of known) {
    if (files.has(path)) continue;
    const card = path.replace(/\.jsonl$/, '.meta.json');
    files.set(path, { path, subagent: isInternal(id) ? undefined : id, beside: [card] });
  }
  return [...files.values()];
}

interface AgentFile {
  id: string;
  path: string;
}

const agentFilesIn = (folder: string, look: Look): readonly AgentFile[] => agentFilesAmong(look.names(folder), folder);

/** The files of subagents in a list, by the list: all sessions of a project share one folder. */
const amongNames = new WeakMap<readonly string[], readonly AgentFile[]>();

function agentFilesAmong(names: readonly string[], folder: string): readonly AgentFile[] {
  const known = amongNames.get(names);
  if (known !== undefined) return known;
  const found = names.flatMap(name => {
    const id = AGENT_FILE.exec(name)?.[1];
    return id === undefined ? [] : [{ id, path: `${folder}/${name}` }];
  });
  amongNames.set(names, found);
  return found;
}

/** Old versions kept the files of all sessions in one folder. The first row of such a file names its session. */
function agentFilesBeside(folder: string, session: string, look: Look): AgentFile[] {
  const names = look.names(folder);
  const isOnly = (): boolean => names.filter(name => name.endsWith('.jsonl') && !AGENT_FILE.test(name)).length === 1;
  const named = ({ path }: AgentFile): string | undefined =>
    /"sessionId"\s*:\s*"([^"]{1,256})"/.exec(look.head(path))?.[1];
  return [
    ...agentFilesAmong(names, folder).filter(file => named(file) === session),
    ...agentFilesIn(`${folder}/subagents`, look).filter(file => (named(file) ?? (isOnly() && session)) === session),
  ];
}

export function installedFiles({ home, env }: Places, look: Look): TranscriptFile[] {
  const projects = `${word(env.CLAUDE_CONFIG_DIR) ?? `${home}/.claude`}/projects`;
  return look.names(projects).flatMap(project =>
    look
      .names(`${projects}/${project}`)
      .filter(name => name.endsWith('.jsonl') && !AGENT_FILE.test(name))
      .map(name => ({ path: `${projects}/${project}/${name}` })),
  );
}

/**
 * Returns the session of a file. The first rows may be copies from another session, so the name of the file decides.
 */
export function sessionsIn(file: TranscriptFile, { rows }: Start): FoundSession[] {
  if (AGENT_FILE.test(file.path.slice(file.path.lastIndexOf('/') + 1))) return [];
  const isOwn = (row: Fields): boolean =>
    isConversation(row) && word(row.sessionId) !== undefined && 'parentUuid' in row;
  const [, stem] = splitPath(file.path);
  const known = rows.find(row => isOwn(row) && stem.endsWith(`/${text(row.sessionId)}`)) ?? rows.find(isOwn);
  return known === undefined ? [] : [{ session: String(known.sessionId), cwd: word(known.cwd) }];
}

const AGENT_FILE = /^agent-([A-Za-z0-9_-]{1,128})\.jsonl$/;

export const isConversation = (row: Fields): boolean =>
  ['user', 'assistant', 'system', 'attachment', 'progress'].includes(text(row.type) ?? '');

function splitPath(path: string): [folder: string, stem: string] {
  const plain = path.replaceAll('\\', '/');
  return [plain.slice(0, plain.lastIndexOf('/')), plain.replace(/\.jsonl$/, '')];
}
