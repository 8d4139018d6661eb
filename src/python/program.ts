/** Whether a program named otel-hooks, by its first bytes, is that of the Python package. */
export const isPythonProgram = (beginning: string): boolean => /^#!.*python|^#!.*\n'''exec'/.test(beginning);
