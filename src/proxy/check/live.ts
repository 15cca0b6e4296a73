import type { Connection } from './connection.ts';

/** The connections that stand, and what ends them when their time is over. */
export interface LiveConnections {
  add(connection: Connection): void;
  abortAll(): void;
}

/**
 * One timer for all connections, which costs less than two timers for each: it looks at all of them every
 * `tickMs`, so that one may live that much longer than it should. Those that were closed meanwhile drop out then.
 */
export function createLiveConnections(tickMs: number, monotonic: () => number): LiveConnections {
  let all: Connection[] = [];
  let timer: NodeJS.Timeout | undefined;

  function expireLate(late: Connection[]): void {
    const now = monotonic();
    for (const connection of late) {
      if (!connection.isClosed && connection.isLate(now)) connection.abort('timeout');
    }
  }

  function tick(): void {
    const now = monotonic();
    all = all.filter((connection) => !connection.isClosed);
    const late = all.filter((connection) => connection.isLate(now));
    // What has already arrived is read first: a busy event loop must not count as a slow proxy.
    if (late.length > 0) setImmediate(expireLate, late);
    if (all.length > 0) return;
    clearInterval(timer);
    timer = undefined;
  }

  return {
    add(connection) {
      all.push(connection);
      timer ??= setInterval(tick, tickMs);
    },
    abortAll() {
      for (const connection of all) if (!connection.isClosed) connection.abort('aborted');
    },
  };
}
