import { connect as connectTcp, type Socket } from 'node:net';
import type { Dialled } from '../proxy.ts';
import { Connection, type Conversation } from './connection.ts';
import { isCommitted } from './exchange.ts';
import { CheckFault, type FaultCode } from './fault.ts';
import { createOpenConnections } from './open-connections.ts';

/** Time limits are enforced at most this late. */
const MAX_TICK_MS = 10;

/** Share of the time limit for establishing the TCP connection. The rest takes several round trips. */
const CONNECT_SHARE = 0.6;

interface DiallerOptions {
  /** Starts a TCP connection to a literal address. Default: the system's. */
  dial?: ((address: string, port: number) => Socket) | undefined;
  /** Time limit for establishing the TCP connection. Default: 0.6 of `timeoutMs`. */
  connectTimeoutMs?: number | undefined;
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

/** Opens connections that carry one conversation each. */
export interface Dialler {
  /** Rejects with a `CheckFault`. */
  hold<T>(address: string, port: number, conversation: Conversation<T>): Promise<T>;
  /** Rejects only with errors that are not the other side's fault. */
  holdWith<T>(
    proxy: Dialled,
    conversation: Conversation<T>,
    signal: AbortSignal | undefined,
  ): Promise<Held<T>>;
  /** Closes all connections at once, and opens no more. */
  close(): void;
}

export function createDialler(options: DiallerOptions): Dialler {
  const { timeoutMs, monotonic, dial = dialTcp } = options;
  const { connectTimeoutMs = Math.ceil(timeoutMs * CONNECT_SHARE) } = options;
  const tickMs = Math.min(MAX_TICK_MS, Math.ceil(timeoutMs / 20));
  const live = createOpenConnections(tickMs, monotonic);
  const { finish } = live;
  let closed = false;

  /** Starts a connection. A conversation has to be held on it, because that closes it. */
  function begin(address: string, port: number, signal?: AbortSignal): Connection {
    const socket = dial(address, port);
    const connection = new Connection({ socket, connectTimeoutMs, timeoutMs, monotonic, signal, finish });
    live.add(connection);
    return connection;
  }

  return {
    async hold(address, port, conversation) {
      if (closed) throw new CheckFault('aborted', 'closed');
      return begin(address, port).hold(conversation);
    },
    async holdWith(proxy, conversation, signal) {
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
    close() {
      closed = true;
      live.abortAll();
    },
  };
}

function dialTcp(address: string, port: number): Socket {
  return connectTcp({ host: address, port, autoSelectFamily: false });
}
