/**
 * How much slower a client's reads get beside one that takes what it can: 2,000 connections with event streams, exports and guesses.
 * In one run, on the default settings.
 *
 *   bun bench/greed.ts [share of the connections, default 1] [bun or deno] [reads of each path]
 */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { measureGreed } from '../test/support/clients/greed.ts';
import { seedPool } from '../test/support/pool/seeded.ts';
import { type RuntimeName, startServer } from '../test/support/servers/server-process.ts';

const [share = '1', runtime = 'bun', reads = '200'] = process.argv.slice(2);
const folder = await mkdtemp(join(tmpdir(), 'picpool-greed-'));
await seedPool(folder, Date.now());
const server = await startServer(runtime as RuntimeName, {}, folder);
try {
  const report = await measureGreed(server.url, Number(share), Number(reads));
  for (const { path, aloneMs, besideMs } of report.reads) {
    const times = (besideMs / aloneMs).toFixed(1);
    console.log(
      `${path}: median ${aloneMs.toFixed(2)} ms alone, ${besideMs.toFixed(2)} ms beside it: ${times} times`,
    );
  }
  const { sent, stored, longestMs } = report.uploads;
  console.log(`reads not answered: ${report.faults}`);
  console.log(`uploads stored: ${stored} of ${sent}, the longest ${longestMs.toFixed(0)} ms`);
  console.log(`answers to the greedy client: ${JSON.stringify(report.answers)}`);
} finally {
  await server.stop();
  await rm(folder, { recursive: true, force: true });
}
