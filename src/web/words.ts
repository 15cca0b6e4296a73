const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;

/** `1,234`. */
export function readableNumber(value: number): string {
  return value.toLocaleString('en-US');
}

/** `5 min ago`. */
export function readableAge(ms: number): string {
  if (ms < MINUTE_MS) return 'just now';
  if (ms < HOUR_MS) return `${Math.floor(ms / MINUTE_MS)} min ago`;
  if (ms < 2 * DAY_MS) return `${Math.floor(ms / HOUR_MS)} h ago`;
  return `${Math.floor(ms / DAY_MS)} days ago`;
}

/** `08:05 UTC`. */
export function readableTime(ms: number): string {
  return `${new Date(ms).toISOString().slice(11, 16)} UTC`;
}

/** `1 picture`, `2 pictures`. */
export function counted(count: number, one: string, many = `${one}s`): string {
  return `${readableNumber(count)} ${count === 1 ? one : many}`;
}

/** The name of a country in English, by its two letters. */
export function countryName(code: string): string {
  if (code === 'ZZ') return 'Unknown';
  try {
    countryNames ??= new Intl.DisplayNames(['en'], { type: 'region' });
    return countryNames.of(code) ?? code;
  } catch {
    return code;
  }
}

/** Made when it is first needed: that takes 3 ms. */
let countryNames: Intl.DisplayNames | undefined;
