import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { photo } from '../../test/support/images/images.ts';
import { logInto, startServer } from '../../test/support/servers/server-process.ts';
import { type Load, load, startProgram } from './load.ts';
import { atLeast, median, type Row } from './row.ts';

const SECONDS = 1;
/** So high that no benchmark reaches it: limits are on by default, and every request is counted. */
const DEFAULTS = { RATE_LIMITS: 'read=1000000000/1s', PROXY_REFRESH_INTERVAL: '24h' };

const BARE = `
  const [mode, path] = process.argv.slice(2);
  const server = Bun.serve({
    hostname: '127.0.0.1',
    port: 0,
    fetch: () => mode === 'file' ? new Response(Bun.file(path)) : new Response(null, { status: 304 }),
  });
  console.log('listening ' + server.url.origin);
`;

const nginx = (folder: string, port: number) => `
  daemon off; user root; worker_processes 2; pid ${folder}/pid; error_log ${folder}/error.log;
  events { worker_connections 256; }
  http {
    access_log off; sendfile on; tcp_nopush on; keepalive_requests 100000000;
    types { image/jpeg jpg; }
    server { listen 127.0.0.1:${port}; root ${folder}; }
  }
`;

/** Serving an image of 100 KB, and 304s, against the least that Bun and nginx do for it; taking turns in one run. */
export async function serving(rounds: number): Promise<Row[]> {
  const folder = await mkdtemp(join(tmpdir(), 'picpool-serving-'));
  const closers: (() => unknown)[] = [() => rm(folder, { recursive: true, force: true })];
  try {
    const server = await startServer('bun', DEFAULTS, join(folder, 'data'), logInto(join(folder, 'log')));
    closers.push(server.stop);
    const { url, size, etag } = await uploadOf100Kb(server.url);
    const picture = join(folder, 'picture.jpg');
    await writeFile(picture, await (await fetch(url)).bytes());
    const script = join(folder, 'bare.ts');
    await writeFile(script, BARE);
    const bareFile = await startProgram([process.execPath, script, 'file', picture], /listening (\S+)\n/);
    closers.push(() => bareFile.child.kill());
    const bare304 = await startProgram([process.execPath, script, '304'], /listening (\S+)\n/);
    closers.push(() => bare304.child.kill());
    const port = await freePort();
    await writeFile(join(folder, 'nginx.conf'), nginx(folder, port));
    const web = Bun.spawn(['nginx', '-c', join(folder, 'nginx.conf'), '-e', join(folder, 'error.log')]);
    closers.push(async () => {
      web.kill('SIGTERM');
      await web.exited;
    });
    await answers(`http://127.0.0.1:${port}/picture.jpg`);

    const targets: Record<string, () => Promise<Load>> = {
      file: () => load(url, server.pid, SECONDS),
      bareFile: () => load(bareFile.found, bareFile.pid, SECONDS),
      nginx: () => load(`http://127.0.0.1:${port}/picture.jpg`, web.pid, SECONDS),
      notModified: () => load(url, server.pid, SECONDS, [`If-None-Match: ${etag}`]),
      bare304: () => load(bare304.found, bare304.pid, SECONDS, [`If-None-Match: ${etag}`]),
    };
    const loads = Object.fromEntries(Object.keys(targets).map((name): [string, Load[]] => [name, []]));
    for (const run of Object.values(targets)) await run();
    for (let round = 0; round < rounds; round++) {
      for (const [name, run] of Object.entries(targets)) loads[name]?.push(await run());
    }
    const image = `image of ${Math.round(size / 1000)} KB`;
    return [
      compare(`${image} against bare Bun.serve with Bun.file`, 0.85, loads.file, loads.bareFile),
      compare(`${image} against nginx with two workers and sendfile`, 0.75, loads.file, loads.nginx),
      compare('304 against bare Bun.serve', 0.55, loads.notModified, loads.bare304),
    ];
  } finally {
    for (const close of closers.reverse()) await close();
  }
}

/** The ratio is the median over the rounds, in each of which both ran within seconds. */
function compare(what: string, goal: number, own: Load[] = [], base: Load[] = []): Row {
  const ratio = median(own.map(({ perSecond }, round) => perSecond / (base[round]?.perSecond ?? Number.NaN)));
  const side = (loads: Load[]) =>
    `${Math.round(median(loads.map(({ perSecond }) => perSecond)))}/s at ${median(loads.map(({ cpuUs }) => cpuUs)).toFixed(1)} us`;
  const cpu = median(base.map(({ cpuUs }, round) => cpuUs / (own[round]?.cpuUs ?? Number.NaN)));
  return atLeast(what, goal, ratio, `${side(own)} to ${side(base)}; by CPU ${cpu.toFixed(2)}`);
}

async function uploadOf100Kb(base: string) {
  const body = await photo(1240, 940);
  const answer = await fetch(`${base}/api/upload?format=jpeg`, {
    method: 'POST',
    body: new Uint8Array(body),
  });
  const { raw_url: url, size } = (await answer.json()) as { raw_url: string; size: number };
  const etag = (await fetch(url)).headers.get('etag') ?? '';
  return { url, size, etag };
}

async function freePort(): Promise<number> {
  const probe = createServer().listen(0, '127.0.0.1');
  await new Promise((resolve) => probe.once('listening', resolve));
  const address = probe.address();
  await new Promise((resolve) => probe.close(resolve));
  return typeof address === 'object' && address ? address.port : 0;
}

async function answers(url: string): Promise<void> {
  for (let attempt = 0; attempt < 100; attempt++) {
    if ((await fetch(url).catch(() => null))?.ok) return;
    await Bun.sleep(50);
  }
  throw new Error(`nothing answers at ${url}`);
}
