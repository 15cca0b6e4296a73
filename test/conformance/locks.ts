import assert from 'node:assert/strict';
import { systemClock } from '../../src/lib/clock.ts';
import type { Lease, Locks } from '../../src/lib/locks.ts';
import { type Open, storeTest, type Test } from '../support/runner.ts';

const TTL_MS = 10_000;

/**
 * Every promise of `Locks`. The store is a pair of clients of the same locks: two connections if there are
 * connections, else twice the same object.
 */
export function locksConformance(runner: Test, open: Open<readonly [Locks, Locks]>): void {
  const test = storeTest(runner, open);

  async function taken(locks: Locks, name: string, ttlMs = TTL_MS): Promise<Lease> {
    const lease = await locks.acquire(name, ttlMs);
    assert.ok(lease, `the lock ${name} should be free`);
    return lease;
  }

  test('a held lock is refused at once to every client', async ([one, two]) => {
    const lease = await taken(one, 'refresh');
    assert.equal(await one.acquire('refresh', TTL_MS), null);
    assert.equal(await two.acquire('refresh', TTL_MS), null);
    await lease.release();
  });

  test('a released lock can be taken again, also by another client', async ([one, two]) => {
    await (await taken(one, 'refresh')).release();
    await (await taken(two, 'refresh')).release();
    await (await taken(one, 'refresh')).release();
  });

  test('locks of different names are independent', async ([one, two]) => {
    const names = ['a', 'A', 'a:b', 'a b', 'ä'];
    const leases = await Promise.all(names.map((name, index) => taken(index % 2 ? one : two, name)));
    await leases[0]?.release();
    assert.equal(await one.acquire('A', TTL_MS), null);
    await Promise.all(leases.map((lease) => lease.release()));
  });

  test('tokens of a name grow with every acquisition', async ([one, two]) => {
    let last = 0;
    for (const locks of [one, two, one, two, one]) {
      const lease = await taken(locks, 'refresh');
      assert.ok(lease.token > last, `${lease.token} should be more than ${last}`);
      last = lease.token;
      await lease.release();
    }
  });

  test('of many simultaneous requests exactly one gets the lock', async ([one, two]) => {
    const asked = Array.from({ length: 40 }, (_, index) => (index % 2 ? one : two).acquire('race', TTL_MS));
    const leases = (await Promise.all(asked)).filter((lease) => lease !== null);
    assert.equal(leases.length, 1);
    await leases[0]?.release();
  });

  test('releasing twice does not release the lock of the next holder', async ([one, two]) => {
    const first = await taken(one, 'refresh');
    await first.release();
    const second = await taken(two, 'refresh');
    await first.release();
    assert.equal(await one.acquire('refresh', TTL_MS), null);
    await second.release();
  });

  test('a lease outlives its time to live while its holder lives', async ([one, two]) => {
    // Renewed every 2 s: a busy machine may be late by more than 3.
    const lease = await taken(one, 'refresh', 6000);
    await systemClock.sleep(6500);
    assert.equal(lease.lost.aborted, false);
    assert.equal(await two.acquire('refresh', TTL_MS), null);
    await lease.release();
  });
}

/** The same of a server, which decides by its own clock. */
export function serverLocksConformance(runner: Test, open: Open<readonly [Locks, Locks]>): void {
  locksConformance(runner, open);
  storeTest(runner, open)(
    'a clock of the server that was set back by a day keeps no lock',
    async ([one, two]) => {
      const left = await one.acquire('recheck', 86_400_000);
      const next = await two.acquire('recheck', TTL_MS);
      assert.ok(next && left && next.token > left.token);
      await next.release();
    },
  );
}
