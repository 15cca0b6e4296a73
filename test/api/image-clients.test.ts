import { describe, expect, test } from 'bun:test';
import { parseConfig } from '../../src/config.ts';
import { CLIENTS } from '../../src/image/clients/clients.ts';
import { json as read } from '../support/json.ts';
import { PNG, runServer, withServer } from '../support/servers/running-server.ts';
import { shared } from '../support/shared.ts';

const server = shared(() => runServer({ SERVICES: 'image' }));

/** The parts of the answers of all these services that are looked at. */
interface Told {
  success: boolean;
  status: number;
  code: number;
  msg: string;
  images: number;
  total: number;
  data: {
    name: string;
    url: string;
    delete: string;
    key: string;
    links: { url: string; thumbnail_url: string };
    hash: string;
    link: string;
    deletehash: string;
  };
  result: string[];
  fullResult: { fileName: string; imgUrl: string }[];
}
const json = (answer: Response) => read<Told>(answer);
const whole = (answer: Response) => read<object>(answer);

const BROKEN = new Uint8Array([1, 2, 3, 4]);
const UPLOADER = '198.51.100.9';
/** Another client than the one that uploads. */
const STRANGER = '203.0.113.77';
const NOT_AN_IMAGE = expect.stringMatching(/^The file is .*\.$/);

type Value = string | Uint8Array<ArrayBuffer> | File;

function form(fields: Record<string, Value | Value[]>) {
  const body = new FormData();
  for (const [name, values] of Object.entries(fields))
    for (const value of [values].flat())
      body.append(name, value instanceof Uint8Array ? new File([value], 'shot.png') : value);
  return body;
}

const post = (
  path: string,
  body: FormData | string | URLSearchParams,
  headers: Record<string, string> = {},
) => server.send(path, { method: 'POST', body, headers, from: UPLOADER });

/** What the server says of a picture. */
async function info(link: string): Promise<{ expires_at: string | null; visibility: string }> {
  const id = /\/i\/(\w+)/.exec(link)?.[1];
  return read(await server.send(`/api/info/${id}`));
}

/** For how long a picture is kept from now on, in seconds. */
async function lifetime(link: string): Promise<number> {
  const { expires_at } = await info(link);
  return (Date.parse(`${expires_at}Z`) - Date.now()) / 1000;
}

async function status(link: string): Promise<number> {
  return (await server.send(link.replace(/^http:\/\/[^/]+/, ''))).status;
}

test('the setting names every client that there is', () => {
  expect(parseConfig({}).IMAGE_CLIENTS).toEqual(CLIENTS.map(({ name }) => name) as never);
  expect(parseConfig({ IMAGE_CLIENTS: 'off' }).IMAGE_CLIENTS).toEqual([]);
  expect(parseConfig({ IMAGE_CLIENTS: 'imgur, Lsky' }).IMAGE_CLIENTS).toEqual(['lsky', 'imgur']);
  expect(() => parseConfig({ IMAGE_CLIENTS: 'flickr' })).toThrow('not "flickr"');
});

describe('Lsky Pro 1', () => {
  for (const path of ['/lsky/api/upload', '/api/upload']) {
    test(`takes the field image at ${path}, and says 200 twice`, async () => {
      const answer = await post(path, form({ image: PNG, ssl: 'true' }), { token: 'whatever' });
      const body = await json(answer);
      expect([answer.status, body.code, body.data.name]).toEqual([200, 200, 'shot.png']);
      expect(await status(body.data.url)).toBe(200);
      expect(await status(body.data.delete)).toBe(200);
    });

    test(`says at ${path} what is wrong where its clients look`, async () => {
      const answer = await post(path, form({ image: BROKEN }), { token: 'whatever' });
      expect([answer.status, await whole(answer)]).toEqual([
        200,
        { code: 415, msg: NOT_AN_IMAGE, message: NOT_AN_IMAGE, data: {}, time: expect.any(Number) },
      ]);
    });
  }

  test('changes nothing at the root for others, who have no header token', async () => {
    const answer = await post('/api/upload', form({ image: PNG, ssl: 'true' }));
    expect([answer.status, (await json(answer)).success]).toEqual([201, true]);
    expect((await post('/api/upload', form({ image: BROKEN }))).status).toBe(415);
  });
});

