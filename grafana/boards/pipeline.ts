import { type Board, bars, levels, numbers, ranking } from '../panels.ts';
import { ACCEPTED, countsVariable, overOfMachine, wholeOfMachine } from '../queries.ts';

const NORMAL = '0 is normal.';

export const pipeline: Board = {
  uid: 'otel-hooks-pipeline',
  title: 'Agents: pipeline health',
  description: 'What otel-hooks recorded, and whether anything was lost on the way.',
  variables: [countsVariable],
  rows: [
    {
      title: 'In this range',
      panels: [
        numbers(
          { title: 'Events', question: 'How many events did the machines record?', width: 5 },
          { expr: wholeOfMachine('agent_hooks_pipeline_events_total', '', ACCEPTED) },
        ),
        numbers(
          {
            title: 'Dropped',
            question: 'How much did the machines drop?',
            note: `Duplicates are included. ${NORMAL}`,
            width: 5,
            alarm: 1,
          },
          { expr: wholeOfMachine('agent_hooks_pipeline_dropped_total') },
        ),
        numbers(
          {
            title: 'Refused',
            question: 'How much did a destination refuse permanently?',
            note: NORMAL,
            width: 5,
            alarm: 1,
          },
          { expr: wholeOfMachine('agent_hooks_pipeline_export_rejected_total') },
        ),
        numbers(
          { title: 'Quarantined', question: 'How many hooks could not be read?', note: NORMAL, width: 5, alarm: 1 },
          { expr: wholeOfMachine('agent_hooks_pipeline_quarantined_total') },
        ),
        numbers(
          {
            title: 'Overflow',
            question: 'How many measurements exceeded the limit of series?',
            note: NORMAL,
            alarm: 1,
          },
          { expr: wholeOfMachine('agent_hooks_pipeline_overflow_total') },
        ),
      ],
    },
    {
      title: 'Machines',
      panels: [
        bars(
          {
            title: 'Events by machine',
            question: 'Which machine sends when?',
            note: 'The bars of a silent machine end.',
            width: 24,
          },
          { expr: overOfMachine('agent_hooks_pipeline_events_total', 'instance', ACCEPTED), legend: '{{instance}}' },
        ),
        ranking(
          {
            title: 'Losses by reason',
            question: 'What was dropped on which machine, and why?',
            empty: 'Nothing was dropped in this range.',
            width: 24,
          },
          {
            expr: `${wholeOfMachine('agent_hooks_pipeline_dropped_total', 'instance, agent_hooks_pipeline_item, agent_hooks_pipeline_reason')} > 0`,
            name: 'Dropped',
          },
        ),
        bars(
          {
            title: 'Failed attempts',
            question: 'Which machine cannot deliver, and why?',
            note: 'The data waits there and is sent again.',
            empty: 'Each attempt succeeded in this range.',
            width: 24,
          },
          {
            expr: overOfMachine(
              'agent_hooks_pipeline_failed_total',
              'instance, agent_hooks_pipeline_item, agent_hooks_pipeline_reason',
            ),
            legend: '{{instance}} {{agent_hooks_pipeline_item}} {{agent_hooks_pipeline_reason}}',
          },
        ),
      ],
    },
    {
      title: 'Collector',
      panels: [
        levels(
          {
            title: 'Waiting in the collector',
            question: 'Does data wait in the collector?',
            note: 'Batches in its queues on disk. A rise means that a back end does not answer.',
          },
          { expr: 'sum by (exporter) (otelcol_exporter_queue_size)', legend: '{{exporter}}' },
        ),
        bars(
          {
            title: 'Lost by the collector',
            question: 'Did the collector lose data?',
            note: 'Spans, records and points.',
            empty: NORMAL,
          },
          {
            expr: 'sum by (exporter) (increase({__name__=~"otelcol_exporter_send_failed_.+_total"}[$__interval]))',
            legend: '{{exporter}}',
          },
        ),
      ],
    },
  ],
};
