import {
  type Board,
  bars,
  levels,
  numbers,
  ranking,
  recordedNumbers,
  recordedRanking,
  sessionRanking,
} from '../panels.ts';
import {
  added,
  aWeekBefore,
  CACHE_READ,
  CACHE_WRITE,
  COMMITS,
  COST,
  countsVariable,
  INPUT,
  MODEL,
  modelVariable,
  OUTPUT,
  over,
  quantile,
  REASONING,
  RESPONDED,
  repositoryVariable,
  upTo,
  upToAWeekBefore,
  userVariable,
  whole,
} from '../queries.ts';

const NAMED = 'label_format gen_ai_agent_name=`{{ or .gen_ai_agent_name "subagents" }}`';
/** A number in one of two lines. */
const HALF = { width: 6, height: 3 };
const NO_TOKENS = 'No agent stated tokens in this range.';
const NO_PRICE = 'No response had a price in this range.';
const OF_MODEL = `${RESPONDED} | gen_ai_request_model=~"$model"`;

export const tokens: Board = {
  uid: 'otel-hooks-tokens',
  title: 'Agents: tokens and cost',
  description:
    'What models read and wrote, and what that costs. Tokens come from the transcripts of the agents or from their hooks. Cost is by a list of prices (docs/cost.md).',
  variables: [repositoryVariable, userVariable, modelVariable, countsVariable],
  rows: [
    {
      title: 'In this range',
      panels: [
        numbers(
          {
            title: 'Cost',
            question: 'What did the responses of models cost?',
            note: 'By a list of prices.',
            unit: 'currencyUSD',
            ...HALF,
          },
          { expr: whole(COST, '', MODEL) },
        ),
        numbers(
          {
            title: 'A week before',
            question: 'What did the same range cost a week before?',
            empty: 'None',
            unit: 'currencyUSD',
            ...HALF,
          },
          { expr: aWeekBefore(COST, '', MODEL) },
        ),
        numbers(
          {
            title: 'Stated cost',
            question: 'What did the agents themselves say that it cost?',
            empty: 'Not stated',
            unit: 'currencyUSD',
            ...HALF,
          },
          { expr: whole('agent_hooks_cost_reported_USD_total', '', MODEL) },
        ),
        numbers(
          {
            title: 'Cost per commit',
            question: 'What did a commit cost?',
            note: 'All cost of the range, divided by the commits that were made in working folders while sessions ran. The chosen models do not limit it.',
            empty: 'No commits',
            unit: 'currencyUSD',
            ...HALF,
          },
          { expr: `${whole(COST)} / (${whole(COMMITS)} > 0)` },
        ),
        numbers(
          {
            title: 'Input',
            question: 'How many tokens did the models read?',
            note: 'Cached tokens included.',
            ...HALF,
          },
          { expr: whole(INPUT, '', MODEL) },
        ),
        numbers(
          { title: 'Output', question: 'How many tokens did the models write?', note: 'Reasoning included.', ...HALF },
          { expr: whole(OUTPUT, '', MODEL) },
        ),
        numbers(
          {
            title: 'From cache',
            question: 'Which share of the input came from a cache?',
            unit: 'percentunit',
            ...HALF,
          },
          { expr: `${whole(CACHE_READ, '', MODEL)} / ${whole(INPUT, '', MODEL)}` },
        ),
        recordedNumbers(
          {
            title: 'Subagents',
            question: 'What did subagents cost, of all?',
            note: 'Counted in records.',
            unit: 'currencyUSD',
            ...HALF,
          },
          added('agent_hooks_cost_usd', `${OF_MODEL} | agent_hooks_agent_id!=""`),
        ),
      ],
    },
    {
      title: 'Cost',
      panels: [
        bars(
          {
            title: 'Cost by model',
            question: 'When did which model cost how much?',
            empty: NO_PRICE,
            unit: 'currencyUSD',
          },
          { expr: over(COST, 'gen_ai_request_model', MODEL), legend: '{{gen_ai_request_model}}' },
        ),
        levels(
          {
            title: 'Cost beside the week before',
            question: 'When did agents cost more than a week before?',
            empty: NO_PRICE,
            unit: 'currencyUSD',
          },
          { expr: upTo(COST, '', MODEL), legend: 'this range' },
          { expr: upToAWeekBefore(COST, '', MODEL), legend: 'a week before' },
        ),
        ranking(
          {
            title: 'Cost by agent and model',
            question: 'Which agent spends how much on which model, and a week before?',
            empty: NO_PRICE,
            unit: 'currencyUSD',
          },
          { expr: whole(COST, 'job, gen_ai_request_model', MODEL), name: 'Cost' },
          { expr: aWeekBefore(COST, 'job, gen_ai_request_model', MODEL), name: 'A week before' },
        ),
        sessionRanking(
          {
            title: 'Most expensive sessions',
            question: 'Which sessions cost most?',
            note: 'Running sessions are included.',
            empty: NO_PRICE,
          },
          'Cost',
          labels => added('agent_hooks_cost_usd', OF_MODEL, labels),
          'currencyUSD',
        ),
        recordedRanking(
          {
            title: 'Cost by subagent',
            question: 'What do subagents cost beside the agent itself?',
            note: 'Of subagents, not each response names the kind.',
            empty: NO_PRICE,
          },
          {
            expr: added('agent_hooks_cost_usd', `${OF_MODEL} | ${NAMED}`, 'service_name, gen_ai_agent_name'),
            name: 'Cost',
            unit: 'currencyUSD',
          },
        ),
        ranking(
          {
            title: 'Tokens without a price',
            question: 'Which models need a price in `cost.prices`?',
            note: 'The cost is without these tokens.',
            empty: 'Each model has a price.',
          },
          {
            expr: `${whole('agent_hooks_cost_unpriced_total', 'gen_ai_provider_name, gen_ai_request_model', MODEL)} > 0`,
            name: 'Tokens',
          },
        ),
      ],
    },
    {
      title: 'Tokens',
      panels: [
        bars(
          { title: 'Input by model', question: 'When did which model read how much?', empty: NO_TOKENS },
          { expr: over(INPUT, 'gen_ai_request_model', MODEL), legend: '{{gen_ai_request_model}}' },
        ),
        bars(
          { title: 'Output by model', question: 'When did which model write how much?', empty: NO_TOKENS },
          { expr: over(OUTPUT, 'gen_ai_request_model', MODEL), legend: '{{gen_ai_request_model}}' },
        ),
        bars(
          {
            title: 'Cache and reasoning',
            question: 'How much came from caches, went into them, and was reasoning?',
            empty: NO_TOKENS,
          },
          { expr: over(CACHE_READ, '', MODEL), legend: 'read from a cache' },
          { expr: over(CACHE_WRITE, '', MODEL), legend: 'written to a cache' },
          { expr: over(REASONING, '', MODEL), legend: 'reasoning' },
        ),
        levels(
          {
            title: 'Length of responses',
            question: 'How long does a model take to answer?',
            note: '95 of 100 responses were faster.',
            empty: NO_TOKENS,
            unit: 's',
          },
          {
            expr: quantile(0.95, 'gen_ai_client_inference_duration_seconds', 'interval', 'gen_ai_request_model', MODEL),
            legend: '{{gen_ai_request_model}}',
          },
        ),
        ranking(
          {
            title: 'Tokens by agent and model',
            question: 'Which agent uses which model how much?',
            empty: NO_TOKENS,
            width: 24,
          },
          { expr: whole(OUTPUT, 'job, gen_ai_request_model', MODEL), name: 'Output' },
          { expr: whole(INPUT, 'job, gen_ai_request_model', MODEL), name: 'Input' },
          { expr: whole(CACHE_READ, 'job, gen_ai_request_model', MODEL), name: 'From cache' },
        ),
      ],
    },
  ],
};
