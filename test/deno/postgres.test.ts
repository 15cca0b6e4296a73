import { after, before, test } from 'node:test';
import { createTestTables, postgresConformance } from '../support/stores/postgres.ts';
import { sharedPostgres } from '../support/stores/postgres-server.ts';

// Images and pool take longer: see `test/deno/whole/postgres.ts`.
// As CockroachDB isolates transactions; on Bun they run with what Postgres does by itself.
const server = sharedPostgres({ default_transaction_isolation: 'serializable' });
const tables = createTestTables(async () => (await server).url);
before(() => server);
after(async () => {
  await tables.close();
  await (await server).stop();
});

postgresConformance(test, tables);
