/**
 * Starts Redis, Postgres and an S3 server for tests. Runs the command in the arguments with variables that name these
 * servers, and ends with its exit code. Without arguments, prints the variables and waits for a signal.
 */
import { startPostgres } from '../test/support/stores/postgres-server.ts';
import { S3_ACCESS, startRedis, startS3 } from '../test/support/stores/services.ts';

const services = await Promise.all([startRedis(), startPostgres(), startS3()]);
const [redis, postgres, s3] = services;
const variables = {
  TEST_REDIS_URL: redis.url,
  TEST_POSTGRES_URL: postgres.url,
  TEST_S3_URL: s3.url,
  ...S3_ACCESS,
};
const command = process.argv.slice(2);
const child =
  command.length > 0 &&
  Bun.spawn(command, { stdio: ['inherit', 'inherit', 'inherit'], env: { ...process.env, ...variables } });
const { promise: signalled, resolve } = Promise.withResolvers<number>();
for (const signal of ['SIGINT', 'SIGTERM'] as const) {
  process.once(signal, () => {
    if (child) child.kill(signal);
    else resolve(0);
  });
}
if (!child) for (const [name, value] of Object.entries(variables)) console.log(`export ${name}='${value}'`);
const exitCode = await (child ? child.exited : signalled);
await Promise.all(services.map((service) => service.stop()));
process.exit(exitCode);
