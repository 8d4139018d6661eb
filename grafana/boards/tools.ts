import { type Board, bars, levels, ranking, recordedRanking, recordTable } from '../panels.ts';
import {
  ACTION_ENDED,
  ACTIONS,
  countsVariable,
  ERRORS,
  over,
  quantile,
  recorded,
  records,
  repositoryVariable,
  shareOf,
  TOOL,
  toolVariable,
  userVariable,
  whole,
} from '../queries.ts';

const DURATION = 'gen_ai_execute_tool_duration_seconds';
const MCP = 'mcp_client_operation_duration_seconds';
const NO_MCP = 'No MCP server was used in this range.';
const BY_TOOL = 'job, gen_ai_tool_name';

export const tools: Board = {
  uid: 'otel-hooks-tools',
  title: 'Agents: tools and MCP',
  description: 'What agents do, how long it takes, and what fails.',
  variables: [repositoryVariable, userVariable, toolVariable, countsVariable],
  rows: [
    {
      title: 'Tools',
      panels: [
        ranking(
          {
            title: 'Calls by tool',
            question: 'Which tools are used most, how often do they fail, and how long do they take?',
            width: 24,
          },
          { expr: whole(ACTIONS, BY_TOOL, TOOL), name: 'Calls' },
          {
            expr: shareOf(whole(ACTIONS, BY_TOOL, `${TOOL}${ERRORS}`), whole(ACTIONS, BY_TOOL, TOOL)),
            name: 'Failure rate',
            unit: 'percentunit',
          },
          { expr: quantile(0.5, DURATION, 'range', BY_TOOL, TOOL), name: 'p50', unit: 's' },
          { expr: quantile(0.95, DURATION, 'range', BY_TOOL, TOOL), name: 'p95', unit: 's' },
        ),
        ranking(
          {
            title: 'Failures by tool',
            question: 'How do the actions of each tool fail?',
            empty: 'No action failed in this range.',
          },
          { expr: `${whole(ACTIONS, `${BY_TOOL}, error_type`, `${TOOL}${ERRORS}`)} > 0`, name: 'Failures' },
        ),
        recordedRanking(
          {
            title: 'Programs in the shell',
            question: 'Which programs do agents run, and which of them fail?',
            note: 'Simple commands by their program, without their arguments.',
            empty: 'No shell command in this range.',
          },
          {
            expr: `topk(50, ${recorded(`${ACTION_ENDED} | process_executable_name!=""`, 'service_name, process_executable_name')})`,
            name: 'Runs',
          },
          {
            expr: recorded(
              `${ACTION_ENDED} | process_executable_name!="" | error_type!=""`,
              'service_name, process_executable_name',
            ),
            name: 'Failures',
          },
        ),
        levels(
          {
            title: 'Length of actions',
            question: 'How long do the actions of each tool take?',
            note: '95 of 100 actions are below the line. A dot is one action and opens its trace. Waiting for a person is not counted.',
            unit: 's',
            width: 24,
          },
          { expr: quantile(0.95, DURATION, 'interval', 'gen_ai_tool_name', TOOL), legend: '{{gen_ai_tool_name}}' },
        ),
        recordTable(
          { title: 'Longest actions', question: 'Which actions took longest?', width: 24 },
          records(`${ACTION_ENDED} | agent_hooks_action_duration_ms>999 | gen_ai_tool_name=~"$tool"`),
          ['Time', 'agent_hooks_action_duration_ms', 'service_name', 'Line', 'session_id', 'trace_id', 'span_id'],
          'Duration',
        ),
        levels(
          {
            title: 'Actions in a turn',
            question: 'How much do agents do between a prompt and its answer?',
            note: '95 of 100 turns have fewer actions.',
            width: 24,
          },
          {
            expr: quantile(0.95, 'gen_ai_invoke_agent_tool_calls', 'interval', 'job, gen_ai_agent_name'),
            legend: '{{job}} {{gen_ai_agent_name}}',
          },
        ),
      ],
    },
    {
      title: 'MCP',
      panels: [
        recordedRanking(
          {
            title: 'Calls by MCP server',
            question: 'Which MCP servers are used, and which of their tools fail?',
            note: 'Counted in records: a series for each server would have no bound.',
            empty: NO_MCP,
          },
          {
            expr: `topk(50, ${recorded(`${ACTION_ENDED} | agent_hooks_mcp_server!=""`, 'agent_hooks_mcp_server, gen_ai_tool_name')})`,
            name: 'Calls',
          },
          {
            expr: recorded(
              `${ACTION_ENDED} | agent_hooks_mcp_server!="" | error_type!=""`,
              'agent_hooks_mcp_server, gen_ai_tool_name',
            ),
            name: 'Failures',
          },
        ),
        levels(
          {
            title: 'Length of MCP calls',
            question: 'How long do MCP calls take?',
            note: '95 of 100 calls are below the line.',
            empty: NO_MCP,
            unit: 's',
          },
          { expr: quantile(0.95, MCP, 'interval', 'job'), legend: '{{job}}' },
        ),
        bars(
          { title: 'MCP calls', question: 'When were MCP servers called?', empty: NO_MCP, width: 24 },
          { expr: over(`${MCP}_count`, 'job'), legend: '{{job}}' },
        ),
      ],
    },
  ],
};
