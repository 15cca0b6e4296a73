import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { rm } from 'node:fs/promises';
import sharp from 'sharp';
import { AppError, inEnglish } from '../../src/errors.ts';
import { bunRuntime } from '../../src/runtime/bun.ts';
import type { HttpServer } from '../../src/runtime/runtime.ts';
import { HOUR_MS, type ImageHost, pathOf, type UploadAnswer } from '../support/images/image-host.ts';
import { imageHosts } from '../support/images/image-hosts.ts';
import { animation, photo, quarters, screenshot } from '../support/images/images.ts';
import { json } from '../support/json.ts';

const hosts = imageHosts();
let host: ImageHost;
let server: HttpServer;
let image: UploadAnswer;
let bytes: Uint8Array<ArrayBuffer>;
/** Of the direct link, over a real socket: Bun answers ranges by itself where it is let. */
let link: string;

beforeAll(async () => {
  host = await hosts.start();
  server = await bunRuntime.serve(host.app.handle, { hostname: '127.0.0.1', port: 0 });
  image = await host.upload(new Uint8Array(await quarters(900, 600).png().toBuffer()), 'filename=гавань.png');
  bytes = new Uint8Array(await (await host.send(pathOf(image.raw_url))).arrayBuffer());
  link = `http://127.0.0.1:${server.port}${pathOf(image.raw_url)}`;
});
afterAll(async () => {
  await server.close();
});

const get = (headers: Record<string, string> = {}, method = 'GET') => fetch(link, { method, headers });
const later = (date: string, seconds: number) => new Date(Date.parse(date) + seconds * 1000).toUTCString();
const lastLogged = ({ id }: UploadAnswer) => host.logged.findLast(({ facts }) => facts?.id === id)?.message;
const bodyOf = async (answer: Response) => new Uint8Array(await answer.arrayBuffer());

