import { expect, test } from 'bun:test';
import type { Runtime } from '../../src/runtime/runtime.ts';
import { listen } from '../../src/start/listen.ts';

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
