/** The default limits for loops: failures in a row, unchanged results in a row, and the minutes in which they count. */
export const usualLoops = { failing: 3, unchanged: 5, minutes: 15 } as const;
