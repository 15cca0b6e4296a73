import { expect, test } from 'bun:test';
import { createHash } from 'node:crypto';
import { readdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { PNG, withServer } from '../support/servers/running-server.ts';
import { withFolder } from '../support/temporary.ts';

test('a file whose SHA-256 or MD5 is in BLOCK_HASHES is refused, and the log says which and whose', () =>
  withFolder(async (folder) => {
    const path = join(folder, 'hashes.txt');
    for (const kind of ['sha256', 'md5']) {
      await writeFile(path, `${createHash(kind).update(PNG).digest('hex')}  known.png\n`);
      await withServer({ BLOCK_HASHES: path, SERVICES: 'image' }, async (server) => {
        expect((await server.upload()).status).toBe(403);
        // For those who have to report it.
        const source = createHash('sha256').update(PNG).digest('hex');
        const facts = { source, peer: '127.0.0.1' };
        expect(server.logged).toContainEqual({ message: 'upload in BLOCK_HASHES refused', facts });
        const other = Uint8Array.from([...PNG, 0]);
        expect((await server.send('/api/upload', { method: 'POST', body: other })).status).toBe(201);
      });
    }
  }));

test.each(['BLOCK_HASHES', 'TERMS'])(
  'without %s the server does not start, leaves no process, and says why',
  (name) =>
    withFolder(async (folder) => {
      const missing = { [name]: '/nowhere/file.txt', ABUSE_CONTACT: 'abuse@example.org' };
      const started = withServer(
        { ...missing, SERVICES: 'image', IMAGE_SANDBOX: 'require', DATA_DIR: folder },
        async () => {},
      );
      const fault = { variable: name, message: 'names a file that cannot be read: /nowhere/file.txt' };
      expect(await started.catch((thrown: Error) => thrown)).toMatchObject({ faults: [fault] });
      expect(await readdir(join(folder, 'work'))).toEqual([]);
    }),
);

test('the contact leads to a page with the rules of the operator, which are only text', () =>
  withFolder(async (folder) => {
    const TERMS = join(folder, 'terms.txt');
    await writeFile(TERMS, 'No spam.\n\n<script>alert(1)</script>');
    await withServer(
      { ABUSE_CONTACT: 'abuse@example.org', TERMS, PUBLIC_URL: 'https://img.example/pics' },
      async (server) => {
        const home = await (await server.send('/', { headers: { accept: 'text/html' } })).text();
        expect(home).toContain('href="/pics/contact"');
        const page = await (await server.send('/contact', { headers: { accept: 'text/html' } })).text();
        for (const text of ['mailto:abuse@example.org', 'No spam.', '&lt;script&gt;'])
          expect(page).toContain(text);
        const security = await (await server.send('/.well-known/security.txt')).text();
        expect(security).toMatch(
          /^Contact: mailto:abuse@example\.org\nExpires: \d{4}-\S+Z\nPolicy: https:\/\/img\.example\/pics\/contact\n$/,
        );
      },
    );
  }));

test('without a contact there is no such page', () =>
  withServer({}, async (server) => {
    expect((await server.send('/contact')).status).toBe(404);
    expect((await server.send('/.well-known/security.txt')).status).toBe(404);
  }));

test('a person who sends the form of the page without a token reads that one is needed', () =>
  withServer({ UPLOAD: 'token', SERVICES: 'image' }, async (server) => {
    for (const path of ['/api/upload', '/share']) {
      const body = new FormData();
      body.set('image', new File([PNG], 'one.png'));
      const answer = await server.send(path, { method: 'POST', body, headers: { accept: 'text/html' } });
      // And not by which header.
      const page = expect.stringMatching(/<h1>A token is required<\/h1>\s*<p class="muted">/);
      expect([answer.status, await answer.text()]).toEqual([401, page]);
    }
  }));
