import { type Database, openDatabase } from '../../../adapters/sqlite/database.ts';
import { bunRuntime } from '../../../src/runtime/bun.ts';

/** Opens a database that is gone with the process. */
export const memoryDatabase = (): Promise<Database> => openDatabase(bunRuntime.openSqlite, ':memory:');
