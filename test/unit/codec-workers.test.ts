import { afterEach, describe, expect, test } from 'bun:test';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import process from 'node:process';
import { fileURLToPath } from 'node:url';
import type { CodecOptions, ConvertJob } from '../../src/codec/codec.ts';
import { type Child, type Ending, startChild } from '../../src/codec/workers/child.ts';
import { PooledWorker } from '../../src/codec/workers/pooled-worker.ts';
import type { Workspace } from '../../src/codec/workers/workspace.ts';
import { type CodecBench, startCodec } from '../support/codec/codec.ts';
import { gifOfFrames, pngBomb, SVG_BOMB } from '../support/images/hostile-images.ts';
import { photo, privatePhoto } from '../support/images/images.ts';
import { until } from '../support/stores/services.ts';

const small = await privatePhoto('jpeg');
/** Takes a worker most of a second as AVIF, and over 150 MB. */
const large = await photo(2300, 1800);

/** No cheap job, so that it waits for the long one. */
const PNG = { format: 'png' } as const;

let bench: CodecBench;
async function start(options: Partial<CodecOptions> = {}): Promise<CodecBench> {
  bench = await startCodec(options);
  return bench;
}
afterEach(() => bench.stop());

/** Starts a long conversion and resolves when a worker has begun it, which stands still until `goOn`. */
async function beginLong(signal?: AbortSignal): Promise<{ long: Promise<unknown>; goOn: () => void }> {
  const long = bench.convert(large, { format: 'avif' }, signal ? { signal } : {});
  long.catch(() => {});
  await until(() => bench.codec.stats().busy === 1);
  const [pid = 0] = bench.codec.stats().pids;
  process.kill(pid, 'SIGSTOP');
  return { long, goOn: () => void process.kill(pid, 'SIGCONT') };
}

describe('refused by the header', () => {
  const cases: [string, () => Buffer, string, RegExp][] = [
    ['an SVG', () => SVG_BOMB, 'not_an_image', /is an SVG drawing; JPEG, .* BMP and ICO are accepted/],
    ['a raw photo of Fujifilm', () => Buffer.from('FUJIFILMCCD-RAW'), 'not_an_image', /is a raw photo/],
    ['a video', () => Buffer.from('\0\0\0\x20ftypisom'), 'not_an_image', /is a video/],
    ['music', () => Buffer.from('\0\0\0\x20ftypM4A '), 'not_an_image', /is a sound file/],
    ['a JPEG 2000 picture', () => Buffer.from('ff4fff51', 'hex'), 'not_an_image', /is a JPEG 2000 picture/],
    ['a text', () => Buffer.from('hello'), 'not_an_image', /not in a known picture format; JPEG/],
    ['an empty file', () => Buffer.alloc(0), 'not_an_image', /JPEG/],
    ['a PNG of 17,000 x 17,000', () => pngBomb(17_000, 17_000, 1), 'image_limit', /17000 x 17000.*100000000/],
    ['a side above 30,000', () => pngBomb(30_001, 1, 1), 'image_limit', /30001 x 1.*30000/],
    ['a GIF of 10,000 frames', () => gifOfFrames(10_000), 'image_limit', /10000 frames.*500/],
    [
      '400 frames of 2,000 x 2,000',
      () => gifOfFrames(400, 2000, 2000),
      'image_limit',
      /400 frames.*1600000000/,
    ],
  ];
  for (const [name, make, code, message] of cases) {
    test(`${name} is ${code}`, async () => {
      const { convert, codec } = await start({ workers: 1 });
      await expect(convert(make())).rejects.toMatchObject({ code, message: expect.stringMatching(message) });
      expect(codec.stats()).toMatchObject({ crashes: 0, timeouts: 0 });
    });
  }
});

