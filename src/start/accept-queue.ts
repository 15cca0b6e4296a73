import { connect, type NetConnectOpts } from 'node:net';

/** What lets requests in needs no longer than this; a machine that cannot reach itself is not waited for. In ms. */
const PATIENCE_MS = 5000;

/**
 * Resolves when the server behind the address has taken in every connection that stood in the queue of its listener.
 * The system resets connections that are still queued when the listener closes, although their requests may have been sent in full. A
 * connection of our own goes through the queue behind them: when it is answered, they have been read. Never rejects.
 */
export function acceptWaiting(address: NetConnectOpts): Promise<void> {
  return new Promise((resolve) => {
    const socket = connect(address);
    socket.setTimeout(PATIENCE_MS, () => socket.destroy());
    socket.once('connect', () =>
      socket.write('GET /livez HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n'),
    );
    socket.once('data', () => socket.destroy());
    socket.once('error', () => socket.destroy());
    socket.once('close', () => resolve());
  });
}
