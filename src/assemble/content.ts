/** What an event says of content, as far as its span has room for it: states of open sessions stay small. */
import type { Event, Facts } from '../event/event.ts';
import { cutText, fitted } from '../lib/fitted.ts';
import type { SpanContent } from './finished.ts';

/** Of each text; and of what an action is given, as JSON. */
const MOST = 2_048;

/** `before` with what this event adds; undefined: nothing was said. What was said first stays. */
export function contentWith(
  before: SpanContent | undefined,
  event: Event,
  facts: Partial<Facts>,
): SpanContent | undefined {
  const said = saidBy(event, facts);
  for (const name in said) if (said[name as keyof SpanContent] !== undefined) return { ...said, ...before };
  return before;
}

function saidBy(event: Event, { path, command }: Partial<Facts>): SpanContent {
  switch (event.event_type) {
    case 'Prompt.Submitted':
      return { prompt: cut(event.data.prompt) };
    case 'Agent.Response':
      return { response: cut(event.data.response) };
    case 'Action.Before':
    case 'Action.After': {
      const { input, result } = event.data.action;
      return {
        input: input === undefined ? undefined : fitted(input, { bytes: MOST }),
        output: cut(result?.output),
        path: cut(path),
        command: cut(command),
      };
    }
    default:
      return {};
  }
}

const cut = (text: string | undefined): string | undefined => (text === undefined ? undefined : cutText(text, MOST));
