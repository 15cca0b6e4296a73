import { expect, test } from 'bun:test';
import { readableBytes } from '../../src/lib/format.ts';

test.each([
  [0, '0 B'],
  [999, '999 B'],
  [1000, '1 KB'],
  [1024, '1 KB'],
  [8192, '8.2 KB'],
  [9949, '9.9 KB'],
  [9950, '10 KB'],
  [500_000, '500 KB'],
  [999_499, '999 KB'],
  [999_500, '1 MB'],
  [3_400_000, '3.4 MB'],
  [32 * 2 ** 20, '32 MiB'],
  [1.5 * 2 ** 20, '1.5 MiB'],
  [32 * 2 ** 20 + 1, '34 MB'],
  [2 * 2 ** 30, '2 GiB'],
  [75_800_000_000, '76 GB'],
  [2e12, '2 TB'],
  [5e18, '5000 PB'],
])('%d bytes are written as %s, on the pages as well', async (bytes, text) => {
  const dom: { readableBytes(bytes: number): string } = await import(
    '../../src/web/client/readable-bytes.js' as string
  );
  expect([readableBytes(bytes), dom.readableBytes(bytes)]).toEqual([text, text]);
});
