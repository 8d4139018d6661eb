import { type Board, bars, levels, numbers, ranking, recordedLevels, recordTable } from '../panels.ts';
import {
  ACTION_ENDED,
  countsVariable,
  DENIED,
  over,
  quantile,
  records,
  repositoryVariable,
  TOOL,
  toolVariable,
  userVariable,
  whole,
} from '../queries.ts';

const DECISIONS = 'agent_hooks_decisions_total';
const DECIDER = 'agent_hooks_decision_source, agent_hooks_decision_reason_type';
const OF_TOOL = 'gen_ai_tool_name=~"$tool"';

export const decisions: Board = {
  uid: 'otel-hooks-decisions',
  title: 'Agents: decisions and risk',
  description:
    'What was allowed, asked and denied, who decided, how risky it was, and how long agents waited for people.',
  variables: [repositoryVariable, userVariable, toolVariable, countsVariable],
  rows: [
    {
      title: 'In this range',
      panels: [
        numbers(
          { title: 'Decisions', question: 'How many decisions on actions were there?' },
          { expr: whole(DECISIONS, '', TOOL) },
        ),
        numbers(
          {
            title: 'Denied',
            question: 'How many actions were denied?',
            note: 'Denied prompts are included.',
            alarm: 1,
          },
          { expr: whole(DECISIONS, '', `${TOOL}${DENIED}`) },
        ),
        numbers(
          { title: 'By people', question: 'How many decisions did a person take?' },
          { expr: whole(DECISIONS, '', `${TOOL},agent_hooks_decision_source="user"`) },
        ),
        numbers(
          {
            title: 'High risk',
            question: 'How many decisions were about actions of high or critical risk?',
            alarm: 1,
          },
          { expr: whole(DECISIONS, '', `${TOOL},agent_hooks_risk_level=~"high|critical"`) },
        ),
        numbers(
          {
            title: 'Policies',
            question: 'How often was a policy violated, enforced or overridden?',
            note: 'Budgets are included.',
            alarm: 1,
          },
          { expr: whole('agent_hooks_policy_events_total') },
        ),
        numbers(
          { title: 'Waited', question: 'How long did agents wait for people, in all?', unit: 's' },
          { expr: whole('agent_hooks_decision_wait_seconds_sum') },
        ),
      ],
    },
    {
      title: 'Risk',
      panels: [
        recordTable(
          {
            title: 'Riskiest actions',
            question: 'Which actions were riskiest, and who allowed them?',
            empty: 'No action of medium or higher risk.',
            width: 24,
          },
          // The factors are a JSON list.
          `${records(`${ACTION_ENDED} | agent_hooks_risk_level=~"medium|high|critical" | ${OF_TOOL}`)} | label_format agent_hooks_risk_factors=\`{{regexReplaceAll "[][\\"]" .agent_hooks_risk_factors ""}}\``,
          [
            'Time',
            'agent_hooks_risk_score',
            'agent_hooks_risk_level',
            'service_name',
            'agent_hooks_decision_outcome',
            'agent_hooks_decision_source',
            'gen_ai_tool_name',
            'process_executable_name',
            'agent_hooks_risk_factors',
            'session_id',
            'trace_id',
            'span_id',
          ],
          'Risk score',
        ),
        bars(
          {
            title: 'Decisions by risk',
            question: 'When were decisions about risky actions taken?',
            empty: 'No decision about an action of medium or higher risk.',
          },
          {
            expr: over(DECISIONS, 'agent_hooks_risk_level', `${TOOL},agent_hooks_risk_level=~"medium|high|critical"`),
            legend: '{{agent_hooks_risk_level}}',
          },
        ),
        recordedLevels(
          {
            title: 'Risk score',
            question: 'How risky was the riskiest action of each tool?',
            note: 'From 0 to 100. The ten tools with the riskiest actions of each interval.',
            empty: 'No judged action in this range.',
          },
          {
            expr: `topk(10, max by (gen_ai_tool_name) (max_over_time(${records(
              `${ACTION_ENDED} | ${OF_TOOL} | agent_hooks_risk_score!="" | unwrap agent_hooks_risk_score`,
            )} [$__interval])))`,
            legend: '{{gen_ai_tool_name}}',
          },
        ),
      ],
    },
    {
      title: 'Decisions',
      panels: [
        bars(
          { title: 'Decisions by outcome', question: 'When was how much allowed, asked and denied?' },
          { expr: over(DECISIONS, 'agent_hooks_decision_outcome', TOOL), legend: '{{agent_hooks_decision_outcome}}' },
        ),
        bars(
          {
            title: 'Decisions by decider',
            question: 'Who decides: a person, a rule, a mode, a classifier, a hook or a sandbox?',
          },
          { expr: over(DECISIONS, 'agent_hooks_decision_source', TOOL), legend: '{{agent_hooks_decision_source}}' },
        ),
        ranking(
          {
            title: 'Denied by tool',
            question: 'What was denied, by whom, and for which kind of reason?',
            note: 'The kind of reason is empty where the agent does not state it.',
            empty: 'No action was denied in this range.',
          },
          {
            expr: `${whole(DECISIONS, `job, gen_ai_tool_name, ${DECIDER}`, `${TOOL}${DENIED}`)} > 0`,
            name: 'Denied',
          },
        ),
        levels(
          {
            title: 'Wait for people',
            question: 'How long does an agent wait for the answer of a person?',
            empty: 'No person was asked in this range.',
            unit: 's',
          },
          { expr: quantile(0.5, 'agent_hooks_decision_wait_seconds', 'interval'), legend: 'p50' },
          { expr: quantile(0.9, 'agent_hooks_decision_wait_seconds', 'interval'), legend: 'p90' },
        ),
        recordTable(
          {
            title: 'Denied actions',
            question: 'Which actions were denied last?',
            note: 'Newest first. A denial that an agent reports as a decision and as an action has two records. One that is only known because no result followed is counted, and has a span but no record.',
            empty: 'No action was denied in this range.',
            width: 24,
            height: 12,
          },
          records(`agent_hooks_decision_outcome="deny" | ${OF_TOOL}`),
          [
            'service_name',
            'agent_hooks_decision_source',
            'agent_hooks_decision_reason_type',
            'agent_hooks_decision_scope',
            'agent_hooks_risk_level',
            'Line',
            'session_id',
            'trace_id',
            'span_id',
          ],
        ),
      ],
    },
  ],
};
