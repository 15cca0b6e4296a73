/** Returns cells as one line of CSV (RFC 4180), with its line end. */
export function csvRow(cells: readonly unknown[]): string {
  return `${cells.map(cellOf).join(',')}\n`;
}

/** Lists are joined with spaces, and missing values are empty. */
function cellOf(value: unknown): string {
  const text = Array.isArray(value) ? value.join(' ') : String(value ?? '');
  // A leading apostrophe keeps spreadsheets from executing text that others chose, such as the name of a list.
  const safe = typeof value !== 'number' && /^[=+@\t\r-]/.test(text) ? `'${text}` : text;
  return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}
