/**
 * `bun scripts/loss.ts [pairs] [seed] [name]`: what can happen to stores happens to real servers that are used meanwhile: each
 * disaster alone, and then that many random pairs. With a name only those whose names contain it. Says what was lost. Needs
 * Redis and versitygw.
 */
import type { Disaster } from '../test/support/loss/disaster.ts';
import { LOCAL_DISASTERS } from '../test/support/loss/local-disasters.ts';
import { startLocalWorld } from '../test/support/loss/local-world.ts';
import { REDIS_DISASTERS } from '../test/support/loss/redis-disasters.ts';
import { startRedisWorld } from '../test/support/loss/redis-world.ts';
import { randomPairs, runTrial } from '../test/support/loss/trial.ts';
import type { Copies } from '../test/support/loss/world.ts';
import { createRandom } from '../test/support/random.ts';

const [pairs = '6', seed = '1', wanted = ''] = process.argv.slice(2);
let failures = 0;

async function runAll<World extends Copies>(
  what: string,
  disasters: readonly Disaster<World>[],
  start: () => Promise<World>,
): Promise<void> {
  const alone = disasters.filter(({ name }) => name.includes(wanted)).map((disaster) => [disaster]);
  const together = randomPairs(disasters, Number(pairs), createRandom(Number(seed)));
  for (const trial of [...alone, ...together]) {
    const world = await start();
    const startedAt = performance.now();
    const faults = await runTrial(world, trial)
      .catch((error: unknown) => [error instanceof Error ? (error.stack ?? error.message) : String(error)])
      .finally(() => world.stop());
    const seconds = ((performance.now() - startedAt) / 1000).toFixed(1);
    const name = trial.map((disaster) => disaster.name).join('; then ');
    console.log(`${faults.length === 0 ? 'ok  ' : 'LOST'} ${what}: ${name} (${seconds} s)`);
    for (const fault of faults) console.log(`     ${fault}`);
    if (faults.length > 0) failures++;
  }
}

await runAll('SQLite and a folder', LOCAL_DISASTERS, startLocalWorld);
await runAll('Redis and S3', REDIS_DISASTERS, startRedisWorld);
process.exit(failures > 0 ? 1 : 0);
