/** What an event says of content, as far as its span has room for it: states of open sessions stay small. */
import type { Event, Facts } from '../event/event.ts';
import { cutText, fitted } from '../lib/fitted.ts';
import type { SpanContent } from './finished.ts';

/** Of each text; and of what an action is given, as JSON. */
const MOST = 2_048;

/** `before` with what this event adds; undefined: nothing was said. What was said first stays, but of reasons the last. */
export function contentWith(
  before: SpanContent | undefined,
  event: Event,
  facts: Partial<Facts>,
): SpanContent | undefined {
  const said = saidBy(event, facts);
  let content = before;
  // An absent part is none, whether its name is there or a stored state has dropped it.
  for (const name in said) {
    const part = name as keyof SpanContent;
    if (said[part] === undefined || (part !== 'reason' && content?.[part] !== undefined)) continue;
    content = { ...content, [part]: said[part] };
  }
  return content;
}

function saidBy(event: Event, { path, command }: Partial<Facts>): SpanContent {
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
