import { message } from '../errors.ts';

const MINUTE_MS = 60_000;
const DAY_MS = 24 * 60 * MINUTE_MS;
const LEAST_MS = 10 * MINUTE_MS;
/** Ten years. */
export const MOST_EXPIRY_MS = 3650 * DAY_MS;

const UNITS_MS = { s: 1000, m: MINUTE_MS, h: 60 * MINUTE_MS, d: DAY_MS, w: 7 * DAY_MS, y: 365 * DAY_MS };
const isUnit = (unit: string): unit is keyof typeof UNITS_MS => unit in UNITS_MS;

/** Describes what `parseExpiry` accepts. */
export const EXPIRY_FORM = message(
  'must be a time from {least} to {most}, such as 30m, 12h, 7d, 2w or 1y, or never where the server allows it',
  { least: '10m', most: '10y' },
);

/**
 * Parses a time such as `30m`, `7d` or `never` to ms; without a unit it is in seconds. Returns `null` for any other
 * text, or if it is out of range.
 */
export function parseExpiry(text: string): number | null {
  if (text.toLowerCase() === 'never') return Number.POSITIVE_INFINITY;
  const [, amount = '', unit = 's'] = /^(\d{1,12})\s*([smhdwy])?$/.exec(text.toLowerCase()) ?? [];
  if (amount === '' || !isUnit(unit)) return null;
  const ms = Number(amount) * UNITS_MS[unit];
  return ms >= LEAST_MS && ms <= MOST_EXPIRY_MS ? ms : null;
}

/** Formats a time so that `parseExpiry` can read it. */
export function formatExpiry(ms: number): string {
  const unit = (['y', 'd', 'h', 'm'] as const).find((one) => ms % UNITS_MS[one] === 0) ?? 's';
  return `${Math.floor(ms / UNITS_MS[unit])}${unit}`;
}
