const MINUTE_MS = 60_000;
const DAY_MS = 24 * 60 * MINUTE_MS;
const LEAST_MS = 10 * MINUTE_MS;
/** Ten years. */
export const MOST_EXPIRY_MS = 3650 * DAY_MS;

const UNITS_MS = { s: 1000, m: MINUTE_MS, h: 60 * MINUTE_MS, d: DAY_MS, w: 7 * DAY_MS, y: 365 * DAY_MS };
const isUnit = (unit: string): unit is keyof typeof UNITS_MS => unit in UNITS_MS;

/** What `parseExpiry` reads, in words. */
export const EXPIRY_FORM = 'must be never, or a time from 10m to 10y, such as 30m, 12h, 7d, 2w or 1y';

/** A time such as `30m`, `7d` or `never`, in ms; without a unit in seconds; `null` for any other text, and one out of bounds. */
export function parseExpiry(text: string): number | null {
  if (text.toLowerCase() === 'never') return Number.POSITIVE_INFINITY;
  const [, amount = '', unit = 's'] = /^(\d{1,12})\s*([smhdwy])?$/.exec(text.toLowerCase()) ?? [];
  if (amount === '' || !isUnit(unit)) return null;
  const ms = Number(amount) * UNITS_MS[unit];
  return ms >= LEAST_MS && ms <= MOST_EXPIRY_MS ? ms : null;
}

/** A time in the form that `parseExpiry` reads. */
export function formatExpiry(ms: number): string {
  const unit = (['y', 'd', 'h', 'm'] as const).find((one) => ms % UNITS_MS[one] === 0) ?? 's';
  return `${Math.floor(ms / UNITS_MS[unit])}${unit}`;
}
