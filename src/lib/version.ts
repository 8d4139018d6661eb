declare const __VERSION__: string;

/** The package's version: put in by the build, and by vitest for tests. */
export const VERSION = __VERSION__;
