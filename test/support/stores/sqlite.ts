import type { Database } from '../../../adapters/sqlite/database.ts';
import type { Open } from '../runner.ts';

/** Turns the factory of a store into what a suite asks for: a store in a private database for each test. */
export function sqliteOpener(openDatabase: (path: string) => Promise<Database>) {
  return <T>(create: (database: Database) => T): Open<T> =>
    async () => {
      const database = await openDatabase(':memory:');
      return { store: create(database), close: async () => database.close() };
    };
}
