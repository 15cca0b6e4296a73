import { createHash } from 'node:crypto';
import { createLocalRateLimiter } from '../../adapters/local/rate-limiter.ts';
import type { ImageEvent } from '../../src/image/service.ts';
import type { ImageLimits } from '../../src/image/upload/quota.ts';
import { strikeAgain } from './bursts.ts';
import { between, bytes, chance, happens, oneOf, resetChance, whole } from './chance.ts';
import { type Copy, startCopy } from './copy.ts';
import { type Disaster, drawDisaster, strike } from './disasters.ts';
import { nothing, unexamined } from './examined.ts';
import { resetFiles } from './files.ts';
import { createFilesModel, createFolderFiles } from './files-model.ts';
import { createLeaseWatch } from './leases.ts';
import { GRACE_MS, type Message } from './ledger.ts';
import {
  brokenPromises,
  isLeftToOperator,
  keptFailures,
  keptRemovals,
  lostFiles,
  lostViews,
  miscounted,
  misdated,
} from './promises.ts';
import { createRecordsModel } from './records-model.ts';
import { CALM, type Course, createSeams, dieHalfway, killNowAndThen } from './seams.ts';
import { openSqliteRecords } from './sqlite-records.ts';
import { switches } from './switches.ts';
import { DAY, HOUR, later, MINUTE, passUntil, pause, resetTime, SECOND, stirring, trueTime } from './time.ts';
import { createUser, type User } from './users.ts';
import { createVisitor } from './visitor.ts';

/** What is done before something else that must follow. */
const STEPS = [
  ...['images.insert', 'images.remove', 'images.removeIdle', 'images.removeEnded', 'images.endView'],
  ...['images.change', 'files.put', 'files.move', 'files.remove', 'albums.replace'],
  ...['state.set', 'state.setFenced', 'audit.append', 'audit.advance'],
];

/** What a seed decides about its world. */
export interface Options extends Course {
  copies: number;
  users: number;
  retentionMs: number;
  cleanupIntervalMs: number;
  strayRetentionMs: number;
  /** Whether all copies are ended in order, one after the other, once all trouble is over. */
  upgrade: boolean;
  /** Whether a store is for some time not what it was. */
  disaster: boolean;
  /** What runs out of space for some time. */
  full: 'records' | 'files' | null;
  /** Whether records are in a real SQLite, and files in a folder by the real adapter. For one copy. */
  real: boolean;
  /** Nobody hears of removals: a promise that is broken for certain, to see that it is noticed. */
  deaf: boolean;
}

/** How a world ended. */
export interface Result<Drawn = Options> {
  seed: number;
  options: Drawn;
  broken: string[];
  /** What happened, in order. */
  trace: string[];
  /** The same for the same seed. */
  hash: string;
  /** Pictures, or proxies. */
  made: number;
  /** How often each promise was examined, where that is counted. */
  examined?: Record<string, number>;
}

/** Draws what kind of world it is. Each spans three of its longest intervals at least. */
function drawOptions(): Options {
  const rate = happens(0.2) ? 0 : 0.001 * 10 ** between(0, 1.7);
  const part = () => rate * (happens(0.3) ? 0 : chance());
  const jumpMs = happens(0.12) ? Math.round((happens(0.5) ? 1 : -1) * MINUTE * 10 ** between(0, 6)) : 0;
  const retentionMs = Math.round(between(75, 110) * MINUTE);
  const chaosMs = Math.round(between(1.2, 2) * retentionMs);
  return {
    copies: happens(0.4) ? 1 : whole(2, 3),
    users: whole(2, 5),
    retentionMs,
    cleanupIntervalMs: Math.round(between(5, 40) * MINUTE),
    strayRetentionMs: Math.round(between(5, 60) * MINUTE),
    chaosMs,
    // A doubt about the clock lasts for a day.
    quietMs: 3.2 * retentionMs - chaosMs + (Math.abs(jumpMs) > DAY ? DAY + HOUR : 0),
    trouble: {
      refused: part(),
      lost: part(),
      late: part(),
      hangs: part(),
      death: happens(0.5) ? part() / 20 : 0,
    },
    deathEveryMs: happens(0.5) ? between(10, 90) * MINUTE : Number.POSITIVE_INFINITY,
    halfway: happens(0.5) ? whole(1, 4) : 0,
    deadMs: happens(0.8) ? between(1, 60) * SECOND : between(5, 40) * MINUTE,
    jumpMs,
    jumpForMs: Math.round(between(1, 60) * MINUTE),
    bursts: rate > 0 && happens(0.6) ? whole(1, 5) : 0,
    upgrade: happens(0.5),
    disaster: jumpMs === 0 && happens(0.2),
    full: happens(0.15) ? oneOf(['records', 'files']) : null,
    real: false,
    deaf: false,
  };
}

