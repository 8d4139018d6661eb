import type { Resource } from '@opentelemetry/resources';
import { hexDigest } from '../lib/hash.ts';
import { VERSION } from '../lib/version.ts';
import { development, SCOPE, stable } from './names.ts';

export interface ResourceFacts {
  agent: string;
  serviceName: string | undefined;
  attributes: Readonly<Record<string, string>>;
  installation: string;
  /** The name of the machine, or its hash, if the configuration asks for it. */
  hostName?: string | undefined;
}

export type Plain = Readonly<Record<string, string>>;

/**
 * Returns the attributes of the resource. They are the same for all sessions of an agent on a machine with the same
 * configuration, and do not identify a session, process or person.
 */
export function resourceAttributes(facts: ResourceFacts): Plain {
  const service = facts.serviceName ?? facts.attributes[stable.serviceName] ?? facts.agent;
  const own: Record<string, string> = {
    ...facts.attributes,
    [stable.serviceName]: service,
    [stable.telemetryDistroName]: 'otel-hooks',
    [stable.telemetryDistroVersion]: VERSION,
    [stable.telemetrySdkLanguage]: 'nodejs',
    [stable.telemetrySdkName]: 'opentelemetry',
  };
  const { hostName } = facts;
  if (hostName !== undefined) own[isHash(hostName) ? development.hostId : development.hostName] ??= hostName;
  own[stable.serviceInstanceId] ??= instanceId(facts);
  return sorted(own);
}

/** Metrics must not change their identity with an upgrade, so their resource carries no versions. */
export function metricResource(attributes: Plain): Plain {
  const versions: string[] = [stable.telemetryDistroVersion, stable.serviceVersion];
  return Object.fromEntries(Object.entries(attributes).filter(([name]) => !versions.includes(name)));
}

/** One object, because the serializers begin a new scope in the body for each object that they meet. */
export const instrumentationScope = { name: SCOPE, version: VERSION };

export function resourceOf(attributes: Plain): Resource {
  return {
    attributes,
    getRawAttributes: () => Object.entries(attributes),
    merge: () => resourceOf(attributes),
  };
}

/** Returns resources with the version of the agent that each item states. A version that the user configured stays. */
export function versioned(attributes: Plain): (version: string | undefined) => Resource {
  const base = resourceOf(attributes);
  const known = new Map<string | undefined, Resource>([[undefined, base]]);
  return version => {
    const before = known.get(version);
    if (before !== undefined) return before;
    const own = attributes[stable.serviceVersion] ?? version ?? '';
    const made = resourceOf(sorted({ ...attributes, [stable.serviceVersion]: own }));
    known.set(version, made);
    return made;
  };
}

/** Returns a UUID in the namespace that the convention defines for service instances. */
function instanceId(facts: ResourceFacts): string {
  const { attributes = {} } = facts;
  // Most machines set no attributes, and this runs in each round.
  const fixed = Object.keys(attributes).length === 0 ? '{}' : JSON.stringify(sorted({ ...attributes }));
  const hex = hexDigest(
    '4d63009a-8d0f-11ee-aad7-4c796ed8e320',
    facts.installation,
    facts.agent,
    facts.serviceName ?? '',
    fixed,
  );
  const variant = ((Number.parseInt(hex.slice(16, 18), 16) & 0x3f) | 0x80).toString(16);
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-5${hex.slice(13, 16)}-${variant}${hex.slice(18, 20)}-${hex.slice(20, 32)}`;
}

/** Returns true if a text is a hash of a person, a machine or content. */
export const isHash = (text: string): boolean => text.startsWith('hmac-sha256:');

const sorted = (attributes: Record<string, string>): Plain =>
  Object.fromEntries(Object.entries(attributes).sort(([a], [b]) => (a < b ? -1 : 1)));
