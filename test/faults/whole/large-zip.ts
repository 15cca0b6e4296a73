/** What takes long and much disk, beside the gate: `bun test ./test/faults/whole/large-zip.ts`. */
import { expect, test } from 'bun:test';
import { open } from 'node:fs/promises';
import { join } from 'node:path';
import { type ZipEntry, zipOf } from '../../../src/lib/zip.ts';
import { withFolder } from '../../support/temporary.ts';

const PIECE = new Uint8Array(16 * 2 ** 20);
const GIB = 2 ** 30;
/** The last ones begin beyond 4 GiB. */
const FILES = 6;

async function* entries(): AsyncGenerator<ZipEntry, void> {
  for (let place = 1; place <= FILES; place++) {
    let left = GIB / PIECE.length;
    const body = new ReadableStream<Uint8Array>({
      pull: (controller) => (left-- > 0 ? controller.enqueue(PIECE) : controller.close()),
    });
    yield { name: `${place} 猫.png`, modified: 0, body };
  }
}

const CHECK = `
import sys, zipfile
archive = zipfile.ZipFile(sys.argv[1])
last = archive.infolist()[-1]
with archive.open(last) as file:
    while file.read(1 << 24): pass
print(len(archive.namelist()), last.header_offset, last.file_size)
`;

test('other programs read an archive of more than 4 GiB to its end', async () => {
  await withFolder(async (folder) => {
    const path = join(folder, 'large.zip');
    const file = await open(path, 'w');
    let at = 0;
    for await (const piece of zipOf(entries())) {
      // Zeros stay holes of the file.
      if (piece.length < PIECE.length) await file.write(piece, 0, piece.length, at);
      at += piece.length;
    }
    await file.close();
    const python = Bun.spawnSync(['python3', '-c', CHECK, path]);
    const [count, offset, size] = python.stdout.toString().trim().split(' ').map(Number);
    expect([python.stderr.toString(), count, size]).toEqual(['', FILES, GIB]);
    expect(offset).toBeGreaterThan(5 * GIB);
    const unzip = Bun.spawnSync(['unzip', '-tq', path, '1*', `${FILES}*`]);
    expect([unzip.exitCode, unzip.stderr.toString()]).toEqual([0, '']);
  });
}, 300_000);
