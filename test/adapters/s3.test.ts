import { afterAll, beforeAll, setDefaultTimeout, test } from 'bun:test';
import { s3Conformance } from '../support/s3.ts';
import { sharedS3 } from '../support/services.ts';

setDefaultTimeout(20_000);

let server: Awaited<ReturnType<typeof sharedS3>>;
beforeAll(async () => {
  server = await sharedS3();
});
afterAll(() => server.stop());

s3Conformance(test, async () => server);
