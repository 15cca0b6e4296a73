import { afterEach, expect, jest, spyOn, test } from 'bun:test';
import { randomUUID } from 'node:crypto';
import { createLocalLocks } from '../../adapters/local/locks.ts';
import { createSqliteAudit } from '../../adapters/sqlite/audit.ts';
import { createSqliteState } from '../../adapters/sqlite/state.ts';
import { type Act, createAudit } from '../../src/audit/audit.ts';
import type { AuditStore } from '../../src/audit/store.ts';
import { AppError, inEnglish } from '../../src/errors.ts';
import { createRandom } from '../support/random.ts';
import { memoryDatabase } from '../support/stores/memory.ts';

const DAY_MS = 86_400_000;
const closing: (() => void)[] = [];
afterEach(() => {
  for (const close of closing.splice(0)) close();
});

async function open() {
  const database = await memoryDatabase();
  closing.push(() => database.close());
  const clock = { ms: 1_700_000_000_000 };
  const store = createSqliteAudit(database);
  const state = createSqliteState(database);
  const start = (changes: { audit?: AuditStore; tell?: (line: string) => Promise<void> } = {}) =>
    createAudit({
      ...{ audit: store, state, locks: createLocalLocks() },
      keepDays: 365,
      clock: { now: () => clock.ms, sleep: Bun.sleep },
      newId: randomUUID,
      hide: (peer) => peer,
      log: () => {},
      ...changes,
    });
  return { clock, store, start };
}

const act = (subject: string, what = 'image.delete'): Act => ({ what, subject, who: 'administrator' });
const died = () => new Error('the process has died');

/** Fails before or after the call, as a store does whose process, or whose connection, dies. */
function mortal(store: AuditStore, dies: () => boolean): AuditStore {
  const risky =
    <Args extends unknown[], T>(call: (...args: Args) => Promise<T>) =>
    async (...args: Args): Promise<T> => {
      if (dies()) throw died();
      const answer = await call(...args);
      if (dies()) throw died();
      return answer;
    };
  return { ...store, append: risky(store.append), advance: risky(store.advance) };
}

test('over 10,000 random acts with crashes, all are in the log, none twice, and each is carried out and told', async () => {
  const { store, start } = await open();
  const random = createRandom(7);
  const dies = () => random() < 0.08;
  const [pictures, told, asked] = [new Map<string, number>(), new Set<string>(), new Set<string>()];
  let crashes = 0;
  /** A copy of the server until it crashes. */
  const boot = () => {
    const audit = start({
      audit: mortal(store, dies),
      async tell(line) {
        if (dies()) throw died();
        told.add((JSON.parse(line) as { subject: string }).subject);
        if (dies()) throw died();
      },
    });
    audit.carry('image.delete', async ({ subject }) => {
      if (dies()) throw died();
      if (pictures.get(subject) !== 1) throw new AppError('not_found', inEnglish('There is none.'));
      pictures.set(subject, 0);
      if (dies()) throw died();
    });
    return audit;
  };
  let audit = boot();
  for (let number = 0; number < 10_000; number++) {
    const subject = `image ${number}`;
    pictures.set(subject, 1);
    await audit.act(act(subject)).catch(() => {
      crashes++;
      audit = boot();
    });
    if (crashes % 50 === 0) await audit.finish().catch(() => {});
  }
  let after: string | undefined;
  const settled = start({ tell: async (line) => void told.add((JSON.parse(line) as Act).subject) });
  settled.carry('image.delete', async ({ subject }) => void pictures.set(subject, 0));
  await settled.finish();
  while ((await store.unfinished(1)).length > 0) await settled.finish();
  const logged = new Map<string, number>();
  for (;;) {
    const acts = await settled.list({ limit: 1000, after });
    for (const { subject, what } of acts)
      if (what === 'image.delete') logged.set(subject, (logged.get(subject) ?? 0) + 1);
    after = acts.at(-1)?.id;
    if (after === undefined) break;
  }
  for (const [subject, left] of pictures) if (left === 0) asked.add(subject);
  expect(crashes).toBeGreaterThan(1000);
  // Nothing is done that is not in the log, and what is in the log is done.
  expect([...asked].filter((subject) => logged.get(subject) !== 1)).toEqual([]);
  expect([...logged.keys()].filter((subject) => pictures.get(subject) !== 0)).toEqual([]);
  expect(logged.size).toBeGreaterThan(9000);
  expect([...logged.keys()].filter((subject) => !told.has(subject))).toEqual([]);
}, 60_000);

