import { connect as connectTcp, type LookupFunction, type Socket } from 'node:net';
import type { Dialled } from '../proxy.ts';
import { Connection, type Conversation } from './connection.ts';
import { isCommitted } from './exchange.ts';
import { CheckFault, type FaultCode } from './fault.ts';

/** Time limits are enforced at most this late. */
const MAX_TICK_MS = 10;

interface DiallerOptions {
  /** Starts a TCP connection to a literal address. Default: the system's. */
  dial?: ((address: string, port: number) => Socket) | undefined;
  timeoutMs: number;
  monotonic: () => number;
}

/** The outcome of a conversation with a proxy. */
export type Held<T> =
  | { said: T; times: ReturnType<Connection['times']> }
  | {
      failed: FaultCode;
      /** True if the proxy may have been waiting for the server behind it. */
      committed: boolean;
    };

export function createDialler(options: DiallerOptions) {
  const { timeoutMs, monotonic, dial = dialTcp } = options;
  const tickMs = Math.min(MAX_TICK_MS, Math.ceil(timeoutMs / 20));
  const live = createOpenConnections(tickMs, monotonic);
  const { finish } = live;
  let closed = false;

  /** Starts a connection. A conversation has to be held on it, because that closes it. */
  function begin(address: string, port: number, signal?: AbortSignal): Connection {
    const socket = dial(address, port);
    const connection = new Connection({ socket, timeoutMs, monotonic, signal, finish });
    live.add(connection);
    return connection;
  }

  return {
    /** Rejects with a `CheckFault`. */
    async hold<T>(address: string, port: number, conversation: Conversation<T>): Promise<T> {
      if (closed) throw new CheckFault('aborted', 'closed');
      return begin(address, port).hold(conversation);
    },
    /** Rejects only with errors that are not the other side's fault. */
    async holdWith<T>(
      proxy: Dialled,
      conversation: Conversation<T>,
      signal: AbortSignal | undefined,
    ): Promise<Held<T>> {
      if (closed || signal?.aborted) return { failed: 'aborted', committed: false };
      const connection = begin(proxy.ip, proxy.port, signal);
      try {
        const said = await connection.hold(conversation);
        return { said, times: connection.times() };
      } catch (error) {
        if (!(error instanceof CheckFault)) throw error;
        return { failed: error.code, committed: isCommitted(proxy, connection.turnsBegun) };
      }
    },
    /** Closes all connections at once, and opens no more. */
    close(): void {
      closed = true;
      live.abortAll();
    },
  };
}

/** Opens connections that carry one conversation each. */
export type Dialler = ReturnType<typeof createDialler>;

/** What is dialled was judged, so it is never a name. */
const lookup: LookupFunction = (name, _, done) => done(new Error(`not an address: ${name}`), '');

function dialTcp(address: string, port: number): Socket {
  return connectTcp({ host: address, port, autoSelectFamily: false, lookup });
}

/**
 * The open connections, and the timer that ends them when their time is over.
 * Uses one timer for all connections, which costs less than two timers for each. It checks all of them every `tickMs`,
 * so a connection may live that much too long. Those closed meanwhile are dropped then.
 */
function createOpenConnections(tickMs: number, monotonic: () => number) {
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
    /** Adds a connection. It is ended when its time is over or its signal aborts. */
    add(connection: Connection): void {
      all.push(connection);
      if (connection.signal) listenTo(connection.signal);
      timer ??= setInterval(tick, tickMs);
    },
    /**
     * Closes the connection and reports its result at the end of this turn of the event loop, together with all others
     * that are done by then: first all are closed, then all are notified. Batching takes less time for us, the system
     * and the other side, and allows a fifth more checks a second.
     */
    finish(connection: Connection, tell: () => void): void {
      if (finished.push({ connection, tell }) === 1) setImmediate(endTurn);
    },
    abortAll: () => abort(() => true),
  };
}
