import { readFile } from 'node:fs/promises';
import { deflateSync } from 'node:zlib';
import { createRandom } from '../random.ts';
import { apng, chunk } from './apng-files.ts';
import { bitmap, icon } from './bitmap-files.ts';
import { animation, privatePhoto, transparent } from './images.ts';

export interface HostileFile {
  name: string;
  bytes: Buffer;
}

/** A black one-bit PNG: a few kilobytes that decode to `width` x `height`; well-formed if `rows` is the height. */
export function pngBomb(width: number, height: number, rows = height, extra: Buffer[] = []): Buffer {
  const header = Buffer.alloc(13);
  header.writeUInt32BE(width, 0);
  header.writeUInt32BE(height, 4);
  header.set([1, 0, 0, 0, 0], 8);
  const pixels = deflateSync(Buffer.alloc(rows * (Math.ceil(width / 8) + 1)));
  return Buffer.concat([
    Buffer.from('\x89PNG\r\n\x1a\n', 'latin1'),
    chunk('IHDR', header),
    ...extra,
    chunk('IDAT', pixels),
    chunk('IEND'),
  ]);
}

/** A GIF of many frames of one pixel on a canvas of the given size. */
export function gifOfFrames(frames: number, width = 1, height = 1): Buffer {
  const screen = Buffer.from('GIF89a\0\0\0\0\x80\0\0\0\0\0\xff\xff\xff', 'latin1');
  screen.writeUInt16LE(width, 6);
  screen.writeUInt16LE(height, 8);
  const frame = Buffer.from('\x21\xf9\x04\0\x0a\0\0\0\x2c\0\0\0\0\x01\0\x01\0\0\x02\x02\x44\x01\0', 'latin1');
  return Buffer.concat([screen, ...Array.from({ length: frames }, () => frame), Buffer.from(';')]);
}

/** A tiny SVG that costs libvips a minute and gigabytes. */
export const SVG_BOMB = Buffer.from(
  '<svg xmlns="http://www.w3.org/2000/svg" width="16000" height="16000"><filter id="f"><feGaussianBlur stdDeviation="500"/></filter><rect width="100%" height="100%" filter="url(#f)"/></svg>',
);

/**
 * Files of every kind that decoders have been attacked with, about `count` of them. The same seed gives the same
 * files.
 */
export async function hostileCorpus(count: number, seed = 20_260_101): Promise<HostileFile[]> {
  const random = createRandom(seed);
  const good = await goodFiles();
  const files = [...lies(good), ...bombs(), ...polyglots(good), ...strangers()];
  for (let index = 0; files.length < count; index++) {
    const { name, bytes } = good[index % good.length] ?? { name: 'none', bytes: Buffer.alloc(0) };
    if (random() < 0.45) {
      const length = Math.floor(random() * bytes.length);
      files.push({ name: `${name} cut at ${length}`, bytes: bytes.subarray(0, length) });
    } else {
      const copy = Buffer.from(bytes);
      const flips = 1 + Math.floor(random() * 12);
      // Half of the damage goes into the headers, where lengths and offsets are.
      for (let flip = 0; flip < flips; flip++) {
        const reach = random() < 0.5 ? Math.min(200, copy.length) : copy.length;
        const at = Math.floor(random() * reach);
        copy[at] = (copy[at] ?? 0) ^ (1 << Math.floor(random() * 8));
      }
      files.push({ name: `${name} with ${flips} flipped bits, ${index}`, bytes: copy });
    }
  }
  return files;
}

async function goodFiles(): Promise<HostileFile[]> {
  const size = [160, 120] as const;
  return [
    { name: 'jpeg', bytes: await privatePhoto('jpeg', 6, size) },
    { name: 'png', bytes: await privatePhoto('png', 1, size) },
    { name: 'webp', bytes: await privatePhoto('webp', 1, size) },
    { name: 'avif', bytes: await privatePhoto('avif', 1, size) },
    { name: 'tiff', bytes: await privatePhoto('tiff', 1, size) },
    { name: 'gif', bytes: await animation('gif') },
    { name: 'animated webp', bytes: await animation('webp') },
    { name: 'alpha png', bytes: await transparent('png') },
    { name: 'bmp', bytes: bitmap({ depth: 8, packed: true }) },
    { name: 'icon', bytes: icon() },
    {
      name: 'animated png',
      bytes: await apng([{ colour: [9, 9, 9, 255] }, { colour: [8, 8, 8, 99], over: true }]),
    },
    { name: 'jpeg xl', bytes: await readFile(new URL('../../fixtures/moving.jxl', import.meta.url)) },
    { name: 'animated avif', bytes: await readFile(new URL('../../fixtures/moving.avif', import.meta.url)) },
    { name: 'heic', bytes: await readFile(new URL('../../fixtures/turned.heic', import.meta.url)) },
  ];
}

