import { describe, setDefaultTimeout, test } from 'bun:test';
import { getCACertificates, setDefaultCACertificates } from 'node:tls';
import { bunRuntime } from '../../src/runtime/bun.ts';
import { shared } from '../support/shared.ts';
import { redisConformance, redisRecordsConformance } from '../support/stores/redis.ts';
import { startRedisCluster, startTlsRedis } from '../support/stores/redis-forms.ts';
import { sharedRedis } from '../support/stores/services.ts';

setDefaultTimeout(180_000);

type Server = Awaited<ReturnType<typeof sharedRedis>>;

/** The server that `TEST_REDIS_URL` names, or one with TLS and a user; one without is in the other tests. */
async function startServer(): Promise<Server> {
  if (process.env.TEST_REDIS_URL) return sharedRedis();
  const server = await startTlsRedis();
  setDefaultCACertificates([...getCACertificates('default'), server.certificates.ca]);
  return server;
}

for (const [kind, start, conformance] of [
  ['a server', startServer, redisConformance],
  ['a cluster', startRedisCluster, redisRecordsConformance],
] as const) {
  describe(kind, () => {
    const server = shared(start);
    conformance(test.concurrent, async () => server.url, bunRuntime);
  });
}
