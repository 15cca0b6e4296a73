import { describe, expect, test } from 'bun:test';
import sharp from 'sharp';
import { AppError, inEnglish } from '../../src/errors.ts';
import { pathOf } from '../support/images/image-host.ts';
import { imageHosts } from '../support/images/image-hosts.ts';
import { animation, CAMERA_EXIF, quarters, screenshot } from '../support/images/images.ts';
import { json } from '../support/json.ts';
import { shared } from '../support/shared.ts';

/** What a browser sends when a person opens a page. */
const PERSON = { accept: 'text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,*/*;q=0.8' };
const ORIGIN = 'http://img.example';

const hosts = imageHosts();
const png = new Uint8Array(await quarters(1000, 500).png().toBuffer());
const host = shared(() => hosts.start());

const open = (path: string, headers: Record<string, string> = PERSON) => host.send(path, { headers });

function formOf(fields: Record<string, string> = {}): FormData {
  const form = new FormData();
  form.set('image', new File([png], 'form.png'));
  for (const [name, value] of Object.entries(fields)) form.set(name, value);
  return form;
}
const post = (form: FormData, headers: Record<string, string> = PERSON) =>
  host.send('/api/upload', { method: 'POST', body: form, headers });

describe('an error', () => {
  test.each(['/i/AAAAAAAAAAAA', '/i/AAAAAAAAAAAA.webp', '/nowhere'])(
    'at %s is a page for people and JSON for programs',
    async (path) => {
      const page = await open(path);
      expect([page.status, page.headers.get('content-type')]).toEqual([404, 'text/html; charset=utf-8']);
      expect(await page.text()).toContain('<h1>Page not found</h1>');
      const envelope = await open(path, { accept: '*/*' });
      expect(await json(envelope)).toMatchObject({ success: false, code: 'not_found' });
    },
  );

  test.each(['/api/info/AAAAAAAAAAAA', '/api/nothing', '/oembed?url=x'])(
    'at %s is JSON for every client',
    async (path) => {
      expect(await json(await open(path))).toMatchObject({ success: false, code: 'not_found' });
    },
  );

  test('of a store that is away is shown on every page, and the first page still works', async () => {
    const away = await hosts.start({
      change: ({ images }) => ({
        images: {
          ...images,
          list: () =>
            Promise.reject(new AppError('unavailable', inEnglish('The record store does not respond.'))),
        },
      }),
    });
    const gallery = await away.send('/gallery', { headers: PERSON });
    expect([gallery.status, gallery.headers.get('retry-after')]).toEqual([503, '5']);
    expect(await gallery.text()).toContain('The record store does not respond.');
    const home = await away.send('/', { headers: PERSON });
    expect(home.status).toBe(200);
    expect(await home.text()).toContain('The record store does not respond.');
  });

  test('speaks of the labels of a page, and not of the names of fields', async () => {
    const answer = await post(formOf({ max_width: 'wide' }));
    expect(answer.status).toBe(400);
    const text = await answer.text();
    expect(text).toContain('<p>Maximum width must be ');
    expect(text).not.toContain('max_width');
    const chinese = await post(formOf({ max_width: 'wide' }), { ...PERSON, 'accept-language': 'zh' });
    expect(await chinese.text()).toContain('<p>最大宽度：必须是 1 到 16384 之间的整数</p>');
  });

  test('appears only in the language of the page, with the figures of the API', async () => {
    const headers = { ...PERSON, 'accept-language': 'zh' };
    const reasonOf = async (answer: Response | Promise<Response>, status: number) => {
      const page = await answer;
      expect(page.status).toBe(status);
      const text = await page.text();
      const reasons = [...text.matchAll(/<p>([^<]*)<\/p>/g)].map(([, reason]) => reason);
      // Names of formats stay; sentences do not.
      expect(reasons.join()).not.toMatch(/[a-z]{3,} [a-z]{3,}/);
      return reasons[0];
    };
    const send = (file: Uint8Array<ArrayBuffer> | string) =>
      host.send('/api/upload', { method: 'POST', body: file, headers });

    expect(await reasonOf(open('/i/AAAAAAAAAAAA', headers), 404)).toBe('没有这张图片。');
    expect(await reasonOf(send(new Uint8Array(300 * 1024)), 413)).toBe('上传内容超过了 262 KB 的上限。');
    expect(await reasonOf(send('%PDF-1.7'), 415)).toBe(
      '该文件是 PDF 文件；支持 JPEG, PNG, WebP, GIF, AVIF, HEIC, TIFF, JPEG XL, BMP 和 ICO 格式。',
    );
    expect(await reasonOf(send(new Uint8Array(png.subarray(0, 500))), 422)).toBe(
      '该 PNG 文件已损坏、不完整或属于本服务器无法读取的类型。',
    );
    const fields: [Record<string, string>, string][] = [
      [{ max_height: '0' }, '最大高度：必须是 1 到 16384 之间的整数'],
      [{ format: 'bmp' }, '格式：必须是以下之一：webp, jpeg, png, avif, gif, auto'],
      [
        { expires_in: 'soon' },
        '有效期：必须是 10m 到 10y 之间的时长，例如 30m、12h、7d、2w 或 1y，或在服务器允许时为 never',
      ],
      [{ visibility: 'protected' }, '谁可以查看：选择“知道密码的人”时必须填写密码。'],
    ];
    for (const [field, reason] of fields)
      expect(await reasonOf(post(formOf(field), headers), 400)).toBe(reason);
  });

  test('names the request and runs nothing that a path says', async () => {
    const page = await open('/<script>alert(1)</script>');
    const text = await page.text();
    expect(text).toContain(page.headers.get('x-request-id') ?? 'none');
    expect(text).not.toContain('<script>');
  });
});

