import type { Connection } from './connection.ts';

/** The open connections, and the timer that ends them when their time is over. */
interface OpenConnections {
  /** Adds a connection. It is ended when its time is over or its signal aborts. */
  add(connection: Connection): void;
  /**
   * Closes the connection and reports its result at the end of this turn of the event loop, together with all
   * others that are done by then: first all are closed, then all are notified. Batching takes less time for
   * us, the system and the other side, and allows a fifth more checks a second.
   */
  finish(connection: Connection, tell: () => void): void;
  abortAll(): void;
}

/**
 * Uses one timer for all connections, which costs less than two timers for each. It checks all of them every
 * `tickMs`, so a connection may live that much too long. Those closed meanwhile are dropped then.
 */
export function createOpenConnections(tickMs: number, monotonic: () => number): OpenConnections {
  let all: Connection[] = [];
  let finished: { connection: Connection; tell: () => void }[] = [];
  let timer: NodeJS.Timeout | undefined;
  /**
   * Signals with a listener, one for all connections. If each connection had its own, removing one would
   * search through a thousand.
   */
  const heard = new WeakSet<AbortSignal>();

  function abort(wanted: (connection: Connection) => boolean): void {
    for (const connection of all) {
      if (!connection.isClosed && wanted(connection)) connection.abort('aborted');
    }
  }

  function listenTo(signal: AbortSignal): void {
    if (heard.has(signal)) return;
    heard.add(signal);
    signal.addEventListener('abort', () => abort((connection) => connection.signal === signal), {
      once: true,
    });
  }

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
    // Reads what has already arrived first, so that a busy event loop does not count as a slow proxy.
    if (late.length > 0) setImmediate(expireLate, late);
    if (all.length > 0) return;
    clearInterval(timer);
    timer = undefined;
  }

  function endTurn(): void {
    const now = finished;
    finished = [];
    for (const { connection } of now) connection.close();
    for (const { tell } of now) tell();
  }

  return {
    add(connection) {
      all.push(connection);
      if (connection.signal) listenTo(connection.signal);
      timer ??= setInterval(tick, tickMs);
    },
    finish(connection, tell) {
      if (finished.push({ connection, tell }) === 1) setImmediate(endTurn);
    },
    abortAll: () => abort(() => true),
  };
}
