/**
 * Writes a session as one HTML file: the page of `otel-hooks view` with its data inside. The policy of the file permits
 * its own script and style by their hashes and nothing else, so that a text of a session cannot run as code, and the
 * file loads nothing. A reader without scripts gets the tree of the session as text.
 */
import { createHash } from 'node:crypto';
import { own } from '../lib/read.ts';
import type { Snapshot } from '../page/data.ts';

export interface PageFiles {
  readonly html: string;
  readonly script: string;
  readonly style: string;
}

export function htmlFile(snapshot: Snapshot, files: PageFiles, tree: string): string {
  // The text must not end the element that holds it.
  const script = files.script.replaceAll('</script', '<\\/script');
  const style = files.style.replaceAll('</', '<\\/');
  const policy = [
    "default-src 'none'",
    `script-src '${hashOf(script)}'`,
    `style-src '${hashOf(style)}'`,
    'img-src data:',
    "base-uri 'none'",
    "form-action 'none'",
  ].join('; ');
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="content-security-policy" content="${policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="referrer" content="no-referrer">
<title>${escaped(`Session ${snapshot.part.row.session}`)}</title>
<link rel="icon" href="data:,">
<style>${style}</style>
</head>
<body>
<div id="page"></div>
<noscript><main><p>${escaped(snapshot.note)}</p><pre>${escaped(tree)}</pre></main></noscript>
<script type="application/json" id="snapshot">${JSON.stringify(snapshot).replaceAll('<', '\\u003c')}</script>
<script>${script}</script>
</body>
</html>
`;
}

const hashOf = (text: string): string => `sha256-${createHash('sha256').update(text).digest('base64')}`;

const signs: Readonly<Record<string, string>> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;', "'": '&#39;' };

/** Replaces the characters that have a meaning in HTML and XML. */
export const escaped = (text: string): string => text.replace(/[&<>"']/g, sign => own(signs, sign) ?? '');
