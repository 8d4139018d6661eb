/** Formats amounts of tokens and dollars for terminals. An unknown amount is empty. */

/** `1.2k`, `34M` */
export function shortNumber(value: number | undefined): string {
  if (value === undefined) return '';
  if (value < 1_000) return String(value);
  const [size, unit] = value < 999_500 ? [value / 1_000, 'k'] : [value / 1_000_000, 'M'];
  return `${size < 10 ? size.toFixed(1) : Math.round(size)}${unit}`;
}

export const dollars = (value: number | undefined): string =>
  value === undefined ? '' : `$${value.toFixed(value < 1 ? 4 : 2)}`;

/** A plus sign says that some tokens have no price. */
export const costText = (usd: number | undefined, unpricedTokens: number | undefined): string =>
  usd === undefined ? '' : `${dollars(usd)}${(unpricedTokens ?? 0) > 0 ? '+' : ''}`;
