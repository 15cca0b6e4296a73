export const MINUTE = 60_000;
export const HOUR = 60 * MINUTE;
export const DAY = 24 * HOUR;

/** How the service runs in such a world. */
export const SERVICE = {
  countryOf: () => 'ZZ',
  log: () => {},
  refreshIntervalMs: HOUR,
  refreshOnStart: true,
  refreshBudgetMs: 3 * MINUTE,
  concurrency: 1000,
  deadRetentionMs: 7 * DAY,
  maxPool: 200_000,
};

/** Share of the proxies, mean time working, mean time not working. */
export type Kind = readonly [share: number, upMs: number, downMs: number];

/** As observed on public lists: few are stable, most work for minutes once in days. */
export const KINDS: readonly Kind[] = [
  [0.015, 5 * DAY, 2 * HOUR],
  [0.01, 4 * HOUR, 4 * HOUR],
  [0.175, 20 * MINUTE, 5 * HOUR],
  [0.8, 20 * MINUTE, 20 * DAY],
];

/** Proxies that toggle between working and not at random, without memory. */
export interface World {
  addresses: string[];
  works(ip: string, now: number): boolean;
  /** Reports whether its mean share of time up is at least this. */
  isMostlyUp(ip: string): boolean;
  /** Makes these fail from now until `until`, regardless of their state. */
  block(ips: readonly string[], until: number): void;
}

export function createWorld(
  kinds: readonly Kind[],
  count: number,
  random: () => number,
  startMs: number,
): World {
  const kindOf: Kind[] = [];
  const up: boolean[] = [];
  const until = new Float64Array(count);
  const blocked = new Map<number, number>();
  const lasting = (meanMs: number) => -Math.log(1 - random()) * meanMs;
  for (const kind of kinds) {
    const [share, upMs, downMs] = kind;
    for (let left = Math.round(share * count); left > 0 && kindOf.length < count; left--) {
      const index = kindOf.push(kind) - 1;
      up[index] = random() < upMs / (upMs + downMs);
      until[index] = startMs + lasting(up[index] ? upMs : downMs);
    }
  }
  const never: Kind = [0, 1, Number.POSITIVE_INFINITY];
  while (kindOf.length < count) until[kindOf.push(never) - 1] = Number.POSITIVE_INFINITY;

  return {
    addresses: kindOf.map((_, index) => addressOf(index)),
    works(ip, now) {
      const index = indexOf(ip);
      const [, upMs, downMs] = kindOf[index] ?? never;
      while ((until[index] ?? Number.POSITIVE_INFINITY) <= now) {
        up[index] = !up[index];
        until[index] = (until[index] ?? 0) + lasting(up[index] ? upMs : downMs);
      }
      return up[index] === true && (blocked.get(index) ?? 0) <= now;
    },
    isMostlyUp(ip) {
      const [, upMs, downMs] = kindOf[indexOf(ip)] ?? never;
      return upMs >= downMs;
    },
    block(ips, until) {
      for (const ip of ips) blocked.set(indexOf(ip), until);
    },
  };
}

export function addressOf(index: number): string {
  return `${11 + (index >> 24)}.${(index >> 16) & 255}.${(index >> 8) & 255}.${index & 255}`;
}

export function indexOf(ip: string): number {
  const [a = 11, b = 0, c = 0, d = 0] = ip.split('.').map(Number);
  return ((a - 11) << 24) | (b << 16) | (c << 8) | d;
}
