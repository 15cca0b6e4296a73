import { expect, test } from 'bun:test';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { bunRuntime } from '../../src/runtime/bun.ts';
import { listen } from '../../src/start/listen.ts';
import { sharedFolder } from '../support/shared.ts';

/** Sends one request on each of three connections, says when all are sent, and prints the answers. */
const CLIENTS = `
const { connect } = require('node:net');
const { writeFileSync } = require('node:fs');
let sent = 0;
for (let client = 0; client < 3; client++) {
  const socket = connect(JSON.parse(process.argv[1]), () =>
    socket.write('GET / HTTP/1.1\\r\\nHost: a\\r\\n\\r\\n', () => { if (++sent === 3) writeFileSync(process.argv[2], ''); }));
  socket.on('data', (data) => console.log(String(data).split('\\r\\n')[0]));
  socket.on('error', (error) => console.log(error.message));
}`;

const folder = await sharedFolder();

test.each([
  ['an address', () => '127.0.0.1'],
  ['every address', () => '0.0.0.0'],
  ['a socket', () => `unix:${folder}/http.sock`],
])('a listener that closes answers those who stood in the queue of %s', async (_, host) => {
  const handler = async () => new Response('ok');
  const { server } = await listen(bunRuntime, handler, { HOST: host(), PORT: 0 });
  const address = host().startsWith('unix:')
    ? { path: host().slice(5) }
    : { host: '127.0.0.1', port: server.port };
  const sent = join(folder, `sent-${server.port}`);
  const clients = Bun.spawn([process.execPath, '-e', CLIENTS, JSON.stringify(address), sent], {
    stdout: 'pipe',
  });
  // Nothing is accepted meanwhile.
  while (!existsSync(sent)) Bun.sleepSync(5);
  await server.drain();
  await server.close();
  expect(await new Response(clients.stdout).text()).toBe('HTTP/1.1 200 OK\n'.repeat(3));
});
