/** Returns true if the first bytes of a program named otel-hooks are those of the Python package. */
export const isPythonProgram = (beginning: string): boolean => /^#!.*python|^#!.*\n'''exec'/.test(beginning);
