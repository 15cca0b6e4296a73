/**
 * Smaller versions in all widths, of screenshots and photos: whether one has more bytes than its image, and how far it is from
 * a bare sharp resize (SSIM of the luma). `bun bench/versions.ts [COUNT of each]`
 */
import sharp, { type Sharp } from 'sharp';
import { startCodec } from '../test/support/codec/codec.ts';
import { pathOf, startImageHost } from '../test/support/images/image-host.ts';
import { photo, screenshot } from '../test/support/images/images.ts';

const count = Number(process.argv[2] ?? 200);
const WIDTHS = [1920, 1280, 960, 640, 320, 160];
/** Constants of the index, for values from 0 to 255 (Wang and others, 2004). */
const [C1, C2] = [(0.01 * 255) ** 2, (0.03 * 255) ** 2];
const WINDOW = 8;

/** Mean of the index over windows of 8 x 8. */
function ssim(a: Buffer, b: Buffer, width: number, height: number): number {
  let total = 0;
  let windows = 0;
  for (let top = 0; top + WINDOW <= height; top += 4) {
    for (let left = 0; left + WINDOW <= width; left += 4) {
      let [sumA, sumB, squareA, squareB, product] = [0, 0, 0, 0, 0];
      for (let y = top; y < top + WINDOW; y++) {
        for (let x = left; x < left + WINDOW; x++) {
          const [p, q] = [a[y * width + x] ?? 0, b[y * width + x] ?? 0];
          sumA += p;
          sumB += q;
          squareA += p * p;
          squareB += q * q;
          product += p * q;
        }
      }
      const n = WINDOW ** 2;
      const [meanA, meanB] = [sumA / n, sumB / n];
      const [varA, varB] = [squareA / n - meanA ** 2, squareB / n - meanB ** 2];
      const covariance = product / n - meanA * meanB;
      total +=
        ((2 * meanA * meanB + C1) * (2 * covariance + C2)) /
        ((meanA ** 2 + meanB ** 2 + C1) * (varA + varB + C2));
      windows++;
    }
  }
  return windows === 0 ? 1 : total / windows;
}

const luma = (picture: Sharp) =>
  picture.flatten({ background: '#fff' }).greyscale().raw().toBuffer({ resolveWithObject: true });

const bench = await startCodec();
const host = await startImageHost({
  codec: bench.codec,
  change: (parts) => ({ limits: { ...parts.limits, maxUploadBytes: 1e8 } }),
});
for (const [kind, make] of [
  ['screenshots', (seed: number) => screenshot(1440 + (seed % 5) * 160, 900, seed)],
  ['photos', (seed: number) => photo(2400, 1600 + (seed % 3) * 100, seed)],
] as const) {
  let [larger, asStored] = [0, 0];
  const found: { width: number; pixels: number; encoded: number; bare: number }[] = [];
  for (let seed = 1; seed <= count; seed++) {
    const image = await host.upload(new Uint8Array(await make(seed)));
    const original = Buffer.from(await (await host.send(pathOf(image.raw_url))).arrayBuffer());
    for (const width of WIDTHS.filter((one) => one < image.width)) {
      const version = Buffer.from(
        await (await host.send(`${pathOf(image.raw_url)}?w=${width}`)).arrayBuffer(),
      );
      if (version.length > image.size) larger++;
      if (version.length === image.size) {
        asStored++;
        continue;
      }
      const resized = sharp(original).resize(width);
      const exact = await luma(resized.clone());
      const bare = await luma(sharp(await resized.clone().webp({ quality: 80, effort: 2 }).toBuffer()));
      const ours = await luma(sharp(version));
      const { width: w, height: h } = exact.info;
      const to = (other: Buffer) => ssim(other, ours.data, w, h);
      found.push({
        width,
        pixels: to(exact.data),
        encoded: to(bare.data),
        bare: ssim(exact.data, bare.data, w, h),
      });
    }
  }
  const least = (key: 'pixels' | 'encoded' | 'bare', of = found) =>
    Math.min(1, ...of.map((one) => one[key])).toFixed(3);
  console.log(
    `${kind}: ${found.length} versions, ${larger} larger than their image, ${asStored} times the image itself`,
  );
  for (const width of WIDTHS) {
    const of = found.filter((one) => one.width === width);
    if (of.length === 0) continue;
    console.log(
      `  ${width}: least SSIM to a bare resize as WebP 80 ${least('encoded', of)}; to its pixels before encoding ` +
        `${least('pixels', of)}, where the bare one has ${least('bare', of)}`,
    );
  }
}
await host.stop();
await bench.stop();
