import { createServer } from 'node:net';

/**
 * Below the ports that systems give to connections, so that none of them takes it while a server on it is started again, and
 * below those that a node of a Redis cluster takes as well, 10,000 above its own.
 */
const FIRST = 12_000;
const COUNT = 10_000;

/** A port of the address that was free a moment ago. */
export async function freePort(host = '127.0.0.1'): Promise<number> {
  for (;;) {
    const port = FIRST + Math.floor(Math.random() * COUNT);
    if (await isFree(host, port)) return port;
  }
}

function isFree(host: string, port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once('error', () => resolve(false));
    server.listen(port, host, () => server.close(() => resolve(true)));
  });
}
