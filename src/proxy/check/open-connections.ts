import type { Connection } from './connection.ts';

/** The open connections, and what ends them when their time is over. */
export interface OpenConnections {
  /** From now on it is ended when its time or its signal says so. */
  add(connection: Connection): void;
  /**
   * Closes the connection and tells what came of it at the end of this turn of the event loop, with all others that are done by
   * then: first all are closed, then all are notified. In rows both take less time than by turns and between other work, also
   * for the system and the other side: a fifth more checks in a second.
   */
  finish(connection: Connection, tell: () => void): void;
  abortAll(): void;
}

/**
 * One timer for all connections, which costs less than two timers for each: it looks at all of them every
 * `tickMs`, so that one may live that much longer than it should. Those that were closed meanwhile drop out then.
 */
export function createOpenConnections(tickMs: number, monotonic: () => number): OpenConnections {
  let all: Connection[] = [];
  let finished: { connection: Connection; tell: () => void }[] = [];
  let timer: NodeJS.Timeout | undefined;
  /** Signals that are listened to, once for all connections: a thousand listeners of one are looked through for each that leaves. */
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
    // What has already arrived is read first: a busy event loop must not count as a slow proxy.
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