describe('Lsky Pro 2', () => {
  const upload = async () =>
    (await json(await post('/lsky/api/v1/upload', form({ file: PNG }), { accept: 'application/json' }))).data;

  test('keeps a picture with permission 0 out of the lists, but shows it to everyone with the link', async () => {
    const listed = async (permission: string) => {
      const body = form({ file: PNG, permission, strategy_id: '1' });
      const { data } = await json(await post('/lsky/api/v1/upload', body));
      expect(await status(data.links.url)).toBe(200);
      const { images } = (await (await server.send('/api/list')).json()) as { images: { id: string }[] };
      return images.some(({ id }) => data.name.startsWith(id));
    };
    expect([await listed('0'), await listed('1')]).toEqual([false, true]);
  });

  test('takes the field file, answers links, and deletes by the key', async () => {
    const data = await upload();
    // A copy, for Bun 1.4.5 puts the matchers into what it compares.
    expect(structuredClone(data)).toMatchObject({
      key: expect.stringMatching(/^[0-9A-Za-z]{44}$/),
      origin_name: 'shot.png',
      mimetype: 'image/webp',
      extension: 'webp',
      links: { url: expect.stringMatching(/\.webp$/), markdown: expect.stringMatching(/^!\[shot/) },
    });
    expect(await status(data.links.thumbnail_url)).toBe(200);
    const remove = () => server.send(`/lsky/api/v1/images/${data.key}`, { method: 'DELETE', from: STRANGER });
    expect(await whole(await remove())).toMatchObject({ status: true });
    expect(await status(data.links.url)).toBe(404);
    const again = await remove();
    expect([again.status, await whole(again)]).toEqual([
      200,
      { status: false, message: 'There is no such image.', data: {} },
    ]);
  });

  test('does not delete for someone who only has what everyone sees', async () => {
    const data = await upload();
    const init = { method: 'DELETE', from: STRANGER };
    const answer = await server.send(`/lsky/api/v1/images/${data.key.slice(0, 12)}`, init);
    expect(await whole(answer)).toMatchObject({
      status: false,
      message: 'Only the uploader may delete an image. Send its delete token.',
    });
    expect(await status(data.links.url)).toBe(200);
  });
});

describe('SM.MS', () => {
  test('takes the field smfile, says success twice, and deletes by the hash', async () => {
    const sent = form({ smfile: PNG, format: 'json' });
    const answer = await post('/smms/api/v2/upload', sent);
    const body = await json(answer);
    expect<object>(body).toMatchObject({
      success: true,
      code: 'success',
      message: 'success',
      data: {
        filename: 'shot.png',
        width: 2,
        height: 2,
        page: expect.stringMatching(/\/i\/[0-9A-Za-z]{12}$/),
      },
    });
    const { url, hash } = body.data;
    const path = `/smms/api/v2/delete/${hash}`;
    // A page may name the address of a deletion as a picture, and programs look with HEAD before they fetch.
    const byAddress = await server.send(`/smms/api/v2/delete/${hash.slice(0, 12)}`);
    expect([byAddress.status, (await json(byAddress)).success]).toEqual([403, false]);
    await server.send(path, { method: 'HEAD', from: STRANGER });
    expect(await status(url)).toBe(200);
    expect(await json(await server.send(path, { from: STRANGER }))).toMatchObject({ success: true });
    expect(await status(url)).toBe(404);
  });

  test('says what is wrong, with 200, for its clients read nothing else', async () => {
    const answer = await post('/smms/api/v2/upload', form({ smfile: BROKEN }));
    expect([answer.status, await whole(answer)]).toEqual([
      200,
      { success: false, code: 'not_an_image', message: NOT_AN_IMAGE, RequestId: expect.any(String) },
    ]);
  });
});

describe('imgur', () => {
  const base64 = PNG.toBase64();
  test('the picture of these tests has a plus sign in Base64', () => expect(base64).toContain('+'));
  const bodies: [string, FormData | URLSearchParams | string, Record<string, string>][] = [
    ['a file', form({ image: PNG, type: 'file', name: 'shot.png', title: 'Mine', album: 'dQw4w9W' }), {}],
    ['Base64 in a form', form({ image: base64, type: 'base64', name: 'shot.png', title: 'Mine' }), {}],
    ['Base64 in fields', new URLSearchParams({ image: base64, name: 'shot.png', title: 'Mine' }), {}],
    [
      'Base64 in fields, its plus signs not escaped',
      `image=${base64}&name=shot.png&title=Mine`,
      { 'content-type': 'application/x-www-form-urlencoded' },
    ],
    ['a data: URL', form({ image: `data:image/png;base64,${base64}`, name: 'shot.png', title: 'Mine' }), {}],
    [
      'JSON',
      JSON.stringify({ image: base64, type: 'base64', name: 'shot.png', title: 'Mine', album: null }),
      { 'content-type': 'application/json' },
    ],
  ];
  for (const [name, body, headers] of bodies) {
    for (const base of ['/imgur', '']) {
      test(`takes ${name} at ${base}/3/image, and deletes by the deletehash`, async () => {
        const authorization = 'Client-ID 546c25a59c58ad7';
        const answer = await post(`${base}/3/image`, body, { ...headers, authorization });
        const { data, success, status: told } = await json(answer);
        expect([answer.status, success, told]).toEqual([200, true, 200]);
        expect(data).toMatchObject({
          type: 'image/webp',
          width: 2,
          height: 2,
          title: 'Mine',
          name: 'shot.png',
        });
        expect(await status(data.link)).toBe(200);
        const init = { method: 'DELETE', from: STRANGER };
        const removed = await server.send(`${base}/3/image/${data.deletehash}`, init);
        expect(await whole(removed)).toEqual({ data: true, success: true, status: 200 });
        expect(await status(data.link)).toBe(404);
      });
    }
  }

  test('says what is wrong with JSON, and takes no more of it than fits in memory', async () => {
    const send = (body: string) => post('/3/image', body, { 'content-type': 'application/json' });
    for (const [body, code] of [
      ['null', 400],
      ['{"image":', 400],
      ['{"title":"a"}', 400],
      [`{"image":"${'A'.repeat(4 * 2 ** 20)}"}`, 413],
    ] as const)
      expect([body.slice(0, 9), (await send(body)).status]).toEqual([body.slice(0, 9), code]);
  });

  test('says what is wrong in data.error, with the status that it has', async () => {
    const answer = await post('/3/image', form({ image: BROKEN }));
    expect([answer.status, await whole(answer)]).toEqual([
      415,
      { data: { error: NOT_AN_IMAGE, code: 'not_an_image' }, success: false, status: 415 },
    ]);
  });
});

describe('Chevereto and ImgBB', () => {
  interface Answer {
    data: {
      url: string;
      url_viewer: string;
      expiration: number;
      title: string;
      image: { mime: string };
      delete_url: string;
    };
    image: { url: string; url_viewer: string; filename: string; width: number; thumb: { url: string } };
    status_code: number;
    success: unknown;
    error: { message: string };
  }
  const answerOf = async (path: string, body: FormData | URLSearchParams) => {
    const answer = await post(path, body);
    return [answer.status, await read<Answer>(answer)] as const;
  };

  test.each(['', '/chevereto'])(
    'takes what clients of ImgBB send at %s/1/upload, options in the URL too',
    async (base) => {
      const [code, { data, success }] = await answerOf(
        `${base}/1/upload?expiration=600&key=any`,
        new URLSearchParams({ image: PNG.toBase64(), name: 'harbour' }),
      );
      expect([code, success, data.expiration, data.image.mime]).toEqual([200, true, 600, 'image/webp']);
      expect(await lifetime(data.url)).toBeWithin(590, 601);
      expect(data.title).toBe('harbour');
      expect((await server.send(data.delete_url.replace(/^http:\/\/[^/]+/, ''))).status).toBe(200);
    },
  );

  test.each(['', '/chevereto'])('takes what clients of Chevereto send at %s/api/1/upload', async (base) => {
    const [code, { image, status_code }] = await answerOf(
      `${base}/api/1/upload`,
      form({ key: 'any', source: PNG, format: 'json', expiration: 'P1Y1M1W1DT2H', title: 'Mine' }),
    );
    expect([code, status_code, image.width]).toEqual([200, 200, 2]);
    expect(await status(image.url)).toBe(200);
    const hours = (365 + 30 + 7 + 1) * 24 + 2;
    expect(await lifetime(image.url)).toBeWithin(hours * 3600 - 10, hours * 3600 + 1);
    expect(image.thumb.url).toEndWith('?w=320');
  });

  test('answers with the link alone, or leads to the page, if asked to', async () => {
    const line = await post('/1/upload?format=txt', form({ image: PNG }));
    expect(await line.text()).toMatch(/^http:\S+\/i\/\w{12}\.webp\n$/);
    const page = await server.send('/api/1/upload', {
      method: 'POST',
      body: form({ format: 'redirect', source: PNG }),
      redirect: 'manual',
    });
    expect([page.status, page.headers.get('location')]).toEqual([303, expect.stringMatching(/\/i\/\w{12}$/)]);
  });

  test('says what is wrong in error.message', async () => {
    const [code, { status_code, error }] = await answerOf('/1/upload', form({ image: BROKEN }));
    expect([code, status_code, error.message]).toEqual([415, 415, NOT_AN_IMAGE]);
    const [late, { error: why }] = await answerOf('/1/upload?expiration=60', form({ image: PNG }));
    expect([late, why.message]).toEqual([400, expect.stringContaining('10m')]);
  });
});

describe('catbox', () => {
  const api = '/catbox/user/api.php';
  const upload = () => post(api, form({ reqtype: 'fileupload', userhash: '', fileToUpload: PNG }));

  test('answers the link alone, and has what deletes in a header', async () => {
    const answer = await upload();
    const link = (await answer.text()).trim();
    expect(link).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/i\/[0-9A-Za-z]{12}\.webp$/);
    expect(await status(link)).toBe(200);
    const token = answer.headers.get('x-delete-token') ?? '';
    const name = link.split('/').at(-1) ?? '';
    const remove = (userhash: string) => {
      const body = form({ reqtype: 'deletefiles', userhash, files: name });
      return server.send(api, { method: 'POST', body, from: STRANGER });
    };
    const refused = await remove('wrong');
    expect([refused.status, await refused.text()]).toEqual([403, 'The delete token is wrong.\n']);
    expect(await (await remove(token)).text()).toContain('successfully');
    expect(await status(link)).toBe(404);
  });

  test('deletes several files for the address that uploaded them', async () => {
    const links = [(await (await upload()).text()).trim(), (await (await upload()).text()).trim()];
    const files = ['AAAAAAAAAAAA.webp', ...links.map((link) => link.split('/').at(-1))].join(' ');
    // Many programs send a form without a file in the short form.
    const answer = await post(api, new URLSearchParams({ reqtype: 'deletefiles', userhash: 'x', files }));
    expect(answer.status).toBe(200);
    expect(await Promise.all(links.map(status))).toEqual([404, 404]);
  });

  test('deletes a file while the store is full', async () => {
    const env = { SERVICES: 'image', IMAGE_MIN_FREE: '9000GiB' };
    await withServer(env, async ({ send }) => {
      const codes = [];
      for (const fields of [
        { reqtype: 'fileupload', fileToUpload: PNG },
        { reqtype: 'deletefiles', files: 'AAAAAAAAAAAA.webp' },
      ])
        codes.push((await send(api, { method: 'POST', body: form({ userhash: '', ...fields }) })).status);
      const raw = { method: 'POST', body: PNG, headers: { 'content-type': 'image/png' } };
      codes.push((await send(api, raw)).status);
      expect(codes).toEqual([507, 200, 507]);
    });
  });

  test('litterbox keeps a file for the time that its client says', async () => {
    const box = '/catbox/resources/internals/api.php';
    const sent = (time: string) => post(box, form({ reqtype: 'fileupload', time, fileToUpload: PNG }));
    const link = (await (await sent('12h')).text()).trim();
    expect(Math.abs((await lifetime(link)) - 12 * 3600)).toBeLessThan(120);
    const refused = await sent('5d'.repeat(1000));
    expect([refused.status, await refused.text()]).toEqual([
      400,
      'time must be 1h, 12h, 24h, 72h, not "5d5d5d5d5d5d5d5d5d5d5d5d5d5d5d5d5d5d5d5d5d5d5d5d5d5d5d5d5...".\n',
    ]);
  });

  const wrong: [string, FormData, string][] = [
    ['no file', form({ reqtype: 'fileupload' }), 'The form has no file in the field fileToUpload.'],
    ['no URL', form({ reqtype: 'urlupload', url: '' }), 'The form has no URL in the field url.'],
    [
      'an album',
      form({ reqtype: 'createalbum', title: 'x' }),
      'The field reqtype must be fileupload, urlupload or deletefiles; albums are not supported.',
    ],
    [
      'nothing to delete',
      form({ reqtype: 'deletefiles', files: ' ' }),
      'The field files must name 1 to 20 files, separated by spaces.',
    ],
  ];
  for (const [name, body, sentence] of wrong) {
    test(`says in a line what is wrong with ${name}`, async () => {
      const answer = await post(api, body);
      expect([answer.status, await answer.text()]).toEqual([400, `${sentence}\n`]);
    });
  }
});

