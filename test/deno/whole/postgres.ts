/** Images and pool over Postgres on Deno, beside the gate: `deno test -A --no-check test/deno/whole/postgres.ts`. */
import { after, before, test } from 'node:test';
import { denoRuntime } from '../../../src/runtime/deno.ts';
import {
  createTestTables,
  postgresImagesConformance,
  postgresPoolConformance,
} from '../../support/stores/postgres.ts';
import { sharedPostgres } from '../../support/stores/postgres-server.ts';

// As CockroachDB isolates transactions; on Bun they run with what Postgres does by itself.
const server = sharedPostgres({ default_transaction_isolation: 'serializable' });
const tables = createTestTables(async () => (await server).url);
before(() => server);
after(async () => {
  await tables.close();
  await (await server).stop();
});

postgresImagesConformance(test, tables);
postgresPoolConformance(test, tables, denoRuntime);
