import { createServer } from 'node:net';

/** A port of the address that was free a moment ago. */
export function freePort(host: string): Promise<number> {
  return new Promise((resolve) => {
    const server = createServer().listen(0, host, () => {
      const address = server.address();
      server.close(() => resolve(typeof address === 'object' && address !== null ? address.port : 0));
    });
  });
}
