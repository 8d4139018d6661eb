import {
  type Board,
  lines,
  recordedBars,
  recordedLevels,
  recordedNumbers,
  recordedRanking,
  recordedWord,
  recordTable,
  sessionRanking,
  traceTable,
  waterfall,
} from '../panels.ts';
import {
  ACTION_ENDED,
  RESPONDED,
  STREAM,
  segmentVariable,
  sessionVariable,
  spanVariable,
  traceVariable,
} from '../queries.ts';

const OF_SESSION = `${STREAM} | session_id=~"$session.*" | trace_id=~"$segment.*"`;
const matching = (filter: string): string => `${OF_SESSION} | ${filter}`;
const recorded = (filter: string, by = ''): string =>
  `sum${by && ` by (${by})`} (count_over_time(${matching(filter)} [$__range]))`;
const added = (field: string, by = ''): string =>
  `sum${by && ` by (${by})`} (sum_over_time(${matching(`${RESPONDED} | ${field}!="" | unwrap ${field}`)} [$__range]))`;

export const session: Board = {
  uid: 'otel-hooks-session',
  title: 'Agents: one session',
  description:
    'Everything about one session. Put its id into the field above, or come here from a table of another dashboard.',
  variables: [sessionVariable, traceVariable, spanVariable, segmentVariable],
  rows: [
    {
      title: 'Session',
      panels: [
        sessionRanking(
          {
            title: 'Chosen session',
            question: 'Which session does this page show?',
            note: 'While the field Session above is empty, the page shows all sessions together, and this table lists them. A click on an id chooses one.',
            empty: 'No session in this range.',
            width: 24,
            height: 4,
          },
          'Cost',
          labels => `(${added('agent_hooks_cost_usd', labels)} or ${recorded('event_name=~".+"', labels)} * 0)`,
          'currencyUSD',
        ),
        recordedWord(
          { title: 'Agent', question: 'Which agent ran the session?', width: 4, height: 3 },
          recorded('event_name=~".+"', 'service_name'),
          'service_name',
        ),
        recordedWord(
          { title: 'Model', question: 'Which model answered last?', width: 4, height: 3 },
          recorded(RESPONDED, 'gen_ai_request_model'),
          'gen_ai_request_model',
        ),
        recordedWord(
          { title: 'Repository', question: 'In which repository did the session work?', width: 4, height: 3 },
          recorded('vcs_repository_name!=""', 'vcs_repository_name'),
          'vcs_repository_name',
        ),
        recordedWord(
          { title: 'Branch', question: 'On which branch did the session begin?', width: 4, height: 3 },
          recorded('vcs_ref_head_name!=""', 'vcs_ref_head_name'),
          'vcs_ref_head_name',
        ),
        recordedWord(
          { title: 'State', question: 'How did the session end?', empty: 'running', width: 4, height: 3 },
          recorded('event_name=~"agent_hooks.session.(end|abort)"', 'agent_hooks_event_type'),
          'agent_hooks_event_type',
        ),
        recordedNumbers(
          {
            title: 'Cost',
            question: 'What did the session cost?',
            note: 'By a list of prices.',
            unit: 'currencyUSD',
            width: 4,
            height: 3,
          },
          added('agent_hooks_cost_usd'),
        ),
        recordedNumbers(
          {
            title: 'Input',
            question: 'How many tokens did the models read?',
            note: 'Cached tokens included.',
            width: 4,
            height: 3,
          },
          added('gen_ai_usage_input_tokens'),
        ),
        recordedNumbers(
          { title: 'Output', question: 'How many tokens did the models write?', width: 4, height: 3 },
          added('gen_ai_usage_output_tokens'),
        ),
        recordedNumbers(
          { title: 'Actions', question: 'How many actions ended?', width: 4, height: 3 },
          recorded(`${ACTION_ENDED} | agent_hooks_decision_outcome!="deny"`),
        ),
        recordedNumbers(
          { title: 'Failed', question: 'How many actions failed?', width: 4, height: 3, alarm: 1 },
          recorded(`${ACTION_ENDED} | error_type!=""`),
        ),
        recordedNumbers(
          { title: 'Denied', question: 'How many actions were denied?', width: 4, height: 3, alarm: 1 },
          recorded(`${ACTION_ENDED} | agent_hooks_decision_outcome="deny"`),
        ),
        recordedNumbers(
          {
            title: 'High risk',
            question: 'How many actions were of high or critical risk?',
            width: 4,
            height: 3,
            alarm: 1,
          },
          recorded(`${ACTION_ENDED} | agent_hooks_risk_level=~"high|critical"`),
        ),
      ],
    },
    {
      title: 'What happened',
      panels: [
        recordTable(
          {
            title: 'Longest actions',
            question: 'Which action took longest?',
            note: 'A click on the span lists its records below.',
          },
          matching(ACTION_ENDED),
          [
            'agent_hooks_action_duration_ms',
            'span_id',
            'gen_ai_tool_name',
            'process_executable_name',
            'error_type',
            'Time',
          ],
          'Duration',
        ),
        recordTable(
          {
            title: 'Riskiest actions',
            question: 'Which action was riskiest, and who allowed it?',
            empty: 'No action of medium or higher risk.',
          },
          matching(`${ACTION_ENDED} | agent_hooks_risk_level=~"medium|high|critical"`),
          [
            'agent_hooks_risk_score',
            'agent_hooks_risk_level',
            'agent_hooks_decision_outcome',
            'agent_hooks_decision_source',
            'span_id',
            'gen_ai_tool_name',
            'process_executable_name',
          ],
          'Risk score',
        ),
        recordTable(
          {
            title: 'Failures',
            question: 'What failed, and how?',
            empty: 'Nothing failed in this session.',
            width: 24,
            height: 6,
          },
          matching('error_type!=""'),
          ['error_type', 'span_id', 'Line'],
        ),
        lines(
          {
            title: 'Records of the chosen span',
            question: 'What was recorded about one action?',
            note: 'All records of the session until the field Span above holds an id.',
            height: 7,
          },
          matching('span_id=~"$span.*"'),
        ),
      ],
    },
    {
      title: 'Trace',
      panels: [
        traceTable(
          {
            title: 'Traces of this session',
            question: 'Which traces belong to the session?',
            note: 'A long session has several traces, linked to each other. A click on an id draws the trace below.',
            height: 5,
          },
          '{ span.session.id =~ "$session.*" }',
        ),
        waterfall(
          {
            title: 'The trace',
            question: 'What happened when, and inside what?',
            note: 'Empty until the field Trace above holds an id.',
          },
          '$trace',
        ),
      ],
    },
    {
      title: 'Tools and loops',
      panels: [
        recordedNumbers(
          { title: 'Prompts', question: 'How many prompts did the session have?', width: 5, height: 3 },
          recorded('event_name="agent_hooks.prompt.submitted"'),
        ),
        recordedNumbers(
          {
            title: 'Loops',
            question: 'How often did the agent repeat itself without progress?',
            width: 5,
            height: 3,
            alarm: 1,
          },
          recorded('event_name="agent_hooks.retry.loop.detected"'),
        ),
        recordedNumbers(
          { title: 'Retries', question: 'How often did the agent repeat a failed action?', width: 5, height: 3 },
          recorded('event_name="agent_hooks.retry.triggered"'),
        ),
        recordedNumbers(
          { title: 'Compacted', question: 'How often was the context compacted?', width: 5, height: 3 },
          recorded('event_name="agent_hooks.context.compaction"'),
        ),
        recordedNumbers(
          { title: 'Subagents', question: 'What did subagents cost?', unit: 'currencyUSD', width: 4, height: 3 },
          `sum (sum_over_time(${matching(`${RESPONDED} | agent_hooks_agent_id!="" | agent_hooks_cost_usd!="" | unwrap agent_hooks_cost_usd`)} [$__range]))`,
        ),
        recordedRanking(
          {
            title: 'Decisions',
            width: 12,
            question: 'What was allowed, asked and denied, and by whom?',
            empty: 'No action needed a decision.',
          },
          {
            expr: recorded(
              'agent_hooks_decision_outcome!=""',
              'agent_hooks_decision_outcome, agent_hooks_decision_source, gen_ai_tool_name',
            ),
            name: 'Decisions',
          },
        ),
        recordedRanking(
          { title: 'Actions by tool', question: 'Which tools did the agent use?', width: 12 },
          { expr: recorded(ACTION_ENDED, 'gen_ai_tool_name, agent_hooks_action_success'), name: 'Actions' },
        ),
        recordTable(
          {
            title: 'Loops, budgets and policies',
            question: 'Did the agent loop, pass a budget or break a policy?',
            empty: 'The session had none of them.',
            width: 24,
            height: 6,
          },
          matching('event_name=~"agent_hooks.(retry.loop|policy).+"'),
          ['Line', 'span_id'],
        ),
      ],
    },
    {
      title: 'Over time',
      panels: [
        recordedLevels(
          {
            title: 'Context in use',
            question: "Which share of the model's window was used?",
            empty: 'The agent does not state the size of the window.',
            unit: 'percentunit',
          },
          {
            expr: `max (max_over_time(${matching('agent_hooks_context_utilization!="" | unwrap agent_hooks_context_utilization')} [$__interval]))`,
            legend: 'in use',
          },
        ),
        recordedBars(
          {
            title: 'Cost by model',
            question: 'When did which model cost how much?',
            empty: 'No response had a price.',
            unit: 'currencyUSD',
          },
          {
            expr: `sum by (gen_ai_request_model) (sum_over_time(${matching(`${RESPONDED} | agent_hooks_cost_usd!="" | unwrap agent_hooks_cost_usd`)} [$__interval]))`,
            legend: '{{gen_ai_request_model}}',
          },
        ),
        recordedBars(
          { title: 'Events', question: 'When did what happen?', width: 24 },
          {
            expr: `sum by (agent_hooks_event_type) (count_over_time(${OF_SESSION} [$__interval]))`,
            legend: '{{agent_hooks_event_type}}',
          },
        ),
      ],
    },
    {
      title: 'All records',
      panels: [
        recordTable(
          {
            title: 'All records',
            question: 'What happened, step by step?',
            note: 'A click on the span lists its records above; a click on the trace draws it.',
            width: 24,
            height: 14,
          },
          OF_SESSION,
          ['agent_hooks_decision_outcome', 'agent_hooks_decision_source', 'Line', 'span_id', 'trace_id'],
        ),
      ],
    },
  ],
};
