/** Cells as one line of CSV (RFC 4180), with its end. */
export function csvRow(cells: readonly unknown[]): string {
  return `${cells.map(cellOf).join(',')}\n`;
}

/** Lists are written with blanks between their items, what is not there as nothing. */
function cellOf(value: unknown): string {
  const text = Array.isArray(value) ? value.join(' ') : String(value ?? '');
  // A leading apostrophe keeps spreadsheets from running what strangers chose, such as the name of a list.
  const safe = typeof value !== 'number' && /^[=+@\t\r-]/.test(text) ? `'${text}` : text;
  return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}
