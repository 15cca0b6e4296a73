import { describe, expect, test } from 'bun:test';
import { Account } from '../../src/gateway/account.ts';

const QUOTA = { capacity: 100 * 1024 * 1024, perSecond: 1 };

/** Accounts over a limiter that allows everything and counts what it gave. */
function createWorld(connections: number) {
  let taken = 0;
  const limiter = {
    async take(_key: string, _bucket: unknown, cost = 1) {
      taken += cost;
      return { allowed: true, remaining: 1, resetMs: 0, retryAfterMs: 0 };
    },
  };
  return { account: new Account('user', { limiter, connections }), taken: () => taken };
}

describe('the account of a user', () => {
  test('counts connections that were admitted at the same moment together', () => {
    const { account } = createWorld(2);
    account.enter();
    account.enter();
    expect(() => account.enter()).toThrow('2 connections are open already');
    account.leave();
    expect(() => account.enter()).not.toThrow();
    expect(() => account.enter()).toThrow();
  });

  test('is charged for the bytes that passed, however many connections they took', async () => {
    const { account, taken } = createWorld(2);
    account.quota = QUOTA;
    for (let connection = 0; connection < 20; connection++) {
      account.enter();
      expect(account.spend(1000)).toBe(true);
      await new Promise(setImmediate);
      account.leave();
    }
    expect(taken()).toBe(1024 * 1024);
  });

  test('is asked again after the quota was used up', async () => {
    let allowed = false;
    const verdict = { remaining: 1, resetMs: 0, retryAfterMs: 0 };
    const limiter = { take: async () => ({ allowed, ...verdict }) };
    const account = new Account('user', { limiter, connections: 2 });
    account.quota = QUOTA;
    const spendTwice = async () => {
      account.enter();
      account.spend(1000);
      await new Promise(setImmediate);
      const goesOn = account.spend(1000);
      account.leave();
      return goesOn;
    };
    expect(await spendTwice()).toBe(false);
    await expect(account.demandQuota()).rejects.toThrow('The quota of this token is used up');
    expect(await spendTwice()).toBe(false);
    await new Promise(setImmediate);
    allowed = true;
    await account.demandQuota();
    expect(await spendTwice()).toBe(true);
  });
});