describe('a worker', () => {
  test('that crashes in mid-job costs that request alone', async () => {
    const { codec, convert, files } = await start({ workers: 1 });
    const { long, goOn } = await beginLong();
    process.kill(codec.stats().pids[0] ?? 0, 'SIGSEGV');
    goOn();
    await expect(long).rejects.toMatchObject({ code: 'undecodable_image' });
    expect((await convert(small)).format).toBe('webp');
    expect(codec.stats()).toMatchObject({ crashes: 1, outOfMemory: 0, started: 3 });
    expect(await files()).toEqual([]);
  });

  test('that others kill in mid-job does its job again, with nothing beside it', async () => {
    const { codec, convert } = await start({ workers: 2 });
    const { long } = await beginLong();
    process.kill(codec.stats().pids[0] ?? 0, 'SIGKILL');
    // The job waits again, or has begun again.
    await until(() => codec.stats().outOfMemory === 1);
    const beside = convert(small);
    const order: string[] = [];
    await Promise.all([long.then(() => order.push('long')), beside.then(() => order.push('beside'))]);
    expect(order).toEqual(['long', 'beside']);
    expect(codec.stats()).toMatchObject({ crashes: 0, outOfMemory: 1 });
  });

  test('that others kill twice makes the service unavailable, and does not blame the picture', async () => {
    const { codec, convert, files } = await start({ workers: 1 });
    const { long } = await beginLong();
    const killOne = (signal: NodeJS.Signals) => process.kill(codec.stats().pids[0] ?? 0, signal);
    killOne('SIGKILL');
    await until(() => codec.stats().outOfMemory === 1 && codec.stats().busy === 1);
    // As earlyoom sends, and systemd to all processes of a service that it stops.
    killOne('SIGTERM');
    await expect(long).rejects.toMatchObject({ code: 'unavailable', retryAfterMs: expect.any(Number) });
    expect((await convert(small)).format).toBe('webp');
    expect(codec.stats()).toMatchObject({ crashes: 0, outOfMemory: 2 });
    expect(await files()).toEqual([]);
  });

  test('that is killed while idle costs nothing', async () => {
    const { codec, convert } = await start({ workers: 1 });
    await convert(small);
    process.kill(codec.stats().pids[0] ?? 0, 'SIGKILL');
    expect((await convert(small)).format).toBe('webp');
    expect(codec.stats()).toMatchObject({ crashes: 0 });
  });

  test('that passes the time limit is replaced', async () => {
    const { codec, convert, files } = await start({ workers: 1, timeoutMs: 500 });
    await codec.ready();
    const [stopped = 0] = codec.stats().pids;
    // A process that stands still is late on any machine.
    process.kill(stopped, 'SIGSTOP');
    await expect(convert(small)).rejects.toMatchObject({
      code: 'conversion_timeout',
      message: expect.stringContaining('0.5 s'),
    });
    expect(codec.stats()).toMatchObject({ timeouts: 1, started: 3 });
    expect(codec.stats().pids).not.toContain(stopped);
    expect(await files()).toEqual([]);
  });

  test('that passes the memory limit is replaced', async () => {
    const { codec, convert } = await start({ workers: 1, memoryLimitBytes: 150 * 1024 * 1024 });
    await expect(convert(large, { format: 'avif' })).rejects.toMatchObject({ code: 'image_limit' });
    expect(codec.stats()).toMatchObject({ outOfMemory: 1, crashes: 0 });
  });

  test('is believed what memory it takes where the system does not tell', async () => {
    // A process that is gone is one of which the system tells nothing.
    const child = startChild(['/bin/sh', '-c', `echo '{"memory":5000000}'`], {}, () => {});
    await child.ended;
    expect(child.memory()).toBe(5_000_000);
  });

  test('that is killed because it is late tells the log why', async () => {
    const child = startChild(['/bin/sh', '-c', 'exec sleep 60'], {}, () => {});
    child.kill('It was not ready.');
    expect(await child.ended).toMatchObject({ signal: 'SIGKILL', stderr: 'It was not ready.' });
  });

  test('sees nothing of the environment but what it needs', async () => {
    process.env.PICPOOL_TEST_TOKEN = 'hidden';
    try {
      const { codec, convert } = await start({ workers: 1 });
      await convert(small);
      const environment = readFileSync(`/proc/${codec.stats().pids[0]}/environ`, 'latin1');
      expect(environment).toContain('VIPS_BLOCK_UNTRUSTED=1');
      expect(environment).not.toContain('PICPOOL_TEST_TOKEN');
    } finally {
      delete process.env.PICPOOL_TEST_TOKEN;
    }
  });

  for (const [name, command] of [
    ['does not exist', ['/nonexistent/picpool']],
    ['ends at once', [process.execPath, '-e', 'process.exit(3)']],
  ] as const) {
    test(`whose program ${name} makes the service unavailable, with a time to try again`, async () => {
      const messages: string[] = [];
      const { convert, codec } = await start({
        workers: 2,
        command,
        log: (_, message) => messages.push(message),
      });
      await expect(convert(small)).rejects.toMatchObject({
        code: 'unavailable',
        retryAfterMs: expect.any(Number),
      });
      await expect(convert(small)).rejects.toMatchObject({ code: 'unavailable' });
      expect(messages).toContain('conversion worker did not start');
      expect(codec.stats().started).toBeLessThanOrEqual(6);
    });
  }

  test('whose folder cannot be created makes the service unavailable, until it can', async () => {
    const place = join(await mkdtemp(join(tmpdir(), 'picpool-place-')), 'work');
    await writeFile(place, 'not a folder');
    // At once, because the pool waits twice as long after each failure.
    const log = () => rmSync(place, { recursive: true });
    const { convert, codec } = await start({ workers: 1, folder: place, log });
    await expect(convert(small)).rejects.toMatchObject({ code: 'unavailable' });
    await until(() => codec.stats().pids.length > 0);
    expect((await convert(small)).format).toBe('webp');
    // Those that wait for work are replaced.
    for (const part of ['', 'given']) {
      for (const name of readdirSync(place)) rmSync(join(place, name, part), { recursive: true });
      expect((await convert(small)).format).toBe('webp');
    }
    await rm(dirname(place), { recursive: true });
  });

  test('of one client does not keep others waiting while no other starts', async () => {
    const place = join(await mkdtemp(join(tmpdir(), 'picpool-place-')), 'work');
    const { convert, codec } = await start({ workers: 1, folder: place, sandbox: 'require' });
    await convert(small);
    const leftOf = (name: string) => readdirSync(join(place, name, 'given')).length;
    await until(() => codec.stats().pids.length === 3 && !readdirSync(place).some(leftOf));
    // In one step, because a worker that is started in between would create the folder again.
    renameSync(place, `${place}-before`);
    writeFileSync(place, 'not a folder');
    const late = convert(small, {}, { client: 'another' });
    await expect(late).rejects.toMatchObject({ code: 'unavailable' });
    expect(codec.stats().unable).toBe(true);
    await rm(dirname(place), { recursive: true });
  });

  test('that dies while its job is prepared does not fail the job, which the pool does again', async () => {
    const [prepared, dead] = [Promise.withResolvers<ConvertJob>(), Promise.withResolvers<Ending>()];
    const calls: string[] = [];
    const workspace = { load: () => prepared.promise, remove: () => {} } as unknown as Workspace;
    const child = { cpuMs: () => null, kill: () => {}, ended: dead.promise } as unknown as Child;
    const worker = new PooledWorker(
      workspace,
      { timeoutMs: 60_000, memoryLimitBytes: 1, input: { maxPixels: 1, maxFrames: 1, heic: true } },
      () => child,
      { ready: () => {}, idle: () => {}, ended: (_, lost) => void calls.push(`lost ${lost?.task.client}`) },
    );
    worker.assign({
      ...{ job: {} as ConvertJob, client: 'somebody', misses: 0, alone: false },
      spent: () => void calls.push('spent'),
      resolve: () => void calls.push('resolved'),
      reject: () => void calls.push('rejected'),
    });
    dead.resolve({ code: 1, signal: null, killedByOthers: false, stderr: '' });
    await dead.promise;
    prepared.reject(new Error('ENOENT'));
    await prepared.promise.catch(() => {});
    expect(calls).toEqual(['lost somebody']);
    await start();
  });

  test('ends by itself when its server is killed', async () => {
    await start();
    const owner = spawn(process.execPath, [
      fileURLToPath(new URL('../support/codec/owner.ts', import.meta.url)),
    ]);
    const [line] = await once(owner.stdout, 'data');
    const pids = JSON.parse(String(line)) as number[];
    expect(pids).toHaveLength(3);
    owner.kill('SIGKILL');
    await until(() => pids.every((pid) => !isRunning(pid)));
  });
});

