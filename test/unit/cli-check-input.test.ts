import { expect, test } from 'bun:test';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { openCandidates } from '../../src/cli/check-input.ts';
import { formatUrl } from '../../src/proxy/proxy.ts';
import { withFolder } from '../support/temporary.ts';

const options = { format: 'lines', protocols: ['http'], allowPrivate: false } as const;

test('each endpoint comes once, in however many lists it is', () =>
  withFolder(async (folder) => {
    const paths = [join(folder, 'a.txt'), join(folder, 'b.txt')];
    await writeFile(paths[0] ?? '', '8.8.8.8 80\nsocks5://8.8.4.4:1080\nrubbish\n10.0.0.1:80\n');
    await writeFile(paths[1] ?? '', 'http://8.8.8.8:80\n1.1.1.1:3128');
    const source = await openCandidates({ ...options, paths });
    const found = (await Array.fromAsync(source.candidates())).map(formatUrl);
    expect(found).toEqual(['http://8.8.8.8:80', 'socks5://8.8.4.4:1080', 'http://1.1.1.1:3128']);
    expect(source.leftOut()).toEqual(['2 entries are not proxies', '1 duplicate']);
    expect(source.size()).toEqual({ total: 3 });
  }));

test('a list in UTF-16, as programs of Windows write it, is read', () =>
  withFolder(async (folder) => {
    const path = join(folder, 'list.txt');
    await writeFile(path, Buffer.from('\ufeff8.8.8.8:80\r\n1.1.1.1:3128', 'utf16le'));
    const source = await openCandidates({ ...options, paths: [path] });
    const found = (await Array.fromAsync(source.candidates())).map(formatUrl);
    expect(found).toEqual(['http://8.8.8.8:80', 'http://1.1.1.1:3128']);
  }));

test('what is said of a line neither steers a terminal, nor names a login, nor has any length', () =>
  withFolder(async (folder) => {
    const path = join(folder, 'list.txt');
    const lines = ['\u001b]0;x\u0007://8.8.8.8:80', 'me:secret://8.8.8.8:80', `${'a'.repeat(60_000)}://x`];
    await writeFile(path, [...lines, '8.8.8.8\u001b[31m:x'].join('\n'));
    const said: string[] = [];
    const source = await openCandidates({ ...options, paths: [path], onReject: (one) => said.push(one) });
    await Array.fromAsync(source.candidates());
    const unknown = 'what precedes :// is not a protocol of proxies';
    expect(said).toEqual([
      ...[1, 2, 3].map((line) => `${path}:${line}: ${unknown}`),
      `${path}:4: 8.8.8.8?[31m has no port`,
    ]);
  }));

test('an entry without a protocol is tried with each requested protocol', () =>
  withFolder(async (folder) => {
    const path = join(folder, 'list.txt');
    await writeFile(path, '8.8.8.8:80\nsocks4://8.8.4.4:1080\n');
    const source = await openCandidates({ ...options, protocols: ['http', 'socks5'], paths: [path] });
    const found = (await Array.fromAsync(source.candidates())).map(formatUrl);
    expect(found.sort()).toEqual(['http://8.8.8.8:80', 'socks4://8.8.4.4:1080', 'socks5://8.8.8.8:80']);
  }));

test('a long list is read only as far as its proxies are needed', () =>
  withFolder(async (folder) => {
    const path = join(folder, 'list.txt');
    const lines = Array.from(
      { length: 200_000 },
      (_, n) => `8.${n >> 16}.${(n >> 8) & 255}.${n & 255}:8080\n`,
    );
    await writeFile(path, lines.join(''));
    const source = await openCandidates({ ...options, paths: [path] });
    const candidates = source.candidates();
    for (let n = 0; n < 10; n++) await candidates.next();
    const { total = 0, estimated } = source.size();
    expect(estimated).toBe(true);
    expect(total).toBeWithin(150_000, 250_000);
    expect(source.leftOut().join()).not.toContain('not');
    await candidates.return(undefined);
  }));

test('a missing list or a folder is reported before anything is tested', async () => {
  expect(openCandidates({ ...options, paths: ['/nowhere'] })).rejects.toThrow('There is no file /nowhere.');
  expect(openCandidates({ ...options, paths: ['/tmp'] })).rejects.toThrow('/tmp is a folder, not a list.');
});
