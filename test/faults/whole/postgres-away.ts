/** Faults that take long, beside the gate: `bun test ./test/faults/whole/postgres-away.ts`. */
import { expect, setDefaultTimeout, test } from 'bun:test';
import { openStores } from '../../../adapters/open.ts';
import { bunRuntime } from '../../../src/runtime/bun.ts';
import { json } from '../../support/json.ts';
import { withSchema } from '../../support/postgres.ts';
import { startPostgres } from '../../support/postgres-server.ts';
import { QUIET, upload } from '../../support/quiet-server.ts';
import { drafts } from '../../support/records.ts';
import { startRelay } from '../../support/relay.ts';
import { type ServerProcess, startServer } from '../../support/server-process.ts';
import { until } from '../../support/services.ts';

setDefaultTimeout(120_000);

const isReady = async ({ url }: ServerProcess) => (await fetch(`${url}/readyz`)).status === 200;

test('while Postgres is away or hangs, lists of the pool go on, and the rest is told when to come again; then all goes on', async () => {
  const postgres = await startPostgres();
  const link = await startRelay(postgres.port);
  const own = new URL(withSchema(postgres.url));
  own.port = String(link.port);
  const stores = await openStores(own.href, 'file:/nowhere', { runtime: bunRuntime });
  await stores.proxies.save(drafts(30, (index) => ({ lastChecked: Date.now(), uptime: index / 30 })));
  await stores.close();
  await postgres.kill();
  const server = await startServer('bun', { ...QUIET, METADATA_URL: own.href });
  try {
    expect(server.stderr()).toContain('(not responding; waiting for it)');
    expect((await fetch(`${server.url}/livez`)).status).toBe(200);
    await postgres.start();
    await until(() => isReady(server));
    const total = async () =>
      (await json<{ total: number }>(await fetch(`${server.url}/api/v1/proxies`))).total;
    expect(await total()).toBe(30);
    const { status, id } = await upload(server);
    expect(status).toBe(201);

    const faults: [string, () => Promise<void>, () => Promise<void>][] = [
      ['it is killed', () => postgres.kill(), () => postgres.start()],
      ['it hangs', async () => link.stall(), async () => link.open()],
      ['the link is cut', async () => link.cut(), async () => link.open()],
    ];
    for (const [name, begin, end] of faults) {
      await begin();
      const refused = await upload(server);
      expect([name, refused.status, Number(refused.retryAfter) > 0]).toEqual([name, 503, true]);
      expect(await total()).toBe(30);
      expect((await fetch(`${server.url}/api/list?page=7`)).status).toBe(503);
      await end();
      await until(async () => (await upload(server)).status === 201);
      expect((await fetch(`${server.url}/i/${id}`)).status).toBe(200);
    }
  } finally {
    await server.stop();
    await link.stop();
    await postgres.stop();
  }
});
