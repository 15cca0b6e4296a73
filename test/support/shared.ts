import { afterAll, afterEach, beforeAll } from 'bun:test';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** Starts what all tests of a file or block use before them, and stops it after them. */
export function shared<T extends { stop(): unknown }>(start: () => Promise<T>): T {
  let started: T | undefined;
  beforeAll(async () => {
    started = await start();
  });
  afterAll(() => started?.stop());
  return new Proxy({} as T, { get: (_, name) => started && Reflect.get(started, name) });
}

/** Returns a list of what to call after each test. */
export function afterEachTest(): (() => unknown)[] {
  const closers: (() => unknown)[] = [];
  afterEach(async () => {
    for (const close of closers.splice(0)) await close();
  });
  return closers;
}

/** Returns a function that opens the same, and closes or stops it after each test. */
export function endedAfterEach<Args extends unknown[], T extends { close(): unknown } | { stop(): unknown }>(
  open: (...args: Args) => Promise<T>,
): (...args: Args) => Promise<T> {
  const closers = afterEachTest();
  return async (...args) => {
    const opened = await open(...args);
    closers.push(() => ('close' in opened ? opened.close() : opened.stop()));
    return opened;
  };
}

/** Makes a folder for the tests of a file. It is removed after them, once what was shared or passed to `afterAll` before has ended. */
export async function sharedFolder(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'picpool-test-'));
  afterAll(() => rm(folder, { recursive: true, force: true }));
  return folder;
}
