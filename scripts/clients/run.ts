/** Uses a real server through our own clients, on every runtime that is here, and prints what each has done. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startTinyproxy } from '../../test/support/farm/real-proxies.ts';
import { seedPool } from '../../test/support/pool/seeded.ts';
import { startServer } from '../../test/support/servers/server-process.ts';
import { jsRows } from './js.ts';
import { pythonRows, seedHelpers } from './python.ts';
import { runRows } from './row.ts';

const TOKEN = 'the-administrator-of-this-test';
const NOWHERE = 'http://127.0.0.1:9/';
/** Proxies of which `/picky` refuses the first. */
const [BANNED, WELCOME] = ['127.2.0.8', '127.2.0.9'];

const scratch = await mkdtemp(join(tmpdir(), 'picpool-clients-'));
const pages = join(scratch, 'pages');
const web = Bun.serve({
  hostname: '127.0.0.1',
  port: 0,
  fetch(request, own) {
    const { url, headers } = request;
    const { pathname } = new URL(url);
    // The site refuses one of its visitors, whatever the method.
    if (pathname === '/picky') {
      const peer = own.requestIP(request)?.address ?? '';
      return new Response(`for ${peer}`, { status: peer === BANNED ? 403 : 200 });
    }
    if (pathname === '/via') return new Response(`by ${headers.get('via') ?? 'nobody'}`);
    if (pathname === '/blank.html') return new Response('', { headers: { 'content-type': 'text/html' } });
    return new Response(Bun.file(join(pages, pathname)));
  },
  error: () => new Response('not found', { status: 404 }),
});
await seedPool(scratch, Date.now());
const proxies = [
  await startTinyproxy('127.0.0.1'),
  await startTinyproxy(BANNED),
  await startTinyproxy(WELCOME),
] as const;
const [proxy, banned, welcome] = proxies;
await seedHelpers(scratch, { ip: '127.0.0.1', port: proxy.port }, [
  { ip: BANNED, port: banned.port },
  { ip: WELCOME, port: welcome.port },
]);
// Every runtime counts as the same client.
const settings = {
  PROXY_JUDGES: NOWHERE,
  PROXY_SOURCES: 'file:/dev/null',
  ADMIN_TOKEN: TOKEN,
  RATE_LIMITS: 'upload=600/1m',
};
const server = await startServer('bun', { ...settings, CORS_ORIGINS: web.url.origin }, scratch);

const failed = await runRows([
  ...(await jsRows({ url: server.url, token: TOKEN }, { url: web.url.origin, folder: pages })),
  ...pythonRows({ url: server.url, token: TOKEN }, `${web.url.origin}/via`, scratch),
]);
await server.stop();
for (const one of proxies) await one.stop();
await web.stop(true);
await rm(scratch, { recursive: true, force: true });
process.exit(failed > 0 ? 1 : 0);
