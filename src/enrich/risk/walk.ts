/**
 * The state of one walk over the text of a shell: subjects noted so far, variables, fetched files, and the flow between
 * programs.
 */
import { type Place, placesOf, plainPath } from './places.ts';
import { LONGEST_SCRIPT } from './shell.ts';
import type { Subject } from './subject.ts';
import type { Work } from './work.ts';

/** Output of one program, input of the next. */
export interface Flow {
  /** Kinds of its content: download, decoded, decompressed, secret, file, personal. */
  tags: Set<string>;
  /** The content itself, where the command line states it. */
  text: string | undefined;
  /** Paths that it lists. */
  paths: string[];
  /** Programs that it passed through, the latest last. */
  programs: string[];
}

export interface Walk {
  subjects: Subject[];
  workspace: string | undefined;
  /** The current folder, as far as the text states it. */
  cwd: string | undefined;
  /** Files that the text downloaded or decoded, and folders into which it unpacked a download. */
  fetched: Map<string, 'download' | 'decoded'>;
  unpacked: Set<string>;
  /** Variables whose values the text states; the variable of a loop has several. */
  variables: Map<string, readonly string[]>;
  /** Tags of the output that a substitution put into a variable. */
  tagged: Map<string, ReadonlySet<string>>;
  /** Output goes into a variable or an argument. */
  isCaptured: boolean;
  /** A variable states that the commands work on a test environment. */
  isTest: boolean;
  /** A cache: most paths are looked up more than once. */
  places: Map<string, readonly Place[]>;
  /** Names of functions that are defined so far. */
  functions: Set<string>;
  depth: number;
  /** Shared by all commands of one action. */
  work: Work;
}

export const DEEPEST = 6;
/** Some patterns backtrack. Their input is limited to this length, so that no line takes long. */
export const LONGEST_LINE = 512;
export const LONGEST_WORD = 4_096;
export const MOST_WORDS = 256;
export const MOST_NEIGHBOURS = 8;
/** The walk ignores further commands: no useful line has more. */
export const MOST_SUBJECTS = 1_000;

export const newWalk = (workspace: string | undefined, work: Work): Walk => ({
  subjects: [],
  workspace,
  cwd: undefined,
  fetched: new Map(),
  unpacked: new Set(),
  variables: new Map(),
  tagged: new Map(),
  isCaptured: false,
  isTest: false,
  places: new Map(),
  functions: new Set(),
  depth: 0,
  work,
});

/** An empty flow that is only read. */
export const NOTHING: Flow = { tags: new Set(), text: undefined, paths: [], programs: [] };
export const nothing = (): Flow => ({ tags: new Set(), text: undefined, paths: [], programs: [] });

export function merged(flows: readonly Flow[]): Flow {
  const [only] = flows;
  if (only !== undefined && flows.length === 1) return only;
  const all = nothing();
  for (const flow of flows) {
    for (const tag of flow.tags) all.tags.add(tag);
    all.paths = [...all.paths, ...flow.paths].slice(0, MOST_WORDS);
    all.programs = [...all.programs, ...flow.programs].slice(-MOST_NEIGHBOURS);
    // The reader of scripts ignores longer text.
    if (flow.text !== undefined && (all.text?.length ?? 0) < LONGEST_SCRIPT)
      all.text = all.text === undefined ? flow.text : `${all.text}\n${flow.text}`;
  }
  return all;
}

/** The name of a program without its folder. */
export const nameOf = (word: string): string => word.slice(word.lastIndexOf('/') + 1).replace(/\.exe$/i, '');

export function placesIn(path: string, walk: Walk): readonly Place[] {
  const key = `${walk.cwd ?? ''}\0${path}`;
  const known = walk.places.get(key) ?? placesOf(path, walk.cwd, walk.workspace);
  walk.places.set(key, known);
  return known;
}

export const isSecretFile = (path: string, walk: Walk): boolean => placesIn(path, walk).includes('secret');

export const isPersonal = (path: string, walk: Walk): boolean =>
  placesIn(path, walk).some(place => PRIVATE.has(place)) && !placesIn(path, walk).includes('temporary');
const PRIVATE = new Set<Place>(['personal', 'history', 'accounts', 'home']);

export function note(walk: Walk, on: Subject['on'], fields: Subject['fields'], places?: () => readonly Place[]): void {
  if (walk.subjects.length <= MOST_SUBJECTS) walk.subjects.push({ on, fields, places });
}

export function noteRead(path: string, program: string, walk: Walk): Flow {
  const places = placesIn(path, walk);
  note(walk, 'read', { path: [plainPath(path, walk.cwd)], place: places, program: [program] });
  const flow = nothing();
  if (places.includes('harmless-device')) return flow;
  flow.tags.add('file');
  if (places.includes('secret')) flow.tags.add('secret');
  return flow;
}

export function noteWrite(path: string, program: string, how: 'append' | 'replace', walk: Walk): void {
  const fields = { path: [plainPath(path, walk.cwd)], place: placesIn(path, walk) };
  note(walk, 'write', { ...fields, program: [nameOf(program)], how: [how], by: ['shell'] });
}

export function noteDelete(path: string, program: string, how: 'recursive' | 'single', walk: Walk): void {
  const fields = { path: [plainPath(path, walk.cwd)], place: placesIn(path, walk) };
  note(walk, 'delete', { ...fields, program: [program], how: [how] });
}

/** Remembers a file that now holds downloaded or decoded content. */
export function rememberFetched(path: string, { tags }: Flow, walk: Walk): void {
  const how = tags.has('decoded') ? 'decoded' : tags.has('download') ? 'download' : undefined;
  if (how !== undefined) walk.fetched.set(plainPath(path, walk.cwd), how);
}
