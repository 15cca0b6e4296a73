import { describe, expect, test } from 'bun:test';
import { createQuota } from '../../src/image/upload/quota.ts';
import { json } from '../support/json.ts';
import { withServer } from '../support/servers/running-server.ts';

interface Stored {
  id: string;
  raw_url: string;
  delete_token: string;
}

describe('a full storage', () => {
  test('ends uploads with 507 at IMAGE_MAX_STORAGE; reads and deletions go on, and make room', () =>
    withServer({ SERVICES: 'image', IMAGE_MAX_STORAGE: '1KiB' }, async ({ upload, send }) => {
      const stored: Stored[] = [];
      let last = await upload();
      for (; last.status === 201; last = await upload()) stored.push((await last.json()) as Stored);
      expect(last.status).toBe(507);
      expect(await json(last)).toMatchObject({ success: false, code: 'storage_full' });
      expect(stored.length).toBeGreaterThan(3);
      const { id = '', raw_url = '', delete_token = '' } = stored[0] ?? {};
      expect((await send(new URL(raw_url).pathname)).status).toBe(200);
      const headers = { 'x-delete-token': delete_token };
      expect((await send(`/api/delete/${id}`, { method: 'DELETE', headers })).status).toBe(200);
      expect((await upload()).status).toBe(201);
    }));

  test('ends uploads with 507 while less than IMAGE_MIN_FREE of the disk is free', () =>
    withServer({ SERVICES: 'image', IMAGE_MIN_FREE: '900000GiB' }, async ({ upload, send }) => {
      const refused = await upload();
      expect(refused.status).toBe(507);
      expect(await json(refused)).toMatchObject({ code: 'storage_full' });
      expect((await send('/api/list')).status).toBe(200);
      expect((await send('/readyz')).status).toBe(200);
    }));
});

describe('the quota', () => {
  const options = { reserveBytes: 100, folders: ['/a', '/b'], now: () => 0 };
  const stored = (...sizes: number[]) => ({
    ...{ ...options, maxBytes: 100, freeOf: async () => 1e9 },
    counts: sizes.map((size) => async () => size),
  });

  test('gives space to the first of two simultaneous uploads alone, and to others once it is free', async () => {
    const quota = createQuota(stored(20, 30));
    const both = await Promise.allSettled([quota.reserve(40), quota.reserve(40)]);
    expect(both.map(({ status }) => status)).toEqual(['fulfilled', 'rejected']);
    expect(quota.reserve(11)).rejects.toMatchObject({ code: 'storage_full' });
    for (const one of both) if (one.status === 'fulfilled') one.value();
    await quota.reserve(50);
  });

  test('looks at the fuller of two disks, and passes over one that cannot be asked', async () => {
    const free: Record<string, number> = { '/a': 5000, '/b': 300 };
    const ask = async (folder: string) => {
      const bytes = free[folder];
      if (bytes === undefined) throw new Error('gone');
      return bytes;
    };
    const quota = createQuota({ ...options, counts: [], maxBytes: undefined, freeOf: ask });
    await quota.admit(200);
    expect(quota.admit(201)).rejects.toMatchObject({ code: 'storage_full' });
    delete free['/b'];
    const later = createQuota({ ...options, counts: [], maxBytes: undefined, freeOf: ask });
    expect(await later.freeBytes()).toBe(5000);
  });

  test('refuses nothing on a disk without a size, as /proc, a ramfs and a tmpfs without a limit are', async () => {
    const quota = createQuota({ ...options, folders: ['/proc'], counts: [], maxBytes: undefined });
    await quota.admit(200);
    expect(await quota.freeBytes()).toBeNull();
  });
});