test('an act whose answer was lost is finished before a later one on the same subject', async () => {
  const { start } = await open();
  const blocked = new Set<string>();
  let isAway = true;
  const audit = start();
  audit.carry('block.add', async ({ subject }) => {
    if (isAway) throw new AppError('unavailable', inEnglish('The store is away.'));
    blocked.add(subject);
  });
  audit.carry('block.remove', async ({ subject }) => void blocked.delete(subject));
  await audit.act(act('hash a', 'block.add')).catch(({ code }) => expect(code).toBe('unavailable'));
  isAway = false;
  await audit.act(act('hash a', 'block.remove'));
  await audit.finish();
  expect([...blocked]).toEqual([]);
});

test('in a full store only an act that nothing undoes overtakes one that cannot be noted', async () => {
  const { store, start } = await open();
  let isFull = false;
  const unlessFull =
    <Args extends unknown[]>(call: (...args: Args) => Promise<void>) =>
    async (...args: Args): Promise<void> => {
      if (isFull) throw new AppError('storage_full', inEnglish('The store is full.'));
      await call(...args);
    };
  const audit = start({
    audit: { ...store, append: unlessFull(store.append), advance: unlessFull(store.advance) },
  });
  const done: string[] = [];
  const doIt = async ({ what, subject }: Act) => {
    done.push(`${what} ${subject}`);
    isFull = true;
  };
  audit.carry('block.add', doIt);
  audit.carry('block.remove', doIt);
  audit.carry('image.delete', doIt, 'final');
  await audit.act(act('a', 'block.add'));
  await expect(audit.act(act('a', 'block.remove'))).rejects.toMatchObject({ code: 'storage_full' });
  await audit.act(act('a', 'image.delete'));
  expect(done).not.toContain('block.remove a');
  expect(done).toContain('image.delete a');
});

test('of acts at once on one subject, one is carried out, and those that find nothing are refused', async () => {
  const { store, start } = await open();
  const pictures = new Set(['image a']);
  // As in a process, an answer of the store takes longer than what others do meanwhile.
  const append: AuditStore['append'] = (entry, stage) => store.append(entry, stage).then(() => Bun.sleep(5));
  const audit = start({ audit: { ...store, append } });
  audit.carry('image.delete', async ({ subject }) => {
    await Bun.sleep(5);
    if (!pictures.delete(subject)) throw new AppError('not_found', inEnglish('There is none.'));
  });
  const ask = (ms: number) =>
    Bun.sleep(ms)
      .then(() => audit.act(act('image a')))
      .then(
        () => 'done',
        ({ code }) => code,
      );
  const codes = await Promise.all([0, 2, 4].map(ask));
  expect(codes.sort()).toEqual(['done', 'not_found', 'not_found']);
  const refused = (await store.list({ limit: 9 })).filter(({ text }) => text.includes('"refused"'));
  expect(refused).toHaveLength(2);
});

test('an act that another copy carries out at the same moment is neither refused nor answered as if it had been', async () => {
  const { store, start } = await open();
  const pictures = new Set(['image a']);
  const begun = Promise.withResolvers<void>();
  const carriedOut = Promise.withResolvers<void>();
  const copies = [start(), start()] as const;
  const remove = ({ subject }: Act) => {
    if (!pictures.delete(subject)) throw new AppError('not_found', inEnglish('There is none.'));
  };
  copies[0].carry('image.block', async (blocked) => {
    begun.resolve();
    await carriedOut.promise;
    remove(blocked);
  });
  for (const what of ['image.block', 'image.delete']) copies[1].carry(what, async (one) => remove(one));
  const block = copies[0].act(act('image a', 'image.block'));
  await begun.promise;
  await expect(copies[1].act(act('image a'))).rejects.toMatchObject({ code: 'not_found' });
  carriedOut.resolve();
  await block;
  const refused = (await store.list({ limit: 9 })).filter(({ text }) => text.includes('"refused"'));
  // The deletion, but not the block.
  expect(refused).toHaveLength(1);
});

test('what cannot be told outside is told later, and not carried out again', async () => {
  const { start } = await open();
  const lines: string[] = [];
  let [isAway, done] = [true, 0];
  const audit = start({
    async tell(line) {
      if (isAway) throw new Error('full');
      lines.push(line);
    },
  });
  audit.carry('image.delete', async () => void done++);
  await audit.act(act('image a'));
  await audit.finish().catch(() => {});
  expect([done, lines.length]).toEqual([1, 0]);
  isAway = false;
  await audit.finish();
  await audit.finish();
  expect(done).toBe(1);
  expect(lines.map((line) => (JSON.parse(line) as Act).subject)).toEqual(['image a']);
});

test('an interrupted act that yields is not finished once somebody acts otherwise', async () => {
  const { start } = await open();
  const shown = new Set<string>();
  let isAway = true;
  const audit = start();
  audit.carry(
    'review.allow',
    async ({ subject }) => {
      shown.add(subject);
      if (isAway) throw new AppError('unavailable', inEnglish('The store is away.'));
    },
    'yields',
  );
  audit.carry('review.block', async ({ subject }) => void shown.delete(subject));
  await audit.act(act('image a', 'review.allow')).catch(() => {});
  isAway = false;
  await audit.act(act('image a', 'review.block'));
  await audit.finish();
  expect([...shown]).toEqual([]);
  const log = (await audit.about('image a')).map(audit.lineOf).map((line) => JSON.parse(line));
  const allowed = log.find(({ what }) => what === 'review.allow');
  expect(log.find(({ what }) => what === 'refused')).toMatchObject({ of: allowed.id, why: 'conflict' });
});

