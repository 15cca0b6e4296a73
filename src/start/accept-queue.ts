import { connect, type NetConnectOpts } from 'node:net';

/** Longer than accepting takes; a machine that cannot connect to itself is not waited for. In ms. */
const PATIENCE_MS = 5000;

/**
 * Resolves when the server at the address has accepted every connection that was queued at its listener. The system
 * resets connections that are still queued when the listener closes, although their requests may have been sent in
 * full. Our own connection queues behind them: when it is answered, they have been read. Never rejects.
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
