/**
 * `bun bench/views.ts [asks, 10000 when not given] [seed] [bun or deno]`: two copies of the server over one Redis, and pictures that may be
 * seen one to five times. Whole reads, HEAD, ranges, smaller versions, other formats, previewers, true and forged, and transfers that
 * break meet at random, several at once. Then what is left is read. Exits with 1 where a picture came whole more often than
 * allowed, or less often, as a broken transfer used a view up. Needs Redis.
 */
import { mkdtemp, rm } from 'node:fs/promises';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startFleet } from '../test/support/fleet.ts';
import { photo } from '../test/support/images.ts';
import { createRandom } from '../test/support/random.ts';
import { startRedis } from '../test/support/services.ts';

const [asks = '10000', seed = '1', runtime = 'bun'] = process.argv.slice(2);
const random = createRandom(Number(seed));
const pick = <T>(items: readonly T[]): T => items[Math.floor(random() * items.length)] as T;
const AT_ONCE = 24;
/** Fewer transfers of a picture break than are given back in a day. */
const ASKS_EACH = 25;

interface Picture {
  path: string;
  page: string;
  size: number;
  most: number;
  whole: number;
}

const folder = await mkdtemp(join(tmpdir(), 'picpool-views-'));
const redis = await startRedis();
const fleet = await startFleet([runtime === 'deno' ? 'deno' : 'bun', 'bun'], () => ({
  METADATA_URL: redis.url,
  BLOBS_URL: `file:${join(folder, 'images')}`,
  DATA_DIR: join(folder, 'data'),
  SERVICES: 'image',
}));
const faults: string[] = [];
const counts: Record<string, number> = {};

async function upload(bytes: Uint8Array<ArrayBuffer>): Promise<Picture> {
  const most = 1 + Math.floor(random() * 5);
  const answer = await fetch(`${fleet.url}/api/upload?format=png&max_views=${most}`, {
    method: 'POST',
    body: bytes,
  });
  const { raw_url, url, size } = (await answer.json()) as { raw_url: string; url: string; size: number };
  return { path: new URL(raw_url).pathname, page: new URL(url).pathname, size, most, whole: 0 };
}

/** Reads all that comes; counts it where it was whole. */
async function read(picture: Picture, path: string, headers: Record<string, string> = {}): Promise<number> {
  const { copies } = fleet;
  const answer = await fetch(pick(copies).url + path, { headers });
  const body = await answer.bytes();
  const isPicture = answer.headers.get('content-type')?.startsWith('image/') ?? false;
  if (isPicture && body.length === picture.size) picture.whole++;
  else if (isPicture)
    faults.push(`${path}: ${body.length} of ${picture.size} bytes of a picture came as ${answer.status}`);
  return answer.status;
}

/** Begins to read, and breaks the connection within the file. */
function breakOff(picture: Picture): Promise<void> {
  const { port } = new URL(pick(fleet.copies).url);
  const least = 400 + Math.floor(random() * (picture.size - 1000));
  return new Promise((resolve) => {
    let bytes = 0;
    const socket = connect(Number(port), '127.0.0.1', () => {
      socket.write(`GET ${picture.path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n`);
    });
    socket.on('data', (piece) => {
      bytes += piece.length;
      if (bytes >= least) socket.destroy();
    });
    socket.on('error', () => {});
    socket.on('close', () => resolve());
  });
}

const KINDS: Record<string, (picture: Picture) => Promise<unknown>> = {
  whole: (picture) => read(picture, picture.path),
  range: (picture) => read(picture, picture.path, { range: `bytes=${Math.floor(random() * 50)}-` }),
  known: (picture) => read(picture, picture.path, { 'if-none-match': '*' }),
  auto: (picture) => read(picture, `${picture.page}?auto`),
  version: (picture) => read(picture, `${picture.path}?w=160`),
  previewer: (picture) => read(picture, picture.path, { 'user-agent': 'Slackbot-LinkExpanding 1.0' }),
  prefetch: (picture) => read(picture, picture.path, { 'sec-purpose': 'prefetch;prerender' }),
  page: (picture) => read(picture, picture.page, { accept: 'text/html' }),
  head: (picture) => fetch(pick(fleet.copies).url + picture.path, { method: 'HEAD' }),
  broken: breakOff,
};

/** Reads what is left; a view whose end is not known yet is waited for. */
async function exhaust(picture: Picture): Promise<void> {
  for (let tries = 0; tries < 200; tries++) {
    const status = await read(picture, picture.path);
    if (status === 410) break;
    if (status !== 200) await Bun.sleep(100);
  }
  if (picture.whole === picture.most) return;
  const much = picture.whole > picture.most ? 'more' : 'less';
  faults.push(`${picture.path} came whole ${picture.whole} times, ${much} than ${picture.most}`);
}

try {
  const bytes = new Uint8Array(await photo(300, 200));
  const pictures: Picture[] = [];
  for (let count = 0; count < Math.ceil(Number(asks) / ASKS_EACH); count++)
    pictures.push(await upload(bytes));
  const startedAt = performance.now();
  const names = Object.keys(KINDS);
  let left = Number(asks);
  const work = async () => {
    while (left-- > 0) {
      const picture = pictures[Math.floor(left / ASKS_EACH) % pictures.length] as Picture;
      // Mostly what can go wrong: else a picture is gone after a few asks.
      const name = random() < 0.5 ? 'broken' : pick(names);
      counts[name] = (counts[name] ?? 0) + 1;
      await KINDS[name]?.(picture);
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, work));
  for (const picture of pictures) await exhaust(picture);
  const seconds = ((performance.now() - startedAt) / 1000).toFixed(0);
  const whole = pictures.reduce((sum, one) => sum + one.whole, 0);
  console.log(
    `${asks} asks (seed ${seed}) of ${pictures.length} pictures on two copies in ${seconds} s: ${JSON.stringify(counts)}`,
  );
  console.log(
    `seen whole ${whole} times of ${pictures.reduce((sum, one) => sum + one.most, 0)} allowed; faults: ${faults.length}`,
  );
  for (const fault of faults.slice(0, 20)) console.log(`  ${fault}`);
} finally {
  await fleet.stop();
  await redis.stop();
  await rm(folder, { recursive: true, force: true });
}
process.exit(faults.length > 0 ? 1 : 0);