describe('the form of a page without scripts', () => {
  test('is answered with the link, what the picture has lost, and the delete link', async () => {
    const form = formOf({ format: 'jpeg' });
    form.set('image', new File([new Uint8Array(await animation('gif'))], 'moving.gif'));
    const answer = await post(form);
    expect([answer.status, answer.headers.get('cache-control')]).toEqual([201, 'private, no-store']);
    const page = await answer.text();
    expect(page).toContain('<p>Only the first picture was kept. WebP keeps animations.</p>');
    const [, path = ''] = /<a href="http:\/\/[^/]+(\/i\/\w{12})"/.exec(page) ?? [];
    const link = /value="(http[^"]+\/delete\?token=\w+)"/.exec(page)?.[1] ?? '';
    expect((await host.send(pathOf(link), {}, '203.0.113.99')).status).toBe(200);
    expect(await (await open(path)).text()).not.toContain('/delete?token=');
  });

  test('shows in a folded part how a picture was taken, if its EXIF was kept, to those who may see the picture', async () => {
    const photo = new Uint8Array(await quarters(60, 40).withExif(CAMERA_EXIF).jpeg().toBuffer());
    const pageOf = async (query: string, headers: Record<string, string> = PERSON) =>
      (await open(`/i/${(await host.upload(photo, query)).id}`, headers)).text();

    const english = await pageOf('strip_exif=false&format=jpeg');
    expect(english).toContain('Camera details</summary>');
    for (const said of [
      'Canon EOS R5',
      'RF 50mm F1.2 &lt;L&gt;',
      '1/250 s',
      'f/2.8',
      '50 mm',
      '>400<',
      'May 1, 2024, 12:30',
    ])
      expect(english).toContain(said);
    expect(english).toContain('Stored in the file');

    const chinese = await pageOf('strip_exif=false', { ...PERSON, 'accept-language': 'zh' });
    for (const said of ['拍摄信息', '光圈', '2024年5月1日 12:30']) expect(chinese).toContain(said);

    for (const query of ['', 'strip_exif=false&format=gif', 'strip_exif=false&password=x'])
      expect(await pageOf(query)).not.toContain('Canon');
  });

  test('is told what is wrong on a page', async () => {
    const form = new FormData();
    form.set('image', new File(['Dear all,'], 'letter.png'));
    const answer = await post(form);
    expect([answer.status, answer.headers.get('content-type')]).toEqual([415, 'text/html; charset=utf-8']);
    expect(await json(await post(form, { accept: 'application/json' }))).toMatchObject({
      code: 'not_an_image',
    });
  });
});