describe('0x0', () => {
  test('keeps a picture as long as expires says, in hours or until a time, and a secret one out of lists', async () => {
    const sent = async (expires: string) => {
      const answer = await post('/0x0', form({ file: PNG, expires, secret: '' }));
      return (await answer.text()).trim();
    };
    for (const expires of ['24', String(Date.now() + 24 * 3_600_000)]) {
      const link = await sent(expires);
      expect(Math.abs((await lifetime(link)) - 24 * 3600)).toBeLessThan(180);
      expect((await info(link)).visibility).toBe('unlisted');
    }
    expect(await sent('soon')).toBe(
      'The field expires must be a number of hours, or a future time in ms since 1970.',
    );
  });

  for (const [path, kind, formOf] of [
    ['/0x0', 'with parts', form],
    ['/0x0/', 'without', (fields: Record<string, string>) => new URLSearchParams(fields)],
  ] as const) {
    test(`answers the link alone at ${path}, which takes the token to delete the picture in a form ${kind}`, async () => {
      const answer = await post(path, form({ file: PNG }));
      const link = (await answer.text()).trim();
      const at = link.replace(/^http:\/\/[^/]+/, '');
      const token = answer.headers.get('x-token') ?? '';
      expect([answer.status, await status(link), token.length]).toEqual([200, 200, 32]);
      const manage = (fields: Record<string, string>) =>
        server.send(at, { method: 'POST', body: formOf(fields), from: STRANGER });
      const wrong = await manage({ token: 'wrong', delete: '' });
      expect([wrong.status, await wrong.text()]).toEqual([403, 'The delete token is wrong.\n']);
      expect((await manage({ token })).status).toBe(400);
      expect(await (await manage({ delete: '' })).text()).toBe(
        'Send the X-Token of the upload in the field token.\n',
      );
      expect((await manage({ token, delete: '' })).status).toBe(200);
      expect(await status(link)).toBe(404);
    });
  }

  test('shows the form for a password again if a wrong one comes in parts', async () => {
    const stored = await post('/0x0', form({ file: PNG, password: 'one' }));
    const path = /\/i\/\w+/.exec(await stored.text())?.[0] ?? '';
    const answer = await server.send(path, {
      method: 'POST',
      body: form({ password: 'two' }),
      from: STRANGER,
    });
    expect([answer.status, await answer.text()]).toEqual([401, expect.stringContaining('type="password"')]);
  });

  test('says in a line what is wrong', async () => {
    for (const [field, sentence] of [
      ['secret', 'The form has no file in the field file, and no URL in the field url.'],
      ['shorten', 'URLs are not shortened here.'],
    ] as const) {
      const fields = { [field]: 'https://a.example/' };
      const answer = await post('/0x0', field === 'secret' ? form(fields) : new URLSearchParams(fields));
      expect([answer.status, await answer.text()]).toEqual([400, `${sentence}\n`]);
    }
  });
});

