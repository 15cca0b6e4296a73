import { describe, expect, test } from 'bun:test';
import type { ImageRecord } from '../../src/image/image.ts';
import { createCaching, isNotModified, requestedRange } from '../../src/image/serve/conditional.ts';

const modified = Date.UTC(2026, 0, 31, 8, 5, 9, 700);
const file = { etag: '"abc"', modified };
const DATE = 'Sat, 31 Jan 2026 08:05:09 GMT';

describe('a file is not modified', () => {
  test.each([
    [{}, false],
    [{ 'if-none-match': '"abc"' }, true],
    [{ 'if-none-match': 'W/"abc"' }, true],
    [{ 'if-none-match': '"x", "abc" , W/"y"' }, true],
    [{ 'if-none-match': '"a,b", "abc"' }, true],
    [{ 'if-none-match': '*' }, true],
    [{ 'if-none-match': '"abcd"' }, false],
    [{ 'if-none-match': 'abc' }, false],
    [{ 'if-none-match': '' }, false],
    [{ 'if-modified-since': DATE }, true],
    [{ 'if-modified-since': 'Sat, 31 Jan 2026 08:05:10 GMT' }, true],
    [{ 'if-modified-since': 'Sat, 31 Jan 2026 08:05:08 GMT' }, false],
    [{ 'if-modified-since': 'yesterday' }, false],
    // The tag is the stronger word.
    [{ 'if-none-match': '"x"', 'if-modified-since': DATE }, false],
  ] as [Record<string, string>, boolean][])('for %j: %p', (headers, expected) => {
    expect(isNotModified(new Headers(headers), file)).toBe(expected);
  });
});

describe('the requested range of 1000 bytes', () => {
  const all = null;
  test.each([
    [{}, all],
    [{ range: 'bytes=0-9' }, { start: 0, end: 10 }],
    [{ range: 'bytes=990-' }, { start: 990, end: 1000 }],
    [{ range: 'bytes=990-5000' }, { start: 990, end: 1000 }],
    [{ range: 'bytes=-10' }, { start: 990, end: 1000 }],
    [{ range: 'bytes=-5000' }, { start: 0, end: 1000 }],
    [{ range: 'BYTES=0-0' }, { start: 0, end: 1 }],
    [{ range: 'bytes=1000-' }, 'unsatisfiable'],
    [{ range: 'bytes=1000-2000' }, 'unsatisfiable'],
    [{ range: 'bytes=99999999999999999999-' }, 'unsatisfiable'],
    [{ range: 'bytes=-0' }, 'unsatisfiable'],
    [{ range: 'bytes=9-0' }, all],
    [{ range: 'bytes=-' }, all],
    [{ range: 'bytes=a-b' }, all],
    [{ range: 'items=0-9' }, all],
    [{ range: 'bytes=0-1,5-6' }, all],
    [
      { range: 'bytes=0-9', 'if-range': '"abc"' },
      { start: 0, end: 10 },
    ],
    [
      { range: 'bytes=0-9', 'if-range': DATE },
      { start: 0, end: 10 },
    ],
    [{ range: 'bytes=0-9', 'if-range': 'W/"abc"' }, all],
    [{ range: 'bytes=0-9', 'if-range': '"old"' }, all],
    [{ range: 'bytes=5000-', 'if-range': '"old"' }, all],
    [{ range: 'bytes=0-9', 'if-range': 'Sat, 31 Jan 2026 08:05:08 GMT' }, all],
  ] as [Record<string, string>, unknown][])('for %j is %j', (headers, expected) => {
    expect(requestedRange(new Headers(headers), 1000, file)).toEqual(expected as null);
  });
});

test('nobody is told until when caches keep what they may not keep', () => {
  const now = 1_700_000_000_000;
  const image = { passwordHash: null, maxViews: null, expiresAt: null } as ImageRecord;
  expect(createCaching(3_600_000, () => now).cachedUntil(image)).toBe(now + 3_660_000);
  expect(createCaching(0, () => now).cachedUntil(image)).toBeNull();
  const ending = { ...image, expiresAt: now + 30_000 };
  expect(createCaching(3_600_000, () => now).cachedUntil(ending)).toBe(now + 60_000);
});