describe('who may delete', () => {
  const stranger = '203.0.113.50';

  test('sees the link: by address, without a token', async () => {
    const { id } = await host.upload(png);
    expect(await (await open(`/i/${id}`)).text()).toMatch(/data-delete="\w+">/);
    const seen = await host.send(`/i/${id}`, { headers: PERSON }, stranger);
    expect(await seen.text()).toMatch(/data-delete="\w+" hidden>/);
    expect((await host.send(`/i/${id}/delete`, {}, stranger)).status).toBe(403);
    expect((await open(`/i/${id}/delete`)).status).toBe(200);
    const form = { method: 'POST', body: new URLSearchParams({ sure: 'yes' }) };
    expect((await host.send(`/i/${id}/delete`, form)).status).toBe(200);
    expect((await open(`/i/${id}`)).status).toBe(404);
  });
});

describe('oEmbed', () => {
  const ask = (url: string, query = '') => host.send(`/oembed?url=${encodeURIComponent(url)}${query}`);

  test('answers for the page and for the direct link', async () => {
    const { url, raw_url } = await host.upload(png, 'filename=wide.png');
    for (const link of [url, raw_url, `${url}?auto`, raw_url.replace('.webp', '.WEBP')]) {
      expect(await json(await ask(link))).toEqual({
        version: '1.0',
        type: 'photo',
        title: 'wide.png',
        url: raw_url,
        width: 1000,
        height: 500,
        provider_name: 'picpool',
        provider_url: `${ORIGIN}/`,
      });
    }
    expect(await (await open(pathOf(url))).text()).toContain(
      `href="${ORIGIN}/oembed?url=${encodeURIComponent(url)}"`,
    );
  });

  test.each([
    ['&maxwidth=700', 640],
    ['&maxheight=100', 160],
    ['&maxwidth=2000', 1000],
    ['&maxwidth=5', 160],
  ])('with %s offers a width of %d', async (query, width) => {
    const { url, raw_url } = await host.upload(png);
    const photo = await json<{ url: string; width: number; height: number }>(await ask(url, query));
    expect([photo.width, photo.height]).toEqual([width, width / 2]);
    expect(photo.url).toBe(width === 1000 ? raw_url : `${raw_url}?w=${width}`);
  });

  test('tells the width of the image where no smaller version would be smaller', async () => {
    const { url, raw_url } = await host.upload(new Uint8Array(await screenshot(1000, 700)), 'format=png');
    const photo = await json<{ url: string; width: number }>(await ask(url, '&maxwidth=960'));
    expect(photo).toMatchObject({ url: raw_url, width: 1000, height: 700 });
    const file = await host.send(`${pathOf(raw_url)}?w=960`);
    expect((await sharp(await file.arrayBuffer()).metadata()).width).toBe(1000);
  });

  test('tells nothing about a protected picture, or another server', async () => {
    const { url } = await host.upload(png, 'password=x&filename=secret.png');
    const closed = await ask(url);
    expect(closed.status).toBe(401);
    expect(await closed.text()).not.toContain('secret');
    expect((await ask('https://other.example/i/AAAAAAAAAAAA')).status).toBe(404);
    expect((await host.send('/oembed')).status).toBe(400);
    expect((await ask(url, '&format=xml')).status).toBe(400);
  });
});

