import { connect, createServer, type Socket } from 'node:net';
import { systemClock } from '../../../src/lib/clock.ts';
import { listening } from './listening.ts';

/** Takes connections and passes everything on to the port of this machine. */
export async function startRelay(target: number) {
  const sockets = new Set<Socket>();
  let isCut = false;
  let delayMs = 0;
  let gate = Promise.withResolvers<void>();
  gate.resolve();

  const server = createServer((incoming) => {
    if (isCut) {
      incoming.destroy();
      return;
    }
    const outgoing = connect(target, '127.0.0.1');
    for (const [one, other] of [
      [incoming, outgoing],
      [outgoing, incoming],
    ] as const) {
      sockets.add(one);
      one.on('error', () => {});
      one.once('close', () => {
        sockets.delete(one);
        other.destroy();
      });
      one.on('data', (chunk) => void pass(one, other, chunk));
    }
  });

  async function pass(one: Socket, other: Socket, chunk: Uint8Array | string): Promise<void> {
    one.pause();
    await gate.promise;
    if (delayMs > 0) await systemClock.sleep(delayMs);
    if (!other.destroyed) other.write(chunk);
    one.resume();
  }

  function endAll(): void {
    for (const socket of sockets) socket.destroy();
  }

  function open(): void {
    isCut = false;
    delayMs = 0;
    gate.resolve();
  }

  return {
    port: await listening(server),
    /** Ends all connections, and takes no new one until it is `open` again. */
    cut() {
      isCut = true;
      endAll();
    },
    /** Everything comes so much later, in ms. */
    slow(ms: number) {
      delayMs = ms;
    },
    /** Nothing comes through, but connections stay, as where a cable is pulled. */
    stall() {
      gate.resolve();
      gate = Promise.withResolvers<void>();
    },
    open,
    async stop() {
      open();
      endAll();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

/** A link between a server and its clients that a test may disturb. */
export type Relay = Awaited<ReturnType<typeof startRelay>>;
