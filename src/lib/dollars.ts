/** Rounds to 1e-10 dollars, less than the price of any token. */
export const dollars = (amount: number): number => Math.round(amount * 1e10) / 1e10;
