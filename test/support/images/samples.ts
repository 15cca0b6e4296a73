import { randomBytes } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { deflateSync } from 'node:zlib';
import sharp from 'sharp';
import { apng, chunk } from './apng-files.ts';
import { type BitmapForm, bitmap, directory, icon } from './bitmap-files.ts';
import { adobeProfile, type Colour, stripes, withChunk, withCicp, withNclx } from './colours.ts';
import { animation, privatePhoto, QUARTERS, quarters, SECRET, unusual } from './images.ts';
import { gainMapJpeg, motionPhoto, multiPicture } from './jpeg-files.ts';
import { planarTiff } from './tiff-files.ts';

/** A file in some format, and what must become of it. All are made here or by the encoders that the fixtures name. */
export interface Sample {
  name: string;
  make(): Promise<Buffer> | Buffer;
  ask?: { format?: string; stripExif?: boolean };
  /** The code of the refusal. */
  refused?: string;
  /** Else what comes out, `png` unless asked for otherwise. */
  size?: [width: number, height: number];
  frames?: number;
  delay?: number[];
  loop?: number;
  /** Of the first frame: its quarters, or stripes beside each other, and how far off they may be (CIE 1976). */
  quarters?: readonly Colour[];
  stripes?: readonly Colour[];
  tolerance?: number;
  warnings?: string[];
  /** Text that must be in the result, or must not. */
  has?: string;
  hasNot?: string;
}

const fixture = (name: string) => () => readFile(new URL(`../../fixtures/${name}`, import.meta.url));
const PLAIN = { size: [96, 64], quarters: QUARTERS } satisfies Partial<Sample>;
const MOVING = { size: [48, 32], frames: 3, delay: [100, 200, 300], loop: 2 } satisfies Partial<Sample>;

const stills: Sample[] = [
  ...Object.entries(unusual).map(
    ([name, make]): Sample => ({
      name,
      make,
      size: [96, 64],
      // No press can print them.
      ...(name !== 'CMYK JPEG' && { quarters: QUARTERS }),
      tolerance: 4,
    }),
  ),
  ...(['webp', 'avif', 'gif', 'tiff'] as const).map(
    (format): Sample => ({
      name: `${format} of sharp`,
      make: () => quarters().toFormat(format, { quality: 95 }).toBuffer(),
      ...PLAIN,
      tolerance: 5,
    }),
  ),
  {
    name: 'TIFF with tiles of one sample each',
    make: async () =>
      planarTiff(await quarters().png().toBuffer(), { compression: 'lzw', predictor: 'none' }),
    ...PLAIN,
  },
  { name: 'JPEG XL', make: fixture('quarters.jxl'), ...PLAIN, size: [96, 64] },
  {
    name: 'HEIC in Display P3',
    make: fixture('display-p3.heic'),
    size: [64, 48],
    quarters: [
      [255, 0, 0],
      [0, 255, 0],
      [0, 0, 255],
      [255, 255, 255],
    ],
    tolerance: 8,
  },
  {
    name: 'HEIC that is turned',
    make: fixture('turned.heic'),
    size: [48, 64],
    quarters: [
      [0, 0, 255],
      [255, 0, 0],
      [255, 255, 255],
      [0, 255, 0],
    ],
    tolerance: 12,
    hasNot: 'Phone',
  },
];

const bitmaps: Sample[] = [
  ...(
    [
      { depth: 24 },
      { depth: 24, topDown: true },
      { depth: 24, core: true },
      { depth: 32 },
      { depth: 8 },
      { depth: 8, core: true },
      { depth: 8, packed: true },
      { depth: 4 },
      { depth: 4, packed: true },
    ] as BitmapForm[]
  ).map(
    (form): Sample => ({
      name: `BMP ${JSON.stringify(form)}`,
      make: () => bitmap(form),
      size: [10, 6],
      quarters: QUARTERS,
    }),
  ),
  {
    name: 'BMP of 16 bits',
    make: () => bitmap({ depth: 16 }),
    size: [10, 6],
    quarters: QUARTERS,
    tolerance: 5,
  },
  { name: 'icon', make: () => icon(), size: [10, 6], quarters: QUARTERS },
  { name: 'icon with a palette', make: () => icon({ depth: 4 }), size: [10, 6], quarters: QUARTERS },
  {
    name: 'icon with a PNG',
    make: async () => directory([{ data: await quarters().png().toBuffer(), width: 96, height: 64 }]),
    ...PLAIN,
  },
];

const privateData: Sample[] = [
  ...[1, 2, 3, 4, 5, 6, 7, 8].map(
    (orientation): Sample => ({
      name: `JPEG of orientation ${orientation}`,
      make: () => privatePhoto('jpeg', orientation),
      ...PLAIN,
      tolerance: 8,
      hasNot: SECRET,
    }),
  ),
  ...(['png', 'webp', 'avif', 'tiff'] as const).map(
    (format): Sample => ({
      name: `${format} with metadata`,
      make: () => privatePhoto(format, 6),
      ask: { format: 'auto' },
      ...PLAIN,
      tolerance: 8,
      hasNot: SECRET,
    }),
  ),
  {
    name: 'JPEG that keeps EXIF and XMP',
    make: () => privatePhoto('jpeg'),
    ask: { format: 'webp', stripExif: false },
    has: SECRET,
  },
];

