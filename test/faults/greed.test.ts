import { expect, test } from 'bun:test';
import { measureGreed } from '../support/clients/greed.ts';
import { seedPool } from '../support/pool/seeded.ts';
import { startServer } from '../support/servers/server-process.ts';
import { withFolder } from '../support/temporary.ts';

/** What a busy machine may add to a read, in ms. */
const SLACK_MS = 5;

/** The share of 2,000 connections that the client holds. 1, on a machine at rest, is the row in `bench/README.md`. */
const SHARE = Number(process.env.GREED_SHARE ?? 0.2);

test(
  'a client that takes what it can keeps nobody else from reading and uploading',
  () =>
    withFolder(async (folder) => {
      await seedPool(folder, Date.now());
      const server = await startServer('bun', {}, folder);
      try {
        const { reads, faults, uploads, answers } = await measureGreed(server.url, SHARE, 60);
        if (SHARE === 1) console.table(reads);
        for (const { path, aloneMs, besideMs } of reads) {
          expect({ path, slow: besideMs > 3 * aloneMs + SLACK_MS }).toEqual({ path, slow: false });
        }
        expect([faults, uploads.stored]).toEqual([0, uploads.sent]);
        // How many more come depends on how long the reads beside it take.
        expect(answers['429']).toBeGreaterThan(10);
      } finally {
        await server.stop();
      }
    }),
  180_000,
);