describe('PicGo', () => {
  test('takes several files in the field list, answers their links in order, and deletes them', async () => {
    const body = form({ list: ['1.png', '2.png', '3.png'].map((name) => new File([PNG], name)) });
    const answer = await post('/picgo/upload', body);
    const { success, result, fullResult } = await json(answer);
    expect([answer.status, success, result.length]).toEqual([200, true, 3]);
    expect(fullResult.map((one) => one.fileName)).toEqual(['1.png', '2.png', '3.png']);
    expect(fullResult.map((one) => one.imgUrl)).toEqual(result);
    const removal = JSON.stringify({ list: fullResult });
    const headers = { 'content-type': 'application/json' };
    // An earlier request whose answer was lost has removed the first one.
    const first = JSON.stringify({ list: fullResult.slice(0, 1) });
    expect((await post('/picgo/delete', first, headers)).status).toBe(200);
    expect(await json(await post('/picgo/delete', removal, headers))).toMatchObject({
      success: true,
      message: 'delete success: 2, fail: 1',
    });
    expect(await Promise.all(result.map(status))).toEqual([404, 404, 404]);
  });

  test('gets no picture stored if one of the files is not a picture, and the answer says so with 200', async () => {
    const before = (await json(await server.send('/api/stats'))).images;
    const answer = await post('/picgo/upload', form({ list: [PNG, BROKEN] }));
    expect([answer.status, await whole(answer)]).toEqual([
      200,
      { success: false, message: NOT_AN_IMAGE, msg: NOT_AN_IMAGE, result: [] },
    ]);
    expect((await json(await server.send('/api/stats'))).images).toBe(before);
  });

  test('is told to send files, not their paths', async () => {
    const headers = { 'content-type': 'application/json' };
    const answer = await post('/picgo/upload', '{"list":["C:\\\\a.png"]}', headers);
    expect((await json(answer)).msg).toBe(
      'This server cannot read your files: let the client send them (in Obsidian: "Remote server mode").',
    );
  });
});

