import { besideUs } from '../lib/beside.ts';
import type { PageFiles } from '../view/html-file.ts';
import { distFolder } from './place.ts';

/** Places of the page's file, which the build inserts. */
declare const __PAGE__: readonly string[] | undefined;

/** Returns the parts of the page of `view`; undefined if their file is missing beside this program. */
export const pageFiles = (): PageFiles | undefined =>
  besideUs<PageFiles>(typeof __PAGE__ === 'undefined' ? [`${distFolder()}/page.json`] : __PAGE__);
