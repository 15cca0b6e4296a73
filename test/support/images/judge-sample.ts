import sharp from 'sharp';
import { parseApng } from '../../../src/codec/decoders/apng.ts';
import { type Colour, deltaE, stripeColours } from './colours.ts';
import { quarterColours } from './images.ts';
import type { Sample } from './samples.ts';

/** What a server or a codec made of a sample. */
export type Outcome =
  | { refused: string }
  | { format: string; width: number; height: number; frames: number; warnings: string[]; bytes: Buffer };

/** Says what is wrong with the outcome; nothing where it is what must come out. */
export async function judgeSample(sample: Sample, outcome: Outcome): Promise<string[]> {
  if ('refused' in outcome || sample.refused !== undefined) {
    const code = 'refused' in outcome ? outcome.refused : 'accepted';
    return code === sample.refused ? [] : [`${code} instead of ${sample.refused ?? 'accepted'}`];
  }
  const { bytes, width, height, frames, warnings, format } = outcome;
  const faults: string[] = [];
  const expectSame = (what: string, found: unknown, expected: unknown) => {
    if (String(found) !== String(expected)) faults.push(`${what}: ${found} instead of ${expected}`);
  };
  if (sample.size) expectSame('size', [width, height], sample.size);
  if (sample.frames !== undefined) expectSame('frames', frames, sample.frames);
  expectSame('warnings', warnings, sample.warnings ?? []);
  if (sample.delay) {
    // sharp sees no animation in a PNG.
    const apng = format === 'png' ? parseApng(bytes) : null;
    const { delay, loop } = await sharp(bytes).metadata();
    expectSame('delays', apng?.frames.map((frame) => frame.delay) ?? delay, sample.delay);
    expectSame('loops', apng?.plays ?? loop, sample.loop);
  }
  if (sample.has !== undefined && !bytes.includes(sample.has)) faults.push(`${sample.has} is missing`);
  if (sample.hasNot !== undefined && bytes.includes(sample.hasNot)) faults.push(`${sample.hasNot} is in it`);
  if (sample.quarters) faults.push(...apart(await quarterColours(bytes), sample.quarters, sample.tolerance));
  if (sample.stripes) {
    faults.push(
      ...apart(await stripeColours(bytes, sample.stripes.length), sample.stripes, sample.tolerance),
    );
  }
  return faults;
}

function apart(found: readonly (readonly number[])[], expected: readonly Colour[], tolerance = 2): string[] {
  return expected.flatMap((colour, index) => {
    const [red = 0, green = 0, blue = 0] = found[index] ?? [];
    const difference = deltaE([red, green, blue], colour);
    return difference < tolerance
      ? []
      : [`colour ${index} is ${[red, green, blue]}, ${difference.toFixed(1)} from ${colour}`];
  });
}
