/** Starts Redis and an S3 server for tests, says where they are, and runs until it is interrupted. */
import { S3_CREDENTIALS, startRedis, startS3 } from '../test/support/services.ts';

const services = [await startRedis(), await startS3()];
const [redis, s3] = services;
console.log(`export TEST_REDIS_URL='${redis?.url}'
export TEST_S3_URL='${s3?.url}'
export AWS_ACCESS_KEY_ID='${S3_CREDENTIALS.accessKeyId}'
export AWS_SECRET_ACCESS_KEY='${S3_CREDENTIALS.secretAccessKey}'`);

await new Promise((resolve) => {
  process.once('SIGINT', resolve);
  process.once('SIGTERM', resolve);
});
await Promise.all(services.map((service) => service.stop()));
