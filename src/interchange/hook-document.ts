/** The schema of the document that `run-hook` gives to a command. */
import * as z from 'zod';

/** Fields that `run-hook` adds later are allowed. */
export const hookDocument = z
  .looseObject({
    spec: z.literal('hooks/0.1'),
    version: z.literal(1).describe('The version of this document.'),
    event: z.string().describe('The event, in the words of the format.'),
    native_event: z.string().describe('The event, in the words of the agent.'),
    agent: z.string().describe('The agent, by its name in the format.'),
    hook: z.string().optional().describe('The name of the hook, from --hook.'),
    session_id: z.string().optional(),
    cwd: z.string().optional(),
    transcript_path: z.string().optional(),
    tool: z.string().optional().describe('A word of the vocabulary, or the name that the agent has for the tool.'),
    native_tool: z.string().optional(),
    mcp: z
      .looseObject({ server: z.string().optional(), tool: z.string() })
      .optional()
      .describe('The server and the tool, if the tool is one of an MCP server.'),
    tool_use_id: z.string().optional(),
    tool_input: z.record(z.string(), z.unknown()).optional(),
    tool_output: z.unknown().optional(),
    error: z.unknown().optional(),
    prompt: z.string().optional(),
    response: z.string().optional().describe('The last message of the model.'),
    message: z.string().optional().describe('The text of a notification.'),
    cause: z.string().optional().describe('Why a session starts or ends, or what triggers a compaction.'),
    stop_hook_active: z.boolean().optional(),
    subagent_id: z.string().optional(),
    subagent_type: z.string().optional(),
  })
  .meta({ title: 'The document of a hook', description: 'What `otel-hooks run-hook` gives to a command.' });

export const hookDocumentSchema = (): object => z.toJSONSchema(hookDocument);