/** Whether nothing goes wrong but clients who leave. */
function isCalmCourse(options: Options): boolean {
  const { trouble, bursts, halfway, deathEveryMs, chaosMs, jumpMs, disaster, full } = options;
  if (Object.values(trouble).some((share) => share > 0) || deathEveryMs < chaosMs * 10) return false;
  return bursts === 0 && halfway === 0 && jumpMs === 0 && !disaster && full === null;
}

/** Lets one world live from its seed to its end. `changes`: what is different from what the seed decides. */
export async function runWorld(seed: number, changes: Partial<Options> = {}): Promise<Result> {
  resetTime();
  resetFiles();
  resetChance(seed);
  const options = { ...drawOptions(), ...changes };
  if (options.real) options.copies = 1;
  const begin = trueTime();
  const trace: string[] = [];
  const tell = (line: string) => void trace.push(`${((trueTime() - begin) / SECOND).toFixed(3)} ${line}`);
  const uuid = () => bytes(8).toString('hex');
  const files = options.real ? createFolderFiles() : createFilesModel(trueTime);
  const copies: Copy[] = [];
  const seams = createSeams(tell, (copy) => {
    copy.isAlive = false;
  });
  seams.repeats = options.copies > 1 && !options.real;
  const ledger = {
    pictures: new Map(),
    albums: [],
    switches: switches(),
    failures: [],
    events: [] as { type: ImageEvent['type']; id: string; at: number }[],
    messages: [] as Message[],
    reachedAt: [] as number[],
    forgotten: new Set<string>(),
    broken: new Set<string>(),
    examined: nothing(),
    disaster: null as Disaster | null,
    retentionMs: options.retentionMs,
    isCalm: isCalmCourse(options),
    isFull: options.full === 'records',
    isTimely: options.jumpMs === 0,
    timelySince: 0,
    aheadMs: options.jumpMs > DAY ? 0 : Math.max(0, options.jumpMs),
    keepsTime: options.jumpMs <= 0 || options.jumpMs > DAY + HOUR,
    pauses: [] as { from: number; to: number }[],
  };
  const records = await (options.real ? openSqliteRecords() : createRecordsModel(trueTime, uuid));
  const limits: ImageLimits = {
    maxUploadBytes: 100_000,
    maxPixels: 1e8,
    maxFrames: 100,
    heic: true,
    retentionMs: options.retentionMs,
    cleanupIntervalMs: options.cleanupIntervalMs,
    strayRetentionMs: options.strayRetentionMs,
    cacheMaxAgeMs: HOUR,
    listing: 'public',
    maxExpiryMs: 10 * DAY,
    deleteByAddressMs: 0,
  };
  const limiter = createLocalRateLimiter({ now: trueTime });
  const leases = createLeaseWatch((promise) => ledger.broken.add(promise));
  let isCalm = false;
  let hasEnded = false;
  let running = 0;
  let stoppedAt = begin;

  async function keepAlive(index: number): Promise<void> {
    for (let life = 1; ; life++) {
      const name = `copy${index}.${life}`;
      if (options.copies === 1) await records.endViews();
      const started = await startCopy({
        ...{ name, records, files, seams, limits, limiter, leases, skewMs: 0, maxBytes: undefined },
        alone: options.copies === 1,
        onEvent({ type, image }, by) {
          if (!options.deaf || type !== 'removed') ledger.events.push({ type, id: image.id, at: trueTime() });
          return ledger.messages.push({ by, at: trueTime(), received: false, tries: 0 }) - 1;
        },
        onMessage(number, isReceived) {
          const message = ledger.messages[number];
          if (message && isReceived) message.received = true;
          else if (message) message.tries++;
        },
        log: (level, message, facts) => {
          if (level !== 'debug') tell(`${name} says ${level} ${message} ${JSON.stringify(plain(facts))}`);
        },
      }).catch((error: unknown) => {
        tell(`${name} does not start: ${error}`);
        // It may have noted that it ran, so that there were two pauses.
        if (running === 0) ledger.pauses.push({ from: stoppedAt, to: trueTime() });
        if (running === 0) stoppedAt = trueTime();
        return null;
      });
      if (started) {
        tell(`${name} runs`);
        copies[index] = started;
        if (running++ === 0) ledger.pauses.push({ from: stoppedAt, to: trueTime() });
        await new Promise((resolve) => started.died.addEventListener('abort', resolve));
        if (--running === 0) stoppedAt = trueTime();
        for (const { at, ids } of started.unnoted)
          for (const id of trueTime() - at < MINUTE ? ids : []) ledger.forgotten.add(id);
        tell(`${name} is dead`);
      }
      await pause(isCalm ? SECOND : options.deadMs);
    }
  }

  async function jumpOnce(): Promise<void> {
    if (options.jumpMs === 0) return;
    await pause(options.chaosMs * chance() * 0.8);
    const index = whole(0, options.copies - 1);
    const jumping = copies[index];
    if (jumping) jumping.skewMs = options.jumpMs;
    ledger.timelySince = Number.POSITIVE_INFINITY;
    tell(`the clock of copy${index} jumps by ${options.jumpMs / MINUTE} min`);
    await pause(options.jumpForMs);
    for (const copy of copies) if (copy) copy.skewMs = 0;
    ledger.timelySince = trueTime() + GRACE_MS;
    tell('the clocks are right');
  }

  async function strikeOnce(): Promise<void> {
    const disaster = drawDisaster(trueTime(), begin + options.chaosMs);
    ledger.disaster = disaster;
    await strike(disaster, { records, files }[disaster.store], (what) => {
      tell(`the ${disaster.store} ${what}`);
      // Nobody replaces a database under a server that has it open.
      if (disaster.store === 'records' && options.copies === 1 && copies[0]) copies[0].isAlive = false;
    });
  }

  async function fillOnce(): Promise<void> {
    await pause(options.chaosMs * chance() * 0.8);
    seams.full = options.full;
    tell(`the ${options.full} are full`);
    await pause(options.chaosMs * chance() * 0.2);
    seams.full = null;
    tell('there is space again');
  }

  const around = {
    ledger,
    copies: () => copies.filter(Boolean),
    trace: tell,
  };
  const visitor = createVisitor(createUser('visitor', around), around);
  const people: User[] = [];
  async function live(name: string): Promise<void> {
    const user = createUser(name, around);
    people.push(user);
    while (!isCalm) {
      await pause(between(0, 3) * MINUTE);
      if (!isCalm) await user.act();
    }
  }

  /** One visitor has favourites until the end. When all trouble is over, he also looks at what need not stay for longer. */
  async function visit(): Promise<void> {
    await pause(between(0, 10) * MINUTE);
    for (let at = trueTime(); !hasEnded; at += 20 * MINUTE) {
      await visitor.keepUp();
      while (trueTime() < at + 20 * MINUTE) {
        await pause(MINUTE);
        if (!hasEnded) await visitor.lookForLast(isCalm);
      }
    }
  }

  /** Ends all copies in order, one after the other, while people look at what they have not seen for long. */
  async function upgrade(): Promise<void> {
    for (const copy of [...copies]) {
      await visitor.viewOld();
      await copy.stop();
      copy.isAlive = false;
      await pause(10 * SECOND);
    }
  }

  // The first copy agrees with the stores before there is any trouble.
  for (let index = 0; index < options.copies; index++) void keepAlive(index);
  await passUntil(begin + 10 * SECOND);
  seams.trouble = options.trouble;
  for (let index = 0; index < options.users; index++) void live(`user${index}`);
  void visit();
  void strikeAgain({
    ...{ bursts: options.bursts, copies: options.copies, parts: ['records', 'files', 'receiver'], tell },
    until: begin + 0.9 * options.chaosMs,
    set: (burst) => {
      if (seams.burst?.part === 'receiver') ledger.reachedAt.push(trueTime());
      seams.burst = burst;
      // Nobody stays away because of it.
      if (burst?.part === 'records') later(SECOND, () => void visitor.viewOld());
    },
    approaches: (part) => void (part === 'records' && visitor.viewOld()),
    arrives(part) {
      if (part === 'records') for (const user of people) void user.upload();
    },
    restart(names) {
      for (const copy of copies) if (copy?.name.startsWith(names)) copy.isAlive = false;
    },
  });
  void dieHalfway(options, seams, STEPS);
  void killNowAndThen(options, () => (isCalm ? null : copies[whole(0, options.copies - 1)]));
  void jumpOnce();
  if (options.disaster) void strikeOnce();
  if (options.full) void fillOnce();
  await passUntil(begin + options.chaosMs);
  isCalm = true;
  seams.trouble = CALM;
  seams.lastStep = null;
  for (const copy of copies) if (copy) copy.skewMs = 0;
  ledger.timelySince = Math.min(ledger.timelySince, trueTime() + GRACE_MS);
  tell('all trouble is over');
  if (options.upgrade) later(MINUTE, () => void upgrade());
  await passUntil(begin + options.chaosMs + 5 * MINUTE);
  // What a copy mends in this time is looked for once one has run for so long.
  const hasRun = (copy: Copy | undefined) => copy?.isAlive && copy.startedAt <= trueTime() - 4 * MINUTE;
  while (!copies.some(hasRun)) await passUntil(trueTime() + MINUTE);
  for (const look of [lostViews, keptFailures, keptRemovals, misdated])
    for (const promise of await look(ledger, records)) ledger.broken.add(promise);
  for (const promise of await lostFiles({ ledger, records, files })) ledger.broken.add(promise);
  seams.latencyMs = null;
  await passUntil(begin + options.chaosMs + options.quietMs);
  hasEnded = true;

  /** Asks the first copy, in nobody's name. */
  async function send(path: string, init: RequestInit = {}) {
    const request = new Request(`http://img.example${path}`, init);
    const asked = (async () => {
      const response = await copies[0]?.ask(request, '198.51.100.254');
      return { status: response?.status ?? 0, text: (await response?.text()) ?? '' };
    })();
    return stirring(asked);
  }

  async function lookBack(): Promise<string[]> {
    const world = { ledger, records, files };
    await visitor.viewFavourites();
    await visitor.trySwitches();
    const broken = await brokenPromises({
      ...world,
      get: (path, password) =>
        send(path, password === null ? {} : { headers: { 'x-image-password': password } }),
    });
    const isLeft = await isLeftToOperator(world);
    // What a deletion frees is free at once, although a copy that has just started knows nothing of it yet.
    await copies[0]?.stop();
    for (const copy of copies) copy.isAlive = false;
    await pause(MINUTE);
    for (const { id, token } of [...ledger.pictures.values()].slice(-20)) {
      await send(`/api/delete/${id}`, { method: 'DELETE', headers: { 'x-delete-token': token } });
    }
    if (isLeft) return broken;
    return [...broken, ...miscounted(await records.state.get('image-version-bytes'), files)];
  }

  let broken = ['the world does not end'];
  void lookBack().then((found) => {
    // What was stored in the wrong place all the time was not promised.
    broken = [...found, ...(options.disaster ? [] : unexamined(ledger.examined, ledger.pictures.size))];
  });
  await passUntil(trueTime() + 30 * MINUTE);
  for (const copy of copies) copy.isAlive = false;
  const hash = createHash('sha256').update(trace.join('\n')).digest('hex').slice(0, 12);
  return { seed, options, broken, trace, hash, made: ledger.pictures.size, examined: ledger.examined };
}

/** The facts of a log line without what is not repeated. */
function plain(facts: unknown): unknown {
  const { cause, error, ...rest } = { ...(facts as Record<string, unknown>) };
  const why = (error ?? cause) as Error | undefined;
  return { ...rest, ...(why && { why: why.message }) };
}
