/** The instruments of our metrics, in the application's meter provider. */
import { VERSION } from '../lib/version.ts';
import type { Increment } from '../telemetry/increments.ts';
import { type MetricId, type MetricName, metrics, SCOPE } from '../telemetry/names.ts';
import type { Report } from './bridge-options.ts';
import type { BridgeMeterProvider } from './otel-interfaces.ts';
import { failure } from './span-targets.ts';
import type { MeasurementStats } from './stats.ts';
import { within } from './time-limit.ts';

type Instrument = (value: number, attributes: object) => void;

export class Instruments {
  readonly stats: MeasurementStats = { produced: 0, recorded: 0, dropped: 0, failed: 0 };
  readonly #find: () => BridgeMeterProvider | undefined;
  readonly #report: Report;
  #provider: BridgeMeterProvider | undefined;
  #meter: ReturnType<BridgeMeterProvider['getMeter']> | undefined;
  readonly #made = new Map<MetricId, Instrument>();

  constructor(find: () => BridgeMeterProvider | undefined, report: Report) {
    this.#find = find;
    this.#report = report;
  }

  measure({ metric, value, attributes }: Increment): void {
    this.stats.produced += 1;
    try {
      const instrument = this.#instrument(metric);
      instrument?.(value, attributes);
      this.stats[instrument === undefined ? 'dropped' : 'recorded'] += 1;
    } catch (error) {
      this.stats.failed += 1;
      this.#report(failure('emit-failed', `the metric ${metrics[metric].name} could not be recorded`, error));
    }
  }

  async flush(timeoutMs: number): Promise<void> {
    try {
      await within(timeoutMs, () => this.#provider?.forceFlush?.());
    } catch (error) {
      this.#report(failure('export-failed', 'the meter provider could not be flushed', error));
    }
  }

  #instrument(metric: MetricId): Instrument | undefined {
    const provider = this.#find();
    if (provider === undefined) return undefined;
    if (provider !== this.#provider) {
      this.#meter = provider.getMeter(SCOPE, VERSION);
      this.#provider = provider;
      this.#made.clear();
    }
    const known = this.#made.get(metric) ?? this.#make(metric);
    if (known !== undefined) this.#made.set(metric, known);
    return known;
  }

  #make(metric: MetricId): Instrument | undefined {
    const meter = this.#meter;
    const { name, unit, description, bounds }: MetricName = metrics[metric];
    if (bounds === undefined) {
      const counter = meter?.createCounter(name, { unit, description });
      return counter && ((value, attributes) => counter.add(value, attributes));
    }
    const advice = { explicitBucketBoundaries: [...bounds] };
    const histogram = meter?.createHistogram(name, { unit, description, advice });
    return histogram && ((value, attributes) => histogram.record(value, attributes));
  }
}
