/** CSV (RFC 4180). A cell that a spreadsheet would take for a formula begins with an apostrophe. */
export const csvLine = (cells: readonly (string | number)[]): string => `${cells.map(quoted).join(',')}\r\n`;

function quoted(cell: string | number): string {
  const text = typeof cell === 'string' && /^[=+\-@\t\r]/.test(cell) ? `'${cell}` : String(cell);
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}
