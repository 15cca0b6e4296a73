import { after, before, test } from 'node:test';
import { denoRuntime } from '../../src/runtime/deno.ts';
import { redisRecordsConformance } from '../support/stores/redis.ts';
import { s3Conformance } from '../support/stores/s3.ts';
import { sharedRedis, sharedS3 } from '../support/stores/services.ts';

const servers = Promise.all([sharedRedis(), sharedS3()]);
before(() => servers);
after(async () => {
  for (const server of await servers) await server.stop();
});

redisRecordsConformance(test, async () => (await servers)[0].url, denoRuntime);
s3Conformance(test, async () => (await servers)[1]);
