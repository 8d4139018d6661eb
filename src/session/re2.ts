/**
 * People's own patterns run on RE2, in time that grows with the text alone: whoever writes a bad one hurts nobody. That
 * engine is a file of its own and is loaded where there is such a pattern.
 */
import type { RE2JS } from 're2js';
import { besideUs } from '../lib/beside.ts';

/** Where the engine lies: put in by the build; the package itself when run from source. */
declare const __RE2__: readonly string[] | undefined;

/** Throws where the text is no pattern. */
export function re2(pattern: string, flags = ''): RE2JS {
  const { RE2JS: re } = loaded();
  return re.compile(pattern, flags === 'i' ? re.CASE_INSENSITIVE : 0);
}

interface Engine {
  RE2JS: typeof RE2JS;
}
let engine: Engine | undefined;

function loaded(): Engine {
  engine ??= besideUs<Engine>(typeof __RE2__ === 'undefined' ? ['re2js'] : __RE2__);
  if (engine === undefined) throw new Error('the engine for patterns is not there');
  return engine;
}
