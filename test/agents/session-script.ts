/**
 * Reads and plays the sample sessions of agents.
 *
 * `<agent>/*.session` has a line for each moment: the second, then `hook` and its payload, or the name of a file and
 * the row that is written to it (`=` behind the name: the row replaces the file). Lines `# file NAME: path below the
 * home` come first. In the JSON, "@time" is the moment as a text, "@ms" as a number, "@s" in seconds, "@NAME" the path
 * of a file, "@session" the session. `# shares:` lists the types of events that both sources report under one id. Below
 * `---- expected` are the session as a tree, and the used tokens.
 */
import { copyFileSync, mkdirSync, readFileSync, utimesSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { START_MS } from '../play.ts';
import { openHouse } from '../transcripts/house.ts';

export interface Moment {
  seconds: number;
  to: string;
  json: string;
  isWhole: boolean;
}

export interface Script {
  session: string;
  files: Map<string, string>;
  copies: Map<string, string>;
  shares: string[];
  moments: Moment[];
  head: string;
  expected: string;
}

export function scriptIn(path: string): Script {
  const [head = '', expected = ''] = readFileSync(path, 'utf8').split(/^---- expected\n/m);
  const of = (name: string): string => new RegExp(`^# ${name}: (.*)$`, 'm').exec(head)?.[1] ?? '';
  const named = (kind: string) =>
    new Map(
      [...head.matchAll(new RegExp(`^# ${kind} (\\w+): (.*)$`, 'gm'))].map(([, name = '', at = '']) => [name, at]),
    );
  const moments = [...head.matchAll(/^(-?[\d.]+) (\w+)(=?) (.*)$/gm)].map(
    ([, seconds, to = '', whole, json = '']): Moment => ({
      seconds: Number(seconds),
      to,
      json,
      isWhole: whole === '=',
    }),
  );
  const shares = of('shares').split(' ').filter(Boolean);
  return { session: of('session'), files: named('file'), copies: named('copy'), shares, moments, head, expected };
}

/** A house for one session. `header`: further lines of the fragments of hooks. */
export function stage(agent: string, folder: string, script: Script, header: { readonly [name: string]: string } = {}) {
  const house = openHouse(agent, script.session, header);
  const pathOf = (name: string): string => join(house.home, script.files.get(name) ?? name);
  const stamped = ({ json, seconds }: Moment): string => {
    const atMs = START_MS + seconds * 1_000;
    return json
      .replaceAll('"@time"', JSON.stringify(new Date(atMs).toISOString()))
      .replaceAll('"@ms"', String(atMs))
      .replaceAll('"@s"', String(atMs / 1_000))
      .replaceAll('@session', script.session)
      .replace(/@(\w+)/g, (whole, name: string) => (script.files.has(name) ? pathOf(name) : whole));
  };
  const aged = new Set<string>();
  const write = (moment: Moment, text = `${stamped(moment)}\n`): void => {
    const path = pathOf(moment.to);
    mkdirSync(dirname(path), { recursive: true });
    if (moment.isWhole) writeFileSync(path, stamped(moment));
    else house.write(path, text);
    aged.add(path);
    // Rows without times have the time of the file.
    for (const each of aged) utimesSync(each, START_MS / 1_000 + moment.seconds, START_MS / 1_000 + moment.seconds);
  };
  for (const [name, from] of script.copies) {
    mkdirSync(dirname(pathOf(name)), { recursive: true });
    copyFileSync(join(folder, from), pathOf(name));
  }
  const hook = (moment: Moment): void => {
    // Only the fields of the payload: an agent may be recognized by fields that it does not send.
    const bare = { session_id: undefined, transcript_path: undefined, cwd: undefined, hook_event_name: undefined };
    house.hook(moment.seconds, '', { ...bare, ...(JSON.parse(stamped(moment)) as object) });
  };
  const endMs = START_MS + 1_000 * Math.max(...script.moments.map(({ seconds }) => seconds));
  return {
    house,
    script,
    write,
    hook,
    said: stamped,
    round: () => house.round({ nowMs: endMs + 60_000, due: { waiting: house.store.sessions() } }),
    import: (bytes?: number) => house.import({ nowMs: endMs + 86_400_000, ...(bytes === undefined ? {} : { bytes }) }),
    /** The session is silent for so long that it is over. */
    silence: () => house.round({ nowMs: endMs + 86_400_000, due: { silent: house.store.sessions() } }),
  };
}

export type Stage = ReturnType<typeof stage>;

export const isHook = ({ to }: Moment): boolean => to === 'hook';
export const rowsOf = ({ script }: Stage): Moment[] => script.moments.filter(each => !isHook(each));
export const hooksOf = ({ script }: Stage): Moment[] => script.moments.filter(isHook);

/** All rows are written before the hooks arrive, in one round. */
export const whole = (on: Stage): void => {
  for (const each of rowsOf(on)) on.write(each);
  for (const each of hooksOf(on)) on.hook(each);
  on.round();
};
