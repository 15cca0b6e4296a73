import { describe, expect, test } from 'bun:test';
import type { Call } from '../support/history/calls.ts';
import { judge } from '../support/history/judge.ts';

const id = 'x';
const upload = (start: number, end: number): Call => ({ kind: 'upload', id, start, end });
const read = (start: number, end: number, found: boolean): Call => ({ kind: 'read', id, start, end, found });
const remove = (start: number, end: number, done = true): Call => ({ kind: 'delete', id, start, end, done });
const faults = (...calls: Call[]) => judge(calls);

describe('the judge of histories', () => {
  test('accepts an image that is there from its acknowledgement until its deletion', () => {
    expect(faults(upload(0, 10), read(10, 20, true), remove(30, 40), read(41, 50, false))).toEqual([]);
  });

  test('accepts either answer while a deletion runs', () => {
    expect(faults(upload(0, 10), remove(30, 60), read(35, 50, false), read(36, 55, true))).toEqual([]);
  });

  test('accepts that a copy shows for two seconds what is deleted, and no longer', () => {
    expect(faults(upload(0, 10), remove(30, 40), read(2040, 2050, true))).toEqual([]);
    expect(faults(upload(0, 10), remove(30, 40), read(2041, 2050, true))).toEqual([
      'image x was gone at 40 ms and is back at 2041 ms',
    ]);
  });

  test('finds an acknowledged image that is missing before anybody deletes it', () => {
    expect(faults(upload(0, 10), read(20, 29, false), remove(30, 40))).toEqual([
      'image x was acknowledged at 10 ms and is missing at 29 ms',
    ]);
    expect(faults(upload(0, 10), read(20, 29, false))).toHaveLength(1);
  });

  test('accepts a deletion without a response as done or not, but not as both', () => {
    const unknown = remove(30, 40, false);
    expect(faults(upload(0, 10), unknown, read(5000, 5010, true))).toEqual([]);
    expect(faults(upload(0, 10), unknown, read(5000, 5010, false))).toEqual([]);
    expect(faults(upload(0, 10), unknown, read(50, 60, false), read(5000, 5010, true))).toEqual([
      'image x was gone at 60 ms and is back at 5000 ms',
    ]);
  });

  test('finds a refresh that runs again after its end', () => {
    const seen = (job: string, start: number, running: boolean): Call => ({
      kind: 'refresh',
      copy: 'a',
      job,
      start,
      end: start + 1,
      running,
    });
    expect(faults(seen('1', 0, true), seen('1', 5, false), seen('2', 9, true))).toEqual([]);
    expect(faults(seen('1', 0, true), seen('2', 5, true), seen('1', 9, true))).toHaveLength(1);
  });
});
