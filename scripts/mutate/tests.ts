/** The modules that decide, and the tests that should notice when one of them decides otherwise. */
export const TESTS: Record<string, readonly string[]> = {
  'src/http/peer.ts': ['test/unit/peer.test.ts'],
  'src/lib/address.ts': ['test/unit/address.test.ts', 'test/api/refused-addresses.test.ts'],
  'src/lib/schedule.ts': ['test/unit/repetition.test.ts'],
  'src/image/serve/conditional.ts': ['test/unit/image-conditional.test.ts', 'test/api/image-serve.test.ts'],
  'src/image/access/password.ts': ['test/unit/image-secrets.test.ts'],
  'src/image/access/password-guard.ts': [
    'test/unit/image-secrets.test.ts',
    'test/api/image-password.test.ts',
  ],
  'src/image/access/credentials.ts': ['test/api/image-password.test.ts', 'test/api/image-delete.test.ts'],
  'src/image/access/cookie.ts': ['test/unit/image-secrets.test.ts', 'test/api/image-password.test.ts'],
  'src/proxy/history.ts': ['test/unit/history.test.ts'],
  'src/proxy/recheck/schedule.ts': ['test/unit/schedule.test.ts'],
  'src/proxy/recheck/recheck.ts': ['test/unit/recheck.test.ts'],
  'src/proxy/refresh/refresh.ts': ['test/unit/refresh.test.ts'],
  'adapters/local/locks.ts': ['test/adapters/local.test.ts'],
  'adapters/redis/locks.ts': ['test/adapters/redis.test.ts'],
};
