/** Returns `12,345`, regardless of the system's language. */
export function formatCount(count: number): string {
  return Math.round(count).toLocaleString('en');
}

/** Returns `12,345 images`, `1 image`. */
export function countOf(count: number, one: string, many = `${one}s`): string {
  return `${formatCount(count)} ${count === 1 ? one : many}`;
}

/** Returns `0:05`, `12:30`, `1:02:03`. */
export function formatSpan(ms: number): string {
  const seconds = Math.round(ms / 1000);
  const [hours, minutes] = [Math.floor(seconds / 3600), Math.floor(seconds / 60) % 60];
  const tail = String(seconds % 60).padStart(2, '0');
  return hours > 0 ? `${hours}:${String(minutes).padStart(2, '0')}:${tail}` : `${minutes}:${tail}`;
}

const MIB = 2 ** 20;
const GIB = 2 ** 30;
const UNITS = ['KB', 'MB', 'GB', 'TB', 'PB'];

/**
 * Returns `2 GiB`, `32 MiB`, `1.5 MiB` for whole ones and halves, as in settings, otherwise `512 B`, `3.4 MB`,
 * `184 KB`, in steps of 1000.
 */
export function readableBytes(bytes: number): string {
  if (bytes >= GIB && bytes % GIB === 0) return `${bytes / GIB} GiB`;
  if (bytes >= MIB && bytes % (MIB / 2) === 0) return `${bytes / MIB} MiB`;
  let value = bytes;
  let unit = 'B';
  for (const larger of UNITS) {
    // What would be rounded to 1000 belongs to the next unit.
    if (value < 999.5) break;
    value /= 1000;
    unit = larger;
  }
  return `${value < 9.95 ? Math.round(value * 10) / 10 : Math.round(value)} ${unit}`;
}
