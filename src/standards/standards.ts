/** The standards that `validate` supports. */

import { hookInterchange } from '../interchange/manifest-validator.ts';
import { agentHooks } from './agent-hooks/agent-hooks-validator.ts';
import { baseCoat } from './base-coat/base-coat-validator.ts';
import { openHook } from './openhook/openhook-validator.ts';
import type { Standard } from './validation.ts';

export const standards: Readonly<Record<string, Standard>> = {
  'agent-hooks': agentHooks,
  openhook: openHook,
  'hook-interchange': hookInterchange,
  'base-coat': baseCoat,
};