describe('a direct link', () => {
  test('gives the file with everything that browsers and caches want to know', async () => {
    const answer = await get();
    expect(answer.status).toBe(200);
    expect(await bodyOf(answer)).toEqual(bytes);
    expect(Object.fromEntries(answer.headers)).toMatchObject({
      etag: expect.stringMatching(/^"[0-9a-f]{64}"$/),
      'content-length': String(image.size),
      'content-type': 'image/webp',
      'cache-control': 'public, max-age=86400, stale-while-revalidate=60',
      'accept-ranges': 'bytes',
      'x-content-type-options': 'nosniff',
      'content-security-policy': "default-src 'none'; style-src 'unsafe-inline'; sandbox",
      'cross-origin-resource-policy': 'cross-origin',
      'content-disposition': expect.stringMatching(/^inline; filename="______\.webp"; filename\*=UTF-8''/),
    });
    expect(Date.parse(answer.headers.get('last-modified') ?? '')).toBeGreaterThan(0);
  });

  test('answers HEAD with the same headers and no body', async () => {
    const [whole, head] = [await get(), await get({}, 'HEAD')];
    const comparable = ({ headers }: Response) =>
      [...headers].filter(([name]) => !['date', 'x-request-id'].includes(name)).sort();
    expect(head.status).toBe(200);
    expect(comparable(head)).toEqual(comparable(whole));
    expect((await bodyOf(head)).length).toBe(0);
  });

  test('is found however its extension is written', async () => {
    const jpeg = await host.upload(new Uint8Array(await quarters().png().toBuffer()), 'format=jpeg');
    for (const [{ id }, names] of [
      [image, ['WEBP', 'WebP']],
      [jpeg, ['jpg', 'jpeg', 'JPG', 'Jpeg']],
    ] as const) {
      for (const name of names) expect((await host.send(`/i/${id}.${name}`)).status).toBe(200);
    }
  });

  test('with another extension or of nobody is 404', async () => {
    const { id } = image;
    for (const name of [`${id}.png`, `${id}.jpeg`, `${id}.`, `${id}.webp.webp`, 'zzzzzzzzzzzz.webp', 'x']) {
      const answer = await host.send(`/i/${name}`);
      expect(answer.status).toBe(404);
      expect(await json(answer)).toMatchObject({ code: 'not_found' });
    }
  });

  test('is answered with 304 without a body where the caller has the file', async () => {
    const first = await get();
    const etag = first.headers.get('etag') ?? '';
    const modified = first.headers.get('last-modified') ?? '';
    const known = [
      { 'if-none-match': etag },
      { 'if-none-match': `"x", W/${etag}` },
      { 'if-none-match': `"a,b", ${etag} , W/"y"` },
      { 'if-none-match': '*' },
      { 'if-modified-since': modified },
      { 'if-modified-since': later(modified, 1) },
      { 'if-none-match': etag, range: 'bytes=0-9' },
    ];
    for (const headers of known) {
      const answer = await get(headers as Record<string, string>);
      expect([JSON.stringify(headers), answer.status]).toEqual([JSON.stringify(headers), 304]);
      expect(answer.headers.get('etag')).toBe(etag);
      expect(answer.headers.get('cache-control')).toContain('max-age=86400');
      expect((await bodyOf(answer)).length).toBe(0);
    }
    const changed = [
      // The tag is the stronger word.
      { 'if-none-match': '"x"', 'if-modified-since': modified },
      { 'if-none-match': etag.slice(1, -1) },
      { 'if-none-match': '' },
      { 'if-modified-since': later(modified, -1) },
      { 'if-modified-since': 'yesterday' },
    ];
    for (const headers of changed) {
      const { status } = await get(headers as Record<string, string>);
      expect([JSON.stringify(headers), status]).toEqual([JSON.stringify(headers), 200]);
    }
  });

  test.each([
    ['bytes=0-9', 0, 10],
    ['bytes=10-', 10, null],
    ['bytes=-7', -7, null],
    ['bytes=-999999999', 0, null],
    ['bytes=5-999999999', 5, null],
    ['BYTES=0-0', 0, 1],
    ['bytes=0-', 0, null],
  ])('answers the range %s with that part, once', async (range, start, end) => {
    const part = bytes.slice(start, end ?? undefined);
    const first = start < 0 ? bytes.length + start : start;
    const answer = await get({ range });
    expect(answer.status).toBe(206);
    expect(answer.headers.get('content-range')).toBe(
      `bytes ${first}-${first + part.length - 1}/${bytes.length}`,
    );
    expect(answer.headers.get('content-length')).toBe(String(part.length));
    expect(answer.headers.get('accept-ranges')).toBe('bytes');
    expect(await bodyOf(answer)).toEqual(part);
  });

  test.each(['bytes=0-1,5-6', 'bytes=x', 'bytes=-', 'bytes=9-0', 'items=0-9', 'bytes=0-9 x', ' bytes 0-9'])(
    'ignores the range %j',
    async (range) => {
      const answer = await get({ range });
      expect(answer.status).toBe(200);
      expect(await bodyOf(answer)).toEqual(bytes);
    },
  );

  test('refuses a range outside the file with its size', async () => {
    for (const range of [
      'bytes=999999999-',
      'bytes=999999998-999999999',
      `bytes=${'9'.repeat(20)}-`,
      'bytes=-0',
      `bytes=${bytes.length}-`,
    ]) {
      const answer = await get({ range });
      expect(answer.status).toBe(416);
      expect(answer.headers.get('content-range')).toBe(`bytes */${bytes.length}`);
      expect(await json(answer)).toMatchObject({ code: 'range_not_satisfiable' });
    }
  });

  test('answers a range of another version with the whole file', async () => {
    const { headers } = await get();
    const etag = headers.get('etag') ?? '';
    const modified = headers.get('last-modified') ?? '';
    for (const condition of [etag, modified])
      expect((await get({ range: 'bytes=0-9', 'if-range': condition })).status).toBe(206);
    for (const condition of ['"old"', `W/${etag}`, later(modified, -1)]) {
      const answer = await get({ range: 'bytes=999999999-', 'if-range': condition });
      expect(answer.status).toBe(200);
      expect(await bodyOf(answer)).toEqual(bytes);
    }
  });

  test('whose file has gone is 404, for HEAD too, and a line in the log', async () => {
    const lost = await host.upload(new Uint8Array(await quarters().png().toBuffer()));
    await host.blobs.remove(`${lost.id}.webp`);
    for (const method of ['HEAD', 'GET']) {
      const answer = await host.send(pathOf(lost.raw_url), { method });
      expect([answer.status, answer.headers.get('cache-control')]).toEqual([404, 'no-store']);
    }
    expect(lastLogged(lost)).toBe('file of an image is missing');
  });

  test('whose file was cut is refused, as caches would keep it by its ETag, with a line in the log', async () => {
    const cut = await host.upload(new Uint8Array(await quarters().png().toBuffer()));
    await host.stray(cut.id, 'a part');
    const parts = ['bytes=0-', 'bytes=-9'].map((range) => ({ headers: { range } }));
    for (const asked of [{}, { method: 'HEAD' }, ...parts]) {
      const answer = await host.send(pathOf(cut.raw_url), asked);
      expect([answer.status, answer.headers.get('etag')]).toEqual([503, null]);
    }
    expect(lastLogged(cut)).toBe('file of an image is damaged');
  });
});

