import { expect, test } from 'bun:test';
import type { Format } from '../../src/codec/format.ts';
import { AppError } from '../../src/errors.ts';
import { startCodec } from '../support/codec/codec.ts';
import { judgeSample, type Outcome } from '../support/images/judge-sample.ts';
import { SAMPLES, type Sample } from '../support/images/samples.ts';
import { shared } from '../support/shared.ts';

const bench = shared(() => startCodec({ sandbox: 'require' }));

async function convert({ make, ask }: Sample): Promise<Outcome> {
  const { format = 'png', stripExif = true } = ask ?? {};
  try {
    const made = await bench.convert(await make(), { format: format as Format | 'auto', stripExif });
    return { ...made, warnings: made.warnings.map(({ code }) => code) };
  } catch (error) {
    if (error instanceof AppError) return { refused: error.code };
    throw error;
  }
}

// On Deno and in the binary, too: `bun scripts/formats.ts`.
test('every sample of the documented formats converts as documented', async () => {
  const faults: Record<string, string[]> = {};
  for (const sample of SAMPLES) {
    const found = await judgeSample(sample, await convert(sample));
    if (found.length > 0) faults[sample.name] = found;
  }
  expect(faults).toEqual({});
  expect(SAMPLES.length).toBeGreaterThanOrEqual(60);
});
