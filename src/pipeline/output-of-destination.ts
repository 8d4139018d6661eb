/**
 * The output of a session for one destination. A named destination may have narrower content settings than the session
 * and a share of traces of its own. The settings of the session stay the limit.
 */

import type { FinishedRecord, FinishedSpan, SpanContent } from '../assemble/finished.ts';
import type { Destination } from '../config/destinations.ts';
import { type Keeper, textInMode } from '../enrich/content.ts';
import { keyed } from '../enrich/redact.ts';
import { type ContentClass, contentModes, defaultModes, type Modes } from '../event/content-classes.ts';
import { type Action, type Event, FACTS, type Facts, type Fields, factsOf } from '../event/event.ts';
import { fitted } from '../lib/fitted.ts';
import { keyedHash } from '../lib/hash.ts';
import { fieldsOf, isFields } from '../lib/read.ts';
import { keeperOf } from '../session/own-content.ts';
import type { ContentSettings, Pinned } from '../session/session-state.ts';
import { development } from '../telemetry/names.ts';
import { isHash } from '../telemetry/resource.ts';
import type { SessionOutput } from './session-in-round.ts';

/** Returns the same object if the destination has no settings of its own. `hashKey`: the key of the installation. */
export function outputFor(
  output: SessionOutput,
  { content, sampler }: Pick<Destination, 'content' | 'sampler'>,
  hashKey: () => string,
): SessionOutput {
  const { pinned } = output.state;
  const isSampled = sampler !== undefined && !(pinned.sampler.ofProject && sampler.ratio > pinned.sampler.ratio);
  const from = pinned.content;
  const modes = from === undefined ? defaultModes : from.modes;
  const to = narrowed(modes, content);
  if (to === undefined && !isSampled) return output;
  const sampled: Pinned = isSampled ? { ...pinned, sampler } : pinned;
  if (to === undefined) return { ...output, state: { ...output.state, pinned: sampled } };
  const settings: ContentSettings = from === undefined ? { ...noContent, modes: to } : { ...from, modes: to };
  const narrow = new Narrow(modes, to, keeperOf({ content: settings }), from?.hashKey ?? hashKey);
  return {
    ...output,
    state: {
      ...output.state,
      pinned: {
        ...sampled,
        content: settings,
        user: narrow.name('user', pinned.user),
        resource: narrow.resource(pinned.resource),
      },
    },
    spans: output.spans.map(span => narrow.span(span)),
    records: output.records.map(record => narrow.record(record)),
    choice: output.choice && {
      ...output.choice,
      earlier: output.choice.earlier.map(({ span, isKept }) => ({ span: narrow.span(span), isKept })),
    },
  };
}

const noContent: Omit<ContentSettings, 'modes'> = { on: 'both', longest: 20_000, patterns: [], allow: [] };

/** Undefined if the destination gets what the session keeps. */
function narrowed(modes: Modes, own: Destination['content']): Modes | undefined {
  const narrower = Object.entries(own ?? {}).filter(
    ([of, mode]) => contentModes.indexOf(mode) < contentModes.indexOf(modes[of as ContentClass]),
  );
  return narrower.length === 0 ? undefined : { ...modes, ...Object.fromEntries(narrower) };
}

/** Narrows content from the modes of a session to those of a destination. */
class Narrow {
  private readonly from: Modes;
  private readonly to: Modes;
  private readonly keeper: Keeper | undefined;
  private readonly key: string | (() => string);

  constructor(from: Modes, to: Modes, keeper: Keeper | undefined, key: string | (() => string)) {
    this.from = from;
    this.to = to;
    this.keeper = keeper;
    this.key = key;
  }

  /** Returns a text in the mode of the destination. */
  private text(of: ContentClass, text: string | undefined, field?: string): string | undefined {
    const mode = this.to[of];
    if (mode === this.from[of] || text === undefined) return text;
    const { keeper } = this;
    if (keeper === undefined) return undefined;
    const clean = (each: string): string => keeper.clean(each, field);
    return textInMode(mode, text, { ...keeper, clean });
  }

  /** Returns the name of a person or a machine. */
  name(of: 'user' | 'host', name: string | undefined): string | undefined {
    if (name === undefined || this.to[of] === this.from[of]) return name;
    if (this.to[of] !== 'hash') return this.text(of, name);
    const key = typeof this.key === 'string' ? this.key : this.key();
    return keyed(name, each => keyedHash(key, each));
  }

