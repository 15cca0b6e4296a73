import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { createServer, type Server, type Socket } from 'node:net';
import { bunTcp } from '../../src/runtime/bun-tcp.ts';
import { nodeTcp } from '../../src/runtime/node-tcp.ts';
import type { Tcp, TcpListener, TcpSocket } from '../../src/runtime/tcp.ts';
import { listening } from '../support/servers/listening.ts';

/** Does with a connection what its first byte says. */
function play(socket: Socket): void {
  socket.on('error', () => {});
  socket.once('data', ([first]: Buffer) => {
    if (first === ECHO) socket.on('end', () => socket.end('bye'));
    if (first === END) socket.end('bye');
    if (first === RESET) socket.on('end', () => socket.resetAndDestroy());
  });
}
const [ECHO, END, RESET] = [1, 2, 3];

let server: Server;
let port: number;
beforeAll(async () => {
  server = createServer({ allowHalfOpen: true }, play);
  port = await listening(server);
});
afterAll(() => void server.close());

/** What a dialled connection tells until it is closed. */
function dial(tcp: Tcp, to: number, onOpened: (socket: TcpSocket) => void, onEnded = (_: TcpSocket) => {}) {
  return new Promise<string[]>((resolve) => {
    const told: string[] = [];
    const listener: TcpListener = {
      opened() {
        told.push('opened');
        onOpened(socket);
      },
      received: (bytes) => void told.push(Buffer.from(bytes).toString()),
      drained: () => void told.push('drained'),
      ended() {
        told.push('ended');
        onEnded(socket);
      },
      closed(fault) {
        told.push(`closed ${fault}`);
        resolve(told);
      },
    };
    const socket = tcp.dial('127.0.0.1', to, listener);
  });
}

describe.each([
  ['Bun', bunTcp],
  ['node:net', nodeTcp],
] as const)('a connection of %s', (_, tcp) => {
  test('reports the end of the other side, whichever side ends first', async () => {
    const weFirst = await dial(tcp, port, (socket) => {
      socket.write(new Uint8Array([ECHO]));
      socket.end();
    });
    expect(weFirst).toEqual(['opened', 'bye', 'ended', 'closed null']);
    const theyFirst = await dial(
      tcp,
      port,
      (socket) => void socket.write(new Uint8Array([END])),
      (socket) => socket.end(),
    );
    expect(theyFirst).toEqual(['opened', 'bye', 'ended', 'closed null']);
  });

  test('hears of room in the system only after it had none', async () => {
    const told = await dial(
      tcp,
      port,
      (socket) => {
        socket.pause();
        socket.write(new Uint8Array([END]));
        setImmediate(() => socket.resume());
      },
      (socket) => socket.end(),
    );
    expect(told).toEqual(['opened', 'bye', 'ended', 'closed null']);
  });

  test('reports resets and refusals by their codes', async () => {
    const reset = await dial(tcp, port, (socket) => {
      socket.write(new Uint8Array([RESET]));
      socket.end();
    });
    expect(reset).toEqual(['opened', 'closed ECONNRESET']);
    expect(await dial(tcp, 1, () => {})).toEqual(['closed ECONNREFUSED']);
  });

  test('can be aborted before it is established', async () => {
    const told: string[] = [];
    await new Promise<void>((resolve) => {
      const socket = tcp.dial('127.0.0.1', port, {
        opened: () => void told.push('opened'),
        received() {},
        drained() {},
        ended: () => void told.push('ended'),
        closed() {
          told.push('closed');
          resolve();
        },
      });
      socket.destroy();
    });
    expect(told).toEqual(['closed']);
  });
});