describe('what pages load', () => {
  async function styleOf(headers: Record<string, string>): Promise<Response> {
    const page = await (await open('/')).text();
    return open(/rel="stylesheet" href="([^"]+)"/.exec(page)?.[1] ?? '', headers);
  }

  test('is kept for a year under a name of its content, and compressed as the client takes it', async () => {
    const plain = await styleOf({});
    const text = await plain.text();
    expect(plain.headers.get('cache-control')).toBe('public, max-age=31536000, immutable');
    expect(plain.headers.get('content-encoding')).toBeNull();
    for (const [accepted, encoding] of [
      ['gzip, br', 'br'],
      ['gzip', 'gzip'],
    ] as const) {
      const answer = await styleOf({ 'accept-encoding': accepted });
      expect(answer.headers.get('content-encoding')).toBe(encoding);
      const bytes = await answer.arrayBuffer();
      const format = encoding === 'br' ? 'brotli' : encoding;
      const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream(format as 'gzip'));
      expect(await new Response(stream).text()).toBe(text);
    }
  });

  test('is not kept under an old name, and is not made up', async () => {
    const old = await open('/assets/000000000000/style.css');
    expect([old.status, old.headers.get('cache-control')]).toEqual([200, 'no-cache']);
    expect((await open('/assets/000000000000/../package.json')).status).toBe(404);
    expect((await open('/favicon.ico')).headers.get('content-type')).toBe('image/svg+xml');
  });

  test.each(['/', '/gallery', '/docs', '/nowhere'])(
    'is all that %s runs: the policy allows nothing else',
    async (path) => {
      const policy = (await open(path)).headers.get('content-security-policy') ?? '';
      expect(policy).toStartWith("default-src 'none'; script-src 'self'; style-src 'self';");
      expect(policy).not.toContain('unsafe');
    },
  );
});

describe('the words of a page', () => {
  const CHINESE = { ...PERSON, 'accept-language': 'zh-CN,zh;q=0.9' };

  test('are in the language that the browser asks for, and caches are told so', async () => {
    for (const path of ['/', '/gallery', '/docs', '/nowhere']) {
      const page = await open(path, CHINESE);
      expect(page.headers.get('content-language')).toBe('zh-CN');
      expect(page.headers.get('vary')).toContain('Accept-Language, Cookie');
      const text = await page.text();
      expect(text).toContain('<html lang="zh-CN">');
      expect(text).toContain('跳到正文');
      expect((await open(path)).headers.get('content-language')).toBe('en');
    }
  });

  test('change by the form at the end of each page, which leads back to it', async () => {
    const answer = await choose('language=zh-CN&other=1', `${ORIGIN}/gallery?q=cat`);
    expect([answer.status, answer.headers.get('location')]).toEqual([303, '/gallery?q=cat']);
    const cookies = answer.headers.getSetCookie();
    expect(cookies).toEqual(['picpool_language=zh-CN; Path=/; Max-Age=31536000; HttpOnly; SameSite=Lax']);
    const cookie = cookies.map((one) => one.split(';')[0]).join('; ');
    const text = await (await open('/gallery', { ...PERSON, cookie })).text();
    expect(text).toContain('<html lang="zh-CN">');
  });

  test.each([
    ['https://evil.example/page', '/'],
    [`${ORIGIN}//evil.example/page`, '/'],
    [`${ORIGIN}/api/upload`, '/'],
    [`${ORIGIN}/share`, '/'],
    [`${ORIGIN}/i/aaaaaaaaaaaa/delete?token=x`, '/i/aaaaaaaaaaaa/delete?token=x'],
    [`${ORIGIN}/i/aaaaaaaaaaaa/delete?deleted`, '/'],
    [`${ORIGIN}/admin/preview`, '/'],
    // A block that would hit the moderator ends here.
    [`${ORIGIN}/admin/act`, '/'],
    [`${ORIGIN}/proxies/test`, '/'],
    ['nonsense', '/'],
  ])('lead from %s to %s', async (referer, location) => {
    expect((await choose('language=zh-CN', referer)).headers.get('location')).toBe(location);
  });

  test('stay as they are where a form or a cookie names what there is not', async () => {
    const answer = await choose('language=<script>', `${ORIGIN}/`);
    expect(answer.headers.getSetCookie()).toEqual([]);
    const cookie = 'picpool_language=constructor';
    expect(await (await open('/', { ...CHINESE, cookie })).text()).toContain('<html lang="zh-CN">');
  });

  const choose = (body: string, referer: string) =>
    host.send('/preferences', {
      method: 'POST',
      body: new URLSearchParams(body),
      headers: { referer, origin: ORIGIN },
    });
});
