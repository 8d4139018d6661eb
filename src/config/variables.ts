/**
 * The variables of OpenTelemetry with their effect: a setting, or a sentence that explains why the variable is ignored.
 * The parsing follows the specification: empty is unset, enumerations ignore case, and a value that cannot be read is
 * reported and ignored.
 */
import { nearest } from '../lib/nearest.ts';
import { own } from '../lib/read.ts';
import type { Problem } from '../problems/problem.ts';
import { parsePairs } from './pairs.ts';
import { factsOf, type Key, keys } from './schema.ts';

/** The value of a setting from a variable, or the reason why the variable sets no value. */
type Reading = { value: unknown } | { bad: string };

export interface VariableSetting {
  key: Key;
  variable: string;
  reading: Reading;
}

export function readVariables(env: Readonly<Record<string, string | undefined>>): {
  settings: VariableSetting[];
  problems: Problem[];
} {
  const settings: VariableSetting[] = [];
  for (const [variable, key] of settable) {
    const text = env[variable]?.trim();
    if (text === undefined || text === '') continue;
    const reading = own(special, variable)?.(text, key) ?? plain(key)(text);
    // An invalid variable that sets several keys causes one problem.
    if ('bad' in reading && settings.some(each => each.variable === variable && 'bad' in each.reading)) continue;
    settings.push({ key, variable, reading });
  }
  return { settings, problems: [...unsupported(env), ...unknown(env)] };
}

/** Variables that set a key, in the order in which they are applied: the standard's, then ours. */
const settable: readonly [string, Key][] = keys
  .flatMap(key => (factsOf(key).variables ?? []).map((variable): [string, Key] => [variable, key]))
  .sort(([a], [b]) => Number(isOurs(a)) - Number(isOurs(b)));

/** Other known variables, which set no key. */
const elsewhere = ['OTEL_HOOKS_CONFIG', 'OTEL_HOOKS_SOURCE_TOOL', 'OTEL_HOOKS_LINGER'];

function isOurs(variable: string): boolean {
  return variable.startsWith('OTEL_HOOKS_');
}

const plain =
  (key: Key) =>
  (text: string): Reading => {
    switch (factsOf(key).text) {
      case 'boolean':
        return /^(true|false)$/i.test(text)
          ? { value: text.toLowerCase() === 'true' }
          : { bad: 'is not true or false' };
      case 'number':
        return /^[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d{1,3})?$/i.test(text)
          ? { value: Number(text) }
          : { bad: 'is not a number' };
      case 'pairs': {
        const value = parsePairs(text);
        return value ? { value } : { bad: 'is not a list of name=value, separated by commas; none of it was used' };
      }
      case 'list':
        return { value: text.split(',').map(word => word.trim().toLowerCase()) };
      case 'word':
        return { value: text.toLowerCase() };
      default:
        return { value: text };
    }
  };

/** Variables whose values differ from those of the key that they set. */
const special: { [variable: string]: (text: string, key: Key) => Reading } = {
  OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT: messageContent,
  // Only the word `true` disables otel-hooks.
  OTEL_SDK_DISABLED: text =>
    /^(true|false)$/i.test(text) ? { value: text.toLowerCase() !== 'true' } : { bad: 'is not true or false' },
  OTEL_LOG_LEVEL: text =>
    /^(none|error|warn|info|debug|verbose|all)$/i.test(text)
      ? { value: /^(debug|verbose|all)$/i.test(text) }
      : { bad: 'is not a log level' },
  // All measurements belong to a trace.
  OTEL_METRICS_EXEMPLAR_FILTER: text =>
    /^(always_on|trace_based|always_off)$/i.test(text)
      ? { value: text.toLowerCase() !== 'always_off' }
      : { bad: 'is not trace_based, always_on or always_off' },
  OTEL_PROPAGATORS: text => {
    const names = text.split(',').map(name => name.trim().toLowerCase());
    const foreign = names.filter(name => !['tracecontext', 'baggage', 'none'].includes(name));
    if (foreign.length > 0 && !names.includes('tracecontext')) {
      return { bad: `names ${foreign.join(', ')}, but only tracecontext is read from the environment` };
    }
    return { value: names.includes('tracecontext') ? 'link' : 'ignore' };
  },
  OTEL_TRACES_EXPORTER: exporter,
  OTEL_METRICS_EXPORTER: exporter,
  OTEL_LOGS_EXPORTER: exporter,
};

/** Accepts the values of instrumentations of models: true, false or a place. The content is redacted. */
function messageContent(text: string, key: Key): Reading {
  const places: { [word: string]: string } = { span_only: 'spans', event_only: 'events', span_and_event: 'both' };
  const word = text.toLowerCase();
  if (word === 'false' || word === 'no_content') return { value: key === 'content.on' ? 'both' : 'off' };
  const place = word === 'true' ? 'both' : own(places, word);
  if (place === undefined) return { bad: 'is not true, false, span_only, event_only, span_and_event or no_content' };
  return { value: key === 'content.on' ? place : 'redacted' };
}

