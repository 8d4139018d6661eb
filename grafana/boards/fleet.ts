import { type Board, bars, levels, numbers, ranking, recordTable, sessionRanking } from '../panels.ts';
import {
  ACCEPTED,
  ACTION_ENDED,
  ACTIONS,
  added,
  COST,
  chosen,
  countsVariable,
  DENIED,
  ERRORS,
  over,
  quantile,
  RESPONDED,
  recorded,
  records,
  repositoryVariable,
  shareOf,
  TURNS,
  userVariable,
  whole,
} from '../queries.ts';

export const fleet: Board = {
  uid: 'otel-hooks-fleet',
  title: 'Agents: fleet',
  description: 'Which agents work, how much, what it costs, and where it goes wrong.',
  variables: [repositoryVariable, userVariable, countsVariable],
  rows: [
    {
      title: 'In this range',
      panels: [
        numbers(
          {
            title: 'Sessions',
            question: 'How many sessions started?',
            note: 'Without subagents, and without sessions whose start no agent reported.',
            width: 6,
            height: 3,
          },
          { expr: whole('agent_hooks_session_started_total') },
        ),
        numbers(
          { title: 'Prompts', question: 'How many prompts did people and programs submit?', width: 6, height: 3 },
          { expr: whole('agent_hooks_prompt_submitted_total') },
        ),
        numbers(
          {
            title: 'Actions',
            question: 'How many actions ended, failed ones included?',
            width: 6,
            height: 3,
            more: 'otel-hooks-tools',
          },
          { expr: whole(ACTIONS) },
        ),
        numbers(
          {
            title: 'Failure rate',
            question: 'Which share of the actions failed?',
            unit: 'percentunit',
            width: 6,
            height: 3,
            more: 'otel-hooks-tools',
            alarm: 0.2,
          },
          { expr: shareOf(whole(ACTIONS, '', ERRORS), whole(ACTIONS)) },
        ),
        numbers(
          {
            title: 'Denied',
            question: 'How many actions were denied?',
            width: 6,
            height: 3,
            more: 'otel-hooks-decisions',
            alarm: 1,
          },
          { expr: whole('agent_hooks_decisions_total', '', DENIED) },
        ),
        numbers(
          {
            title: 'Loops',
            question: 'How often did an agent repeat itself without progress?',
            note: 'Loops that were stopped count once.',
            width: 6,
            height: 3,
            more: 'otel-hooks-loops',
            alarm: 1,
          },
          { expr: whole('agent_hooks_retry_loops_total', '', ',agent_hooks_retry_state="detected"') },
        ),
        numbers(
          {
            title: 'Cost',
            question: 'What did the responses of models cost?',
            note: 'By a list of prices, not by your contract.',
            unit: 'currencyUSD',
            width: 6,
            height: 3,
            more: 'otel-hooks-tokens',
          },
          { expr: whole(COST) },
        ),
        numbers(
          {
            title: 'Installations',
            question: 'How many installations of agents sent something?',
            note: 'Two agents on one machine are two installations.',
            width: 6,
            height: 3,
            more: 'otel-hooks-pipeline',
          },
          {
            expr: `count(count by (instance) (last_over_time(${chosen('agent_hooks_pipeline_events_total', ACCEPTED)}[$__range])))`,
          },
        ),
      ],
    },
    {
      title: 'Sessions',
      panels: [
        sessionRanking(
          {
            title: 'Most expensive sessions',
            question: 'Which sessions cost most?',
            note: 'A click opens the session. Running sessions are included.',
            empty: 'No response had a price in this range.',
          },
          'Cost',
          labels => added('agent_hooks_cost_usd', RESPONDED, labels),
          'currencyUSD',
        ),
        sessionRanking(
          {
            title: 'Sessions with most failures',
            question: 'In which sessions did most actions fail?',
            empty: 'No action failed in this range.',
          },
          'Failed actions',
          labels => recorded(`${ACTION_ENDED} | error_type!=""`, labels),
        ),
        recordTable(
          {
            title: 'Latest prompts',
            question: 'What is being worked on now?',
            note: 'Newest first. A click opens the session.',
            width: 24,
          },
          records('event_name="agent_hooks.prompt.submitted"'),
          ['service_name', 'vcs_repository_name', 'vcs_ref_head_name', 'session_id', 'trace_id'],
        ),
      ],
    },
    {
      title: 'Over time',
      panels: [
        bars(
          { title: 'Sessions by agent', question: 'When did which agent work?' },
          { expr: over('agent_hooks_session_started_total', 'job'), legend: '{{job}}' },
        ),
        bars(
          {
            title: 'Cost by agent',
            question: 'When did which agent cost how much?',
            unit: 'currencyUSD',
            empty: 'No response had a price in this range.',
          },
          { expr: over(COST, 'job'), legend: '{{job}}' },
        ),
        bars(
          {
            title: 'Actions by tool',
            question: 'What do the agents do?',
            note: 'All MCP tools together are one series.',
          },
          { expr: over(ACTIONS, 'gen_ai_tool_name'), legend: '{{gen_ai_tool_name}}' },
        ),
        bars(
          { title: 'Failures by kind', question: 'How do actions fail?', empty: 'No action failed in this range.' },
          { expr: over(ACTIONS, 'error_type', ERRORS), legend: '{{error_type}}' },
        ),
        levels(
          {
            title: 'Length of turns',
            question: 'How long does a person wait for an answer?',
            note: 'Half of the turns were faster than the lower line, 95 of 100 faster than the upper one.',
            unit: 's',
          },
          { expr: quantile(0.5, TURNS, 'interval'), legend: 'p50' },
          { expr: quantile(0.95, TURNS, 'interval'), legend: 'p95' },
        ),
        bars(
          {
            title: 'Errors of agents',
            question: 'What went wrong in the agents themselves, their models or their limits?',
            empty: 'No agent reported an error in this range.',
          },
          { expr: over('agent_hooks_errors_total', 'error_type'), legend: '{{error_type}}' },
        ),
        bars(
          {
            title: 'Events by type',
            question: 'Which events do the agents report?',
            note: 'A subagent has its own Session.Start and Session.End, which the number of sessions leaves out. Events outside the standard are `other`.',
            width: 24,
          },
          {
            expr: over('agent_hooks_pipeline_events_total', 'agent_hooks_event_type', ACCEPTED),
            legend: '{{agent_hooks_event_type}}',
          },
        ),
        ranking(
          {
            title: 'Turns by agent',
            question: 'Which agent or subagent takes how long?',
            note: 'The run of a subagent is one turn. A turn that continues after its answer counts again. Kinds of subagents are spelled as each agent spells them.',
            unit: 's',
            width: 24,
          },
          { expr: quantile(0.95, TURNS, 'range', 'job, gen_ai_agent_name'), name: 'p95' },
          { expr: quantile(0.5, TURNS, 'range', 'job, gen_ai_agent_name'), name: 'p50' },
          { expr: whole(`${TURNS}_count`, 'job, gen_ai_agent_name'), name: 'Turns', unit: 'short' },
        ),
      ],
    },
  ],
};