const movingPng = () =>
  apng([
    { colour: [220, 30, 30, 255], delay: 100 },
    { colour: [30, 200, 30, 255], delay: 200, area: [0, 0, 20, 20] },
    { colour: [30, 30, 220, 255], delay: 300 },
  ]);

const animations: Sample[] = [
  ...(['gif', 'webp'] as const).flatMap((input) =>
    (['gif', 'webp', 'png', 'auto'] as const).map(
      (format): Sample => ({
        name: `${input} as ${format}`,
        make: () => animation(input),
        ask: { format },
        ...MOVING,
      }),
    ),
  ),
  ...(['gif', 'webp', 'png', 'auto'] as const).map(
    (format): Sample => ({
      name: `animated PNG as ${format}`,
      make: movingPng,
      ask: { format },
      ...MOVING,
      size: [40, 20],
    }),
  ),
  ...(['JPEG XL', 'AVIF'] as const).flatMap((input) =>
    (['webp', 'png', 'auto'] as const).map(
      (format): Sample => ({
        name: `animated ${input} as ${format}`,
        make: fixture(input === 'AVIF' ? 'moving.avif' : 'moving.jxl'),
        ask: { format },
        size: [48, 32],
        frames: 3,
      }),
    ),
  ),
  ...(['jpeg', 'avif'] as const).flatMap((format) =>
    (
      [
        ['GIF', () => animation('gif')],
        ['WebP', () => animation('webp')],
        ['animated PNG', movingPng],
        ['animated JPEG XL', fixture('moving.jxl')],
        ['animated AVIF', fixture('moving.avif')],
      ] as const
    ).map(
      ([name, make]): Sample => ({
        name: `${name} as ${format}`,
        make,
        ask: { format },
        frames: 1,
        // The colour of the first frame.
        quarters: new Array<Colour>(4).fill(QUARTERS[0]),
        tolerance: 8,
        warnings: ['frames_dropped'],
      }),
    ),
  ),
  {
    name: 'truncated GIF',
    make: async () => (await animation('gif', { frames: 5 })).subarray(0, -20),
    ask: { format: 'webp' },
    warnings: ['truncated'],
  },
  {
    name: 'truncated animated PNG',
    make: async () => (await movingPng()).subarray(0, -60),
    frames: 2,
    warnings: ['truncated'],
  },
];

/** Numbers without a profile, and the same as Display P3 in sRGB, by numpy in double precision. */
export const NUMBERS: Colour[] = [
  [200, 100, 50],
  [40, 180, 90],
  [30, 60, 200],
  [128, 128, 128],
];
export const P3: Colour[] = [
  [215, 93, 31],
  [0, 183, 78],
  [17, 61, 208],
  [128, 128, 128],
];
const REC2020: Colour[] = [
  [241, 76, 29],
  [0, 190, 74],
  [0, 60, 210],
  [128, 128, 128],
];
const ADOBE: Colour[] = [
  [227, 100, 42],
  [0, 181, 83],
  [0, 57, 205],
  [129, 129, 129],
];
const LINEAR: Colour[] = [
  [229, 168, 122],
  [110, 219, 160],
  [96, 133, 229],
  [188, 188, 188],
];
const png = () => stripes(NUMBERS);
const deep = async () =>
  sharp(await png())
    .toColourspace('rgb16')
    .png()
    .toBuffer();
/** Gamma in hundred thousandths. */
const linear = (file: Buffer) => withChunk(file, 'gAMA', Buffer.from([0, 1, 0x86, 0xa0]));
/** With a long profile behind a gamma that does not count. */
const asAdobe = (file: Buffer) => {
  const profile = adobeProfile({ long: randomBytes(2 ** 17) });
  return linear(withChunk(file, 'iCCP', Buffer.concat([Buffer.from('A\0\0'), deflateSync(profile)])));
};
/** As the first of two equal frames. */
const twice = (file: Buffer) => {
  const at = file.indexOf('IDAT') - 4;
  const end = at + 12 + file.readUInt32BE(at);
  const control = (number: number) =>
    chunk('fcTL', [0, 0, 0, number, ...file.subarray(16, 24)], Buffer.alloc(8), [0, 1, 0, 10, 0, 0]);
  const second = chunk('fdAT', [0, 0, 0, 2], file.subarray(at + 8, end - 4));
  const parts = [
    file.subarray(0, at),
    control(0),
    file.subarray(at, end),
    control(1),
    second,
    file.subarray(end),
  ];
  return withChunk(Buffer.concat(parts), 'acTL', Buffer.from([0, 0, 0, 2, 0, 0, 0, 0]));
};
const avif = async () =>
  sharp(await png())
    .avif({ lossless: true })
    .toBuffer();
