/** Relays each connection to one place and does nothing else: the minimum cost of a tunnel. */
import type { Socket } from 'bun';

interface Side {
  other: Socket<Side> | null;
  waiting: Uint8Array[];
}

const [hostname = '', port = ''] = (process.argv[2] ?? '').split(':');
const side = (other: Socket<Side> | null): Side => ({ other, waiting: [] });

function send(to: Socket<Side>, bytes: Uint8Array, from: Socket<Side>): void {
  const sent = to.data.waiting.length > 0 ? 0 : Math.max(0, to.write(bytes));
  if (sent === bytes.length) return;
  to.data.waiting.push(bytes.subarray(sent));
  from.pause();
}

const handlers = {
  data(socket: Socket<Side>, bytes: Buffer) {
    if (socket.data.other) send(socket.data.other, bytes, socket);
    else socket.data.waiting.push(bytes);
  },
  drain(socket: Socket<Side>) {
    const { waiting } = socket.data;
    while (waiting[0]) {
      const sent = Math.max(0, socket.write(waiting[0]));
      if (sent < waiting[0].length) {
        waiting[0] = waiting[0].subarray(sent);
        return;
      }
      waiting.shift();
    }
    socket.data.other?.resume();
  },
  close: (socket: Socket<Side>) => void socket.data.other?.end(),
  error() {},
};

const server = Bun.listen<Side>({
  hostname: '127.0.0.1',
  port: 0,
  socket: {
    ...handlers,
    open(socket) {
      socket.data = side(null);
      Bun.connect<Side>({
        hostname,
        port: Number(port),
        data: side(socket),
        socket: {
          ...handlers,
          open(far) {
            const early = socket.data.waiting;
            socket.data = side(far);
            for (const bytes of early) send(far, bytes, socket);
          },
        },
      }).catch(() => socket.end());
    },
  },
});
console.log(`127.0.0.1:${server.port}`);
