/** The standards that `validate` knows. */
import { agentHooks } from './agent-hooks/validate.ts';
import { baseCoat } from './base-coat/validate.ts';
import { hookInterchange } from './interchange/validate.ts';
import { openHook } from './openhook/validate.ts';
import type { Standard } from './report.ts';

export const standards: Readonly<Record<string, Standard>> = {
  'agent-hooks': agentHooks,
  openhook: openHook,
  'hook-interchange': hookInterchange,
  'base-coat': baseCoat,
};
