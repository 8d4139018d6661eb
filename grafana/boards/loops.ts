import { type Board, bars, levels, numbers, ranking, recordTable } from '../panels.ts';
import { countsVariable, last, over, quantile, records, repositoryVariable, userVariable, whole } from '../queries.ts';

const LOOPS = 'agent_hooks_retry_loops_total';
const BUDGETS = 'agent_hooks_budget_thresholds_total';
const LIMIT = 'agent_hooks_rate_limit_utilization_ratio';
const LIMIT_OF = 'job, instance, agent_hooks_rate_limit_window';
const UTILIZATION = 'agent_hooks_context_utilization';
const NO_SIZES = 'No agent stated the size of a context before and after.';

export const loops: Board = {
  uid: 'otel-hooks-loops',
  title: 'Agents: loops, budget, context',
  description: 'Where agents repeat themselves, pass a budget, or run out of context (docs/loops-and-budgets.md).',
  variables: [repositoryVariable, userVariable, countsVariable],
  rows: [
    {
      title: 'In this range',
      panels: [
        numbers(
          {
            title: 'Loops',
            question: 'How often did an agent repeat itself without progress?',
            note: 'Loops that were stopped are included.',
            alarm: 1,
          },
          { expr: whole(LOOPS, '', ',agent_hooks_retry_state="detected"') },
        ),
        numbers(
          { title: 'Stopped', question: 'How many loops did a denial or an interruption stop?' },
          { expr: whole(LOOPS, '', ',agent_hooks_retry_state="aborted"') },
        ),
        numbers(
          { title: 'Retries', question: 'How often was a failed or denied action, or a failed request, repeated?' },
          { expr: whole('agent_hooks_retry_triggered_total') },
        ),
        numbers(
          { title: 'Over 70 %', question: 'How many sessions and turns passed 70 % of a budget?', alarm: 1 },
          { expr: whole(BUDGETS, '', ',agent_hooks_budget_state="warning"') },
        ),
        numbers(
          { title: 'Over 80 %', question: 'How many sessions and turns passed 80 % of a budget?', alarm: 1 },
          { expr: whole(BUDGETS, '', ',agent_hooks_budget_state="exceeded"') },
        ),
        numbers(
          { title: 'Compacted', question: 'How often was a context compacted?' },
          { expr: whole('agent_hooks_context_compactions_total') },
        ),
      ],
    },
    {
      title: 'Loops',
      panels: [
        bars(
          {
            title: 'Loops by action',
            question: 'Which action is repeated without progress?',
            empty: 'No loop in this range.',
          },
          {
            expr: over(LOOPS, 'agent_hooks_action_name, agent_hooks_retry_state'),
            legend: '{{agent_hooks_action_name}} {{agent_hooks_retry_state}}',
          },
        ),
        bars(
          {
            title: 'Retries by action',
            question: 'Which action is tried again after a failure?',
            empty: 'No retry in this range.',
          },
          {
            expr: over('agent_hooks_retry_triggered_total', 'agent_hooks_action_name'),
            legend: '{{agent_hooks_action_name}}',
          },
        ),
        recordTable(
          {
            title: 'Loops, one by one',
            question: 'What was repeated, and how often?',
            note: 'A loop that was stopped has a second record, Retry.Loop.Aborted.',
            empty: 'No loop in this range.',
            width: 24,
          },
          records('event_name=~"agent_hooks.retry.loop.+"'),
          ['service_name', 'Line', 'session_id', 'trace_id', 'span_id'],
        ),
      ],
    },
    {
      title: 'Budget',
      panels: [
        bars(
          {
            title: 'Thresholds passed',
            question: 'When did sessions and turns pass a threshold of their budget?',
            empty: 'No budget is set, or none was nearly used.',
            width: 24,
            height: 6,
          },
          {
            expr: over(BUDGETS, 'agent_hooks_budget_of, agent_hooks_budget_unit, agent_hooks_budget_state'),
            legend: '{{agent_hooks_budget_of}} {{agent_hooks_budget_unit}} {{agent_hooks_budget_state}}',
          },
        ),
        recordTable(
          {
            title: 'Budgets, one by one',
            question: 'Which session used how much of its budget?',
            empty: 'No budget is set, or none was nearly used.',
            width: 24,
            height: 6,
          },
          records('agent_hooks_budget_state!=""'),
          ['service_name', 'Line', 'session_id', 'trace_id', 'span_id'],
        ),
      ],
    },
    {
      title: 'Limits of plans',
      panels: [
        ranking(
          {
            title: 'Limits of plans',
            question: 'Which share of a limit of a plan is used, and when does it begin anew?',
            note: 'As the agent stated it last.',
            empty: 'No agent stated a limit in this range.',
            width: 14,
          },
          { expr: last(LIMIT, LIMIT_OF, '$__range'), name: 'Used', unit: 'percentunit' },
          {
            expr: `${last('agent_hooks_rate_limit_reset_time_seconds', LIMIT_OF, '$__range')} * 1000`,
            name: 'Begins anew',
            unit: 'dateTimeFromNow',
          },
        ),
        levels(
          {
            title: 'Limits over time',
            question: 'How fast is a limit used up?',
            note: 'The machine with the highest use.',
            empty: 'No agent stated a limit in this range.',
            width: 10,
            unit: 'percentunit',
          },
          {
            expr: last(LIMIT, 'job, agent_hooks_rate_limit_window', '$__interval'),
            legend: '{{job}} {{agent_hooks_rate_limit_window}}',
          },
        ),
      ],
    },
    {
      title: 'Context',
      panels: [
        levels(
          {
            title: 'Context in use',
            question: "Which share of the model's window is used?",
            empty: 'No agent states the size of the window.',
            unit: 'percentunit',
          },
          { expr: quantile(0.5, UTILIZATION, 'interval'), legend: 'p50' },
          { expr: quantile(0.95, UTILIZATION, 'interval'), legend: 'p95' },
        ),
        bars(
          {
            title: 'Compactions by trigger',
            question: 'Are contexts compacted automatically or on request?',
            empty: 'No compaction in this range.',
          },
          {
            expr: over('agent_hooks_context_compactions_total', 'agent_hooks_context_trigger'),
            legend: '{{agent_hooks_context_trigger}}',
          },
        ),
        levels(
          {
            title: 'Left by compactions',
            question: 'Which share of the context does a compaction leave?',
            note: 'Near to 100 % a compaction had no effect.',
            empty: NO_SIZES,
            unit: 'percentunit',
          },
          { expr: quantile(0.5, 'agent_hooks_context_compression', 'interval'), legend: 'p50' },
        ),
        bars(
          { title: 'Tokens removed', question: 'How much do compactions remove from contexts?', empty: NO_SIZES },
          { expr: over('agent_hooks_context_tokens_removed_total', 'job'), legend: '{{job}}' },
        ),
      ],
    },
  ],
};
