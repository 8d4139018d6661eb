/** The content of an event that fits into a span. The limit keeps the states of open sessions small. */
import type { Event, Facts } from '../event/event.ts';
import { cutText, fitted } from '../lib/fitted.ts';
import type { SpanContent } from './finished.ts';

/** Longest text, and longest JSON of an action's input. */
const MOST = 2_048;

/**
 * Returns `before` with the content of this event. The first value of a part stays; of reasons, the last value stays.
 * Returns undefined if there is no content.
 */
export function contentWith(
  before: SpanContent | undefined,
  event: Event,
  facts: Partial<Facts>,
): SpanContent | undefined {
  const added = contentOf(event, facts);
  let content = before;
  // A stored state drops parts that are undefined, so both forms mean absent.
  for (const name in added) {
    const part = name as keyof SpanContent;
    if (added[part] === undefined || (part !== 'reason' && content?.[part] !== undefined)) continue;
    content = { ...content, [part]: added[part] };
  }
  return content;
}

function contentOf(event: Event, { path, command }: Partial<Facts>): SpanContent {
  switch (event.event_type) {
    case 'Prompt.Submitted':
      return { prompt: cut(event.data.prompt), reason: cut(event.data.decision?.reason) };
    case 'Agent.Response':
      return { response: cut(event.data.response) };
    case 'Agent.Decision':
      return { reason: cut(event.data.decision?.reason) };
    case 'Policy.Blocked':
    case 'Policy.Override':
      return { reason: cut(event.data.reason) };
    case 'Action.Before':
    case 'Action.After': {
      const { action, decision } = event.data;
      const { input, result } = action;
      return {
        input: input === undefined ? undefined : fitted(input, { bytes: MOST }),
        output: cut(result?.output),
        path: cut(path),
        command: cut(command),
        reason: cut(decision?.reason),
      };
    }
    default:
      return {};
  }
}

const cut = (text: string | undefined): string | undefined => (text === undefined ? undefined : cutText(text, MOST));
