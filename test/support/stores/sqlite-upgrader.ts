/** Opens a database file and begins a step of the schema that takes so long that it can be killed on its way. */
import { openDatabase } from '../../../adapters/sqlite/database.ts';
import { migrate } from '../../../adapters/sqlite/migrate.ts';
import { migrations } from '../../../adapters/sqlite/schema.ts';

const endless = `INSERT INTO half WITH RECURSIVE n (x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n)
  SELECT hex(randomblob(500)) FROM n`;
const runtime = process.versions.bun
  ? (await import('../../../src/runtime/bun.ts')).bunRuntime
  : (await import('../../../src/runtime/deno.ts')).denoRuntime;
const database = await openDatabase(runtime.openSqlite, process.argv[2] ?? '');
migrate(database, [...migrations, ['DROP TABLE images', 'CREATE TABLE half (x)', endless]]);