test('what was refused is not carried out later, even while nothing can be told outside', async () => {
  const { start } = await open();
  let [isFull, isAway] = [true, true];
  const blocked: string[] = [];
  const lines: string[] = [];
  const audit = start({
    async tell(line) {
      if (isAway) throw new Error('away');
      lines.push(line);
    },
  });
  audit.carry('block.add', async ({ subject }) => {
    if (isFull) throw new AppError('conflict', inEnglish('The list is full.'));
    blocked.push(subject);
  });
  await audit.act(act('hash a', 'block.add')).catch(({ code }) => expect(code).toBe('conflict'));
  [isFull, isAway] = [false, false];
  await audit.finish();
  expect(blocked).toEqual([]);
  // Outside, both are told.
  expect(lines.map((line) => (JSON.parse(line) as Act).what).sort()).toEqual(['block.add', 'refused']);
});

test('one entry that nobody takes outside holds up no other', async () => {
  const { start } = await open();
  const told: string[] = [];
  let isAway = true;
  const audit = start({
    async tell(line) {
      const { subject } = JSON.parse(line) as Act;
      if (isAway || subject.startsWith('bad')) throw new Error('too large');
      told.push(subject);
    },
  });
  for (const subject of ['bad a', 'bad b', 'bad c', 'image a', 'image b']) await audit.act(act(subject));
  isAway = false;
  for (let turn = 0; turn < 3; turn++) await audit.finish().catch(() => {});
  expect(told.sort()).toEqual(['image a', 'image b']);
});

test('an act that never ends holds up no other', async () => {
  const { start, store } = await open();
  const audit = start();
  const done: string[] = [];
  audit.carry('image.delete', ({ subject }) =>
    subject === 'image a' ? new Promise(() => {}) : Promise.resolve(void done.push(subject)),
  );
  for (const [at, id] of ['a', 'b'].entries())
    await store.append({ id, at, day: 0, subject: `image ${id}`, text: '{"what":"image.delete"}' }, 2);
  jest.useFakeTimers();
  try {
    const finished = audit.finish().catch(() => {});
    for (let turn = 0; turn < 100 && done.length === 0; turn++) {
      await Promise.resolve();
      jest.advanceTimersByTime(60_000);
    }
    await finished;
  } finally {
    jest.useRealTimers();
  }
  expect(done).toEqual(['image b']);
});

test('acts that wait for minutes are a finding, until they are finished', async () => {
  const { start } = await open();
  let isAway = true;
  const audit = start({
    async tell() {
      if (isAway) throw new Error('no such folder');
    },
  });
  await audit.act(act('image a'));
  await expect(audit.finish()).rejects.toThrow('no such folder');
  await audit.demandFinished();
  const later = performance.now() + 121_000;
  const clock = spyOn(performance, 'now').mockImplementation(() => later);
  try {
    await expect(audit.demandFinished()).rejects.toThrow();
    isAway = false;
    await audit.finish();
    await audit.finish();
    await audit.demandFinished();
  } finally {
    clock.mockRestore();
  }
});

test('a place outside that never answers holds up one act, and not each', async () => {
  const { start } = await open();
  const audit = start({ tell: () => new Promise(() => {}) });
  const began = performance.now();
  for (let number = 0; number < 10; number++) await audit.act(act(`image ${number}`));
  expect(performance.now() - began).toBeLessThan(10_000);
});

test('entries are dropped after a year of service, whatever the clock does meanwhile', async () => {
  const { clock, start } = await open();
  const audit = start();
  const left = async () => (await audit.list({ limit: 10 })).map(({ subject }) => subject).reverse();
  await audit.finish();
  // Before the network has told a small machine the time, and then for a moment ten years ahead.
  const right = clock.ms;
  clock.ms = 0;
  await audit.act(act('image a'));
  await audit.finish();
  clock.ms = right + 3650 * DAY_MS;
  await audit.act(act('image b'));
  await audit.finish();
  clock.ms = right;
  await audit.finish();
  await audit.act(act('image c'));
  for (let day = 0; day < 360; day++) {
    clock.ms += DAY_MS;
    await audit.finish();
  }
  expect(new Set(await left())).toEqual(new Set(['image a', 'image b', 'image c']));
  for (let day = 0; day < 9; day++) {
    clock.ms += DAY_MS;
    await audit.finish();
  }
  expect(await left()).toEqual([]);
});
