import { describe, expect, test } from 'bun:test';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { AppError } from '../../src/errors.ts';
import { explained, fileSources, recordSources } from '../../src/findings/readiness.ts';
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

test('a folder for temporary files that does not work is shown with the reason', async () => {
  const [, writable] = fileSources({} as BlobStore, join(import.meta.path, 'tmp'), 'image');
  const [found] = await explained(writable as never, () => {}).look();
  expect(found?.text).toBe('The image store is not writable. The image files cannot be read or written.');
});

test('a store that does not work is shown with the reason for callers, and its cause is logged once', async () => {
  const log: unknown[] = [];
  const cause = new Error('OOM');
  let fault: Error | null = new AppError('storage_full', 'The disk of the database is full.', { cause });
  const get = async () => {
    if (fault) throw fault;
    return null;
  };
  const [source] = recordSources({ get } as never, 'image');
  const { look } = explained(source as never, (level, message, facts) => log.push([level, message, facts]));
  const finding = 'The record store cannot be read.';
  const found = [{ level: 'fail', about: 'image', text: `${finding} The disk of the database is full.` }];
  expect([await look(), await look()]).toEqual([found, found] as never);
  fault = new Error('secret');
  expect(await look()).toEqual([{ ...found[0], text: finding }] as never);
  fault = null;
  expect([await look(), await look()]).toEqual([[], []]);
  expect(log).toEqual([
    ['warn', 'degraded', { finding, cause }],
    ['warn', 'degraded', { finding, cause: new Error('secret') }],
    ['info', 'no longer degraded', { finding }],
  ]);
});
