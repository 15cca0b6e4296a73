import { afterAll, beforeAll, expect, test } from 'bun:test';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { absent } from '../support/absent.ts';
import { createCertificates } from '../support/certificates.ts';
import { freePort } from '../support/free-port.ts';
import { noise, photo } from '../support/images/images.ts';
import { run } from '../support/run.ts';
import { readExample, startNginx } from '../support/servers/balancer.ts';
import { EXAMPLES } from '../support/servers/examples.ts';
import { type ServerProcess, startServer } from '../support/servers/server-process.ts';
import { sharedFolder } from '../support/shared.ts';

const MIB = 2 ** 20;
/** What the examples say the server must be told. */
const SETTINGS = { TRUSTED_PROXIES: '127.0.0.1', PROXY_JUDGES: 'http://127.0.0.1:9/' };

let server: ServerProcess;
beforeAll(async () => {
  await writeFile(join(folder, 'photo.jpg'), await photo(300, 200));
  await writeFile(join(folder, 'noise.png'), await noise(1850, 1850));
  await writeFile(join(folder, 'large.jpg'), new Uint8Array(32.5 * MIB));
  await writeFile(join(folder, 'huge.jpg'), new Uint8Array(34 * MIB));
  server = await startServer('bun', SETTINGS);
}, 180_000);
afterAll(() => server?.stop());
const folder = await sharedFolder();

/** A visitor with an address of its own, and what it is answered. */
async function visit(from: string, ...args: string[]): Promise<{ status: number; text: string }> {
  const all = ['curl', '-s', '--interface', from, '-w', '\n%{http_code}', ...args];
  const stdout = await run(all, { cwd: folder });
  const end = stdout.lastIndexOf('\n');
  return { status: Number(stdout.slice(end + 1)), text: stdout.slice(0, end) };
}

test.skipIf(absent('nginx'))(
  'the example of nginx serves HTTPS, and redirects to it, as its comments say',
  async () => {
    const { good, ca } = await createCertificates();
    const files = { 'fullchain.pem': good.cert, 'privkey.pem': good.key, 'ca.pem': ca };
    for (const [name, text] of Object.entries(files)) await writeFile(join(folder, name), text);
    const port = await freePort();
    const example = (await readExample('nginx.conf'))
      .replace('    listen 80;\n', '')
      .replace(/^( *)#(?=\S)/gm, '$1')
      .replaceAll('127.0.0.1:3000', new URL(server.url).host)
      .replaceAll('/etc/letsencrypt/live/img.example.com', folder)
      .replace('listen 443', `listen 127.0.0.1:${port}`)
      .replace('[::]:443', `[::1]:${port}`)
      .replace('[::]:80', `[::1]:${await freePort()}`);
    const proxy = await startNginx(example);
    try {
      const led = await fetch(`${proxy.url}/proxies?a=b`, {
        redirect: 'manual',
        headers: { host: 'img.example.com' },
      });
      expect([led.status, led.headers.get('location')]).toEqual([301, 'https://img.example.com/proxies?a=b']);
      for (const host of ['127.0.0.1', '[::1]']) {
        const trusted = ['--cacert', 'ca.pem', '--connect-to', `localhost::${host}:${port}`];
        const stdout = await run(
          ['curl', '-s', ...trusted, '-F', 'image=@photo.jpg', 'https://localhost/api/upload'],
          { cwd: folder },
        );
        expect(JSON.parse(stdout).url).toStartWith('https://localhost/i/');
      }
    } finally {
      await proxy.stop();
    }
  },
);

test.skipIf(absent('nginx'))(
  'the nginx of the examples bounds what one visitor has open at once',
  async () => {
    const example = (await readExample('nginx.conf'))
      .replaceAll('127.0.0.1:3000', here())
      .replace('limit_conn picpool_visitors 100', 'limit_conn picpool_visitors 5');
    const proxy = await startNginx(example);
    const ending = new AbortController();
    try {
      const listen = () => fetch(`${proxy.url}/api/refresh/events`, { signal: ending.signal });
      const five = await Promise.all([1, 2, 3, 4, 5].map(listen));
      expect(five.map(({ status }) => status)).toEqual([200, 200, 200, 200, 200]);
      const sixth = await listen();
      expect([sixth.status, sixth.headers.get('retry-after')]).toEqual([429, '1']);
      expect(await sixth.json()).toMatchObject({ success: false, code: 'rate_limited' });
      expect((await visit('127.0.0.2', `${proxy.url}/api/status`)).status).toBe(200);
    } finally {
      ending.abort();
      await proxy.stop();
    }
  },
);

const here = () => new URL(server.url).host;

for (const [name, { program, start }] of Object.entries(EXAMPLES)) {
  test.skipIf(absent(program))(
    `behind ${name} visitors are distinguished, links lead back, and uploads and events pass`,
    async () => {
      const proxy = await start(here());
      try {
        const [one, other] = ['127.0.0.2', '127.0.0.3'];
        const stored = await visit(one, '-F', 'image=@photo.jpg', `${proxy.url}/api/upload`);
        const { id, url } = JSON.parse(stored.text);
        expect(url).toBe(`${proxy.url}/i/${id}`);
        // A client that pretends to be somebody else is not believed.
        const remove = ['-X', 'DELETE', `${proxy.url}/api/delete/${id}`];
        const liar = await visit(other, '-H', `X-Forwarded-For: ${one}`, ...remove);
        expect([liar.status, JSON.parse(liar.text).code]).toEqual([403, 'forbidden']);
        // Nor is one who comes from the proxy's own address, as through a tunnel.
        const neighbour = await visit('127.0.0.1', '-H', `X-Forwarded-For: ${one}`, ...remove);
        expect(neighbour.status).toBe(403);
        expect((await visit(one, ...remove)).status).toBe(200);

        const noisy = await visit(one, '--data-binary', '@noise.png', `${proxy.url}/api/upload`);
        expect(noisy.status).toBe(201);

        // A proxy may close the connection of a client that is still sending, before it has read the refusal.
        const again = ['--retry', '4', '--retry-all-errors', '--retry-delay', '1'];
        const large = await visit(one, ...again, '--data-binary', '@large.jpg', `${proxy.url}/api/upload`);
        expect([large.status, JSON.parse(large.text).success]).toEqual([413, false]);
        const huge = await visit(one, ...again, '--data-binary', '@huge.jpg', `${proxy.url}/api/upload`);
        expect([huge.status, huge.text && JSON.parse(huge.text).code]).toEqual([413, 'too_large']);

        const leaving = new AbortController();
        const events = await fetch(`${proxy.url}/api/refresh/events`, { signal: leaving.signal });
        const first = await events.body?.getReader().read();
        expect(new TextDecoder().decode(first?.value)).toContain('data: {');
        leaving.abort();
      } finally {
        await proxy.stop();
      }
    },
    // A proxy that still holds the events of a visitor who has left does not stop in that time.
    180_000,
  );
}