test('an access is a GET of page or file, 304 included, not HEAD, info or list; once an hour', async () => {
  const one = await host.upload(new Uint8Array(await quarters().png().toBuffer()));
  const path = pathOf(one.raw_url);
  const lastAccess = async () => (await host.images.get(one.id))?.lastAccess;
  const uploaded = host.clock.ms;
  host.clock.ms += HOUR_MS;
  await host.send(path, { method: 'HEAD' });
  await host.send(`/api/info/${one.id}`);
  await host.send('/api/list');
  await host.service.stop();
  expect(await lastAccess()).toBe(uploaded);

  await host.send(path, { headers: { 'if-none-match': '*' } });
  await host.service.stop();
  expect(await lastAccess()).toBe(host.clock.ms);

  host.clock.ms += HOUR_MS;
  await host.send(`/i/${one.id}`);
  await host.service.stop();
  expect(await lastAccess()).toBe(host.clock.ms);

  host.clock.ms += HOUR_MS - 1;
  await host.send(path);
  await host.service.stop();
  expect(await lastAccess()).toBe(host.clock.ms - HOUR_MS + 1);
});

describe('a smaller version', () => {
  test('is made in the width asked for, once, and served like the file itself', async () => {
    const large = await host.upload(new Uint8Array(await photo(700, 500)));
    const path = `${pathOf(large.raw_url)}?w=320`;
    const answers = await Promise.all([host.send(path), host.send(path), host.send(path)]);
    const bodies = await Promise.all(answers.map(bodyOf));
    const { width, height, format } = await sharp(bodies[0]).metadata();
    expect([width, height, format]).toEqual([320, 229, 'webp']);
    expect(bodies[1]?.length).toBe(bodies[0]?.length ?? -1);
    expect((await host.files()).filter((name) => name.startsWith(large.id)).sort()).toEqual([
      `${large.id}-320.webp`,
      `${large.id}.webp`,
    ]);
    const etag = answers[0]?.headers.get('etag') ?? '';
    expect(etag).toMatch(/^"[0-9a-f]{64}-320"$/);
    expect((await host.send(path, { headers: { 'if-none-match': etag } })).status).toBe(304);
    expect((await host.send(pathOf(large.raw_url), { headers: { 'if-none-match': etag } })).status).toBe(200);
    const part = await host.send(path, { headers: { range: 'bytes=0-3' } });
    expect(part.headers.get('content-range')).toBe(`bytes 0-3/${bodies[0]?.length}`);
    expect(await host.temporaryFiles()).toEqual([]);
  });

  test('is made again when its file has gone', async () => {
    const large = await host.upload(new Uint8Array(await photo(400, 300)));
    const path = `${pathOf(large.raw_url)}?w=160`;
    await host.send(path);
    await host.blobs.remove(`${large.id}-160.webp`);
    const again = await host.send(path);
    expect((await sharp(await bodyOf(again)).metadata()).width).toBe(160);
    await host.blobs.remove(`${large.id}-160.webp`);
    expect((await host.send(path, { method: 'HEAD' })).status).toBe(200);
    await host.blobs.remove(`${large.id}-160.webp`);
    await host.blobs.remove(`${large.id}.webp`);
    expect((await host.send(path)).status).toBe(404);
  });

  test('never has more bytes than the image, which is sent in its place', async () => {
    const drawing = await host.upload(new Uint8Array(await screenshot(1000, 700)));
    const sizes = new Map<number, Uint8Array>();
    for (const width of [160, 320, 640, 960]) {
      const answer = await host.send(`${pathOf(drawing.raw_url)}?w=${width}`);
      sizes.set(width, await bodyOf(answer));
      expect(sizes.get(width)?.length).toBeLessThanOrEqual(drawing.size);
    }
    const path = `${pathOf(drawing.raw_url)}?w=960`;
    expect((await sharp(sizes.get(960)).metadata()).width).toBe(1000);
    const again = await host.send(path);
    const etag = again.headers.get('etag') ?? '';
    expect(etag).toMatch(/^"[0-9a-f]{64}"$/);
    expect((await host.send(path, { headers: { 'if-none-match': etag } })).status).toBe(304);
    expect((await sharp(sizes.get(160)).metadata()).width).toBe(160);
  });

  test('gives way to the image while the storage is full', async () => {
    let tried = 0;
    let room = Number.POSITIVE_INFINITY;
    const full = await hosts.start({
      change: ({ codec }) => ({
        codec: { ...codec, convert: (job, order) => codec.convert(job, order).finally(() => tried++) },
        quota: {
          admit: async () => {},
          reserve: async (bytes) => {
            if (bytes > room) throw new AppError('storage_full', inEnglish('Full.'));
            return () => {};
          },
        },
      }),
    });
    const large = await full.upload(new Uint8Array(await photo(700, 500)));
    // There is room for a little, as usual.
    for (room of [0, 1, 1, 1]) {
      const seen = await full.send(`${pathOf(large.raw_url)}?w=320`);
      expect([seen.status, (await bodyOf(seen)).length]).toEqual([200, large.size]);
    }
    expect(tried).toBe(2);
    const answer = await full.send(`${pathOf(large.raw_url)}?w=320`);
    expect(await full.files()).toEqual([`${large.id}.webp`]);
    // A cache must not keep what stands in for a version.
    const auto = await full.send(`${pathOf(large.url)}?auto`, { headers: { accept: 'image/jpeg' } });
    expect([answer, auto].map(({ headers }) => headers.get('cache-control'))).toEqual([
      'no-store',
      'no-store',
    ]);
    room = Number.POSITIVE_INFINITY;
    const made = await full.send(`${pathOf(large.raw_url)}?w=320`);
    expect((await bodyOf(made)).length).toBeLessThan(large.size);
  });

  test.each([
    ['rate_limited', 5],
    ['busy', 5],
    ['image_limit', 4],
    ['undecodable_image', 4],
    ['conversion_timeout', 4],
  ] as const)(
    'gives way to the image where it cannot be made: %s, and is not tried for each viewer if the picture is why',
    async (code, tries) => {
      let tried = 0;
      const refusing = await hosts.start({
        change: ({ codec }) => ({
          codec: {
            ...codec,
            convert: (job, options) =>
              options?.purpose === 'version' && ++tried
                ? Promise.reject(new AppError(code, inEnglish('Not now.')))
                : codec.convert(job, options),
          },
        }),
      });
      const large = await refusing.upload(new Uint8Array(await photo(700, 500)));
      for (const path of [`${pathOf(large.raw_url)}?w=320`, `${pathOf(large.url)}?auto`]) {
        const answer = await refusing.send(path, { headers: { accept: 'image/avif' } });
        expect([answer.status, answer.headers.get('cache-control')]).toEqual([200, 'no-store']);
        expect((await bodyOf(answer)).length).toBe(large.size);
      }
      await refusing.send(`${pathOf(large.raw_url)}?w=320`);
      refusing.clock.ms += 600_000;
      await refusing.send(`${pathOf(large.raw_url)}?w=320`);
      expect(tried).toBe(tries);
    },
  );

  test('is made after the folder for temporary files was lost, as in a backup', async () => {
    const restored = await hosts.start();
    const large = await restored.upload(new Uint8Array(await photo(400, 300)));
    await rm(restored.folder, { recursive: true });
    const answer = await restored.send(`${pathOf(large.raw_url)}?w=160`);
    expect((await sharp(await bodyOf(answer)).metadata()).width).toBe(160);
    await restored.stop();
  });

  test('of an animation is animated as well', async () => {
    const moving = await host.upload(
      new Uint8Array(await animation('gif', { width: 400, height: 300 })),
      'format=gif',
    );
    const answer = await host.send(`${pathOf(moving.raw_url)}?w=160`);
    expect((await sharp(await bodyOf(answer)).metadata()).pages).toBe(3);
  });

  test('is never larger than the image', async () => {
    const small = await host.send(`${pathOf(image.raw_url)}?w=1920`);
    expect(await bodyOf(small)).toEqual(bytes);
    expect(await host.files()).not.toContain(`${image.id}-1920.webp`);
  });

  test.each(['321', '0', '-160', 'wide', '160.0', '0160'])(
    'of width %s is refused with the list',
    async (width) => {
      const answer = await host.send(`${pathOf(image.raw_url)}?w=${width}`);
      expect(answer.status).toBe(400);
      const { error, details } = await json<{ error: string; details: { field: string }[] }>(answer);
      expect(error).toContain('160, 320, 640, 960, 1280, 1920');
      expect(details[0]?.field).toBe('w');
    },
  );
});

