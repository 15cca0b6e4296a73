import { expect, test } from 'bun:test';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { AppError, inEnglish } from '../../src/errors.ts';
import { createDownloads, zipName } from '../../src/image/albums/download.ts';
import { type ZipEntry, zipOf } from '../../src/lib/zip.ts';
import { run } from '../support/run.ts';
import { image } from '../support/stores/records.ts';
import { withFolder } from '../support/temporary.ts';

async function* entries(files: Record<string, string>): AsyncGenerator<ZipEntry, void> {
  for (const [name, text] of Object.entries(files)) {
    yield { name, modified: Date.UTC(2026, 0, 31, 8, 5, 9), body: new Blob([text]).stream() };
  }
}

const LIST = `
import json, sys, zipfile
archive = zipfile.ZipFile(sys.argv[1])
assert archive.testzip() is None
print(json.dumps([[i.filename, archive.read(i).decode(), i.date_time, i.compress_type, i.external_attr >> 16] for i in archive.infolist()]))
`;

test('other programs read every file with its name, time and bytes', async () => {
  const files = { '01 harbour.webp': 'first', '02 猫 é.png': '', '03 long.jpg': 'x'.repeat(300_000) };
  await withFolder(async (folder) => {
    const path = join(folder, 'album.zip');
    await writeFile(path, Buffer.concat(await Array.fromAsync(zipOf(entries(files)))));
    expect(JSON.parse(await run(['python3', '-c', LIST, path]))).toEqual(
      Object.entries(files).map(([name, content]) => [name, content, [2026, 1, 31, 8, 5, 8], 0, 0o100644]),
    );
  });
});

test('an archive without files is valid', async () => {
  const bytes = Buffer.concat(await Array.fromAsync(zipOf(entries({}))));
  expect([bytes.length, bytes.readUInt32LE(0)]).toEqual([22, 0x06054b50]);
});

test.each([1, 5])('a file is read only in its turn, and not after the reader has gone: %p', async (most) => {
  const events: string[] = [];
  async function* watched(): AsyncGenerator<ZipEntry, void> {
    try {
      for (const name of ['one', 'two', 'three']) {
        events.push(`open ${name}`);
        const body = new ReadableStream<Uint8Array>(
          {
            pull: (controller) => controller.enqueue(new Uint8Array(10)),
            cancel: () => void events.push(`leave ${name}`),
          },
          { highWaterMark: 0 },
        );
        yield { name, modified: 0, body };
      }
    } finally {
      events.push('end');
    }
  }
  const pieces = zipOf(watched());
  expect(events).toEqual([]);
  for (let count = 0; count < most; count++) await pieces.next();
  await pieces.return();
  expect(events).toEqual(['open one', 'leave one', 'end']);
});

test.each([
  ['harbour.jpg', '007 harbour.webp'],
  ['../../etc/passwd', '007 .._.._etc_passwd.webp'],
  ['C:\\Windows\\x.png', '007 C__Windows_x.webp'],
  ['CON', '007 CON.webp'],
  ['a<b>:"|?*.png', '007 a_b______.webp'],
  ['e\u0301.png', '007 é.webp'],
  ['.hidden', '007 .hidden.webp'],
  ['猫'.repeat(255), `007 ${'猫'.repeat(66)}.webp`],
])('a picture named %p is %p in a ZIP file', (filename, name) => {
  expect(zipName({ filename, format: 'webp' }, 7, 3)).toBe(name);
});

test('a ZIP file whose first picture cannot be read is an error, and takes no place', async () => {
  const read = async (): Promise<Blob> => {
    throw new AppError('unavailable', inEnglish('The files are not there.'));
  };
  const service = { find: async () => image(), read, accessed() {} };
  const visitor = { peer: '192.0.2.1', payer: '192.0.2.1', head: false, isHidden: () => false };
  const download = createDownloads({ service });
  for (let attempt = 1; attempt <= 3; attempt++)
    await expect(download({ title: '' }, [image()], visitor)).rejects.toThrow('The files are not there.');
});

test('a reader who takes an hour keeps no records in memory', async () => {
  const pictures = Array.from({ length: 100 }, () => image());
  const records = pictures.map((picture) => new WeakRef(picture));
  const service = { find: async () => image(), read: async () => new Blob(), accessed() {} };
  const visitor = { peer: '192.0.2.1', payer: '192.0.2.1', head: false, isHidden: () => false };
  const { body } = await createDownloads({ service })({ title: '' }, pictures.splice(0), visitor);
  await Bun.sleep(1);
  Bun.gc(true);
  expect(records.filter((record) => record.deref()).length).toBeLessThan(10);
  await body?.cancel();
});
