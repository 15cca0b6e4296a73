import { startPgBouncer } from '../stores/pgbouncer.ts';
import { startPostgresPair } from '../stores/postgres-server.ts';
import { withFolderOfItsOwn } from '../stores/s3.ts';
import { S3_ACCESS, startS3 } from '../stores/services.ts';
import { startFleet } from './fleet.ts';
import { QUIET } from './quiet-server.ts';

/** Sessions of a PgBouncer with its server: fewer than the copies have connections with it. */
const SESSIONS = 8;

/** Copies over S3 and two Postgres servers, each behind a PgBouncer of its own; the second server has all that is acknowledged. */
export async function startPostgresFleet(copies: number) {
  const [pair, s3] = await Promise.all([startPostgresPair(), startS3()]);
  const servers = [pair.primary, pair.replica];
  const bouncers = await Promise.all(servers.map(({ url }) => startPgBouncer(url, SESSIONS)));
  const hosts = bouncers.map(({ url }) => new URL(url).host).join(',');
  const env = {
    ...QUIET,
    METADATA_URL: `postgres://postgres@${hosts}/postgres`,
    BLOBS_URL: withFolderOfItsOwn(s3.url),
    ...S3_ACCESS,
  };
  const fleet = await startFleet(Array<'bun'>(copies).fill('bun'), () => env);
  return {
    fleet,
    pair,
    /** Of the primary and of the replica. */
    bouncers,
    async stop() {
      await fleet.stop();
      await Promise.all([...bouncers, pair, s3].map((service) => service.stop()));
    },
  };
}

/**
 * Kills the PgBouncers in turn, each of them back after half a second, until `ended` says so; after `failoverAfter` of these kills
 * the primary dies for good, and its replica is promoted `pauseMs` later.
 */
export async function troublePostgres(
  { pair, bouncers }: Awaited<ReturnType<typeof startPostgresFleet>>,
  ended: () => boolean,
  { failoverAfter, everyMs, pauseMs }: { failoverAfter: number; everyMs: number; pauseMs: number },
) {
  const troubles = {
    bouncerKills: 0,
    /** How long no server took writes, in ms. */
    withoutPrimaryMs: 0,
  };
  for (; !ended(); await Bun.sleep(everyMs)) {
    if (troubles.bouncerKills === failoverAfter && troubles.withoutPrimaryMs === 0) {
      const startedAt = performance.now();
      await pair.primary.kill();
      await Bun.sleep(pauseMs);
      await pair.promote();
      troubles.withoutPrimaryMs = Math.round(performance.now() - startedAt);
      continue;
    }
    // The one through which the copies write, and then the other one.
    const bouncer = bouncers[troubles.bouncerKills % bouncers.length];
    await bouncer?.kill();
    await Bun.sleep(500);
    await bouncer?.start();
    troubles.bouncerKills++;
  }
  return troubles;
}