describe('what chats show of a link', () => {
  const sightOf = async (options: string, make: () => Promise<Buffer>) => {
    const { url } = await host.upload(new Uint8Array(await make()), options);
    const page = await (await host.send(pathOf(url))).text();
    const told = (name: string) => RegExp(`og:image:${name}" content="([^"]+)"`).exec(page)?.[1];
    const answer = await host.send(`${pathOf(url)}/preview.jpg`);
    const { format, width, height, pages } = await sharp(await bodyOf(answer)).metadata();
    expect([told('type'), told('width'), told('height')]).toEqual([
      answer.headers.get('content-type') ?? '',
      String(width),
      String(pages === undefined ? height : (height ?? 0)),
    ]);
    return [format, width, height];
  };

  test.each([
    ['a large picture', 'format=webp', () => photo(2000, 500), ['jpeg', 1280, 320]],
    ['a tall picture', 'format=avif', () => photo(300, 1600), ['jpeg', 240, 1280]],
    ['a small picture', 'format=png', () => photo(300, 200), ['jpeg', 300, 200]],
    ['a JPEG', 'format=jpeg', () => photo(300, 200), ['jpeg', 300, 200]],
    ['an animation', 'format=gif', () => animation('gif'), ['gif', 48, 32]],
  ] as const)('is %s in the size that its page tells', async (_, options, make, sight) => {
    expect<unknown>(await sightOf(options, make)).toEqual([...sight]);
  });

  test('is gone with the image, and never a picture with limited views or a password', async () => {
    const open = await host.upload(new Uint8Array(await photo(1400, 200)));
    await host.send(`${pathOf(open.url)}/preview.jpg`);
    expect(await host.files()).toContain(`${open.id}-preview.jpg`);
    await host.service.remove(open.id, { peer: null, token: open.delete_token, admin: false });
    expect((await host.files()).filter((name) => name.startsWith(open.id))).toEqual([]);
    for (const [options, status] of [
      ['max_views=3', 404],
      ['password=x', 401],
    ] as const) {
      const image = await host.upload(new Uint8Array(await photo(300, 200)), options);
      expect((await host.send(`${pathOf(image.url)}/preview.jpg`)).status).toBe(status);
    }
  });
});

