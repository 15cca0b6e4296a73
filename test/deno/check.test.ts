import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { readAuthority } from '../../src/start/checker.ts';
import { createCertificates } from '../support/certificates.ts';
import { assertRole, CHECKED_ROLES, type CheckWorld, openCheckWorld } from '../support/farm/check-world.ts';
import { withFolder } from '../support/temporary.ts';

let world: CheckWorld;
before(async () => {
  world = await openCheckWorld();
});
after(() => world.close());

// All at once: one after the other they would wait for each other's questions to the judge.
test('every proxy of the farm ends as it should', async () => {
  await Promise.all(CHECKED_ROLES.map((name) => assertRole(world, name)));
});

test('the key may be the first entry of a file with the authority', async () => {
  const { ca, good } = await createCertificates();
  await withFolder(async (folder) => {
    const path = join(folder, 'all.pem');
    await writeFile(path, good.key + ca);
    await readAuthority(path);
  });
});
