import { describe, expect, test } from 'bun:test';
import { createAccounts } from '../../src/gateway/accounts.ts';

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
  return { accounts: createAccounts({ limiter, connections }), taken: () => taken };
}

describe('the account of a user', () => {
  test('counts connections that were admitted at the same moment together', () => {
    const { accounts } = createWorld(2);
    const [one, two, three] = [1, 2, 3].map(() => accounts.of('user', null));
    one?.enter();
    two?.enter();
    expect(() => three?.enter()).toThrow('2 connections are open already');
    one?.leave();
    expect(() => accounts.of('user', null).enter()).not.toThrow();
    expect(() => three?.enter()).toThrow();
  });

  test('is charged for the bytes that passed, however many connections they took', async () => {
    const { accounts, taken } = createWorld(2);
    for (let connection = 0; connection < 20; connection++) {
      const account = accounts.of('user', QUOTA);
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
    const accounts = createAccounts({
      limiter: { take: async () => ({ allowed, ...verdict }) },
      connections: 2,
    });
    const spendTwice = async () => {
      const account = accounts.of('user', QUOTA);
      account.enter();
      account.spend(1000);
      await new Promise(setImmediate);
      const goesOn = account.spend(1000);
      account.leave();
      return goesOn;
    };
    expect(await spendTwice()).toBe(false);
    await expect(accounts.of('user', QUOTA).demandQuota()).rejects.toThrow(
      'The quota of this token is used up',
    );
    expect(await spendTwice()).toBe(false);
    await new Promise(setImmediate);
    allowed = true;
    await accounts.of('user', QUOTA).demandQuota();
    expect(await spendTwice()).toBe(true);
  });
});
