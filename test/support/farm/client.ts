import { connect, type Socket } from 'node:net';

/** Wraps an accepted socket so that roles can read it in order. */
export function farmClient(
  socket: Socket,
  tlsPort: (name: 'wrongHost' | 'expired' | 'selfSigned') => number,
) {
  let buffer: Buffer = Buffer.alloc(0);
  let left = false;
  let wake: (() => void) | undefined;
  const onData = (chunk: Buffer) => {
    buffer = Buffer.concat([buffer, chunk]);
    wake?.();
  };
  socket.on('data', onData);
  socket.on('close', () => {
    left = true;
    wake?.();
  });

  async function more(): Promise<void> {
    if (left) throw new Error('the checker has left');
    await new Promise<void>((resolve) => {
      wake = resolve;
    });
  }

  function consume(count: number): Buffer {
    const taken = buffer.subarray(0, count);
    buffer = buffer.subarray(count);
    return taken;
  }

  return {
    socket,
    /** The address of the farm that was dialled; connections to judges leave from it too. */
    dialled: (socket.localAddress ?? '').replace('::ffff:', ''),
    /** Address of the checker. */
    peer: (socket.remoteAddress ?? '').replace('::ffff:', ''),
    /** Port of a TLS server of the farm with the named certificate. */
    tlsPort,
    /** Exactly that many bytes; rejects when the checker leaves before. */
    async take(count: number) {
      while (buffer.length < count) await more();
      return consume(count);
    },
    /** Everything up to and with the marker. */
    async until(marker: string) {
      for (;;) {
        const at = buffer.indexOf(marker);
        if (at >= 0) return consume(at + marker.length);
        await more();
      }
    },
    /** Stops reading by `take` and `until`; what is left over has been put back. */
    release() {
      socket.off('data', onData);
      socket.pause();
      if (buffer.length > 0) socket.unshift(buffer);
    },
  };
}

/** One accepted connection, as a role of the farm plays it. */
export type FarmClient = ReturnType<typeof farmClient>;

/** Connects to the judge from the address that the checker dialled, as a real proxy on that address would. */
export function connectFrom(client: FarmClient, host: string, port: number): Promise<Socket> {
  return new Promise((resolve, reject) => {
    // Only IPv4 addresses of this machine can be left from at will.
    const from = host.includes(':') ? {} : { localAddress: client.dialled };
    const socket = connect({ host: /^localhost$|\.test$/.test(host) ? '127.0.0.1' : host, port, ...from });
    socket.once('connect', () => resolve(socket));
    socket.on('error', reject);
    client.socket.on('close', () => socket.destroy());
  });
}

/** Carries bytes both ways until either side ends. */
export function join(client: FarmClient, upstream: Socket): void {
  client.release();
  client.socket.pipe(upstream);
  upstream.pipe(client.socket);
  // Deno reports no end of a socket that was paused and put back to, so it is destroyed once all is sent.
  upstream.on('close', () => client.socket.end(() => client.socket.destroy()));
}
