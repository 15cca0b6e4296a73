import { afterAll, beforeAll, describe, setDefaultTimeout, test } from 'bun:test';
import { bunRuntime } from '../../src/runtime/bun.ts';
import {
  createTestTables,
  cutCountConformance,
  postgresConformance,
  postgresImagesConformance,
  postgresPoolConformance,
  smallStepsConformance,
} from '../support/postgres.ts';
import { sharedPostgres } from '../support/postgres-server.ts';

setDefaultTimeout(180_000);

let server: Awaited<ReturnType<typeof sharedPostgres>>;
const tables = createTestTables(async () => server.url);
beforeAll(async () => {
  server = await sharedPostgres();
});
afterAll(async () => {
  await tables.close();
  await server.stop();
});

postgresConformance(test, tables, test.concurrent);
postgresImagesConformance(test, tables);
postgresPoolConformance(test, tables, bunRuntime);

cutCountConformance(test, tables);

describe('in steps so small that few rows take many', () => {
  smallStepsConformance(test, tables);
});
