import { describe, expect, test } from 'bun:test';
import type { Call, LeaseEvent } from '../support/history/calls.ts';
import { judge } from '../support/history/judge.ts';
import { leaseEvents } from '../support/history/monitor.ts';

const id = 'x';
const upload = (start: number, end: number): Call => ({ kind: 'upload', id, start, end });
const read = (start: number, end: number, found: boolean): Call => ({ kind: 'read', id, start, end, found });
const remove = (start: number, end: number, done = true): Call => ({ kind: 'delete', id, start, end, done });
const faults = (...calls: Call[]) => judge({ calls, leases: [] });
const ofLeases = (...leases: LeaseEvent[]) => judge({ calls: [], leases });

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

  test('finds tokens that are issued twice or decrease', () => {
    const grant = (owner: string, token: number): LeaseEvent => ({ kind: 'grant', lock: 'l', owner, token });
    expect(ofLeases(grant('a', 1), grant('b', 2))).toEqual([]);
    expect(ofLeases(grant('a', 1), grant('b', 1))).toEqual(['token 1 of l was given twice']);
    expect(ofLeases(grant('a', 2), grant('b', 1))).toEqual(['token 1 of l is older than the one before']);
  });

  test('finds writes by superseded holders, and by those that hold no lock', () => {
    const grants = [1, 2].map(
      (token): LeaseEvent => ({ kind: 'grant', lock: 'l', owner: `${token}`, token }),
    );
    const write = (token: number, changed = true): LeaseEvent => ({
      kind: 'write',
      fence: 'f',
      token,
      changed,
    });
    expect(ofLeases(...grants, write(1), write(2), write(1, false))).toEqual([]);
    expect(ofLeases(...grants, write(2), write(1))).toEqual(['f was written with token 1 after 2']);
    expect(ofLeases(...grants, write(3))).toEqual(['f was written with token 3, which no lease has']);
  });
});

describe('the log of Redis', () => {
  const line = (from: string, ...words: (string | number)[]) =>
    `+1700000000.000001 [0 ${from}] ${words.map((word) => `"${word}"`).join(' ')}`;
  const client = '127.0.0.1:5000';

  test('shows who got which token of a lock', () => {
    expect(
      leaseEvents([
        line(client, 'EVALSHA', 'sha', 2, '{p:lock:cleanup}:owner', '{p:lock:cleanup}:token', 'me', 60000),
        line('lua', 'GET', '{p:lock:cleanup}:owner'),
        line('lua', 'SET', '{p:lock:cleanup}:owner', 'me', 'PX', 60000),
        line('lua', 'SET', '{p:lock:cleanup}:token', '1700000000000001'),
      ]),
    ).toEqual([{ kind: 'grant', lock: 'cleanup', owner: 'me', token: 1_700_000_000_000_001 }]);
  });

  test('shows fenced writes, and which of them were refused', () => {
    const save = (token: number) =>
      line(client, 'EVALSHA', 'sha', 2, '{p:proxies}:records', '{p:proxies}:fences', 'refresh', token);
    expect(
      leaseEvents([
        save(1_700_000_000_000_002),
        line('lua', 'HGET', '{p:proxies}:fences', 'refresh'),
        line('lua', 'HSET', '{p:proxies}:fences', 'refresh', 1_700_000_000_000_002),
        line('lua', 'HSET', '{p:proxies}:records', '1', '[]'),
        save(1_700_000_000_000_001),
        line('lua', 'HGET', '{p:proxies}:fences', 'refresh'),
        line(client, 'PING'),
      ]),
    ).toEqual([
      { kind: 'write', fence: 'proxies refresh', token: 1_700_000_000_000_002, changed: true },
      { kind: 'write', fence: 'proxies refresh', token: 1_700_000_000_000_001, changed: false },
    ]);
  });

  test('shows values that were set under a fence', () => {
    expect(
      leaseEvents([
        line(client, 'EVALSHA', 'sha', 1, '{p:state}:values', 'image-cleanup-at', '5', '1700000000000001'),
        line('lua', 'HGET', '{p:state}:values', 'image-cleanup-at#token'),
        line(
          'lua',
          'HSET',
          '{p:state}:values',
          'image-cleanup-at',
          '5',
          'image-cleanup-at#token',
          '1700000000000001',
        ),
      ]),
    ).toEqual([{ kind: 'write', fence: 'image-cleanup-at', token: 1_700_000_000_000_001, changed: true }]);
  });
});
