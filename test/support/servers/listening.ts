import { once } from 'node:events';
import type { AddressInfo, Server } from 'node:net';

/** Listens, on a free port unless one is given, and returns the port. */
export async function listening(server: Server, host = '127.0.0.1', port = 0): Promise<number> {
  server.listen({ host, port, backlog: 4096 });
  await once(server, 'listening');
  return (server.address() as AddressInfo).port;
}