/** Headers that promise other dimensions than the data holds. */
function lies(good: HostileFile[]): HostileFile[] {
  const find = (name: string) => Buffer.from(good.find((file) => file.name === name)?.bytes ?? []);
  const sides = [0, 1, 9_000, 29_999, 65_535];
  return sides.flatMap((side) => {
    const jpeg = find('jpeg');
    const frame = jpeg.indexOf(Buffer.from([0xff, 0xc0]));
    jpeg.writeUInt16BE(side, frame + 5);
    jpeg.writeUInt16BE(side, frame + 7);
    const gif = find('gif');
    gif.writeUInt16LE(side, 6);
    gif.writeUInt16LE(side, 8);
    const webp = find('animated webp');
    webp.writeUIntLE(side, 24, 3);
    webp.writeUIntLE(side, 27, 3);
    const avif = find('avif');
    avif.writeUInt32BE(side, avif.indexOf('ispe') + 8);
    avif.writeUInt32BE(side, avif.indexOf('ispe') + 12);
    return [
      { name: `jpeg that claims ${side}`, bytes: jpeg },
      { name: `gif that claims ${side}`, bytes: gif },
      { name: `webp that claims ${side}`, bytes: webp },
      { name: `avif that claims ${side}`, bytes: avif },
      { name: `png that claims ${side}`, bytes: pngBomb(side, side, 3) },
    ];
  });
}

function bombs(): HostileFile[] {
  const zeros = deflateSync(Buffer.alloc(64 * 1024 * 1024));
  const text = chunk('zTXt', Buffer.concat([Buffer.from('Comment\0\0', 'latin1'), zeros]));
  const profile = chunk('iCCP', Buffer.concat([Buffer.from('sRGB\0\0', 'latin1'), zeros]));
  return [
    { name: 'png of 17,000 x 17,000', bytes: pngBomb(17_000, 17_000) },
    { name: 'png of 9,000 x 9,000', bytes: pngBomb(9_000, 9_000) },
    { name: 'png of 1 x 30,000', bytes: pngBomb(1, 30_000) },
    { name: 'png of 4,294,967,295 x 1', bytes: pngBomb(0xffff_ffff, 1, 0) },
    { name: 'png with a text bomb', bytes: pngBomb(8, 8, 8, [text]) },
    { name: 'png with a profile bomb', bytes: pngBomb(8, 8, 8, [profile]) },
    { name: 'gif of 10,000 frames', bytes: gifOfFrames(10_000) },
    { name: 'gif of 400 frames of 20,000 x 20,000', bytes: gifOfFrames(400, 20_000, 20_000) },
    { name: 'gif of 450 frames of 450 x 450', bytes: gifOfFrames(450, 450, 450) },
    { name: 'svg bomb', bytes: SVG_BOMB },
  ];
}

/** Pictures that are something else as well. */
function polyglots(good: HostileFile[]): HostileFile[] {
  const tails = {
    zip: Buffer.concat([Buffer.from('PK\x03\x04', 'latin1'), Buffer.alloc(200, 7)]),
    script: Buffer.from('<script>alert(1)</script><?php system($_GET[0]); ?>'),
    picture: SVG_BOMB,
  };
  return good.flatMap(({ name, bytes }) =>
    Object.entries(tails).map(([what, tail]) => ({
      name: `${name} with a ${what} behind it`,
      bytes: Buffer.concat([bytes, tail]),
    })),
  );
}

/** What is not a picture, or not one that is accepted. */
function strangers(): HostileFile[] {
  const texts: Record<string, string> = {
    'one byte': 'G',
    'jpeg magic': '\xff\xd8\xff',
    'gif magic': 'GIF89a',
    'gif that is a script': 'GIF89a=1;alert(document.domain)//',
    'png magic': '\x89PNG\r\n\x1a\n',
    'webp magic': 'RIFF\x10\0\0\0WEBPVP8 ',
    'avif magic': '\0\0\0\x1cftypavif\0\0\0\0avifmif1miaf',
    'heic magic': '\0\0\0\x18ftypheic\0\0\0\0mif1heic',
    'tiff whose directory points to itself':
      'II*\0\x08\0\0\0\x01\0\x00\x01\x04\0\x01\0\0\0\x01\0\0\0\x08\0\0\0',
    html: '<!doctype html><img src=x onerror=alert(1)>',
    pdf: '%PDF-1.7\n1 0 obj<<>>endobj',
    postscript: '%!PS-Adobe-3.0 EPSF-3.0\n(/etc/passwd)(r) file',
    ppm: 'P6 60000 60000 255\n',
    bmp: 'BM\x46\0\0\0\0\0\0\0\x36\0\0\0\x28\0\0\0',
    'video in mp4': '\0\0\0\x18ftypmp42\0\0\0\0isommp42',
    'image magick script': 'push graphic-context\nfill url(https://127.0.0.1/x.jpg"|id")',
  };
  return Object.entries(texts).map(([name, text]) => ({ name, bytes: Buffer.from(text, 'latin1') }));
}
