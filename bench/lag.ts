/**
 * How long copies over Postgres lag behind a change, through PgBouncer in transaction mode, while clients keep asking
 * all of them. It starts all of that itself. `bun bench/lag.ts [turns]`
 */
import { loadavg, tmpdir } from 'node:os';
import { openPostgres } from '../adapters/postgres/connection.ts';
import { createPostgresProxies } from '../adapters/postgres/proxies.ts';
import { openProxyReplica } from '../adapters/sqlite/proxy-replica.ts';
import { bunRuntime } from '../src/runtime/bun.ts';
import { type Copy, startFleet } from '../test/support/servers/fleet.ts';
import { QUIET } from '../test/support/servers/quiet-server.ts';
import { PNG } from '../test/support/servers/running-server.ts';
import { startPgBouncer } from '../test/support/stores/pgbouncer.ts';
import { startPostgres } from '../test/support/stores/postgres-server.ts';
import { draft } from '../test/support/stores/records.ts';

const COPIES = 4;
/** Fewer than the copies have connections. */
const SESSIONS = 8;
/** Pause between two requests to one copy, in ms. */
const POLL_MS = 20;

const turns = Number(process.argv[2] ?? 50);
const lags: Record<string, number[]> = {};

function note(what: string, ms: number): void {
  const list = lags[what] ?? [];
  lags[what] = list;
  list.push(ms);
}

/** Asks a copy until its answer holds `text`, or no longer does. Returns how many ms after `since` it was last asked in vain. */
async function lagOf(
  copy: Copy | undefined,
  path: string,
  text: string,
  held: boolean,
  since: number,
): Promise<number> {
  let stale = since;
  for (;;) {
    const asked = performance.now();
    const answer = await fetch(`${copy?.url}${path}`);
    if ((await answer.text()).includes(text) === held && answer.ok) return stale - since;
    stale = asked;
    await Bun.sleep(POLL_MS);
  }
}

const postgres = await startPostgres({ autovacuum: 'on' });
const pooler = await startPgBouncer(postgres.url, SESSIONS);
const env = {
  ...QUIET,
  METADATA_URL: pooler.url,
  BLOBS_URL: `file:${tmpdir()}/picpool-lag-${process.pid}`,
};
const fleet = await startFleet(Array<'bun'>(COPIES).fill('bun'), () => env);
const connection = await openPostgres(pooler.url);
const proxies = createPostgresProxies(connection, () => openProxyReplica(bunRuntime, tmpdir()));
const ending = new AbortController();
const busy = fleet.copies.map(async ({ url }) => {
  for (; !ending.signal.aborted; await Bun.sleep(POLL_MS))
    for (const path of ['/api/v1/proxies', '/api/list']) await (await fetch(url + path)).text();
});
try {
  for (let turn = 0; turn < turns; turn++) {
    const ip = `198.51.100.${turn % 256}`;
    await proxies.save([draft({ ip, port: 1024 + turn })]);
    const saved = performance.now();
    const list = `/api/v1/proxies?port=${1024 + turn}`;
    for (const lag of await Promise.all(fleet.copies.map((copy) => lagOf(copy, list, ip, true, saved))))
      note('pool', lag);

    const [here, ...others] = fleet.copies;
    const name = `harbour-${turn}-${process.pid}`;
    const form = new FormData();
    form.set('image', new Blob([PNG]), `${name}.png`);
    const uploaded = await fetch(`${here?.url}/api/upload`, { method: 'POST', body: form });
    const { id, delete_token: token } = (await uploaded.json()) as { id: string; delete_token: string };
    const stored = performance.now();
    const questions = { list: '/api/list', search: `/api/search?q=${name}` };
    await Promise.all(
      Object.entries(questions).flatMap(([what, path]) => [
        lagOf(here, path, id, true, stored).then((lag) => note(`${what} of the copy that stored it`, lag)),
        ...others.map(async (copy) => note(`${what} of others`, await lagOf(copy, path, id, true, stored))),
      ]),
    );
    const deleted = await fetch(`${here?.url}/api/delete/${id}`, {
      method: 'DELETE',
      headers: { 'x-delete-token': token },
    });
    if (!deleted.ok) throw new Error(await deleted.text());
    const gone = performance.now();
    for (const lag of await Promise.all(others.map((copy) => lagOf(copy, '/api/list', id, false, gone))))
      note('list of others after a deletion', lag);
  }
  for (const [what, all] of Object.entries(lags)) {
    const sorted = all.toSorted((a, b) => a - b);
    const at = (share: number) => `${(sorted[Math.floor((sorted.length - 1) * share)] ?? 0).toFixed(0)} ms`;
    console.log(`${what}: median ${at(0.5)}, 99% ${at(0.99)}, longest ${at(1)} of ${all.length}`);
  }
  console.log(`load of the machine: ${loadavg()[0]?.toFixed(1)}`);
} finally {
  ending.abort();
  await Promise.all(busy);
  await connection.close();
  await fleet.stop();
  await pooler.stop();
  await postgres.stop();
}
