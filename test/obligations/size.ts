/** The amount of work of a run, and its seed. Both come from the environment, so that a run can be repeated. */

const sizes = ['quick', 'ci', 'full'] as const;
export type Size = (typeof sizes)[number];

/** `quick` is part of all tests, `ci` takes minutes, `full` has the numbers that the documentation reports. */
export const size: Size = sizes.find(each => each === process.env.OTEL_HOOKS_TEST_SIZE) ?? 'quick';

export const seed = Number(process.env.OTEL_HOOKS_SEED ?? Date.now() % 100_000);

export const bySize = <T>(choice: Record<Size, T>): T => choice[size];