describe('the queue', () => {
  test('refuses what is too much of one client, and tells how long one more would wait', async () => {
    const { codec, convert } = await start({ workers: 1, maxClientQueue: 1 });
    const { long, goOn } = await beginLong();
    const second = convert(large, PNG);
    await until(() => codec.stats().queued === 1);
    const refused = await convert(small).catch((error: unknown) => error);
    expect(refused).toMatchObject({
      code: 'busy',
      message: expect.stringMatching(/another one would wait \d+ s/),
      retryAfterMs: expect.any(Number),
    });
    expect(() => codec.admit('another')).not.toThrow();
    process.kill(codec.stats().pids[0] ?? 0, 'SIGSEGV');
    goOn();
    await expect(long).rejects.toMatchObject({ code: 'undecodable_image' });
    expect((await second).format).toBe('png');
    expect(codec.stats()).toMatchObject({ queued: 0, queuedMs: 0, refusedBusy: 1 });
  });

  test('takes a place from the client with the most waiting if the queue is full', async () => {
    const { codec, convert } = await start({ workers: 1, maxQueue: 2, maxClientQueue: 2 });
    await beginLong();
    convert(large, PNG).catch(() => {});
    await until(() => codec.stats().queued === 1);
    const last = convert(large, PNG);
    await until(() => codec.stats().queued === 2);
    convert(large, PNG, { client: 'another' }).catch(() => {});
    await expect(last).rejects.toMatchObject({ code: 'busy' });
    expect(codec.stats().queued).toBe(2);
  });

  test('is bounded in time, as it is expected', async () => {
    const { codec, convert } = await start({ workers: 1, maxWaitMs: 100, now: () => 0 });
    await beginLong();
    await expect(convert(large, PNG)).rejects.toMatchObject({
      code: 'busy',
      retryAfterMs: expect.any(Number),
    });
    expect(codec.stats().waitMs).toBe(0);
    expect(() => codec.admit('another')).not.toThrow();
  });

  test('keeps a seat for cheap jobs while a long one runs', async () => {
    const { codec, convert } = await start({ workers: 1 });
    const { long, goOn } = await beginLong();
    expect((await convert(small)).format).toBe('webp');
    expect(codec.stats().busy).toBe(1);
    goOn();
    await long;
  });

  test('lets go of a job whose caller has left', async () => {
    const { codec } = await start({ workers: 1 });
    await beginLong();
    const leaving = new AbortController();
    const second = bench.convert(large, PNG, { signal: leaving.signal });
    await until(() => codec.stats().queued === 1);
    leaving.abort(new Error('gone'));
    await expect(second).rejects.toThrow('gone');
    expect(codec.stats()).toMatchObject({ queued: 0, queuedMs: 0 });
  });

  test('a caller that leaves a running job hears at once, and the job is ended', async () => {
    const { codec, convert, files } = await start({ workers: 1 });
    const leaving = new AbortController();
    const { long } = await beginLong(leaving.signal);
    leaving.abort(new Error('gone'));
    await expect(long).rejects.toThrow('gone');
    expect(codec.stats()).toMatchObject({ busy: 1, started: 2 });
    await convert(small);
    expect(codec.stats().crashes).toBe(0);
    expect((await files()).filter((name) => name.startsWith('out-'))).toEqual([]);
  });

  test('a job of an aborted signal is not begun', async () => {
    const { codec, convert } = await start();
    await expect(convert(small, {}, { signal: AbortSignal.abort(new Error('gone')) })).rejects.toThrow(
      'gone',
    );
    expect(codec.stats().started).toBe(0);
  });

  test('a job whose signal aborts while it is paid for is not begun', async () => {
    const leaving = new AbortController();
    const take = async () => leaving.abort(new Error('gone'));
    const { codec, convert } = await start({ budget: { take, charge: async () => {} } });
    await expect(convert(small, {}, { signal: leaving.signal })).rejects.toThrow('gone');
    expect(codec.stats()).toMatchObject({ queued: 0, started: 0 });
  });

  test('close ends every worker and tells those who wait', async () => {
    const { codec, convert } = await start({ workers: 1 });
    const { long } = await beginLong();
    const second = convert(large, PNG);
    second.catch(() => {});
    await until(() => codec.stats().queued === 1);
    const { pids } = codec.stats();
    await codec.close();
    await expect(long).rejects.toMatchObject({ code: 'unavailable' });
    await expect(second).rejects.toMatchObject({ code: 'unavailable' });
    expect(pids.filter(isRunning)).toEqual([]);
    await expect(convert(small)).rejects.toMatchObject({ code: 'unavailable' });
  });
});

/** False for a process that is gone or waits to be reaped. */
function isRunning(pid: number): boolean {
  if (!existsSync(`/proc/${pid}/stat`)) return false;
  return !/^\d+ \(.*\) [ZX]/.test(readFileSync(`/proc/${pid}/stat`, 'latin1'));
}
