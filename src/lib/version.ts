declare const __VERSION__: string;

/**
 * The version of the package, which the build and vitest insert.
 *
 * @example
 * ```ts
 * console.log(`otel-hooks ${VERSION}`);
 * ```
 */
export const VERSION = __VERSION__;
