import { connect } from 'node:net';
import { createRandom } from '../random.ts';
import { photo } from './images.ts';

/** Some three transfers of a picture break. */
const ASKS_EACH = 6;
/** The number of these that are given back. */
const GIVEN_BACK = 2;
const AT_ONCE = 24;
/**
 * The server waits 250 ms for the news of a break before it sends a tenth of the file and counts the view. If this process breaks off later
 * than this after it has asked, because the machine is busy, all of the file may be on its way.
 */
const LATE_MS = 200;

/**
 * Asks the copies of a server for pictures that may be seen one to five times: whole reads, HEAD, ranges, smaller versions, other
 * formats, previewers, true and forged, and transfers that break meet at random, several at once. Then reads what is left.
 */
export async function mixViews(copies: readonly { url: string }[], asks: number, seed: number) {
  const random = createRandom(seed);
  const pick = <T>(items: readonly T[]): T => items[Math.floor(random() * items.length)] as T;
  const faults: string[] = [];
  const counts: Record<string, number> = {};

  async function upload(bytes: Uint8Array<ArrayBuffer>) {
    const most = 1 + Math.floor(random() * 5);
    const answer = await fetch(`${pick(copies).url}/api/upload?format=png&max_views=${most}`, {
      method: 'POST',
      body: bytes,
    });
    const { raw_url, url, size } = (await answer.json()) as { raw_url: string; url: string; size: number };
    return {
      path: new URL(raw_url).pathname,
      page: new URL(url).pathname,
      size,
      most,
      whole: 0,
      broken: 0,
      late: 0,
    };
  }

  type Picture = Awaited<ReturnType<typeof upload>>;

  /** Reads all that comes; counts it where it was whole. */
  async function read(picture: Picture, path: string, headers: Record<string, string> = {}): Promise<number> {
    const answer = await fetch(pick(copies).url + path, { headers });
    const body = await answer.bytes();
    const isPicture = answer.headers.get('content-type')?.startsWith('image/') ?? false;
    if (isPicture && body.length === picture.size) picture.whole++;
    else if (isPicture)
      faults.push(`${path}: ${body.length} of ${picture.size} bytes of a picture came as ${answer.status}`);
    return answer.status;
  }

  /** Begins to read, and breaks the connection within the first tenth of the file. */
  function breakOff(picture: Picture): Promise<void> {
    const { port } = new URL(pick(copies).url);
    const least = 1 + Math.floor((random() * picture.size) / 10);
    return new Promise((resolve) => {
      let bytes = 0;
      let askedAt = Number.POSITIVE_INFINITY;
      const socket = connect(Number(port), '127.0.0.1', () => {
        askedAt = performance.now();
        socket.write(`GET ${picture.path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n`);
      });
      socket.on('data', (piece) => {
        bytes += piece.length;
        if (bytes < least || socket.destroyed) return;
        if (performance.now() - askedAt > LATE_MS) picture.late++;
        else picture.broken++;
        socket.destroy();
      });
      socket.on('error', () => {});
      socket.on('close', () => resolve());
    });
  }

  const kinds: Record<string, (picture: Picture) => Promise<unknown>> = {
    whole: (picture) => read(picture, picture.path),
    range: (picture) => read(picture, picture.path, { range: `bytes=${Math.floor(random() * 50)}-` }),
    known: (picture) => read(picture, picture.path, { 'if-none-match': '*' }),
    auto: (picture) => read(picture, `${picture.page}?auto`),
    version: (picture) => read(picture, `${picture.path}?w=160`),
    previewer: (picture) => read(picture, picture.path, { 'user-agent': 'Slackbot-LinkExpanding 1.0' }),
    prefetch: (picture) => read(picture, picture.path, { 'sec-purpose': 'prefetch;prerender' }),
    page: (picture) => read(picture, picture.page, { accept: 'text/html' }),
    head: (picture) => fetch(pick(copies).url + picture.path, { method: 'HEAD' }),
    broken: breakOff,
  };

  /** Reads what is left; a view whose end is not known yet is waited for. */
  async function exhaust(picture: Picture): Promise<void> {
    let status = 0;
    for (let tries = 0; tries < 200; tries++) {
      status = await read(picture, picture.path);
      if (status === 410) break;
      if (status !== 200) await Bun.sleep(100);
    }
    const used = picture.whole + picture.late + Math.max(0, picture.broken - GIVEN_BACK);
    if (picture.whole <= picture.most && used >= picture.most) return;
    const much = picture.whole > picture.most ? 'more' : 'less';
    faults.push(
      `${picture.path} came whole ${picture.whole} times, ${much} than ${picture.most}; in the end it was ${status}`,
    );
  }

  const bytes = new Uint8Array(await photo(300, 200));
  const pictures: Picture[] = [];
  while (pictures.length < Math.ceil(asks / ASKS_EACH)) pictures.push(await upload(bytes));
  const names = Object.keys(kinds);
  let left = asks;
  const work = async () => {
    while (left-- > 0) {
      const picture = pictures[Math.floor(left / ASKS_EACH) % pictures.length] as Picture;
      // Mostly what can go wrong: else a picture is gone after a few asks.
      const name = random() < 0.5 ? 'broken' : pick(names);
      counts[name] = (counts[name] ?? 0) + 1;
      await kinds[name]?.(picture);
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, work));
  const queue = pictures.values();
  await Promise.all(
    Array.from({ length: AT_ONCE }, async () => {
      for (const picture of queue) await exhaust(picture);
    }),
  );
  return {
    pictures: pictures.length,
    /** How often each kind of ask was made. */
    counts,
    /** How often pictures came whole, and how often they might have. */
    whole: pictures.reduce((sum, one) => sum + one.whole, 0),
    allowed: pictures.reduce((sum, one) => sum + one.most, 0),
    /** How many transfers broke too late to be sure that their view was given back. */
    late: pictures.reduce((sum, one) => sum + one.late, 0),
    /** A sentence for each picture that came whole too often or not often enough, and for each answer with parts of one. */
    faults,
  };
}