const greys = (...values: number[]) => stripes(values.map((value): Colour => [value, value, value]));
/** Black, white of what is not HDR, and the brightest. */
const BRIGHT: Colour[] = [
  [0, 0, 0],
  [190, 190, 190],
  [255, 255, 255],
];

const colours: Sample[] = [
  { name: 'PNG by cICP, Display P3', make: async () => withCicp(await png(), 12, 13), stripes: P3 },
  { name: 'PNG by cICP, Rec. 2020', make: async () => withCicp(await png(), 9, 13), stripes: REC2020 },
  { name: 'PNG by cICP, sRGB', make: async () => withCicp(await png(), 1, 13), stripes: NUMBERS },
  { name: 'AVIF by nclx, Display P3', make: async () => withNclx(await avif(), 12, 13), stripes: P3 },
  { name: 'AVIF by nclx, Rec. 2020', make: async () => withNclx(await avif(), 9, 13), stripes: REC2020 },
  { name: 'AVIF by nclx, sRGB', make: async () => withNclx(await avif(), 1, 13), stripes: NUMBERS },
  { name: 'PNG by its profile, Adobe RGB', make: async () => asAdobe(await png()), stripes: ADOBE },
  { name: 'PNG of 16 bits by its profile', make: async () => asAdobe(await deep()), stripes: ADOBE },
  {
    name: 'GIF of such a PNG, with its metadata',
    make: async () => asAdobe(await deep()),
    ask: { format: 'gif', stripExif: false },
    stripes: ADOBE,
  },
  {
    name: 'animated PNG of 16 bits by its profile',
    make: async () => twice(asAdobe(await deep())),
    stripes: ADOBE,
    frames: 2,
  },
  { name: 'PNG by its gamma, linear', make: async () => linear(await png()), stripes: LINEAR },
  {
    name: 'PNG in sRGB, whatever its gamma',
    make: async () => withChunk(linear(await png()), 'sRGB', Buffer.alloc(1)),
    stripes: NUMBERS,
  },
  {
    name: 'PNG in PQ',
    make: async () => withCicp(await greys(0, 148, 192), 9, 16),
    stripes: BRIGHT,
    tolerance: 3,
  },
  {
    name: 'PNG in HLG',
    make: async () => withCicp(await greys(0, 191, 255), 9, 18),
    stripes: BRIGHT,
    tolerance: 3,
  },
];

const several: Sample[] = [
  { name: 'MPO', make: multiPicture, ...PLAIN, tolerance: 4, warnings: ['frames_dropped'] },
  {
    name: 'motion photo',
    make: motionPhoto,
    ...PLAIN,
    tolerance: 4,
    warnings: ['frames_dropped'],
    hasNot: 'ftyp',
  },
  {
    name: 'motion photo in HEIF',
    make: () =>
      quarters().withXmp('<x:xmpmeta xmlns:x="adobe:ns:meta/" GCamera:MotionPhoto="1"/>').avif().toBuffer(),
    ask: { format: 'webp', stripExif: false },
    ...PLAIN,
    tolerance: 9,
    warnings: ['frames_dropped', 'metadata_dropped'],
    hasNot: 'MotionPhoto',
  },
  {
    name: 'gain map that is kept',
    make: gainMapJpeg,
    ask: { format: 'jpeg', stripExif: false },
    size: [320, 240],
    has: 'urn:iso:std:iso:ts:21496',
  },
  {
    name: 'gain map that is dropped',
    make: gainMapJpeg,
    size: [320, 240],
    warnings: ['gain_map_dropped', 'larger'],
    hasNot: 'urn:iso:std:iso:ts:21496',
  },
];

const cut = (make: Sample['make'], bytes: number) => async () => (await make()).subarray(0, -bytes);
const refusals: Sample[] = [
  ...(
    [
      ['JPEG', () => quarters().jpeg().toBuffer(), 200],
      ['PNG', () => quarters().png().toBuffer(), 60],
      ['WebP', () => quarters().webp().toBuffer(), 20],
      ['animated WebP', () => animation('webp'), 20],
      ['AVIF', () => quarters().avif().toBuffer(), 60],
      ['HEIC', fixture('display-p3.heic'), 200],
      ['JPEG XL', fixture('quarters.jxl'), 10],
      ['BMP', () => bitmap({ depth: 24 }), 20],
      ['icon', () => icon(), 230],
    ] as const
  ).map(
    ([name, make, bytes]): Sample => ({
      name: `truncated ${name}`,
      make: cut(make, bytes),
      refused: 'undecodable_image',
    }),
  ),
  {
    name: 'SVG',
    make: () => Buffer.from('<svg xmlns="http://www.w3.org/2000/svg"/>'),
    refused: 'not_an_image',
  },
  { name: 'JPEG 2000', make: () => Buffer.from('\xff\x4f\xff\x51\0\0', 'latin1'), refused: 'not_an_image' },
  { name: 'text', make: () => Buffer.from('hello'), refused: 'not_an_image' },
];

/** Every form that is documented in docs/formats.md. */
export const SAMPLES: readonly Sample[] = [
  ...stills,
  ...bitmaps,
  ...privateData,
  ...animations,
  ...colours,
  ...several,
  ...refusals,
];
