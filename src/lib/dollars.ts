/** To the ten-thousandth of a millionth: less than any single token costs. */
export const dollars = (amount: number): number => Math.round(amount * 1e10) / 1e10;
