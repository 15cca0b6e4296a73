import { expect, test } from 'bun:test';
import { createAdmit } from '../../src/gateway/admission.ts';
import { Sessions } from '../../src/gateway/sessions.ts';

test('a limiter that does not respond refuses clients in words', async () => {
  const limiter = { take: () => Promise.reject(new Error('no connection')) };
  const admit = createAdmit({
    isOpen: () => false,
    verify: async (id) => ({ id, rate: { capacity: 60, perSecond: 1 }, quota: null }),
    limiter,
    connections: 1,
    sessions: new Sessions(() => 0),
    names: { sites: new Map(), sources: new Map() },
  });
  await expect(Promise.resolve(admit({ user: 'u', password: 'token' }, '192.0.2.1'))).rejects.toMatchObject({
    refusal: 'unavailable',
  });
});
