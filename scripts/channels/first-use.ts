import { strict as assert } from 'node:assert';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { startTinyproxy } from '../../test/support/farm/real-proxies.ts';
import { freePort } from '../../test/support/free-port.ts';
import { run } from '../../test/support/run.ts';
import { keepPicture, SETTINGS, serve, type World } from './channel.ts';
import { type SignedRelease, serveSigned } from './install-script.ts';

export interface FirstUse {
  /** What has been reached. */
  what: string;
  /** From the begin of the installation on, by the clock. */
  seconds: number;
  /** What it may take. */
  allowed: number;
}

/** How long it takes from the line that installs to what it was installed for; each from an empty machine on. */
export async function firstUse(world: World): Promise<FirstUse[]> {
  const uses: [what: string, allowed: number, use: (binary: string, scratch: string) => Promise<void>][] = [
    ['a first request through a proxy of your own list', 60, proxiedRequest],
    ['a first shared link', 30, sharedLink],
  ];
  const found: FirstUse[] = [];
  for (const [index, [what, allowed, use]] of uses.entries()) {
    const scratch = join(world.scratch, `first-use-${index}`);
    await mkdir(scratch);
    const signed: SignedRelease = await serveSigned(world, join(scratch, 'prefix'));
    const startedAt = performance.now();
    await signed.install();
    await use(signed.binary, scratch).finally(signed.stop);
    found.push({ what, seconds: (performance.now() - startedAt) / 1000, allowed });
  }
  return found;
}

async function proxiedRequest(binary: string, scratch: string): Promise<void> {
  const site = Bun.serve({
    hostname: '127.0.0.1',
    port: 0,
    fetch: ({ headers }) => new Response(headers.get('via') ?? 'no proxy'),
  });
  const proxy = await startTinyproxy('127.0.0.1');
  // Of the others nobody answers.
  const list = join(scratch, 'list.txt');
  await writeFile(list, `127.0.0.1:9\n127.0.0.1:${proxy.port}\n127.0.0.1:10\n`);
  const port = await freePort();
  const options = ['--list', list, '--port', String(port), '--ports', 'any', '--allow-private'];
  const gateway = Bun.spawn([binary, 'gateway', ...options], {
    env: SETTINGS,
    stdio: ['ignore', 'ignore', 'ignore'],
  });
  try {
    const curl = ['curl', '-sS', '--retry', '60', '--retry-connrefused', '--retry-delay', '1'];
    const via = await run([
      ...curl,
      '--retry-max-time',
      '50',
      '-x',
      `http://127.0.0.1:${port}`,
      site.url.href,
    ]);
    assert.match(via, /tinyproxy/);
  } finally {
    gateway.kill();
    await gateway.exited;
    await proxy.stop();
    await site.stop(true);
  }
}

async function sharedLink(binary: string, scratch: string): Promise<void> {
  const env = { ...SETTINGS, PORT: '0', DATA_DIR: join(scratch, 'data') };
  const server = await serve([binary], { env, cwd: scratch });
  const path = await keepPicture(server.url);
  assert.equal((await fetch(server.url + path)).status, 200);
  await server.stop();
}
