/** The arguments of a call that are not content: numbers, truth values and words of closed sets. */
import type { Fields, OptionFacts } from '../../event/event.ts';
import { fieldsOf, own, text, whole } from '../../lib/read.ts';

type Read = (value: unknown) => number | boolean | string | undefined;
type Options = readonly (readonly [field: string, option: keyof OptionFacts, read: Read])[];

const count: Read = value => (typeof value === 'number' ? whole(value) : undefined);
const flag: Read = value => (typeof value === 'boolean' ? value : undefined);
const oneOf =
  (...words: string[]): Read =>
  value =>
    words.find(word => word === value);

const shell: Options = [
  ['timeout', 'timeout_ms', count],
  ['run_in_background', 'background', flag],
];
const agent: Options = [
  ['run_in_background', 'background', flag],
  // A word such as `sonnet`, or the id of a model.
  ['model', 'agent_model', value => /^[a-z][a-z0-9.-]{0,63}$/.exec(text(value) ?? '')?.[0]],
];

const tools: Readonly<Record<string, Options>> = {
  Bash: shell,
  PowerShell: shell,
  Agent: agent,
  Task: agent,
  Read: [
    ['offset', 'offset', count],
    ['limit', 'limit', count],
  ],
  Grep: [
    ['output_mode', 'output_mode', oneOf('content', 'files_with_matches', 'count')],
    ['-i', 'case_insensitive', flag],
    ['multiline', 'multiline', flag],
    ['head_limit', 'limit', count],
    ['offset', 'offset', count],
  ],
  Edit: [['replace_all', 'replace_all', flag]],
  NotebookEdit: [['edit_mode', 'edit_mode', oneOf('replace', 'insert', 'delete')]],
  LSP: [
    [
      'operation',
      'lsp_operation',
      oneOf(
        'goToDefinition',
        'findReferences',
        'hover',
        'documentSymbol',
        'workspaceSymbol',
        'goToImplementation',
        'prepareCallHierarchy',
        'incomingCalls',
        'outgoingCalls',
      ),
    ],
  ],
};

export function optionsOf(fields: Fields): OptionFacts | undefined {
  const options = own(tools, text(fields.tool_name) ?? '');
  if (options === undefined) return undefined;
  const input = fieldsOf(fields.tool_input);
  const found = options.flatMap(([field, option, read]) => {
    const value = read(input[field]);
    return value === undefined ? [] : [[option, value] as const];
  });
  return found.length === 0 ? undefined : (Object.fromEntries(found) as OptionFacts);
}
