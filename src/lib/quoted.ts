/** A text as JSON writes it. Most texts need no escapes. */
export const quoted = (text: string): string => (PLAIN.test(text) ? `"${text}"` : JSON.stringify(text));

/** Printable ASCII without the quote and the backslash. */
const PLAIN = /^[ !#-[\]-~]*$/;
