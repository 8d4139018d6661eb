/** Whether a system call failed: that says something about the machine, and nothing about the data at hand. */
export const isDiskError = (error: unknown): boolean => error instanceof Error && 'syscall' in error;
