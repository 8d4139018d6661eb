import { type Board, type Panel, ranking } from '../panels.ts';
import {
  ACTIONS,
  aWeekBefore,
  COMMITS,
  COST,
  countsVariable,
  ERRORS,
  repositoryVariable,
  shareOf,
  userVariable,
  whole,
} from '../queries.ts';

function by(title: string, label: string, empty: string): Panel {
  const failed = `${whole(ACTIONS, label, `${ERRORS},${label.split(', ').at(-1)}!=""`)}`;
  const named = `,${label.split(', ').at(-1)}!=""`;
  return ranking(
    {
      title,
      question: `What do sessions cost, and how often do their actions fail, ${title.slice(0, 1).toLowerCase()}${title.slice(1)}?`,
      empty,
      width: 24,
      height: 7,
    },
    { expr: whole(COST, label, named), name: 'Cost', unit: 'currencyUSD' },
    { expr: aWeekBefore(COST, label, named), name: 'A week before', unit: 'currencyUSD' },
    {
      expr: `${whole(COST, label, named)} / (${whole(COMMITS, label, named)} > 0)`,
      name: 'Per commit',
      unit: 'currencyUSD',
    },
    { expr: whole('agent_hooks_session_started_total', label, named), name: 'Sessions' },
    { expr: whole(ACTIONS, label, named), name: 'Actions' },
    { expr: shareOf(failed, whole(ACTIONS, label, named)), name: 'Failure rate', unit: 'percentunit' },
  );
}

const OPT_IN = 'Series have this name only when `metrics.include` lists';

export const teams: Board = {
  uid: 'otel-hooks-teams',
  title: 'Agents: teams and repositories',
  description:
    'Cost and failures by team, environment, repository, branch and user. Teams and environments come from resource attributes; the others are opt-in by `metrics.include`, because each value makes series and some name a person.',
  variables: [repositoryVariable, userVariable, countsVariable],
  rows: [
    {
      title: 'In this range',
      panels: [
        by('By team', 'service_namespace', 'No machine states `service.namespace` in its resource attributes.'),
        by(
          'By environment',
          'deployment_environment_name',
          'No machine states `deployment.environment.name` in its resource attributes.',
        ),
        by('By repository', 'vcs_repository_name', `${OPT_IN} vcs.repository.name.`),
        by('By branch', 'vcs_repository_name, vcs_ref_head_name', `${OPT_IN} vcs.ref.head.name.`),
        by('By user', 'user_id', `${OPT_IN} user.id.`),
      ],
    },
  ],
};
