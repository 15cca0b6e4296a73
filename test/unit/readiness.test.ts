import { describe, expect, test } from 'bun:test';
import { tmpdir } from 'node:os';
import { fileSources } from '../../src/findings/readiness.ts';
import type { BlobStore } from '../../src/image/store.ts';

describe('whether image files can be read', () => {
  test('is asked once for many requests, and again after a failure', async () => {
    let [asked, isAway] = [0, true];
    const get = async () => {
      asked++;
      if (isAway) throw new Error('away');
      return null;
    };
    const [readable] = fileSources({ get } as unknown as BlobStore, tmpdir(), 'image');
    const look = async () => await readable?.look();
    await expect(look()).rejects.toThrow('away');
    isAway = false;
    expect(await look()).toEqual([]);
    await Promise.all(Array.from({ length: 100 }, look));
    expect(asked).toBe(2);
  });
});
