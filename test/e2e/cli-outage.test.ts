import { expect, test } from 'bun:test';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { cli } from '../support/servers/cli.ts';
import { withServer } from '../support/servers/running-server.ts';
import { sharedFolder } from '../support/shared.ts';

/** Nobody listens there. */
const NOBODY = 'http://127.0.0.1:9';
const folder = await sharedFolder();

test('a refresh while our own network is down is reported as such, with the time of the next attempt', async () => {
  const sources = join(folder, 'sources.json');
  await writeFile(
    sources,
    JSON.stringify(['a', 'b', 'c'].map((name) => ({ name, url: `${NOBODY}/${name}` }))),
  );
  const env = {
    SERVICES: 'proxy',
    PROXY_SOURCES: sources,
    PROXY_ALLOW_PRIVATE: 'true',
    PROXY_JUDGES: `${NOBODY}/`,
  };
  await withServer(env, async ({ url, send }) => {
    const { code, stderr } = await cli(['refresh'], { env: { PICPOOL_URL: url } });
    expect(code).toBe(1);
    expect(stderr).toContain('The refresh failed: most lists could not be reached');
    const [, at = ''] = /The server tries again at (\d{4}-\d\d-\d\d \d\d:\d\d:\d\d) UTC\./.exec(stderr) ?? [];
    const waitMs = Date.parse(`${at.replace(' ', 'T')}Z`) - Date.now();
    expect(waitMs).toBeWithin(30_000, 61_000);
    const page = await (await send('/proxies')).text();
    expect(page).toContain('This server cannot reach the internet');
    expect(page).toContain(`Next attempt at ${at.slice(11, 16)} UTC.`);
    const job = await (await send('/api/refresh')).json();
    expect(job).toMatchObject({ job: { state: 'failed', error: 'network_down', retry_at: at } });
  });
});
