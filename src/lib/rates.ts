import { readFlag } from './flag.ts';
import type { Bucket } from './rate-limiter.ts';

const MINUTE_S = 60;
const GIB = 2 ** 30;

/**
 * Returns a bucket for a number of events in some seconds: all may come at once, and are regained evenly over that
 * time.
 */
function per(capacity: number, seconds: number): Bucket {
  return { capacity, perSecond: capacity / seconds };
}

/**
 * What one client (an IPv4 address, an IPv6 /64) may do; `target`, `target_network` and `targets` count tested
 * addresses of all clients. People and well-behaved scripts never reach these limits.
 */
export const DEFAULT_RATES = {
  /** GET and HEAD. */
  read: per(2000, 10),
  upload: per(60, MINUTE_S),
  upload_bytes: per(2 * GIB, 60 * MINUTE_S),
  /** CPU seconds of conversions: some 300 phone photos at once, and then half a core. */
  conversion: per(300, 10 * MINUTE_S),
  test: per(60, MINUTE_S),
  target: per(20, MINUTE_S),
  /** An IPv4 /24, or an IPv6 /56 and /48. */
  target_network: per(40, MINUTE_S),
  targets: per(600, MINUTE_S),
  report: per(60, MINUTE_S),
  /** Refreshes and cleanups. */
  job: per(10, 5 * MINUTE_S),
  /** Wrong ones, from an IPv4 /24, or from an IPv6 /56 and /48. */
  password: per(30, MINUTE_S),
  /** All other writes. */
  write: per(120, MINUTE_S),
} satisfies Record<string, Bucket>;

export type RateName = keyof typeof DEFAULT_RATES;
export type Rates = Record<RateName, Bucket>;

/** Periods by their units, the longest last. */
export const SECONDS = { s: 1, m: MINUTE_S, h: 60 * MINUTE_S, d: 1440 * MINUTE_S };
export const SIZES: Record<string, number> = { b: 1, k: 1e3, m: 1e6, g: 1e9, ki: 1024, mi: 2 ** 20, gi: GIB };

/**
 * Parses `on`, `off` (`null`), or custom limits such as `upload=60/1m,upload_bytes=2GiB/1h`. Limits that are not
 * named keep their defaults.
 * @throws {Error} that says what is valid.
 */
export function parseRates(text: string): Rates | null {
  const isOn = readFlag(text);
  if (isOn !== null) return isOn ? DEFAULT_RATES : null;
  const rates: Rates = { ...DEFAULT_RATES };
  for (const entry of text.toLowerCase().split(',')) {
    const [name = '', figures = ''] = entry.split('=').map((part) => part.trim());
    const bucket = readRate(figures);
    if (!Object.hasOwn(DEFAULT_RATES, name) || bucket === null) {
      const names = Object.keys(DEFAULT_RATES).join(', ');
      throw new Error(
        `must be on, off, or limits such as upload=60/1m,read=2000/10s (of ${names}), not "${text}"`,
      );
    }
    rates[name as RateName] = bucket;
  }
  return rates;
}

/** Parses `60/1m` or `2GiB/1h`, a number or size for a period. Returns `null` if it is neither. */
export function readRate(text: string): Bucket | null {
  const [, count, prefix = 'b', time, unit = ''] =
    /^(\d+(?:\.\d+)?)\s*(?:(?:([kmg]i?)b?|b)\s*)?\/\s*(?:(\d+(?:\.\d+)?)\s*)?([smhd])$/.exec(
      text.trim().toLowerCase(),
    ) ?? [];
  const capacity = Number(count) * (SIZES[prefix] ?? Number.NaN);
  const seconds = Number(time ?? 1) * (SECONDS[unit as keyof typeof SECONDS] ?? Number.NaN);
  return capacity >= 1 && seconds > 0 ? per(capacity, seconds) : null;
}
