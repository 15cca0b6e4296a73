import { expect, test } from 'bun:test';
import { join } from 'node:path';
import { bunRuntime } from '../../src/runtime/bun.ts';
import type { Runtime } from '../../src/runtime/runtime.ts';
import { listen } from '../../src/start/listen.ts';
import { withFolder } from '../support/temporary.ts';

/** A system whose sockets have these addresses only. */
function system(...addresses: string[]): Runtime {
  const serve = async (_: unknown, { hostname = '', port = 0 }) => {
    if (!addresses.includes(hostname)) throw new Error(`${hostname}: EAFNOSUPPORT`);
    return { hostname, port, close: async () => {}, drain: async () => {} };
  };
  return { serve } as unknown as Runtime;
}
const handler = () => new Response();

test('without IPv6 in the system, `::` is all addresses of IPv4, and nothing else is', async () => {
  const { server } = await listen(system('0.0.0.0'), handler, { HOST: '::', PORT: 3000 });
  expect(server.hostname).toBe('0.0.0.0');
  await expect(listen(system('0.0.0.0'), handler, { HOST: '::1', PORT: 3000 })).rejects.toThrow('::1');
  const both = await listen(system('::', '0.0.0.0'), handler, { HOST: '::', PORT: 3000 });
  expect(both.server.hostname).toBe('::');
});

test('a server does not start on the port of another one, which would get half of its requests', async () => {
  const { server } = await listen(bunRuntime, handler, { HOST: '127.0.0.1', PORT: 0 });
  const second = listen(bunRuntime, handler, { HOST: '127.0.0.1', PORT: server.port });
  await expect(second).rejects.toThrow(
    `The server cannot listen with HOST=127.0.0.1 and PORT=${server.port}.`,
  );
  await server.close();
});

test('a server that ends leaves the socket alone that its successor listens on', async () => {
  await withFolder(async (folder) => {
    const [unix, missing] = [join(folder, 'http.sock'), join(folder, 'missing/http.sock')];
    const gate = Promise.withResolvers<void>();
    const slow = async ({ url }: Request) => {
      if (url.endsWith('/slow')) await gate.promise;
      return new Response('old');
    };
    const place = { HOST: `unix:${unix}`, PORT: 0 };
    const old = (await listen(bunRuntime, slow, place)).server;
    const held = fetch('http://localhost/slow', { unix });
    await fetch('http://localhost/', { unix });
    const drained = old.drain();
    await Bun.sleep(50);
    const { server } = await listen(bunRuntime, () => new Response('new'), place);
    gate.resolve();
    expect(await (await held).text()).toBe('old');
    await drained;
    await old.close();
    expect(await (await fetch('http://localhost/', { unix })).text()).toBe('new');
    await server.close();
    const nowhere = listen(bunRuntime, handler, { HOST: `unix:${missing}`, PORT: 0 });
    await expect(nowhere).rejects.toThrow(`The server cannot listen with HOST=unix:${missing}.`);
  });
});
