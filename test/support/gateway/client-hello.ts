import { createServer } from 'node:net';
import { connect } from 'node:tls';
import { listening } from '../servers/listening.ts';

/** Returns the first message of a TLS client of this machine. */
export async function clientHello(): Promise<Buffer> {
  const { promise, resolve } = Promise.withResolvers<Buffer>();
  const server = createServer((socket) => socket.on('error', () => {}).once('data', resolve));
  const port = await listening(server);
  const client = connect({ port, host: '127.0.0.1', servername: 'example.com' }).on('error', () => {});
  const hello = await promise;
  client.destroy();
  server.close();
  return hello;
}
