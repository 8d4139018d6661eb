/** Counters and problems of commands, until a round has committed them. */
import type { Problem } from '../problems/problem.ts';
import { increase, type Ledger } from '../store/ledger.ts';
import type { Round, Store } from '../store/store.ts';

type Documents = NonNullable<Round['documents']>;
type Counters = { [name: string]: number };

export class CommandBooks {
  readonly #store: Store;
  readonly #noted: (problems: readonly Problem[]) => Documents;
  readonly #problems: Problem[] = [];
  #counters: Counters = {};

  constructor(store: Store, noted: (problems: readonly Problem[]) => Documents) {
    this.#store = store;
    this.#noted = noted;
  }

  count(name: string): void {
    increase(this.#counters, name);
  }

  report(problem: Problem): void {
    this.#problems.push(problem);
  }

  hasCounters(): boolean {
    return Object.keys(this.#counters).length > 0;
  }

  /** Returns a copy of the uncommitted counters, for `restore`. */
  counters(): Counters {
    return { ...this.#counters };
  }

  restore(counters: Counters): void {
    this.#counters = counters;
  }

  /** Commits documents together with the counters and problems. After a commit that fails (false), both are kept. */
  commit(documents: Documents, started = 0): boolean {
    const counters = Object.entries(this.#counters);
    const committed = this.#store.commit({
      epoch: this.#store.epoch,
      documents: [...documents, ...this.#noted(this.#problems)],
      tally(ledger: Ledger) {
        if (started !== 0) increase(ledger.counters, 'openhook.started', started);
        for (const [name, by] of counters) increase(ledger.counters, name, by);
      },
    });
    if (committed !== 'committed') return false;
    for (const [name] of counters) delete this.#counters[name];
    this.#problems.length = 0;
    return true;
  }
}
