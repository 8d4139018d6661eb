/**
 * The names and attributes of spans of the Python package (0.15.0), for users whose queries and dashboards expect them.
 */
import type { Attributes } from '@opentelemetry/api';
import type { FinishedSpan } from '../assemble/finished.ts';
import { development, former, SCOPE } from '../telemetry/names.ts';

/** Undefined for spans that the Python package did not have: sessions, subagents, plans. */
export function formerSpanName(span: FinishedSpan, agent: string): string | undefined {
  switch (span.kind) {
    case 'turn':
      return `${agent} - Turn ${span.number ?? 1}`;
    case 'chat':
      return 'Assistant Response';
    case 'action':
      return `Tool: ${span.tool}`;
    default:
      return undefined;
  }
}

export function formerAttributes(span: FinishedSpan, agent: string, now: Attributes): Attributes {
  const seconds = (span.endMs - span.startMs) / 1000;
  switch (span.kind) {
    case 'turn':
      return {
        [development.system]: SCOPE,
        [former.sourceTool]: agent,
        [former.turnDuration]: seconds,
        [former.prompt]: span.content?.prompt && now[development.inputMessages] && span.content.prompt,
        [former.completion]: span.content?.response && now[development.outputMessages] && span.content.response,
      };
    case 'action':
      return {
        [development.system]: SCOPE,
        [former.toolName]: span.tool,
        [former.toolId]: span.call,
        [former.toolInput]: now[development.toolArguments],
        [former.toolOutput]: now[development.toolResult],
        [former.toolDuration]: span.duration === 'none' ? undefined : seconds,
      };
    case 'chat':
      return { [development.system]: SCOPE };
    default:
      return {};
  }
}