function exporter(text: string): Reading {
  const words = text.split(',').map(word => word.trim().toLowerCase());
  // The output of the provider `console` is the format that the specification calls otlp/stdout.
  const value = words.map(word => (word === 'otlp/stdout' ? 'console' : word));
  const foreign = value.filter(word => !['otlp', 'console', 'none'].includes(word));
  return foreign.length > 0 ? { bad: `names ${foreign.join(', ')}; there are otlp, console and none` } : { value };
}

interface Answer {
  why: string;
  instead: string;
  /** Values that mean the default behaviour. */
  fine?: readonly string[];
}

const outbox = 'bodies wait on disk and leave when a round ends, not by a timer or from a queue in memory';
const noTimer: Answer = { why: outbox, instead: 'unset it; nothing waits for it.' };
const scheme: Answer = {
  why: 'the scheme of an address decides whether TLS is used',
  instead: 'write http:// or https:// in the address.',
};
const noFile: Answer = {
  why: 'otel-hooks does not read declarative configuration files, and the other OTEL_* variables stay in force',
  instead: 'put the settings into the config file of otel-hooks; `otel-hooks config --schema` lists them.',
};

const answered: { readonly [variable: string]: Answer } = {
  OTEL_CONFIG_FILE: noFile,
  OTEL_EXPERIMENTAL_CONFIG_FILE: noFile,
  OTEL_ENTITIES: { why: 'entities are not supported', instead: 'use OTEL_RESOURCE_ATTRIBUTES.' },
  OTEL_EXPORTER_OTLP_INSECURE: scheme,
  OTEL_EXPORTER_OTLP_TRACES_INSECURE: scheme,
  OTEL_EXPORTER_OTLP_METRICS_INSECURE: scheme,
  OTEL_EXPORTER_OTLP_LOGS_INSECURE: scheme,
  OTEL_BSP_SCHEDULE_DELAY: noTimer,
  OTEL_BSP_EXPORT_TIMEOUT: { why: outbox, instead: 'use OTEL_EXPORTER_OTLP_TRACES_TIMEOUT.' },
  OTEL_BSP_MAX_QUEUE_SIZE: noTimer,
  OTEL_BSP_MAX_EXPORT_BATCH_SIZE: { why: 'requests hold up to 512 items', instead: 'unset it.', fine: ['512'] },
  OTEL_BLRP_SCHEDULE_DELAY: noTimer,
  OTEL_BLRP_EXPORT_TIMEOUT: { why: outbox, instead: 'use OTEL_EXPORTER_OTLP_LOGS_TIMEOUT.' },
  OTEL_BLRP_MAX_QUEUE_SIZE: noTimer,
  OTEL_BLRP_MAX_EXPORT_BATCH_SIZE: { why: 'requests hold up to 512 items', instead: 'unset it.', fine: ['512'] },
  OTEL_METRIC_EXPORT_TIMEOUT: {
    why: 'a request has one time limit',
    instead: 'use OTEL_EXPORTER_OTLP_METRICS_TIMEOUT.',
  },
  OTEL_EXPORTER_OTLP_METRICS_DEFAULT_HISTOGRAM_AGGREGATION: {
    why: 'histograms have the bounds that the conventions give them',
    instead: 'unset it, or set it to explicit_bucket_histogram.',
    fine: ['explicit_bucket_histogram'],
  },
};

/** Returns all variables with an effect or a message, for the documents and the allow-list of the front ends. */
export const honouredVariables: readonly string[] = [...new Set(settable.map(([variable]) => variable))];
export const answeredVariables: readonly string[] = Object.keys(answered);
export const answerOf = (variable: string): Answer | undefined => own(answered, variable);

function unsupported(env: Readonly<Record<string, string | undefined>>): Problem[] {
  const found: Problem[] = [];
  for (const [variable, { why, instead, fine }] of Object.entries(answered)) {
    const text = env[variable]?.trim();
    if (text === undefined || text === '' || fine?.includes(text.toLowerCase())) continue;
    found.push({ code: 'variable-unsupported', variable, why, instead });
  }
  return found;
}

/** Many variables of the standard are for other programs. Every variable with our prefix is for otel-hooks. */
function unknown(env: Readonly<Record<string, string | undefined>>): Problem[] {
  const known = [...honouredVariables.filter(isOurs), ...elsewhere];
  return Object.keys(env)
    .filter(variable => isOurs(variable) && !known.includes(variable) && env[variable] !== '')
    .sort()
    .map(variable => ({ code: 'variable-unknown', variable, nearest: nearest(variable, known) }));
}
