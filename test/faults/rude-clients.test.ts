import { expect, test } from 'bun:test';
import { readdir } from 'node:fs/promises';
import { beRude, RUDE } from '../support/gateway/rude-clients.ts';
import { curl, startGatewayProcess, startGatewayWorld } from '../support/gateway/world.ts';

/** A leak of one descriptor in 500 clients shows. */
const CLIENTS = 2_500;
const AT_ONCE = 200;
/** Descriptors that may be left: a few that the runtime opens meanwhile. */
const SPARE = 4;

test.each(['bun', 'deno'] as const)(
  'after 2,500 rude clients, a gateway on %s has its descriptors back within a second, and serves',
  async (runtime) => {
    const world = await startGatewayWorld();
    const gateway = await startGatewayProcess(world.listOf('http'), [], { runtime });
    try {
      const proxied = ['--proxy', `http://127.0.0.1:${gateway.port}`, '--cacert', world.ca, world.http];
      const descriptors = async () => (await readdir(`/proc/${gateway.pid}/fd`)).length;
      expect((await curl(...proxied)).code).toBe(0);
      const shapes = Object.values(RUDE);
      const target = new URL(world.https).host;
      const beRudeTimes = async (clients: number) => {
        let next = 0;
        const one = async () => {
          while (next < clients) {
            const n = next++;
            const bytes = shapes[n % shapes.length]?.(target) ?? '';
            await beRude(gateway.port, bytes, n % 3 === 0 ? 'reset' : 'end');
          }
        };
        await Promise.all(Array.from({ length: AT_ONCE }, one));
      };
      // Deno opens some for its own threads when it first has much to do.
      await beRudeTimes(3 * AT_ONCE);
      await Bun.sleep(2_000);
      const before = await descriptors();
      await beRudeTimes(CLIENTS);
      // The system answers clients that wait to be accepted. The last of the queue comes after all of them.
      expect((await curl(...proxied)).code).toBe(0);
      const endedAt = performance.now();
      while ((await descriptors()) > before + SPARE && performance.now() - endedAt < 10_000)
        await Bun.sleep(20);
      expect(performance.now() - endedAt).toBeLessThan(1_000);
      expect((await curl(...proxied)).code).toBe(0);
    } finally {
      await gateway.stop();
      await world.close();
    }
  },
);
