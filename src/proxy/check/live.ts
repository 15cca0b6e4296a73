import type { Connection } from './connection.ts';

/** The connections that stand, and what ends them when their time is over. */
export interface LiveConnections {
  add(connection: Connection): void;
  remove(connection: Connection): void;
  abortAll(): void;
}

/**
 * One timer for all connections, which costs less than two timers for each: it looks at all of them every
 * `tickMs`, so that one may live that much longer than it should.
 */
export function createLiveConnections(tickMs: number, monotonic: () => number): LiveConnections {
  const all = new Set<Connection>();
  let timer: NodeJS.Timeout | undefined;

  function expireLate(late: Connection[]): void {
    for (const connection of late) {
      if (all.has(connection) && connection.isLate(monotonic())) connection.abort('timeout');
    }
  }

  function tick(): void {
    const now = monotonic();
    const late: Connection[] = [];
    for (const connection of all) {
      if (connection.isLate(now)) late.push(connection);
    }
    // What has already arrived is read first: a busy event loop must not count as a slow proxy.
    if (late.length > 0) setImmediate(expireLate, late);
    if (all.size > 0) return;
    clearInterval(timer);
    timer = undefined;
  }

  return {
    add(connection) {
      all.add(connection);
      timer ??= setInterval(tick, tickMs);
    },
    remove(connection) {
      all.delete(connection);
    },
    abortAll() {
      for (const connection of all) connection.abort('aborted');
    },
  };
}
