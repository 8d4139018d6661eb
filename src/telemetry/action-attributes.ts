/** The attributes of an action about its kind, and about the options with which it ran. */
import type { Attributes } from '@opentelemetry/api';
import type { ActionSpan } from '../assemble/finished.ts';
import { kindOfAction } from '../event/action-kinds.ts';
import type { OptionFacts } from '../event/event.ts';
import { ours } from './names.ts';

export const actionAttributes = (span: ActionSpan): Attributes[] => [
  kindAttributes(span),
  optionAttributes(span.options),
];

function kindAttributes({ name, executable, options }: ActionSpan): Attributes {
  const kind = kindOfAction(name, executable, options?.lsp_operation);
  return kind === undefined
    ? {}
    : {
        [ours.actionFamily]: kind.family,
        [ours.actionOperation]: kind.operation,
        [ours.actionSubtype]: kind.subtype,
      };
}

function optionAttributes(options: OptionFacts | undefined): Attributes {
  return options === undefined
    ? {}
    : {
        [ours.actionTimeoutMs]: options.timeout_ms,
        [ours.actionBackground]: options.background,
        [ours.actionOffset]: options.offset,
        [ours.actionLimit]: options.limit,
        [ours.actionOutputMode]: options.output_mode,
        [ours.actionCaseInsensitive]: options.case_insensitive,
        [ours.actionMultiline]: options.multiline,
        [ours.actionReplaceAll]: options.replace_all,
        [ours.actionEditMode]: options.edit_mode,
        [ours.actionAgentModel]: options.agent_model,
      };
}
