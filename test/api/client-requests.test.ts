import { describe, expect, test } from 'bun:test';
import { readFile } from 'node:fs/promises';
import recordings from '../fixtures/client-requests.json';
import { PNG, runServer } from '../support/servers/running-server.ts';
import { shared } from '../support/shared.ts';

const server = shared(() => runServer({ SERVICES: 'image', RATE_LIMITS: 'off' }));

/** What each client reads of the answer before it shows a link. */
const READ: Record<string, (told: Told) => unknown> = {
  '/lsky/api/v1/upload': ({ status, data }) => status === true && data.links.url,
  '/lsky/api/upload': ({ code, data }) => code === 200 && data.url,
  '/api/upload': ({ code, data }) => code === 200 && data.url,
  '/smms/api/v2/upload': ({ message, data }) => message === 'success' && data.url,
  '/imgur/3/image': ({ success, data }) => success === true && data.link,
  '/3/image': ({ success, data }) => success === true && data.link,
  '/picgo/upload': ({ success, result }) => success !== false && result[0],
};

interface Told {
  status: unknown;
  code: unknown;
  success: unknown;
  message: unknown;
  data: { url: string; link: string; links: { url: string } };
  result: string[];
}

async function expectPicture(link: unknown): Promise<void> {
  const file = await fetch(String(link));
  expect([link, file.status, file.headers.get('content-type')]).toEqual([link, 200, 'image/webp']);
}

describe('a request that was recorded is answered with a link, as its client reads it', () => {
  for (const { client, method, path, headers, body } of recordings) {
    test(`of ${client}`, async () => {
      const bytes = Uint8Array.fromBase64(body);
      const sent = new Headers(headers as Record<string, string>);
      const answer = await fetch(server.url + path, { method, headers: sent, body: bytes });
      expect(answer.status).toBe(200);
      await expectPicture(READ[path]?.((await answer.json()) as Told));
    });
  }

  test("of Obsidian's Image auto upload, whose form begins with two hyphens more than its type says", async () => {
    const boundary = '----BoundaryBoundary0123456789abcd';
    const part = [
      `--${boundary}`,
      'Content-Disposition: form-data; name="list"; filename="1795347015000.png"',
      'Content-Type: application/octet-stream',
      '',
      Buffer.from(PNG).toString('latin1'),
      '',
    ].join('\r\n');
    const answer = await fetch(`${server.url}/picgo/upload`, {
      method: 'POST',
      headers: { 'content-type': `multipart/form-data; boundary=${boundary}` },
      body: Buffer.from(`${part}--${boundary}--\r\n`, 'latin1'),
    });
    expect(answer.status).toBe(200);
    await expectPicture(READ['/picgo/upload']?.((await answer.json()) as Told));
  });
});

describe('what docs/clients.md has for a shell', async () => {
  const document = await readFile('docs/clients.md', 'utf8');
  const lines = [...document.matchAll(/^ {4}((?:curl|flameshot|scrot|sh) .*)$/gm)].map(
    ([, line = '']) => line,
  );
  let last: { link: string; token: string } | null = null;

  /** A picture of the screen, for machines without one. */
  const screen = (name: string) => `${name}() { cat "$PICTURE"; }; `;

  async function run(line: string): Promise<string> {
    const { link, token } = last ?? { link: '', token: '' };
    const id = link.split('/').at(-1)?.split('.')[0] ?? '';
    const command = line
      .replaceAll(/https:\/\/pics\.example|http:\/\/localhost:3000/g, server.url)
      .replaceAll(/\b(?:shot|one)\.png/g, '"$PICTURE"')
      .replaceAll('TOKEN', token)
      .replaceAll('ID.webp', `${id}.webp`)
      // Typora appends the files.
      .replace(/^sh .*$/, '$& "$PICTURE"');
    const show = 'curl() { command curl -sS --dump-header "$HEADERS" "$@"; }; ';
    const picture = `${server.folder}/shot.png`;
    const heads = `${server.folder}/headers`;
    await Bun.write(picture, PNG);
    await Bun.write(heads, '');
    const child = Bun.spawn(['bash', '-c', screen('flameshot') + screen('scrot') + show + command], {
      env: { PATH: process.env.PATH ?? '', PICTURE: picture, HEADERS: heads },
      stdout: 'pipe',
      stderr: 'inherit',
    });
    const printed = (await new Response(child.stdout).text()).trim();
    const head = await readFile(heads, 'utf8');
    const [, given] = /^(?:x-token|x-delete-token): (\S+)/im.exec(head) ?? [];
    if (given) last = { link: printed, token: given };
    return printed;
  }

  for (const line of lines) {
    test(`works: ${line}`, async () => {
      const deleting = /delete/.test(line) ? last : null;
      const printed = await run(line);
      if (deleting === null) return expectPicture(printed);
      expect(printed).toMatch(/deleted/);
      expect((await fetch(deleting.link)).status).toBe(404);
    });
  }

  test('is there', () => expect(lines.length).toBeGreaterThanOrEqual(5));
});

test("ShareX does with the server's uploader what its rules say", async () => {
  const file = await fetch(`${server.url}/sharex.sxcu`);
  expect(file.headers.get('content-disposition')).toBe('attachment; filename="picpool.sxcu"');
  const uploader = (await file.json()) as Sxcu;
  const shared = await asShareX(uploader, PNG);
  await expectPicture(shared.url);
  await expectPicture(shared.thumbnail);
  expect((await fetch(shared.deletion)).status).toBe(200);
  const refused = await asShareX(uploader, new Uint8Array([1, 2, 3]));
  expect(refused.error).toStartWith('The file is not in a known picture format');
});

interface Sxcu {
  RequestMethod: string;
  RequestURL: string;
  Headers?: Record<string, string>;
  Body: string;
  FileFormName: string;
  URL: string;
  ThumbnailURL: string;
  DeletionURL: string;
  ErrorMessage: string;
}

/** Uploads as a custom uploader of ShareX says: the file in its field, and then the syntax `{json:path}` over the answer. */
async function asShareX(uploader: Sxcu, bytes: Uint8Array<ArrayBuffer>) {
  if (uploader.Body !== 'MultipartFormData') throw new Error(`no such body: ${uploader.Body}`);
  const body = new FormData();
  body.append(uploader.FileFormName, new File([bytes], 'ShareX_1.png', { type: 'image/png' }));
  const { RequestMethod: method, Headers: headers = {} } = uploader;
  const answer = await fetch(uploader.RequestURL, { method, headers, body });
  const told = (await answer.json()) as Record<string, unknown>;
  const fill = (text: string) =>
    text.replace(/\{json:([\w.]+)\}/g, (_, name: string) => String(told[name] ?? ''));
  return {
    url: fill(uploader.URL),
    thumbnail: fill(uploader.ThumbnailURL),
    deletion: fill(uploader.DeletionURL),
    error: fill(uploader.ErrorMessage),
  };
}
