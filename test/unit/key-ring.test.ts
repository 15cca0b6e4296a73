import { describe, expect, test } from 'bun:test';
import { randomBytes } from 'node:crypto';
import { createSqliteState } from '../../adapters/sqlite/state.ts';
import { ADOPTION_MS, openKeyRing, rotateKeys } from '../../src/lib/key-ring.ts';
import { memoryDatabase } from '../support/stores/memory.ts';

async function createFleet() {
  const clock = { ms: 1_000_000 };
  const options = {
    state: createSqliteState(await memoryDatabase()),
    name: 'cookie-secret',
    random: randomBytes,
    now: () => clock.ms,
  } as const;
  return { clock, options, open: () => openKeyRing(options) };
}

describe('keys', () => {
  test('are made once, and every copy has the same', async () => {
    const { open } = await createFleet();
    const [one, other] = [await open(), await open()];
    expect(one.signing()).toHaveLength(43);
    expect(other.signing()).toBe(one.signing());
  });

  test('of the first version, which kept one as it is, go on to sign', async () => {
    const { open, options } = await createFleet();
    await options.state.set('cookie-secret', 'of-the-first-version');
    expect((await open()).signing()).toBe('of-the-first-version');
  });

  test('that are new verify at once and sign later, so that no copy meets a signature whose key it does not know', async () => {
    const { clock, open, options } = await createFleet();
    const before = await open();
    const old = before.signing();
    await rotateKeys(options, false);
    const after = await open();
    const [fresh = '', ...others] = after.verifying();
    expect([others, after.signing()]).toEqual([[old], old]);
    clock.ms += ADOPTION_MS;
    expect([after.signing(), after.verifying()]).toEqual([fresh, [fresh, old]]);
    expect(before.signing()).toBe(old);
  });

  test('are followed by a copy that runs', async () => {
    const { open, options } = await createFleet();
    const running = await open();
    const following = running.follow((error) => {
      throw error;
    }, 20);
    await rotateKeys(options, true);
    const [fresh] = (await open()).verifying();
    while (running.signing() !== fresh) await Bun.sleep(10);
    expect(running.verifying()).toEqual([fresh ?? '']);
    await following.stop();
  });

  test('are at most four; the oldest ends', async () => {
    const { open, options } = await createFleet();
    const oldest = (await open()).signing();
    for (let turn = 0; turn < 3; turn++) await rotateKeys(options, false);
    expect((await open()).verifying().at(-1)).toBe(oldest);
    await rotateKeys(options, false);
    expect((await open()).verifying()).toHaveLength(4);
    expect((await open()).verifying()).not.toContain(oldest);
  });

  test('that rotate twice before the first signs leave the standing one signing', async () => {
    const { clock, open, options } = await createFleet();
    const old = (await open()).signing();
    const first = await rotateKeys(options, false);
    clock.ms += 1000;
    await rotateKeys(options, false);
    const ring = await open();
    expect(ring.signing()).toBe(old);
    clock.ms = first;
    expect(ring.signing()).toBe(ring.verifying()[1] ?? '');
  });
});
