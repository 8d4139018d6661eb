/** Offers the import of transcripts when no session is recorded yet, and shows its progress. */
import { h, type JSX } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { request } from './api.ts';
import type { ImportState } from './data.ts';
import { count, counted } from './format.ts';

const ASK_MS = 500;

export function ImportOffer({ isEmpty }: { isEmpty: boolean }): JSX.Element | null {
  const [state, setState] = useState<ImportState>();
  const isRunning = state?.state === 'running';
  useEffect(() => {
    if (!isEmpty && !isRunning) return;
    const ask = (): void => void request<ImportState>('/api/import').then(setState, () => undefined);
    ask();
    const timer = setInterval(ask, ASK_MS);
    return () => clearInterval(timer);
  }, [isEmpty, isRunning]);
  if (state === undefined || state.state === 'none' || (state.state === 'possible' && !isEmpty)) return null;
  const { transcripts, doneTranscripts, bytes, doneBytes, message } = state;
  const size = `${(bytes / 1_000_000).toFixed(1)} MB`;
  if (state.state === 'possible')
    return h(
      'section',
      { class: 'note', 'aria-label': 'Import' },
      h(
        'p',
        null,
        `The agents on this machine keep ${counted(transcripts, 'transcript')} (${size}). Their sessions can be shown here.`,
      ),
      h(
        'p',
        null,
        'The import reads the transcripts and writes journals on this machine. If a destination is configured, the sessions are sent to it as well.',
      ),
      h(
        'button',
        { type: 'button', onClick: () => void request<ImportState>('/api/import', 'POST').then(setState) },
        'Import the transcripts',
      ),
    );
  if (isRunning)
    return h(
      'section',
      { class: 'note', 'aria-label': 'Import', role: 'status' },
      h(
        'label',
        null,
        `Importing: ${count(doneTranscripts)} of ${count(transcripts)} transcripts `,
        h('progress', { value: doneBytes, max: Math.max(1, bytes) }),
      ),
    );
  return h(
    'p',
    { class: state.state === 'failed' ? 'note note-bad' : 'note', role: 'status' },
    message ?? 'The import is done.',
  );
}
