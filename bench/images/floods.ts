import { request } from 'node:http';
import sharp from 'sharp';
import { photo } from '../../test/support/images/images.ts';
import { type ServerProcess, startServer } from '../../test/support/servers/server-process.ts';
import { atLeast, atMost, median, type Row } from './row.ts';

const UPLOAD = '/api/upload';

interface Answer {
  status: number;
  ms: number;
  body: Buffer;
}

/** Sends a request from a separate address, as another client. */
function ask(url: string, localAddress: string, path: string, body?: Buffer): Promise<Answer> {
  const startedAt = performance.now();
  return new Promise((resolve, reject) => {
    const sent = request(new URL(path, url), { method: body ? 'POST' : 'GET', localAddress, agent: false });
    sent.once('error', reject).once('response', async (response) => {
      const chunks: Buffer[] = [];
      for await (const chunk of response) chunks.push(chunk);
      const ms = performance.now() - startedAt;
      resolve({ status: response.statusCode ?? 0, ms, body: Buffer.concat(chunks) });
    });
    sent.end(body);
  });
}

async function uploaded(url: string, from: string, body: Buffer, query = ''): Promise<string> {
  const answer = await ask(url, from, `${UPLOAD}?${query}`, body);
  if (answer.status !== 201) throw new Error(`an upload was answered ${answer.status} ${answer.body}`);
  return new URL((JSON.parse(answer.body.toString()) as { raw_url: string }).raw_url).pathname;
}

/** How long uploads of one client take meanwhile, one after the other. */
async function uploadTimes(url: string, picture: Buffer, count: number): Promise<number[]> {
  const times: number[] = [];
  for (let index = 0; index < count; index++) {
    const { status, ms } = await ask(url, '127.0.0.9', UPLOAD, picture);
    if (status !== 201) throw new Error(`the other client's upload was answered ${status}`);
    times.push(ms);
  }
  return times;
}

async function withServer(work: (server: ServerProcess) => Promise<Row[]>): Promise<Row[]> {
  const server = await startServer('bun', { SERVICES: 'image', IMAGE_WORKERS: '2', LOG_LEVEL: 'warn' });
  try {
    return await work(server);
  } finally {
    await server.stop();
  }
}

/** Two floods from one address with the limits on, and their effect on another client. */
export function floods(): Promise<Row[]> {
  return withServer(async ({ url }) => {
    const small = await photo(800, 600);
    const huge = await sharp({
      create: {
        width: 9000,
        height: 9000,
        channels: 3,
        noise: { type: 'gaussian', mean: 128, sigma: 30 },
        background: '#888',
      },
    })
      .png({ compressionLevel: 1 })
      .toBuffer()
      .then((noise) => (noise.length < 30e6 ? noise : flat()));
    const kept = await uploaded(url, '127.0.0.9', small);
    await ask(url, '127.0.0.9', `${kept}?w=320`);
    await uploadTimes(url, small, 3);
    const quiet = median(await uploadTimes(url, small, 5));
    const goal = Math.max(1000, 2 * quiet);
    const rows: Row[] = [];
    const during = async (what: string, flood: Promise<unknown>[]) => {
      await Bun.sleep(500);
      const times = await uploadTimes(url, small, 8);
      const made: number[] = [];
      for (let index = 0; index < 8; index++) made.push((await ask(url, '127.0.0.9', `${kept}?w=320`)).ms);
      const detail = `median ${Math.round(median(times))} ms, quiet ${Math.round(quiet)} ms`;
      rows.push(
        atMost(
          `another's 800 x 600 upload during ${what}, the slowest`,
          goal,
          Math.max(...times),
          'ms',
          detail,
        ),
      );
      rows.push(atMost('a version already made, the slowest', 100, Math.max(...made), 'ms'));
      await Promise.allSettled(flood);
    };
    await during(
      'six pictures of 81 megapixels as AVIF',
      Array.from({ length: 6 }, () => ask(url, '127.0.0.2', `${UPLOAD}?format=avif`, huge)),
    );
    const large = await photo(4000, 3000);
    const links = await Promise.all(Array.from({ length: 12 }, () => uploaded(url, '127.0.0.3', large)));
    await during(
      '72 versions of 12 megapixels',
      links.flatMap((link) =>
        [160, 320, 640, 960, 1280, 1920].map((width) => ask(url, '127.0.0.3', `${link}?w=${width}`)),
      ),
    );
    return rows;
  });
}

function flat(): Promise<Buffer> {
  return sharp({ create: { width: 9000, height: 9000, channels: 3, background: '#48c' } })
    .png()
    .toBuffer();
}

/** Fifty clients, one twenty times as busy as the others: how evenly the processor is shared among them. */
export function shares(): Promise<Row[]> {
  return withServer(async ({ url }) => {
    const picture = await photo(1200, 900);
    const done = Array.from({ length: 50 }, () => 0);
    const until = performance.now() + 40_000;
    const client = async (index: number) => {
      while (performance.now() < until) {
        const { status } = await ask(url, `127.0.1.${index + 1}`, UPLOAD, picture);
        if (status === 201 && performance.now() < until) done[index] = (done[index] ?? 0) + 1;
        else await Bun.sleep(200);
      }
    };
    await Promise.all(
      done.flatMap((_, index) => Array.from({ length: index === 0 ? 20 : 1 }, () => client(index))),
    );
    const sum = done.reduce((total, one) => total + one, 0);
    const index = sum ** 2 / (done.length * done.reduce((total, one) => total + one ** 2, 0));
    return [atLeast("Jain's index of CPU by client", 0.9, index, `the busy one ${done[0]}, all ${sum}`)];
  });
}
