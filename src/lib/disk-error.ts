/** Whether an error comes from a system call. Such an error is about the machine and not about the data. */
export const isDiskError = (error: unknown): boolean => error instanceof Error && 'syscall' in error;
