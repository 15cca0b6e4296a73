import { describe, expect, test } from 'bun:test';
import sharp, { type Sharp } from 'sharp';
import { privatePartsOf } from '../../src/codec/convert/warnings.ts';
import { takenWith } from '../../src/codec/decoders/exif.ts';
import { CAMERA_EXIF, quarters } from '../support/images/images.ts';
import { createRandom } from '../support/random.ts';

type Exif = NonNullable<Parameters<Sharp['withExif']>[0]>;

async function exifOf(exif: Exif): Promise<Buffer> {
  const file = await quarters().withExif(exif).jpeg().toBuffer();
  return (await sharp(file).metadata()).exif ?? Buffer.alloc(0);
}

const TAKEN = {
  camera: 'Canon EOS R5',
  lens: 'RF 50mm F1.2 <L>',
  exposure: 0.004,
  aperture: 2.8,
  iso: 400,
  focalLength: 50,
  taken: '2024-05-01T12:30:00',
} as const;

describe('of how a picture was taken', () => {
  test('EXIF shows camera, lens, settings and time', async () => {
    expect(takenWith(await exifOf(CAMERA_EXIF))).toEqual(TAKEN);
  });

  test.each([
    [{ Make: 'NIKON CORPORATION', Model: 'NIKON D850' }, 'NIKON D850'],
    [{ Make: 'Apple', Model: 'iPhone 15' }, 'Apple iPhone 15'],
    [{ Model: 'X100' }, 'X100'],
    [{ Make: 'Leica' }, 'Leica'],
    [{ Model: 'X'.repeat(200) }, 'X'.repeat(80)],
  ])('%p is the camera %p', async (IFD0, camera) => {
    expect(takenWith(await exifOf({ IFD0 }))).toEqual({ camera });
  });

  test('invisible characters and those that change the text direction are removed', async () => {
    const exif = await exifOf({ IFD0: { Model: 'X---Y-Z' } });
    exif.write('\u202e', exif.indexOf('---'));
    exif.write('\u0007', exif.indexOf('Y-') + 1);
    expect(takenWith(exif)).toEqual({ camera: 'XYZ' });
  });

  test('empty or meaningless fields are left out', async () => {
    const empty = {
      IFD0: { Copyright: 'me', Model: '   ' },
      IFD2: { DateTimeOriginal: '0000:00:00 00:00:00', FNumber: '0/1', ExposureTime: '1/0', LensModel: ' ' },
    };
    expect(takenWith(await exifOf(empty))).toBeNull();
  });

  test('broken data are ignored, wherever they break', async () => {
    const whole = await exifOf(CAMERA_EXIF);
    for (let length = 0; length < whole.length; length++) {
      expect(() => takenWith(whole.subarray(0, length))).not.toThrow();
    }
    const random = createRandom(7);
    for (let round = 0; round < 2000; round++) {
      const damaged = Buffer.from(whole);
      for (let byte = 0; byte < 4; byte++) damaged[Math.floor(random() * damaged.length)] = random() * 256;
      const taken = takenWith(damaged);
      expect(JSON.stringify(taken).length).toBeLessThan(700);
      expect(privatePartsOf({ exif: damaged })).toContain('metadata');
    }
  });
});
