import { describe, expect, test } from 'bun:test';
import sharp from 'sharp';
import type { ConvertJob } from '../../src/codec/codec.ts';
import { tableBytes } from '../../src/codec/convert/frames.ts';
import { writeChunk } from '../../src/codec/decoders/png-chunks.ts';
import { startCodec } from '../support/codec/codec.ts';
import { withChunk } from '../support/images/colours.ts';
import { animation, photo, privatePhoto } from '../support/images/images.ts';
import { gainMapJpeg, motionPhoto, withCaption, withSegment } from '../support/images/jpeg-files.ts';
import { shared } from '../support/shared.ts';

const bench = shared(() => startCodec({ sandbox: 'require' }));

async function warningsOf(bytes: Buffer, job: Partial<ConvertJob> = {}): Promise<string[]> {
  return (await bench.convert(bytes, job)).warnings.map(({ code }) => code);
}

describe('no loss is silent', () => {
  test('Content Credentials are told where they are, in front of the picture or behind it', async () => {
    const uuid = Buffer.from('6332706100110010800000aa00389b71', 'hex');
    const box = Buffer.concat([
      Buffer.from('JP\0\x01\0\0\0\x01\0\0\0\x28jumb\0\0\0\x20jumd', 'latin1'),
      uuid,
      Buffer.from('\x03c2pa\0'),
    ]);
    const jpeg = await photo(300, 200);
    const segment = Buffer.concat([Buffer.from([0xff, 0xeb, 0, box.length + 2]), box]);
    const front = Buffer.concat([jpeg.subarray(0, 2), segment, jpeg.subarray(2)]);
    const webp = await sharp(jpeg).webp().toBuffer();
    const chunk = Buffer.concat([Buffer.from('C2PA\x34\0\0\0', 'latin1'), Buffer.alloc(52)]);
    box.copy(chunk, 8);
    const behind = Buffer.concat([webp, chunk]);
    behind.writeUInt32LE(behind.length - 8, 4);
    for (const file of [front, behind]) {
      expect(await warningsOf(file)).toContain('provenance_dropped');
      expect(await warningsOf(file, { stripExif: false })).toContain('provenance_dropped');
    }
    expect(await warningsOf(jpeg)).not.toContain('provenance_dropped');
  });

  test('a picture that was scaled says from which size to which', async () => {
    const tall = await sharp({ create: { width: 80, height: 700, channels: 3, background: '#246' } })
      .jpeg()
      .withMetadata({ orientation: 6 })
      .toBuffer();
    const { warnings } = await bench.convert(tall, { maxWidth: 350 });
    expect(warnings).toEqual([
      {
        code: 'resized',
        message:
          'The picture was scaled from 700 × 80 to 350 × 40 pixels; max_width and max_height set the limit.',
        from: { width: 700, height: 80 },
        to: { width: 350, height: 40 },
      },
    ]);
  });

  test('a PNG that was scaled down and has a palette, to be no larger, says so', async () => {
    const few = await sharp(await photo(480, 360))
      .png({ palette: true, colours: 16 })
      .toBuffer();
    const { bytes, warnings } = await bench.convert(few, { format: 'png', maxWidth: 400 });
    expect((await sharp(bytes).metadata()).isPalette).toBe(true);
    expect(warnings[0]?.message).toContain('to 400 × 300 pixels, and has 256 colours at most;');
  });

  test('a picture that takes more bytes than before says how many, unless it is tiny', async () => {
    const small = await sharp(await photo(900, 600))
      .avif({ quality: 20 })
      .toBuffer();
    const { warnings, size } = await bench.convert(small);
    expect(warnings).toEqual([
      {
        code: 'larger',
        message: `The picture takes ${size} bytes in WebP, and took ${small.length} before.`,
        from: { bytes: small.length },
        to: { bytes: size },
      },
    ]);
    expect(await warningsOf(await animation('gif'), { format: 'png' })).toEqual([]);
  });

  test('further pages of a TIFF are reported', async () => {
    const page = await sharp(await privatePhoto('png'))
      .removeAlpha()
      .toBuffer();
    const pages = await sharp([page, page], { join: { animated: true } })
      .tiff()
      .toBuffer();
    expect(await warningsOf(pages)).toEqual(['frames_dropped']);
  });

  test.each([
    ['within its last frame', 5],
    ['before its end mark', 1],
    ['in its middle', 100],
  ])('an animation that is truncated %s is kept with a warning', async (_, bytes) => {
    const whole = await animation('gif', { frames: 5 });
    expect(await warningsOf(whole)).toEqual([]);
    expect(await warningsOf(whole.subarray(0, -bytes))).toEqual(['truncated']);
  });

  test('metadata that should be kept but cannot be are reported', async () => {
    const photo = await privatePhoto('jpeg');
    const kept = await bench.convert(photo, { format: 'gif', stripExif: false });
    expect(kept.warnings).toEqual([
      { code: 'metadata_dropped', message: "The stored picture lacks the file's EXIF and XMP." },
    ]);
    expect(await warningsOf(photo, { format: 'gif' })).toEqual([]);
    const remarked = withSegment(photo, 0xfe, Buffer.from('by a friend'));
    expect(await warningsOf(remarked, { format: 'jpeg', stripExif: false })).toEqual(['metadata_dropped']);
    const gif = await sharp(photo).gif().toBuffer();
    expect((await bench.convert(gif)).removed).toEqual([]);
    const head = gif.subarray(0, 13 + tableBytes(gif.readUInt8(10)));
    const other = Buffer.concat([
      head,
      Buffer.from('\x21\xff\x0bXTOOL   1.0\x01x\0', 'latin1'),
      gif.subarray(head.length),
    ]);
    expect((await bench.convert(other)).removed).toEqual([]);
    const texts = ['\x21\xfe\x02me\0', '\x21\xff\x0bXMP DataXMP\x02me\0'].map((text) =>
      Buffer.concat([head, Buffer.from(text, 'latin1'), gif.subarray(head.length)]),
    );
    for (const told of [...texts, Buffer.concat([gif, Buffer.from('Somebody'.repeat(9))])]) {
      expect((await bench.convert(told, { format: 'gif' })).removed).toEqual(['metadata']);
      expect(await warningsOf(told, { format: 'gif', stripExif: false })).toContain('metadata_dropped');
    }
  });

  test('what a JPEG tells in segments of programs and behind its end is named as removed or lost', async () => {
    const plain = await sharp(await photo(64, 64))
      .jpeg()
      .toBuffer();
    const segment = (marker: number, text: string) => withSegment(plain, marker, Buffer.from(text, 'latin1'));
    const behind = (text: string) => Buffer.concat([plain, Buffer.from(text, 'latin1')]);
    const telling = [
      segment(0xe0, 'JFXX\0\x13\x01\x01abc'),
      segment(0xe3, 'Meta\0\0II*\0'),
      segment(0xe1, 'FLIR\0'),
      behind('MotionPhoto_Data'.repeat(4)),
      Buffer.concat([plain.subarray(0, -2), Buffer.from('Without an end mark.'.repeat(4))]),
    ];
    for (const file of telling) {
      expect((await bench.convert(file)).removed).toEqual(['metadata']);
      expect(await warningsOf(file, { format: 'jpeg', stripExif: false })).toEqual(['metadata_dropped']);
    }
    const padded = ['\0', '\xff', ' '].map((letter) => behind(letter.repeat(400)));
    for (const file of [segment(0xec, 'Ducky\0'), segment(0xe5, ''), behind('\r\n'), ...padded, plain])
      expect((await bench.convert(file)).removed).toEqual([]);
    const { warnings } = await bench.convert(await motionPhoto(), { format: 'jpeg', stripExif: false });
    expect(warnings[1]?.message).toBe("The stored picture lacks the file's XMP.");
  });

  test('what a PNG tells behind its pixels is named as removed or lost', async () => {
    const { exif } = await sharp(await privatePhoto('jpeg')).metadata();
    const png = await sharp(await photo(64, 64))
      .png()
      .toBuffer();
    const behind = (type: string, data: Buffer, file: Buffer = png) =>
      Buffer.concat([file.subarray(0, -12), ...writeChunk(type, data), file.subarray(-12)]);
    const place = exif?.subarray(6) ?? Buffer.alloc(0);
    const placed = behind('eXIf', place);
    const texts = behind('tEXt', Buffer.from('Author\0me'));
    expect((await bench.convert(placed)).removed).toEqual(['location', 'metadata']);
    expect((await bench.convert(texts)).removed).toEqual(['metadata']);
    const xmp = (text: string) => Buffer.from(`XML:com.adobe.xmp\0\0\0\0\0${text}`);
    const here = xmp('<x exif:GPSLatitude="1,2N"/>');
    for (const one of [behind('iTXt', here), withChunk(png, 'iTXt', here)])
      for (const file of [one, behind('iTXt', xmp('<x/>'), one)])
        expect((await bench.convert(file)).removed).toEqual(['location', 'metadata']);
    const own = withChunk(png, 'prVW', Buffer.from('a preview'));
    const trailing = Buffer.concat([png, Buffer.from('Somebody'.repeat(9))]);
    for (const file of [withChunk(png, 'tIME', Buffer.alloc(7, 1)), own, trailing])
      expect((await bench.convert(file)).removed).toEqual(['metadata']);
    for (const file of [withChunk(png, 'vpAg', Buffer.alloc(9)), Buffer.concat([png, Buffer.alloc(99)])])
      expect((await bench.convert(file)).removed).toEqual([]);
    // What is in front counts, which every reader takes.
    const other = Buffer.from('II*\0\x08\0\0\0\0\0\0\0\0\0', 'latin1');
    const twice = behind('eXIf', other, withChunk(png, 'eXIf', place));
    expect((await bench.convert(twice)).removed).toEqual(['location', 'metadata']);
    for (const file of [placed, texts]) {
      const { exif: taken, warnings } = await bench.convert(file, { format: 'jpeg', stripExif: false });
      expect([taken, warnings.map(({ code }) => code)]).toEqual([null, ['metadata_dropped']]);
    }
  });

  test.each(['jpeg', 'png', 'webp', 'avif'] as const)(
    'XMP that was to be kept is in %s, with the picture upright',
    async (format) => {
      const note = `<d tiff:Orientation="6">XMP-of-the-test</d><e tiff:Orientation='8'/>`;
      const photo = await sharp(await privatePhoto('jpeg', 6))
        .keepExif()
        .withXmp(note)
        .jpeg()
        .toBuffer();
      const { bytes, warnings } = await bench.convert(photo, { format, stripExif: false });
      expect(warnings).toEqual([]);
      const { xmpAsString, orientation } = await sharp(bytes).metadata();
      expect([xmpAsString, orientation ?? 1]).toEqual([note.replaceAll(/[68]/g, '1'), 1]);
      const stripped = await bench.convert(photo, { format });
      expect((await sharp(stripped.bytes).metadata()).xmp).toBeUndefined();
    },
  );

  test('IPTC is kept in JPEG, like EXIF and XMP, and its loss is reported for other formats', async () => {
    const photo = withCaption(await privatePhoto('jpeg', 6), 'Harbour in winter');
    const { bytes, warnings } = await bench.convert(photo, { format: 'jpeg', stripExif: false });
    expect(warnings).toEqual([]);
    const { exif, xmp, iptc, icc, orientation } = await sharp(bytes).metadata();
    expect(iptc?.toString('latin1')).toContain('Harbour in winter');
    expect([exif, xmp, icc].map((part) => part !== undefined)).toEqual([true, true, true]);
    expect(orientation ?? 1).toBe(1);
    const inWebp = await bench.convert(photo, { format: 'webp', stripExif: false });
    expect(inWebp.warnings).toEqual([
      { code: 'metadata_dropped', message: "The stored picture lacks the file's IPTC." },
    ]);
    expect(
      (await sharp((await bench.convert(photo, { format: 'jpeg' })).bytes).metadata()).iptc,
    ).toBeUndefined();
  });
});

describe('what a JPEG file contains besides its picture', () => {
  test('a gain map is kept with the metadata of a JPEG, at the size of the picture', async () => {
    const made = await bench.convert(await gainMapJpeg(), {
      format: 'jpeg',
      stripExif: false,
      maxWidth: 160,
    });
    expect([made.width, made.warnings.map(({ code }) => code)]).toEqual([160, ['resized']]);
    const map = (await sharp(made.bytes).metadata()).gainMap?.image;
    expect((await sharp(map).metadata()).width).toBeLessThanOrEqual(160);
  });

  test.each([
    ['another format', { format: 'webp', stripExif: false }],
    ['a picture without metadata', { format: 'jpeg', stripExif: true }],
  ] as const)('a gain map that %s has no room for is told', async (_, job) => {
    const { bytes, warnings } = await bench.convert(await gainMapJpeg(), job);
    expect(warnings.map(({ code }) => code)).toContain('gain_map_dropped');
    expect((await sharp(bytes).metadata()).gainMap).toBeUndefined();
  });
});
