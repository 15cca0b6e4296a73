/**
 * The time of the simulated world. It passes only when nothing is left to do, so that days take a second, and everything that
 * happens follows from the order of timers. Import this first: it replaces timers, clocks and random IDs of the whole process.
 */
import { drainMicrotasks } from 'bun:jsc';
import { AsyncLocalStorage } from 'node:async_hooks';
import { createRequire } from 'node:module';

/** A copy of the server, as far as time is concerned. */
export interface Mortal {
  name: string;
  /** The timers of a dead copy never fire. */
  isAlive: boolean;
  /** How much its clock is ahead, in ms. */
  skewMs: number;
  /** Until when it stands still, ms since 1970: none of its timers fires before. */
  frozenUntil?: number;
}

interface Alarm {
  at: number;
  order: number;
  ring: (() => void) | null;
  owner: Mortal | undefined;
  /** Of an interval, in ms. */
  everyMs: number | null;
}

export const SECOND = 1000;
export const MINUTE = 60 * SECOND;
export const HOUR = 60 * MINUTE;
export const DAY = 24 * HOUR;
const START = Date.UTC(2026, 0, 1);
const realImmediate = globalThis.setImmediate;
const realNow = Date.now;
const owners = new AsyncLocalStorage<Mortal>();
/** A binary heap, earliest first. */
let alarms: Alarm[] = [];
let now = START;
let order = 0;
/** Increases whenever the runtime itself has something to do, so that the world can tell when that is over. */
let activity = 0;
/** What the runtime is at work for. */
let working = 0;

/** The true time, ms since 1970. */
export const trueTime = () => now;
/** Notes that the runtime itself has something to do, which takes turns of the event loop. */
export const stir = () => void activity++;

/** Notes that it may have, until the work has ended. */
export async function stirring<T>(work: Promise<T>): Promise<T> {
  working++;
  return work.finally(() => {
    working--;
    stir();
  });
}
/** Runs the work as part of a copy: its timers die with it, and it sees its clock. */
export const as = <T>(owner: Mortal, work: () => T): T => owners.run(owner, work);
/** The copy that the running code belongs to. */
export const current = () => owners.getStore();

const before = (one: Alarm, other: Alarm) =>
  one.at < other.at || (one.at === other.at && one.order < other.order);

function push(alarm: Alarm): void {
  let place = alarms.push(alarm) - 1;
  while (place > 0) {
    const parent = (place - 1) >> 1;
    const above = alarms[parent] as Alarm;
    if (before(above, alarm)) break;
    alarms[place] = above;
    place = parent;
  }
  alarms[place] = alarm;
}

function pop(): Alarm | undefined {
  const [first] = alarms;
  const last = alarms.pop();
  if (alarms.length === 0 || last === undefined) return first;
  let place = 0;
  for (;;) {
    let child = 2 * place + 1;
    if (child >= alarms.length) break;
    const right = alarms[child + 1];
    if (right && before(right, alarms[child] as Alarm)) child++;
    const below = alarms[child] as Alarm;
    if (before(last, below)) break;
    alarms[place] = below;
    place = child;
  }
  alarms[place] = last;
  return first;
}

function set(ring: () => void, ms: number, everyMs: number | null, owner = current()): Alarm {
  const alarm: Alarm = { at: now + Math.max(0, ms || 0), order: order++, ring, owner, everyMs };
  push(alarm);
  return alarm;
}

/** Calls back after that time, whatever becomes of the copies. */
export function later(ms: number, ring: () => void): void {
  set(ring, ms, null, undefined);
}

/** Resolves after that time, unless the copy has died. */
export function pause(ms: number): Promise<void> {
  return new Promise((resolve) => void set(resolve, ms, null));
}

const handleOf = (alarm: Alarm) => ({
  alarm,
  ref() {
    return this;
  },
  unref() {
    return this;
  },
  hasRef: () => true,
  [Symbol.dispose]() {
    alarm.ring = null;
  },
});
type Handle = ReturnType<typeof handleOf>;
const clear = (handle: Handle | undefined | null) => {
  if (handle?.alarm) handle.alarm.ring = null;
};

