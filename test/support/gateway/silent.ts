import { NOBODY, type TcpSocket } from '../../../src/runtime/tcp.ts';

/** A connection on which nothing happens. */
export function silent(changes: Partial<TcpSocket> = {}): TcpSocket {
  const nothing = { pause() {}, resume() {}, end() {}, destroy() {} };
  return { peer: '', listener: NOBODY, write: () => true, ...nothing, ...changes };
}