  resource(resource: Pinned['resource']): Pinned['resource'] {
    const { [development.hostName]: host, ...rest } = resource;
    if (this.to.host === this.from.host || (host === undefined && this.to.host === 'hash')) return resource;
    if (host === undefined) {
      const { [development.hostId]: id, ...others } = rest;
      return id !== undefined && isHash(id) ? others : resource;
    }
    const kept = this.name('host', host);
    if (kept === undefined) return rest;
    return { ...rest, [isHash(kept) ? development.hostId : development.hostName]: kept };
  }

  span(span: FinishedSpan): FinishedSpan {
    if (span.kind !== 'turn' && span.kind !== 'action') return span;
    const content = span.content && this.content(span.content);
    if (span.kind === 'turn') return { ...span, content };
    return { ...span, content, skill: this.skill(span.skill) };
  }

  private content(content: SpanContent): SpanContent {
    const { prompt, response, input, output, path, command, reason } = content;
    return {
      prompt: this.text('prompt', prompt),
      response: this.text('response', response),
      input: this.input(input) as SpanContent['input'],
      output: this.text('results', output),
      path: this.text('paths', path),
      command: this.text('commands', command),
      reason: this.text('response', reason),
    };
  }

  private isKept(of: ContentClass): boolean {
    return this.to[of] === 'redacted' || this.to[of] === 'full';
  }

  private skill(skill: string | undefined): string | undefined {
    return skill === undefined || this.isKept('arguments') ? this.text('arguments', skill) : 'custom';
  }

  private input(input: unknown): unknown {
    if (input === undefined || this.to.arguments === this.from.arguments) return input;
    if (!this.isKept('arguments')) return undefined;
    return fitted(input, {
      bytes: Number.POSITIVE_INFINITY,
      text: (each, field) => this.text('arguments', each, field) ?? '',
    });
  }

  record(record: FinishedRecord): FinishedRecord {
    const { event } = record;
    const facts = factsOf(event);
    const user = event.user && { ...event.user, id: this.name('user', event.user.id) };
    const metadata = facts && { ...event.metadata, [FACTS]: this.facts(facts) };
    const data = this.data(event.data as Fields, event.event_type);
    const changed = { ...event, data, ...(user && { user }), ...(metadata && { metadata }) };
    return { ...record, event: changed as unknown as Event };
  }

  private facts(facts: Facts): Facts {
    return {
      ...facts,
      path: this.text('paths', facts.path),
      cwd: this.text('paths', facts.cwd),
      context_uri: this.text('paths', facts.context_uri),
      command: this.text('commands', facts.command),
      skill: this.skill(facts.skill),
      edits: facts.edits?.map(edit => ({ ...edit, path: this.text('paths', edit.path) })),
      content: this.hashes(facts.content),
    };
  }

  /** A hash of a path or a command is content of a session that keeps hashes. */
  private hashes(content: Facts['content']): Facts['content'] {
    if (content === undefined) return undefined;
    const off: readonly [string, ContentClass][] = [
      ['path', 'paths'],
      ['command', 'commands'],
    ];
    const gone = off.filter(([, of]) => this.to[of] !== 'hash').map(([field]) => field);
    return Object.fromEntries(Object.entries(content).filter(([field]) => !gone.includes(field)));
  }

  private data(data: Fields, type: string): Fields {
    const texts: { [field: string]: ContentClass } = {
      prompt: 'prompt',
      response: 'response',
      message: 'response',
      error_message: 'results',
      // The reason of a retry that is a single word is a class and not content.
      ...(type === 'Retry.Triggered' && /^[\w-]{1,32}$/.test(String(data.reason)) ? {} : { reason: 'response' }),
    };
    const changed: { [field: string]: unknown } = { ...data };
    for (const [field, of] of Object.entries(texts))
      if (typeof data[field] === 'string') changed[field] = this.text(of, data[field]);
    const { decision, action } = data;
    if (isFields(decision) && typeof decision.reason === 'string')
      changed.decision = { ...decision, reason: this.text('response', decision.reason) };
    if (isFields(action)) changed.action = this.action(action as unknown as Action);
    return changed;
  }

  private action(action: Action): Action {
    const { result } = action;
    return {
      ...action,
      input: this.input(action.input) as Action['input'],
      ...(result === undefined
        ? {}
        : {
            result: {
              ...result,
              output: this.text('results', result.output),
              error_message: this.text('results', fieldsOf(result).error_message as string | undefined),
            },
          }),
    };
  }
}
