import { expect, test } from 'bun:test';
import { measureGreed } from '../support/clients/greed.ts';
import { seedPool } from '../support/pool/seeded.ts';
import { startServer } from '../support/servers/server-process.ts';
import { withFolder } from '../support/temporary.ts';

/** What a busy machine may add to a read, in ms. */
const SLACK_MS = 5;

// The whole of it, with 2,000 connections, is bench/greed.ts.
test(
  'a client that takes what it can keeps nobody else from reading and uploading',
  () =>
    withFolder(async (folder) => {
      await seedPool(folder, Date.now());
      const server = await startServer('bun', {}, folder);
      try {
        const { reads, faults, uploads, answers } = await measureGreed(server.url, 0.2, 60);
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
