import { describe, expect, test } from 'bun:test';
import { randomBytes } from 'node:crypto';
import { createLocalLocks } from '../../adapters/local/locks.ts';
import { createSqliteState } from '../../adapters/sqlite/state.ts';
import { createTokens } from '../../src/access/tokens.ts';
import { createUsage, readUsage } from '../../src/access/usage.ts';
import { memoryDatabase } from '../support/stores/memory.ts';

/** Two copies of a server over the same records, with one clock. */
async function world() {
  const state = createSqliteState(await memoryDatabase());
  const clock = { ms: 1_000_000 };
  const copy = () => createTokens({ state, random: randomBytes, now: () => clock.ms });
  return { state, clock, one: copy(), other: copy() };
}

const plain = { rate: null, quota: null };

describe('a token', () => {
  test('gives only its role, except that an administrator may also upload', async () => {
    const { one } = await world();
    const roles = ['upload', 'admin', 'gateway'] as const;
    const granted: Record<string, string[]> = {};
    for (const role of roles) {
      const token = await one.create({ name: role, role, ...plain });
      const checks = await Promise.all(
        roles.map(async (wanted) => ((await one.verify(token, wanted)) ? [wanted] : [])),
      );
      granted[role] = checks.flat();
    }
    expect(granted).toEqual({ upload: ['upload'], admin: ['upload', 'admin'], gateway: ['gateway'] });
  });

  test('was last used when it was last used, also after a clock that was ahead', async () => {
    const { one, state } = await world();
    await one.create({ name: 'laptop', role: 'gateway', ...plain });
    const [{ id } = { id: '' }] = await one.list();
    for (const ms of [9_000_000, 1_000_000]) {
      const parts = { state, locks: createLocalLocks(), tokens: one, now: () => ms, onError: () => {} };
      const usage = createUsage(parts);
      usage.note(id, { requests: 1 });
      await usage.stop();
    }
    expect(await readUsage(state)).toEqual({ [id]: { requests: 2, bytes: 0, lastAt: 1_000_000 } });
  });

  test('has a name and limits', async () => {
    const { one, clock } = await world();
    const rate = { capacity: 60, perSecond: 1 };
    const token = await one.create({ name: 'laptop', role: 'upload', rate, quota: null });
    const facts = {
      id: expect.stringMatching(/^[0-9a-f]{12}$/),
      name: 'laptop',
      role: 'upload',
      createdAt: clock.ms,
    };
    expect(await one.verify(token, 'upload')).toEqual({ ...facts, rate, quota: null } as never);
  });

  test('is stored only as a hash', async () => {
    const { one, state } = await world();
    const token = await one.create({ name: 'laptop', role: 'upload', ...plain });
    expect(token).toMatch(/^picpool_[\w-]{43}$/);
    const keys = await state.keys();
    const stored = [...keys, ...(await Promise.all(keys.map((key) => state.get(key))))].join(' ');
    expect(stored).not.toContain(token.slice('picpool_'.length));
    expect(keys).toEqual([expect.stringMatching(/^token [0-9a-f]{64}$/)]);
  });

  test('created or revoked by one copy takes effect on others within a second', async () => {
    const { one, other, clock } = await world();
    const token = await one.create({ name: 'laptop', role: 'upload', ...plain });
    expect(await other.verify(token, 'upload')).not.toBeNull();
    expect(await one.revoke('laptop')).toBe(true);
    expect(await one.verify(token, 'upload')).toBeNull();
    clock.ms += 999;
    expect(await other.verify(token, 'upload')).toBeNull();
    expect(await other.list()).toEqual([]);
    expect(await one.revoke('laptop')).toBe(false);
  });
});

test('of two tokens that are created at once with one name, at most one stays', async () => {
  const { one, other } = await world();
  const copies = [one, other].map((copy) => copy.create({ name: 'laptop', role: 'upload', ...plain }));
  const made = (await Promise.allSettled(copies)).filter(({ status }) => status === 'fulfilled');
  expect(made.length).toBeLessThanOrEqual(1);
  expect(await one.list()).toHaveLength(made.length);
});

test('names are unique, none is that of somebody else in the audit log, and they are free again after a revocation', async () => {
  const { one } = await world();
  const create = () => one.create({ name: 'laptop', role: 'upload', ...plain });
  const first = await create();
  await expect(create()).rejects.toThrow('There is already a token named laptop.');
  for (const name of ['administrator', 'uploader', 'server'])
    await expect(one.create({ name, role: 'moderator', ...plain })).rejects.toThrow('means somebody else');
  await one.revoke('laptop');
  expect(await create()).not.toBe(first);
  expect((await one.list()).map(({ name }) => name)).toEqual(['laptop']);
});
