/**
 * Parses lists in the form of the OpenTelemetry variables: `name=value,name=value`, percent-encoded, like a W3C baggage
 * header.
 */

/** Undefined if any part is malformed: half a list of headers or attributes is worse than none. */
export function parsePairs(text: string): Record<string, string> | undefined {
  const found: [string, string][] = [];
  for (const part of text.split(',')) {
    if (part.trim() === '') continue;
    const at = part.indexOf('=');
    if (at <= 0) return undefined;
    const name = decoded(part.slice(0, at).trim());
    const value = decoded(part.slice(at + 1).trim());
    if (name === undefined || name === '' || value === undefined) return undefined;
    found.push([name, value]);
  }
  return Object.fromEntries(found);
}

export function decoded(text: string): string | undefined {
  try {
    return decodeURIComponent(text);
  } catch {
    // A percent sign without digits: the text is not percent-encoded.
    return undefined;
  }
}
