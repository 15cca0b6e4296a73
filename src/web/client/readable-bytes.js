// @ts-check

/**
 * The same as `src/lib/format.ts`; a test compares them.
 * @param {number} bytes
 */
export function readableBytes(bytes) {
  if (bytes >= 2 ** 30 && bytes % 2 ** 30 === 0) return `${bytes / 2 ** 30} GiB`;
  if (bytes >= 2 ** 20 && bytes % 2 ** 19 === 0) return `${bytes / 2 ** 20} MiB`;
  let value = bytes;
  let unit = 'B';
  for (const larger of ['KB', 'MB', 'GB', 'TB', 'PB']) {
    if (value < 999.5) break;
    value /= 1000;
    unit = larger;
  }
  return `${value < 9.95 ? Math.round(value * 10) / 10 : Math.round(value)} ${unit}`;
}
