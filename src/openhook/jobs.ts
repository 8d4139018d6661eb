/**
 * Jobs: the commands of a discovery file that the user agreed to, each with the envelope that it gets on standard
 * input.
 */
import { loadConfig, type Place } from '../config/files.ts';
import { own } from '../lib/read.ts';
import { type Subscription, wants } from '../standards/openhook/subscriptions.ts';
import { type Envelope, openHookTypes } from '../standards/openhook/to-openhook.ts';
import type { Left, Mark } from './mark.ts';
import { type Discovery, discover, isInCi } from './project.ts';

export interface JobWorld {
  env: Readonly<Record<string, string | undefined>>;
  home: string;
  platform: NodeJS.Platform;
  /** Adds one to a counter of the books. */
  count(name: string): void;
}

/** The folder in which a session works, and the configuration file that it was pinned to. */
type Workplace = Pick<Mark, 'cwd' | 'config'>;

export interface Job extends Workplace {
  root: string;
  file: string;
  hash: string;
  hook: Subscription;
  input: string;
}

type Agreed = Pick<Extract<Discovery, { hash: string }>, 'root' | 'file' | 'hash' | 'hooks'>;

/** Returns the commands that the user agrees to at this moment, or the reason why none may run. */
export function agreedIn({ cwd, config }: Workplace, world: JobWorld): Agreed | { withheld: string | undefined } {
  const place: Place = {
    env: { XDG_CONFIG_HOME: world.env.XDG_CONFIG_HOME, APPDATA: world.env.APPDATA },
    home: world.home,
    platform: world.platform,
    cwd,
    file: config,
  };
  const isOn = loadConfig(place).values['openhook.enabled'] === true;
  const project = isOn ? discover(cwd, place) : undefined;
  if (project === undefined || !project.found) return { withheld: undefined };
  if (project.why !== undefined) return { withheld: 'invalid' };
  if (project.answer !== 'yes') return { withheld: 'not-agreed' };
  return isInCi(world.env) && !project.ci ? { withheld: 'ci' } : project;
}

/** Returns a function from envelopes to jobs. The discovery file is read once for all envelopes of a batch. */
export function jobsIn({ cwd, config }: Workplace, world: JobWorld): (envelope: Envelope) => Job[] {
  const agreed = agreedIn({ cwd, config }, world);
  return envelope => {
    // An envelope that otel-hooks received as OpenHook is not dispatched again.
    if (own(types, envelope.extensions?.['otel-hooks'].native_event ?? '')) return [];
    if ('withheld' in agreed) {
      if (agreed.withheld !== undefined) world.count(`openhook.withheld.${agreed.withheld}`);
      return [];
    }
    const { root, file, hash, hooks } = agreed;
    const input = `${JSON.stringify(envelope)}\n`;
    return hooks
      .filter(hook => wants(hook, envelope.type))
      .map(hook => ({ cwd, config, root, file, hash, hook, input }));
  };
}

/** Returns the jobs that another delivery returned, if the user still agrees to the same file. */
export function jobsLeft({ cwd, config }: Workplace, left: readonly Left[], world: JobWorld): Job[] {
  const agreed = agreedIn({ cwd, config }, world);
  return left.flatMap(({ hash, hook: number, input }) => {
    const hook = 'withheld' in agreed ? undefined : agreed.hooks.find(each => each.number === number);
    if ('withheld' in agreed || hook === undefined || agreed.hash !== hash) {
      world.count(`openhook.withheld.${('withheld' in agreed ? agreed.withheld : undefined) ?? 'not-agreed'}`);
      return [];
    }
    const { root, file } = agreed;
    return [{ cwd, config, root, file, hash, hook, input }];
  });
}

const types: Readonly<Record<string, true>> = Object.fromEntries(openHookTypes.map(type => [type, true]));
