/** The page of `otel-hooks view`. Its address behind `#` says what it shows, so that a view can be linked. */
import { h, type JSX, render } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { snapshot } from './api.ts';
import { List } from './list.ts';
import { Session } from './session.ts';

function App(): JSX.Element {
  const [hash, setHash] = useState(location.hash);
  useEffect(() => {
    const change = (): void => setHash(location.hash);
    window.addEventListener('hashchange', change);
    return () => window.removeEventListener('hashchange', change);
  }, []);
  const [, key, words = ''] = /^#\/session\/([^?]+)(?:\?(.*))?$/.exec(hash) ?? [];
  const span = new URLSearchParams(words).get('span') ?? undefined;
  if (snapshot !== undefined) return h(Session, { sessionKey: snapshot.part.row.key, span });
  if (key === undefined) return h(List, {});
  return h(Session, { key, sessionKey: decoded(key), span });
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

const root = document.getElementById('page');
if (root !== null) render(h(App, null), root);
