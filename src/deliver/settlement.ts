import { documents } from '../documents/documents.ts';
import type { Outcome } from '../ship/lanes.ts';
import { changeOf } from '../store/document.ts';
import { accountsOf, increase } from '../store/ledger.ts';
import type { Round } from '../store/store.ts';
import { measuredOnce } from '../telemetry/metric-state.ts';

/** The round that commits an outcome of the shipper. */
export function roundOfOutcome(outcome: Outcome): Round {
  const { destination, signal, standing } = outcome;
  const { id, provider, endpoint } = destination;
  return {
    documents: [...outcome.documents, ...(standing === undefined ? [] : [changeOf(documents.ship, standing)])],
    settled: outcome.settled.map(name => ({ destination: id, name })),
    bodies: outcome.parts.map(part => ({ destination: id, signal, ...part, inPlaceOf: outcome.settled[0] })),
    quarantine: outcome.quarantine,
    tally: ledger => {
      const accounts = accountsOf(ledger, id, { provider, endpoint });
      if (outcome.tookMs !== undefined) {
        accounts.took ??= {};
        accounts.took[signal] = measuredOnce('pipelineExport', accounts.took[signal], outcome.tookMs / 1_000);
      }
      const account = accounts[signal];
      account.accepted += outcome.accepted;
      for (const [reason, items] of Object.entries(outcome.rejected)) increase(account.rejected, reason, items);
      for (const [reason, items] of Object.entries(outcome.dropped)) increase(account.dropped, reason, items);
      if (outcome.failed !== undefined) increase(ledger.counters, `failed.${signal}.${outcome.failed}`, 1);
    },
  };
}