describe('what holds for the own route holds for all of them', () => {
  const uploads: [string, string][] = [
    ['/lsky/api/upload', 'image'],
    ['/lsky/api/v1/upload', 'file'],
    ['/smms/api/v2/upload', 'smfile'],
    ['/imgur/3/image', 'image'],
    ['/imgur/3/upload', 'image'],
    ['/3/image', 'image'],
    ['/1/upload', 'image'],
    ['/chevereto/api/1/upload', 'source'],
    ['/catbox/user/api.php', 'fileToUpload'],
    ['/0x0', 'file'],
    ['/picgo/upload', 'list'],
  ];

  test('a picture as the body is taken even if the client calls it a form, as curl does', async () => {
    const headers = { 'content-type': 'application/x-www-form-urlencoded' };
    for (const [path] of uploads) {
      const answer = await server.send(path, { method: 'POST', body: PNG, headers });
      expect([path, answer.status, await answer.text()]).toEqual([path, 200, expect.stringContaining('/i/')]);
    }
  });

  test('pages of other sites may not use them', async () => {
    for (const [path, field] of uploads) {
      const headers = { origin: 'https://evil.example' };
      const sent = { method: 'POST', body: form({ [field]: PNG }), headers, from: STRANGER };
      const answer = await (await server.send(path, sent)).text();
      expect([path, answer]).toEqual([path, expect.stringContaining('https://evil.example')]);
    }
  });

  test('uploads through them are counted together with all others, and refusals say so', async () => {
    await withServer({ SERVICES: 'image', RATE_LIMITS: 'upload=11/1h' }, async ({ send }) => {
      const upload = (path: string, field: string) =>
        send(path, { method: 'POST', body: form({ [field]: PNG }), from: STRANGER });
      for (const [path, field] of uploads) {
        const answer = await upload(path, field);
        const taken = [path, 200, expect.stringContaining('/i/')];
        expect([path, answer.status, await answer.text()]).toEqual(taken);
      }
      for (const [path, field] of uploads) {
        const answer = await upload(path, field);
        expect([path, Number(answer.headers.get('retry-after')) > 0]).toEqual([path, true]);
        expect(await answer.text()).toContain('Too many requests');
      }
      expect((await upload('/api/upload', 'image')).status).toBe(429);
    });
  });

  test('they are gone with IMAGE_CLIENTS=off, and with other names', async () => {
    await withServer({ SERVICES: 'image', IMAGE_CLIENTS: 'off' }, async ({ send }) => {
      for (const [path, field] of uploads)
        expect((await send(path, { method: 'POST', body: form({ [field]: PNG }) })).status).toBe(404);
      const body = form({ image: PNG });
      const own = await send('/api/upload', { method: 'POST', body, headers: { token: 'x' } });
      expect(own.status).toBe(201);
    });
  });
});
