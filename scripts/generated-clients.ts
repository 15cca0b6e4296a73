/** See scripts/generated-clients-test. */
import assert from 'node:assert/strict';
import {
  DESCRIPTIONS,
  FOUND_OUT,
  generators,
  startGeneratedClients,
} from '../test/support/clients/generated-clients.ts';
import { type Row, runRows } from './clients/row.ts';

/** Without which a generator is not run. */
const NEEDS: Partial<Record<string, string>> = { Python: 'python3', Go: 'go' };

const clients = await startGeneratedClients();
const failed = await runRows(
  Object.entries(generators).flatMap(([language, generator]) =>
    DESCRIPTIONS.map(
      (description): Row => ({
        name: `${language}, ${description}`,
        needs: NEEDS[language],
        async run() {
          assert.deepEqual(await clients.try(generator, description), FOUND_OUT);
          return Object.keys(FOUND_OUT);
        },
      }),
    ),
  ),
);
await clients.stop();
process.exit(failed > 0 ? 1 : 0);
