import { after, before, test } from 'node:test';
import { assertRole, CHECKED_ROLES, type CheckWorld, openCheckWorld } from '../support/farm/check-world.ts';

let world: CheckWorld;
before(async () => {
  world = await openCheckWorld();
});
after(() => world.close());

// All at once: one after the other they would wait for each other's questions to the judge.
test('every proxy of the farm ends as it should', async () => {
  await Promise.all(CHECKED_ROLES.map((name) => assertRole(world, name)));
});
