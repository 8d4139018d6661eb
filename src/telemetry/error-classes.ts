/**
 * Classes of errors on metrics. The closed set has our own classes, the types of the standards and the types that an
 * agent states for a failed turn, so that alerts can match them. A class that another sender states keeps its name, and
 * the cardinality guard limits how many of them there are.
 */
export const errorClasses: ReadonlySet<string> = new Set([
  'tool_error',
  'timeout',
  'interrupted',
  'exit_code',
  'model_error',
  'hook_error',
  'abandoned',
  'rate_limit',
  'authentication_failed',
  'billing_error',
  'invalid_request',
  'server_error',
  'max_output_tokens',
  'unknown',
  'ToolFailed',
  'ModelError',
  'HookError',
  'UnhandledException',
]);

/** One word that starts with a letter: an address, a path or a number is not a class. */
const CLASS = /^[A-Za-z][\w.-]{0,63}$/;

/** Returns the class under which an error is counted. HTTP statuses of failures are classes. */
export const errorClassOf = (stated: string | undefined, otherwise = '_OTHER'): string =>
  stated !== undefined && (CLASS.test(stated) || /^[45]\d\d$/.test(stated)) ? stated : otherwise;
