import { once } from 'node:events';
import type { Server as HttpServer, ServerResponse } from 'node:http';
import type { AddressInfo, Server, Socket } from 'node:net';

/** Listens, on a free port unless one is given, and returns the port. */
export async function listening(server: Server, host = '127.0.0.1', port = 0): Promise<number> {
  server.listen({ host, port, backlog: 4096 });
  await once(server, 'listening');
  return (server.address() as AddressInfo).port;
}

/** Returns what stops a server and breaks all of its connections. */
export function stopperOf(server: Server): () => Promise<void> {
  const sockets = new Set<Socket>();
  server.on('connection', (socket: Socket) => {
    sockets.add(socket);
    socket.on('error', () => {}).on('close', () => sockets.delete(socket));
  });
  return () =>
    new Promise((resolve) => {
      server.close(() => resolve());
      if ('closeAllConnections' in server) (server as HttpServer).closeAllConnections();
      for (const socket of sockets) socket.destroy();
    });
}

/** Answers with a piece over and over, as long as somebody reads. */
export function endless(response: ServerResponse, piece: Buffer): void {
  const more = () => {
    while (!response.destroyed && response.write(piece));
  };
  response.on('drain', more);
  more();
}
