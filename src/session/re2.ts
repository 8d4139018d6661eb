/**
 * The user's own patterns run on RE2, in time linear to the text, so that a bad pattern cannot hang delivery. The engine is
 * a file of its own that is loaded with the first pattern.
 */
import type { RE2JS } from 're2js';
import { besideUs } from '../lib/beside.ts';

/** The path of the engine, which the build inserts; when run from source, the package. */
declare const __RE2__: readonly string[] | undefined;

/** Throws if the text is not a pattern. */
export function re2(pattern: string, flags = ''): RE2JS {
  const { RE2JS: re } = loaded();
  return re.compile(pattern, flags === 'i' ? re.CASE_INSENSITIVE : 0);
}

interface Engine {
  RE2JS: typeof RE2JS;
}
let engine: Engine | undefined;

/** Sets the engine, for programs that contain it. A bundler of an application does not find a file beside the program. */
export function useEngine(given: Engine): void {
  engine = given;
}

function loaded(): Engine {
  engine ??= besideUs<Engine>(typeof __RE2__ === 'undefined' ? ['re2js'] : __RE2__);
  if (engine === undefined) throw new Error('the engine for patterns is not there');
  return engine;
}
