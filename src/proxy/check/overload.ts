/** How often the event loop is checked while checks run. */
const TICK_MS = 50;

/**
 * A turn of the event loop counts as lost time if it is later than this share of the time limit, and at least
 * this many ms late.
 */
const LATE = { share: 1 / 80, leastMs: 50 } as const;

/** A check that lost more than this share of its time might have passed on an idle machine. */
const STARVED_SHARE = 0.1;

/** Shares of each second. If more than `high` is lost, fewer checks may run; if less than `low` is lost, more. */
const LOST_SHARE = { high: 0.2, low: 0.05 } as const;
const WINDOW_MS = 1000;

/** Fewer checks than this never overload a machine. */
const LEAST = 64;
/**
 * A process that uses less of a core than this loses its time to other processes, and fewer checks would not help.
 */
const IDLE_SHARE = 0.1;
const SHRINK = 0.7;
const GROWTH = { share: 0.05, least: 16 } as const;

interface OverloadOptions {
  /** Time limit of one exchange of a check. */
  timeoutMs: number;
  monotonic: () => number;
  /** CPU time that this process has used. */
  cpuMs: () => number;
}

/**
 * Keeps proxies from being blamed for an overloaded machine: measures where time was lost, and lets fewer checks run
 * while it is (additive increase, multiplicative decrease).
 */
export function createOverload({ timeoutMs, monotonic, cpuMs }: OverloadOptions) {
  const lateMs = Math.max(LATE.leastMs, timeoutMs * LATE.share);
  const waiting: (() => void)[] = [];
  let running = 0;
  let limit = Number.POSITIVE_INFINITY;
  let lostMs = 0;
  let window = { startedAt: 0, lostMs: 0, cpuMs: 0, full: false };
  let tickedAt = 0;
  let shrunkAt = Number.NEGATIVE_INFINITY;
  let timer: NodeJS.Timeout | undefined;

  function begin(): void {
    tickedAt = monotonic();
    window = { startedAt: tickedAt, lostMs, cpuMs: cpuMs(), full: false };
    timer = setInterval(tick, TICK_MS);
  }

  /** Updates the state, so that a late turn counts before the check that it delayed is judged. */
  function look(): void {
    const now = monotonic();
    const late = now - tickedAt - TICK_MS;
    if (late <= lateMs) return;
    lostMs += late;
    tickedAt = now;
  }

  function tick(): void {
    look();
    const now = monotonic();
    tickedAt = now;
    if (waiting.length > 0) window.full = true;
    const lasted = now - window.startedAt;
    if (lasted < WINDOW_MS) return;
    const share = (lostMs - window.lostMs) / lasted;
    const isIdle = (cpuMs() - window.cpuMs) / lasted < IDLE_SHARE;
    if (share > LOST_SHARE.high && !isIdle) shrink();
    else if ((share < LOST_SHARE.low || isIdle) && window.full)
      limit += Math.max(GROWTH.least, limit * GROWTH.share);
    window = { startedAt: now, lostMs, cpuMs: cpuMs(), full: false };
    release();
  }

  function shrink(): void {
    const now = monotonic();
    if (now - shrunkAt < WINDOW_MS) return;
    shrunkAt = now;
    limit = Math.min(limit, Math.max(LEAST, Math.floor(running * SHRINK)));
  }

  function release(): void {
    while (running < limit) {
      const next = waiting.shift();
      if (next === undefined) return;
      running++;
      next();
    }
  }

  return {
    /** Resolves when another check may run, in order of arrival. Returns `undefined` if it may run now. */
    enter(): Promise<void> | undefined {
      if (running >= limit) return new Promise((resolve) => waiting.push(resolve));
      if (running++ === 0) begin();
      return undefined;
    },
    leave(): void {
      running--;
      release();
      if (running > 0) return;
      clearInterval(timer);
    },
    /** Starts to watch. The returned function reports whether too much time was lost since. */
    watch(): () => boolean {
      if (running > 0) look();
      const before = lostMs;
      return () => {
        if (running > 0) look();
        return lostMs - before > timeoutMs * STARVED_SHARE;
      };
    },
    /** Notes another sign that too many checks run at once. Counts at most once a second. */
    shrink,
    /** Maximum number of checks at once. */
    get limit(): number {
      return limit;
    },
  };
}
