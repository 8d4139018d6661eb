import { documents } from '../documents/documents.ts';
import type { Outcome } from '../ship/lanes.ts';
import { changeOf } from '../store/document.ts';
import { accountsOf, increase, REDIRECTED } from '../store/ledger.ts';
import type { Round } from '../store/store.ts';
import { measuredOnce } from '../telemetry/metric-state.ts';

/**
 * Returns the round that commits an outcome of the shipper. If another destination took over the bodies, they leave the
 * account of this destination and are added to the account of the other one.
 */
export function roundOfOutcome(outcome: Outcome): Round {
  const { destination, signal, standing, heir } = outcome;
  const { id } = destination;
  return {
    documents: [...outcome.documents, ...(standing === undefined ? [] : [changeOf(documents.ship, standing)])],
    settled: outcome.settled.map(name => ({ destination: id, name })),
    bodies: outcome.parts.map(part => ({ destination: id, signal, ...part, inPlaceOf: outcome.settled[0] })),
    quarantine: outcome.quarantine,
    tally: ledger => {
      const own = accountsOf(ledger, id, destination)[signal];
      for (const [reason, items] of Object.entries(outcome.dropped)) increase(own.dropped, reason, items);
      if (outcome.failed !== undefined) increase(ledger.counters, `failed.${signal}.${outcome.failed}`, 1);
      const accounts = accountsOf(ledger, heir?.id ?? id, heir ?? destination);
      const account = accounts[signal];
      const answered = outcome.accepted + sum(outcome.rejected);
      if (heir !== undefined && answered > 0) {
        increase(own.dropped, REDIRECTED, answered);
        account.produced += answered;
      }
      if (outcome.tookMs !== undefined) {
        accounts.took ??= {};
        accounts.took[signal] = measuredOnce('pipelineExport', accounts.took[signal], outcome.tookMs / 1_000);
      }
      account.accepted += outcome.accepted;
      for (const [reason, items] of Object.entries(outcome.rejected)) increase(account.rejected, reason, items);
    },
  };
}

const sum = (counts: Readonly<Record<string, number>>): number =>
  Object.values(counts).reduce((all, count) => all + count, 0);
