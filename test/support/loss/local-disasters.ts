import { randomUUID } from 'node:crypto';
import { copyFile, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { aDay, type Disaster } from './disaster.ts';
import { FILE_DISASTERS } from './file-disasters.ts';
import type { LocalWorld } from './local-world.ts';

const databaseOf = ({ folder }: LocalWorld) => join(folder, 'picpool.db');

const removedDatabase: Disaster<LocalWorld> = {
  putsBack: 'nothing',
  name: 'the database is removed under the running server',
  reason: /The database file was removed/,
  async strike(world) {
    const paths = ['', '-wal', '-shm'].map((end) => databaseOf(world) + end);
    for (const path of paths) await rename(path, `${path}-away`);
    return async () => {
      for (const path of paths) await rename(`${path}-away`, path);
    };
  },
};

/** Something is in the place of the database when the server starts again. */
function replaced(
  name: string,
  reason: RegExp,
  replace: (world: LocalWorld, path: string) => Promise<unknown>,
  before: Disaster<LocalWorld>['strike'] = async () => async () => {},
): Disaster<LocalWorld> {
  return {
    name,
    putsBack: 'records',
    reason,
    async strike(world, ledger) {
      const path = databaseOf(world);
      const aside = `${path}-${randomUUID()}`;
      await before(world, ledger);
      await world.stopped(async () => {
        await rename(path, aside);
        await replace(world, path);
      });
      return () =>
        world.stopped(async () => {
          for (const end of ['', '-wal', '-shm']) await rm(path + end, { force: true });
          await rename(aside, path);
        });
    },
  };
}

export const LOCAL_DISASTERS: Disaster<LocalWorld>[] = [
  removedDatabase,
  replaced('the database is missing at the start', /The records have lost the value/, async () => {}),
  replaced('an empty file is in its place', /The records have lost the value/, (_, path) =>
    writeFile(path, ''),
  ),
  replaced(
    'the database of yesterday is put back',
    /The records are older than the files/,
    (_, path) => rename(`${path}-yesterday`, path),
    async (world, ledger) => {
      const path = databaseOf(world);
      await world.stopped(() => copyFile(path, `${path}-yesterday`));
      await aDay(world, ledger);
      return async () => {};
    },
  ),
  ...FILE_DISASTERS,
];
