/** Problems of a round that a person should know. */

import { enrichments, failedOddity } from '../identify/enrichers.ts';
import { own } from '../lib/read.ts';
import type { Problem } from '../problems/problem.ts';
import { type Eyes, whyUnread } from '../transcripts/eyes.ts';

/** Returns one problem per file. If this version of Node cannot read packed files, it returns one problem for all. */
export const unreadProblems = ({ unread }: Pick<Eyes, 'unread'>): Problem[] => {
  const problems = [...unread].map(
    ([file, why]): Problem => ({
      code: 'transcripts-packed',
      file: why === 'old-node' ? undefined : file,
      why: whyUnread[why],
    }),
  );
  return [...new Map(problems.map(problem => [JSON.stringify(problem), problem])).values()];
};

/** Returns the problems of faults in otel-hooks. `agents`: the agents whose transcripts had rows that failed. */
export function failureProblems(oddities: { readonly [kind: string]: number }, agents: Iterable<string>): Problem[] {
  return [
    ...enrichments
      .filter(enrichment => own(oddities, failedOddity(enrichment)) !== undefined)
      .map((enrichment): Problem => ({ code: 'enrichment-failed', enrichment })),
    ...[...new Set(agents)].map((agent): Problem => ({ code: 'transcript-failed', agent, why: 'row' })),
  ];
}