/** The next alarm until then that still has something to do. */
function next(end: number): Alarm | undefined {
  for (let first = alarms[0]; first && first.at <= end; first = alarms[0]) {
    pop();
    if (!first.ring || first.owner?.isAlive === false) continue;
    const { frozenUntil = 0 } = first.owner ?? {};
    if (first.at >= frozenUntil) return first;
    first.at = frozenUntil;
    push(first);
  }
  return undefined;
}

function ringNow(alarm: Alarm): void {
  now = Math.max(now, alarm.at);
  const { ring, owner, everyMs } = alarm;
  if (ring === null) return;
  if (everyMs !== null) {
    alarm.at = now + everyMs;
    alarm.order = order++;
    push(alarm);
  }
  if (owner) owners.run(owner, ring);
  else ring();
}

/**
 * Lets the time pass until then. Most of what a timer starts needs no turn of the event loop, until the next timer; what the
 * runtime itself does, as with streams, takes some.
 */
export function passUntil(end: number): Promise<void> {
  return new Promise((resolve) => {
    let seen = -1;
    let quiet = 0;
    function settle(): void {
      quiet = activity === seen ? quiet + 1 : 0;
      seen = activity;
      if (quiet < QUIET) realImmediate(settle);
      else pass();
    }
    function pass(): void {
      for (let alarm = next(end); alarm; alarm = next(end)) {
        ringNow(alarm);
        drainMicrotasks();
        if (activity !== seen || working > 0) {
          settle();
          return;
        }
      }
      now = Math.max(now, end);
      resolve();
    }
    settle();
  });
}
/** Turns of the event loop without anything new after which nothing more comes: a stream's chunk takes up to three. */
const QUIET = 4;

/** Number of timers that will still do something, once. */
export const pending = () => alarms.filter(({ ring, everyMs }) => ring !== null && everyMs === null).length;

/** Starts again: no timer is left of the world before. */
export function resetTime(): void {
  alarms = [];
  now = START;
  order = 0;
}

const load = createRequire(import.meta.url);
/** In whole milliseconds, like a real one. */
const clockNow = () => Math.floor(now + (current()?.skewMs ?? 0));

/** What only lets others go first is over before any time passes. */
function soon(ring: (...args: unknown[]) => void, ...args: unknown[]) {
  stir();
  return realImmediate(() => {
    stir();
    ring(...args);
  });
}

/** Puts the simulated time in the place of the real one. */
function install(): void {
  Date.now = clockNow;
  performance.now = () => now - START;
  Object.assign(globalThis, {
    setTimeout: (ring: (...args: unknown[]) => void, ms = 0, ...args: unknown[]) =>
      handleOf(set(() => ring(...args), ms, null)),
    setInterval: (ring: (...args: unknown[]) => void, ms = 0, ...args: unknown[]) =>
      handleOf(set(() => ring(...args), ms, ms)),
    setImmediate: soon,
    clearTimeout: clear,
    clearInterval: clear,
  });
  load('node:timers').setImmediate = soon;
  load('node:timers/promises').setImmediate = (value: unknown) =>
    new Promise((resolve) => soon(() => resolve(value)));
  load('node:timers/promises').setTimeout = (
    ms: number,
    value: unknown,
    options?: { signal?: AbortSignal },
  ) =>
    new Promise((resolve, reject) => {
      const { signal } = options ?? {};
      if (signal?.aborted) return reject(signal.reason);
      const alarm = set(() => done(() => resolve(value)), ms, null);
      const stop = () => done(() => reject(signal?.reason));
      function done(tell: () => void): void {
        alarm.ring = null;
        signal?.removeEventListener('abort', stop);
        tell();
      }
      signal?.addEventListener('abort', stop);
    });
}

install();

/** Milliseconds of the real time, to measure how long a world takes. */
export const realTime = realNow;
