import { afterAll as after, beforeAll as before, test } from 'bun:test';
import { bunTcp } from '../../src/runtime/bun-tcp.ts';
import { nodeTcp } from '../../src/runtime/node-tcp.ts';
import { openPaidWorld, paidCases } from '../support/farm/paid-cases.ts';

let world: Awaited<ReturnType<typeof openPaidWorld>>;
before(async () => {
  world = await openPaidWorld();
});
after(() => world.close());

for (const [name, run] of paidCases({ Bun: bunTcp, 'node:net': nodeTcp })) test(name, () => run(world));
