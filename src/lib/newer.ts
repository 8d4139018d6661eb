/** By the numbers; what follows them (a pre-release) does not make a version newer. */
export function isNewer(version: string, than: string): boolean {
  const numbers = (text: string): number[] => (/^[\d.]+/.exec(text)?.[0] ?? '').split('.').map(Number);
  const [theirs, ours] = [numbers(version), numbers(than)];
  const at = theirs.findIndex((part, i) => part !== (ours[i] ?? 0));
  return at >= 0 && (theirs[at] ?? 0) > (ours[at] ?? 0);
}
