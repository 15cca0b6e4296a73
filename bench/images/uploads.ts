import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import sharp from 'sharp';
import { gifOfFrames, pngBomb, SVG_BOMB } from '../../test/support/images/hostile-images.ts';
import { animation, photo, privatePhoto, transparent } from '../../test/support/images/images.ts';
import { childrenOf } from '../../test/support/servers/processes.ts';
import { type ServerProcess, startServer } from '../../test/support/servers/server-process.ts';
import { atLeast, atMost, median, type Row } from './row.ts';

const CLIENTS = 4;
const ENV = { SERVICES: 'image', RATE_LIMITS: 'off', LOG_LEVEL: 'warn' };

type Bytes = Uint8Array<ArrayBuffer>;

export async function withServer(
  env: Record<string, string>,
  work: (server: ServerProcess) => Promise<Row[]>,
): Promise<Row[]> {
  const server = await startServer('bun', { ...ENV, ...env });
  try {
    return await work(server);
  } finally {
    await server.stop();
  }
}

/** How many a second, `CLIENTS` at once. */
async function rate(count: number, job: (index: number) => Promise<unknown>): Promise<number> {
  const startedAt = performance.now();
  let next = 0;
  await Promise.all(
    Array.from({ length: CLIENTS }, async () => {
      while (next < count) await job(next++);
    }),
  );
  return (count * 1000) / (performance.now() - startedAt);
}

async function upload({ url }: ServerProcess, body: Bytes, query: string): Promise<number> {
  const answer = await fetch(`${url}/api/upload?${query}`, { method: 'POST', body });
  await answer.bytes();
  return answer.status;
}

async function accepted(server: ServerProcess, body: Bytes, query: string): Promise<void> {
  const status = await upload(server, body, query);
  if (status !== 201) throw new Error(`an upload was answered ${status}`);
}

/** Uploads over HTTP against a loop over sharp with the same options, as many at once; taking turns in one run. */
export function conversions(rounds: number): Promise<Row[]> {
  return withServer({}, async (server) => {
    sharp.concurrency(1);
    sharp.cache(false);
    const folder = await mkdtemp(join(tmpdir(), 'picpool-uploads-'));
    let written = 0;
    const compare = async (what: string, goal: number, bytes: Buffer, count: number): Promise<Row> => {
      const input = join(folder, 'input.jpg');
      await writeFile(input, bytes);
      const body = new Uint8Array(bytes);
      const bare = async () => {
        const output = join(folder, `${written++}.webp`);
        const options = { quality: 80, effort: 2 };
        await sharp(input, { failOn: 'error' }).autoOrient().webp(options).toFile(output);
        await rm(output);
      };
      const own = () => accepted(server, body, 'format=webp');
      await rate(CLIENTS, bare);
      await rate(CLIENTS, own);
      const [bares, owns]: [number[], number[]] = [[], []];
      for (let round = 0; round < rounds; round++) {
        bares.push(await rate(count, bare));
        owns.push(await rate(count, own));
      }
      const ratio = median(owns.map((own, round) => own / (bares[round] ?? Number.NaN)));
      return atLeast(what, goal, ratio, `${median(owns).toFixed(1)}/s to ${median(bares).toFixed(1)}/s`);
    };
    const large = await photo(2725, 2225);
    const small = await sharp(large).resize(600).jpeg({ quality: 84 }).toBuffer();
    try {
      return [
        await compare('a photo of 6 megapixels to WebP against bare sharp', 0.9, large, 8),
        await compare(
          `a picture of ${Math.round(small.length / 1000)} KB to WebP against bare sharp`,
          0.7,
          small,
          100,
        ),
      ];
    } finally {
      await rm(folder, { recursive: true, force: true });
    }
  });
}

/** The slowest of the list requests that are made every 10 ms while four AVIF conversions run. */
export function lists(): Promise<Row[]> {
  return withServer({}, async (server) => {
    const body = new Uint8Array(await photo(2400, 2000));
    for (let count = 0; count < 20; count++)
      await accepted(server, new Uint8Array(await transparent()), 'format=webp');
    const idle = await watch(server, Bun.sleep(3000));
    const times = await watch(
      server,
      Promise.all(Array.from({ length: CLIENTS }, () => accepted(server, body, 'format=avif'))),
    );
    const detail = `${times.length} requests, median ${median(times).toFixed(1)} ms; without conversions ${Math.max(...idle).toFixed(1)} ms`;
    return [
      atMost(
        'the slowest list request while four AVIF conversions run',
        50,
        Math.max(...times),
        'ms',
        detail,
      ),
    ];
  });
}

/** The times of list requests, in ms, until the work is done. */
async function watch(server: ServerProcess, work: Promise<unknown>): Promise<number[]> {
  const times: number[] = [];
  let running = true;
  const done = work.finally(() => {
    running = false;
  });
  while (running) {
    const startedAt = performance.now();
    await (await fetch(`${server.url}/api/list`)).bytes();
    times.push(performance.now() - startedAt);
    await Bun.sleep(10);
  }
  await done;
  return times;
}

/** Memory of server and workers after many uploads, against that after a few. */
export function memory(): Promise<Row[]> {
  return withServer({}, async (server) => {
    const bodies = [
      await photo(2000, 1500),
      await privatePhoto('jpeg', 6, [1200, 900]),
      await animation('gif', { frames: 20, width: 300, height: 200 }),
      await transparent(),
      await privatePhoto('avif', 1, [800, 600]),
    ].map((bytes) => new Uint8Array(bytes));
    const formats = ['webp', 'jpeg', 'png', 'gif', 'avif'];
    const mixed = (index: number) => {
      const body = bodies[index % bodies.length] ?? new Uint8Array();
      const format = formats[Math.floor(index / bodies.length) % formats.length];
      return accepted(server, body, `format=${format}&max_width=1000`);
    };
    await rate(100, mixed);
    const early = await residentMb(server.pid);
    await rate(900, (index) => mixed(index + 100));
    const late = await residentMb(server.pid);
    return [
      atMost(
        'memory after 1,000 mixed uploads above that after 100',
        100,
        late - early,
        'MB',
        `${Math.round(early)} MB, then ${Math.round(late)} MB`,
      ),
    ];
  });
}

/** Of a server and its workers, in MB. */
async function residentMb(pid: number): Promise<number> {
  let pages = 0;
  for (const one of [pid, ...(await childrenOf(pid))]) {
    pages += Number((await readFile(`/proc/${one}/statm`, 'latin1')).split(' ')[1]);
  }
  return (pages * 4096) / 1e6;
}

/** How long it takes to refuse what must not be decoded. */
export function refusals(): Promise<Row[]> {
  return withServer({}, async (server) => {
    await accepted(server, new Uint8Array(await transparent()), 'format=webp');
    const files: Record<string, Buffer> = {
      'an SVG': SVG_BOMB,
      'a PNG of 17,000 x 17,000': pngBomb(17_000, 17_000),
      'a GIF of 10,000 frames': gifOfFrames(10_000),
    };
    const rows: Row[] = [];
    for (const [name, bytes] of Object.entries(files)) {
      const body = new Uint8Array(bytes);
      const times: number[] = [];
      for (let round = 0; round < 11; round++) {
        const startedAt = performance.now();
        const status = await upload(server, body, '');
        times.push(performance.now() - startedAt);
        if (status !== 415 && status !== 422) throw new Error(`${name} was answered ${status}`);
      }
      rows.push(
        atMost(`refusing ${name}`, 20, median(times), 'ms', `slowest ${Math.max(...times).toFixed(1)} ms`),
      );
    }
    return rows;
  });
}
