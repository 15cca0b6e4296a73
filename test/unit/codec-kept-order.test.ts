import { expect, test } from 'bun:test';
import { deflateSync, inflateSync } from 'node:zlib';
import sharp from 'sharp';
import { bareFile } from '../../src/codec/convert/kept.ts';
import { chunksOf, writeChunk } from '../../src/codec/decoders/png-chunks.ts';
import { startCodec } from '../support/codec/codec.ts';
import { photo } from '../support/images/images.ts';
import { needlessBytes } from '../support/images/needless-bytes.ts';
import { shared } from '../support/shared.ts';

const bench = shared(() => startCodec());

const smallPhoto = async () => sharp(await photo(320, 240));
const smallPng = async () =>
  (await smallPhoto()).png({ compressionLevel: 9, adaptiveFiltering: true }).toBuffer();
const smallJpeg = async () => (await smallPhoto()).jpeg({ quality: 30, mozjpeg: true }).toBuffer();

test('a JPEG is kept with the distance of its restarts, but without one if it has none', async () => {
  const every = (blocks: number) => Buffer.from([0xff, 0xdd, 0, 4, blocks >> 8, blocks & 0xff]);
  const file = await smallJpeg();
  const from = file.indexOf(Buffer.from([0xff, 0xda]));
  const without = Buffer.concat([file.subarray(0, from), every(0x4142), file.subarray(from)]);
  expect(needlessBytes(without, 'jpeg')).toBe(6);
  expect(bareFile(without, 'jpeg', false)?.file).toEqual(bareFile(file, 'jpeg', false)?.file as Buffer);
  const grey = await sharp({ create: { width: 16, height: 8, channels: 3, background: '#808080' } })
    .toColourspace('b-w')
    .jpeg({ optimiseCoding: false })
    .toBuffer();
  const scan = grey.indexOf(Buffer.from([0xff, 0xda]));
  // Two blocks without a difference: 00 and 1010 in the usual codes, filled up with 1.
  const codes = Buffer.from([0b00101011, 0xff, 0xd0, 0b00101011, 0xff, 0xd9]);
  const head = grey.subarray(scan, scan + 2 + grey.readUInt16BE(scan + 2));
  const restarted = Buffer.concat([grey.subarray(0, scan), every(1), head, codes]);
  const [before, after] = await Promise.all(
    [grey, restarted].map((one) => sharp(one, { failOn: 'warning' }).raw().toBuffer()),
  );
  expect(after?.equals(before as Buffer)).toBe(true);
  expect(bareFile(restarted, 'jpeg', false)?.file.includes(every(1))).toBe(true);
});

test('a picture is not kept with EXIF or colours that no viewer read where they stood', async () => {
  const turned = await (await smallPhoto()).withMetadata({ orientation: 6 }).jpeg().toBuffer();
  const exif = (await sharp(turned).metadata()).exif as Buffer;
  const inserted = (file: Buffer, at: number, ...parts: Buffer[]) =>
    Buffer.concat([file.subarray(0, at), ...parts, file.subarray(at)]);
  const [jpeg, png, webp] = await Promise.all([smallJpeg(), smallPng(), smallPhoto()]);
  const head = Buffer.from([0xff, 0xe1, (exif.length + 2) >> 8, (exif.length + 2) & 0xff]);
  const inWebp = await webp.withMetadata({ orientation: 6 }).webp({ quality: 30, effort: 6 }).toBuffer();
  // The flag for EXIF.
  inWebp[20] = inWebp.readUInt8(20) & ~0x08;
  const keeps = async (file: Buffer) => {
    const { bytes, original } = await bench.convert(file, { format: 'auto', stripExif: false });
    return [original.kept, (await sharp(bytes).metadata()).orientation ?? 1];
  };
  expect([await keeps(jpeg), await keeps(png)]).toEqual([
    [true, 1],
    [true, 1],
  ]);
  const files = [
    // In front of the last scan of several.
    inserted(jpeg, jpeg.lastIndexOf(Buffer.from([0xff, 0xda])), head, exif),
    inserted(png, png.length - 12, ...writeChunk('eXIf', exif.subarray(6))),
    inserted(png, png.length - 12, ...writeChunk('gAMA', Buffer.from([0, 1, 0x86, 0xa0]))),
    inserted(
      png,
      33,
      ...writeChunk('PLTE', Buffer.alloc(3)),
      ...writeChunk('cICP', Buffer.from([9, 16, 0, 1])),
    ),
    inWebp,
  ];
  for (const file of files) expect(await keeps(file)).toEqual([false, 1]);
});

test('an interlaced PNG of any shape is kept, but not with a byte behind its rows', async () => {
  const picture = sharp(await smallPng());
  for (const [width, height] of ['1x9', '9x1', '2x2', '5x3', '13x17'].map((sides) =>
    sides.split('x').map(Number),
  )) {
    const sized = picture.clone().resize(width, height, { fit: 'fill' });
    const file = await sized.png({ progressive: true }).toBuffer();
    const parts = [...chunksOf(file)];
    const rows = inflateSync(
      Buffer.concat(parts.filter(({ type }) => type === 'IDAT').map(({ data }) => data)),
    );
    const longer = Buffer.concat([
      file.subarray(0, 33),
      ...writeChunk('IDAT', deflateSync(Buffer.concat([rows, Buffer.from('a')]))),
      ...writeChunk('IEND', Buffer.alloc(0)),
    ]);
    expect([bareFile(file, 'png', false) !== null, bareFile(longer, 'png', false)]).toEqual([true, null]);
  }
});

test('words about a gain map in EXIF do not hide that the gain map is lost', async () => {
  const xmp = `<x:xmpmeta xmlns:x="adobe:ns:meta/"><rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#"><rdf:Description rdf:about="" xmlns:h="urn:hdr" h:kind="hdrgainmap"/></rdf:RDF></x:xmpmeta>`;
  const file = await (await smallPhoto())
    .withExif({ IFD0: { ImageDescription: 'about hdrgainmap' } })
    .withXmp(xmp)
    .jpeg({ quality: 100 })
    .toBuffer();
  const { warnings } = await bench.convert(file, { format: 'jpeg', stripExif: false });
  expect(warnings.map(({ code }) => code)).toEqual(['gain_map_dropped', 'metadata_dropped']);
});