describe('the page of an image', () => {
  test('shows picture, facts and snippets, and OpenGraph for previews, and nothing inline', async () => {
    const answer = await host.send(`/i/${image.id}`);
    expect(answer.status).toBe(200);
    expect(answer.headers.get('content-type')).toBe('text/html; charset=utf-8');
    const policy = answer.headers.get('content-security-policy') ?? '';
    expect(policy).toContain("default-src 'none'");
    expect(policy).not.toContain('unsafe');
    const page = await answer.text();
    expect(page).toContain(`<meta property="og:image" content="${image.url}/preview.jpg">`);
    expect(page).toContain(`<meta property="og:title" content="гавань.png">`);
    expect(page).toContain('<meta name="twitter:card" content="summary_large_image">');
    expect(page).toContain(`srcset="/i/${image.id}.webp?w=640 640w, /i/${image.id}.webp 900w"`);
    expect(page).toContain('width="900" height="600" alt="гавань.png"');
    expect(page).toContain(`value="${image.bbcode}"`);
    expect(page).not.toMatch(
      /<script(?! type="(module" src="\/assets\/|application\/json" id="words"))|<style|style=|onclick/,
    );
    const style = /rel="stylesheet" href="([^"]+)"/.exec(page)?.[1] ?? '';
    const sheet = await host.send(style);
    expect(sheet.headers.get('content-type')).toStartWith('text/css');
  });

  test('cannot be broken by a file name', async () => {
    const name = '"><script>alert(1)<script>';
    const png = new Uint8Array(await quarters().png().toBuffer());
    const { id } = await host.upload(png, new URLSearchParams({ filename: name }).toString());
    const page = await (await host.send(`/i/${id}`)).text();
    expect(page).not.toContain('<script>');
    expect(page).toContain('&lt;script&gt;');
  });
});
