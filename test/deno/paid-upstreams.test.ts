import { after, before, test } from 'node:test';
import { nodeTcp } from '../../src/runtime/node-tcp.ts';
import { openPaidWorld, paidCases } from '../support/farm/paid-cases.ts';

let world: Awaited<ReturnType<typeof openPaidWorld>>;
before(async () => {
  world = await openPaidWorld();
});
after(() => world.close());

for (const [name, run] of paidCases({ 'node:net': nodeTcp })) test(name, () => run(world));
