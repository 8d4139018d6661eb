/** The guards as scripts, each in the dialect that it was written for. */
import type { HookDocument } from '../../../src/agents/contract/dialect.ts';
import { dialectNamed } from '../../../src/agents/dialects.ts';
import { isFields } from '../../../src/lib/read.ts';
import type { Guard, Thing } from './cases.ts';

export const reasonOf = ({ mark }: Guard): string => `reason-${mark}`;

/** A script that answers to the call with its mark, and to no other. */
export function scriptOf(guard: Guard, project: string): string {
  const { mark, way, source } = guard;
  const reason = reasonOf(guard);
  const answer =
    way === 'exit code'
      ? `echo '${reason}' >&2\nexit 2`
      : `printf '%s\\n' '${JSON.stringify(answerOf(guard, source, reason, project))}'`;
  return `#!/bin/sh\ninput=$(cat)\ncase $input in *ran-${mark}*) ;; *) exit 0 ;; esac\n${answer}\n`;
}

function answerOf({ way, thing, mark }: Guard, source: string, reason: string, project: string): object {
  const input = way === 'updated input' ? inputOf(thing, `new-${mark}`, project) : undefined;
  const answers: Readonly<Record<string, object>> = {
    ask: { decision: 'ask', reason },
    context: { context: reason },
    continue: { continue: false, reason },
  };
  if (answers[way] !== undefined) return answers[way];
  const change = input === undefined ? undefined : nativeInput(source, thing, input, project);
  switch (source) {
    case 'hook-interchange':
      return change === undefined ? { decision: 'deny', reason } : { updated_input: change };
    case 'opencode':
      return change === undefined ? { decision: 'deny', reason } : { updated_input: change };
    case 'gemini-cli':
      return change === undefined ? { decision: 'deny', reason } : { hookSpecificOutput: { tool_input: change } };
    case 'cursor':
      return change === undefined
        ? { permission: 'deny', user_message: reason, agent_message: reason }
        : { permission: 'allow', updated_input: change };
    case 'copilot-cli':
      return change === undefined
        ? { permissionDecision: 'deny', permissionDecisionReason: reason }
        : { modifiedArgs: change };
    case 'cline':
      return change === undefined ? { cancel: true, errorMessage: reason } : { cancel: false, overrideInput: change };
    default:
      return {
        hookSpecificOutput: {
          hookEventName: 'PreToolUse',
          ...(change === undefined
            ? { permissionDecision: 'deny', permissionDecisionReason: reason }
            : { permissionDecision: 'allow', updatedInput: change }),
        },
      };
  }
}

/** The input of a call, in the words of the format. */
export function inputOf(thing: Thing, name: string, project: string): Record<string, unknown> {
  if (thing === 'shell') return { command: `touch ${project}/${name}` };
  return thing === 'MCP' ? { text: name } : { path: `${project}/${name}`, content: `${name}\n` };
}

/** The same input as an agent names its fields. */
function nativeInput(source: string, thing: Thing, input: Record<string, unknown>, cwd: string): unknown {
  const dialect = dialectNamed(source);
  if (dialect === undefined) return input;
  const document: HookDocument = {
    ...{ spec: 'hooks/0.1', version: 1, event: 'before_tool_execute', native_event: '', agent: source, cwd },
    ...(thing === 'MCP' ? { tool: 'put', mcp: { server: 'box', tool: 'put' } } : {}),
    ...(thing === 'shell' ? { tool: 'shell' } : {}),
    ...(thing === 'file write' ? { tool: 'file_write' } : {}),
    tool_input: input,
  };
  const payload = dialect.payload(document);
  const older = isFields(payload.preToolUse) ? payload.preToolUse.parameters : undefined;
  return payload.tool_input ?? payload.toolArgs ?? older ?? { command: payload.command };
}
