/**
 * The agents as providers of the Hook Interchange Format. Only commands import this: delivery has no use for these
 * tables.
 */
import type { Provider } from '../interchange/provider.ts';
import { type Absent, isAbsent } from './contract/contract.ts';
import { agents } from './index.ts';

/** The providers of an agent, by its id. */
export const interchanges: Readonly<Record<string, readonly Provider[] | Absent>> = Object.fromEntries(
  await Promise.all(
    agents.map(async ({ id, interchange }) => [id, isAbsent(interchange) ? interchange : await interchange()] as const),
  ),
);

export const providers: readonly Provider[] = Object.values(interchanges).flatMap(known => providersOf(known));

/** Returns the provider of this name, or the first one of the agent of this name. */
export function providerNamed(name: string): Provider | undefined {
  const ofAgent = Object.hasOwn(interchanges, name) ? interchanges[name] : undefined;
  return providers.find(({ slug }) => slug === name) ?? providersOf(ofAgent ?? [])[0];
}

function providersOf(known: readonly Provider[] | Absent): readonly Provider[] {
  return isAbsent(known) ? [] : known;
}
