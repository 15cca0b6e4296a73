import { afterEach, expect, test } from 'bun:test';
import { showProxies } from '../../src/proxy/pages.ts';
import { createSites } from '../../src/web/site.ts';
import { createPool, draft, type Lists } from '../support/pool.ts';

const MINUTE = 60_000;
let pool: Awaited<ReturnType<typeof createPool>>;
afterEach(() => pool.close());

/** A pool of four kinds, which were checked 5, 50, 40 and 45 minutes ago. */
async function open(lists: Lists = {}) {
  pool = await createPool(lists);
  const now = pool.clock.now();
  await pool.store.save([
    draft('http://192.0.2.1:80', now - 5 * MINUTE, { proof: 'echoed' }),
    draft('https://192.0.2.2:80', now - 50 * MINUTE, { proof: 'tls' }),
    draft('socks5://192.0.2.3:80', now - 40 * MINUTE, { proof: 'tls', login: 'me:secret' }),
    draft('socks4://192.0.2.4:80', now - 45 * MINUTE, { proof: 'signed' }),
  ]);
}

/** The words of the page, without its markup. */
async function read(query = {}): Promise<{ html: string; words: string }> {
  const { service, clock } = pool;
  const siteOf = createSites({ assets: { url: (name) => name }, links: [], version: '1', path: '' });
  const answer = await showProxies(
    {
      service,
      siteOf,
      basePath: '',
      refreshIntervalMs: 60 * MINUTE,
      adminRequired: false,
      gateway: null,
      contextOf: () => {
        throw new Error('is not asked for');
      },
      now: clock.now,
    },
    query,
    new Request('http://pool.example/proxies'),
  );
  const html = await answer.text();
  return { html, words: html.replace(/<[^>]*>/g, ' ').replace(/\s+/g, ' ') };
}

test('each proxy is shown with its proof, and the weakest is marked', async () => {
  await open();
  const { html, words } = await read();
  expect(words).toContain('Anonymity Proof');
  expect(html).toContain('<span class="tag bad">echoed</span>');
  expect(words).toMatch(/192\.0\.2\.2:80 https .* tls /);
  expect(words).toMatch(/192\.0\.2\.4:80 socks4 .* signed /);
});

test('the list can be had from a proof upwards', async () => {
  await open();
  const { html, words } = await read({ min_proof: 'signed' });
  expect(words).toContain('3 proxies match');
  expect(words).not.toContain('192.0.2.1:80');
  expect(html).toContain('<option value="signed" selected>signed</option>');
  expect(html).toContain('/api/v1/proxies?min_proof=signed');
});

test('what asks for a login says so, and is not copied without it', async () => {
  await open();
  const { html } = await read({ protocol: 'socks5' });
  expect(html).toContain('192.0.2.3:80 <span class="tag" title="It asks for a login');
  expect(html).not.toContain('data-copy="socks5');
  expect(html).not.toContain('secret');
  expect((await read({ protocol: 'https' })).html).toContain('data-copy="https://192.0.2.2:80"');
});

test('where no judge of a kind answers, its age is told', async () => {
  await open();
  pool.network.kinds = { http: 'up', https: 'down' };
  expect((await read()).words).toContain(
    'No judge for https answers at the moment: https and SOCKS proxies are listed as they were found 40 min ago at the latest.',
  );
  pool.network.kinds = { http: 'down', https: 'up' };
  const { words } = await read();
  expect(words).toContain('http proxies are listed as they were found 5 min ago at the latest.');
  expect(words).not.toContain('SOCKS proxies');
  pool.network.judge = 'down';
  pool.network.kinds = { http: 'down', https: 'none' };
  const all = (await read()).words;
  expect(all).toContain('The judge does not answer at the moment');
  expect(all).toContain('The http proxies were checked 5 min ago at the latest.');
});

test('an outage of our own network is told, with the time of the next attempt', async () => {
  const away = () => new Error('could not be reached');
  await open({ a: away(), b: away(), c: away() });
  pool.network.judge = 'down';
  const { retryAt } = await pool.refresh();
  const at = new Date(retryAt ?? 0).toISOString().slice(11, 16);
  expect((await read()).words).toContain(
    `The last refresh did not end well: most lists could not be reached; it is tried again at ${at} UTC.`,
  );
});
