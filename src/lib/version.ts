declare const __VERSION__: string;

/** The version of the package, which the build and vitest insert. */
export const VERSION = __VERSION__;
